package report

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

// group is what one paragraph shows: the findings of one rule on one object that miss the same
// version of the same library.
type group struct {
	*analyzer.Finding // the first of them
	ID                string
	symbols           []string
	artifacts         []string
	targets           []string
	fixes             []fix.Fix
	others            []string        // further objects with the same cause; see causes
	n                 int             // findings, each identity once
	seen              map[string]bool // kind and name of what is in the lists
}

// groups keeps the report's order; findings that the base has come apart.
func groups(r *analyzer.Report) (fresh, existing []*group) {
	type key struct {
		rule, object, library, version string
		severity                       analyzer.Severity
		fresh                          bool
	}
	byKey := map[key]*group{}
	seen := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		k := key{f.Rule, f.Object, f.Library, f.Version, f.Severity, f.New}
		g := byKey[k]
		if g == nil {
			g = &group{
				Finding: f,
				ID:      fmt.Sprintf("finding-%d", len(byKey)+1),
				seen:    map[string]bool{},
			}
			byKey[k] = g
			if f.New {
				fresh = append(fresh, g)
			} else {
				existing = append(existing, g)
			}
		}
		if id := f.Identity(); !seen[id] {
			seen[id] = true
			g.n++
		}
		g.add(&g.symbols, "s", f.Symbol)
		g.add(&g.artifacts, "a", f.Artifact)
		g.add(&g.targets, "t", f.Target)
		for _, x := range f.Fixes {
			if g.first("f", x.Kind+"\x00"+x.Title+"\x00"+x.Command) {
				g.fixes = append(g.fixes, x)
			}
		}
	}
	for _, g := range slices.Concat(fresh, existing) {
		if len(g.artifacts) == 0 {
			g.artifacts = []string{g.Object}
		}
	}
	return fresh, existing
}

// causes brings together what has one cause: the same rule about the same library and version,
// whatever object shows it. What names neither a library nor a version is about its object.
func causes(gs []*group) []*group {
	type key struct {
		rule, library, version, pkg string
		severity                    analyzer.Severity
	}
	first := map[key]*group{}
	var out []*group
	for _, g := range gs {
		k := key{g.Rule, g.Library, g.Version, g.Package, g.Severity}
		into := first[k]
		if into == nil || g.Library == "" && g.Version == "" {
			first[k], out = g, append(out, g)
			continue
		}
		into.n += g.n
		into.add(&into.others, "o", g.Object)
		for _, s := range g.symbols {
			into.add(&into.symbols, "s", s)
		}
		for _, a := range g.artifacts {
			into.add(&into.artifacts, "a", a)
		}
		for _, t := range g.targets {
			into.add(&into.targets, "t", t)
		}
		for _, x := range g.fixes {
			if len(into.fixes) < maxFixes &&
				into.first("f", x.Kind+"\x00"+x.Title+"\x00"+x.Command) {
				into.fixes = append(into.fixes, x)
			}
		}
	}
	return out
}

// maxFixes is how many fixes a cause takes over from further objects: most of those differ in the
// object's name alone.
const maxFixes = 4

func (g *group) add(list *[]string, kind, s string) {
	if s != "" && g.first(kind, s) {
		*list = append(*list, s)
	}
}

func (g *group) first(kind, s string) bool {
	old := g.seen[kind+s]
	g.seen[kind+s] = true
	return !old
}

func findings(gs []*group) int {
	n := 0
	for _, g := range gs {
		n += g.n
	}
	return n
}

// counts says how many findings of each severity there are, the worst first.
func counts(gs []*group) []string {
	n := map[analyzer.Severity]int{}
	for _, g := range gs {
		n[g.Severity] += g.n
	}
	var out []string
	for _, s := range []analyzer.Severity{analyzer.Error, analyzer.Warning, analyzer.Note} {
		if n[s] > 0 {
			out = append(out, plural(n[s], string(s)))
		}
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func objects(r *analyzer.Report) int {
	n := 0
	for _, a := range r.Artifacts {
		n += a.Objects
	}
	return n
}

// subject is the one word that a finding is about.
func subject(f *analyzer.Finding) string {
	for _, s := range []string{f.Symbol, f.Library, f.Version} {
		if s != "" {
			return s
		}
	}
	return f.Rule
}
