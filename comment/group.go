package comment

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

// group is what one paragraph tells: the findings of one rule on one object that miss the same
// version of the same library.
type group struct {
	*analyzer.Finding // the first; what the others share
	symbols           []string
	artifacts         []string
	targets           []string
	findings          []*analyzer.Finding
	fixes             []fix.Fix
}

type groupKey struct {
	rule, object, library, version string
	severity                       analyzer.Severity
	fresh                          bool
}

// grouped keeps the report's order, worst first; a finding that several artifacts share (one wheel
// per Python) counts once.
func grouped(findings []*analyzer.Finding) []*group {
	var out []*group
	byKey := map[groupKey]*group{}
	for _, f := range findings {
		k := groupKey{f.Rule, f.Object, f.Library, f.Version, f.Severity, f.New}
		g := byKey[k]
		if g == nil {
			g = &group{Finding: f}
			byKey[k] = g
			out = append(out, g)
		}
		g.add(f)
	}
	for _, g := range out {
		g.symbols = distinct(g.symbols)
		g.artifacts = distinct(g.artifacts)
		g.targets = distinct(g.targets)
	}
	return out
}

// keptFixes bounds the fixes of a group: one symbol after the other can bring its own.
const keptFixes = 20

func (g *group) add(f *analyzer.Finding) {
	g.findings = append(g.findings, f)
	g.symbols = append(g.symbols, f.Symbol)
	g.artifacts = append(g.artifacts, f.Artifact)
	g.targets = append(g.targets, f.Target)
	for _, x := range f.Fixes {
		if len(g.fixes) == keptFixes {
			break
		}
		if !slices.ContainsFunc(g.fixes, func(y fix.Fix) bool {
			return x.Kind == y.Kind && x.Title == y.Title && x.Command == y.Command &&
				x.Requirement == y.Requirement
		}) {
			g.fixes = append(g.fixes, x)
		}
	}
}

// distinct drops "" and what was there before, keeping the order.
func distinct(ss []string) []string {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(ss, func(s string) bool {
		old := seen[s]
		seen[s] = true
		return old
	})
}

// sorted is a report as it is told: each finding once, the new ones apart from those that the base
// has.
type sorted struct {
	fresh, existing []*analyzer.Finding
	accepted        []analyzer.Accepted
	unread          []analyzer.Unread
}

func sortOut(r *analyzer.Report, partial []analyzer.Unread) sorted {
	var s sorted
	seen := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Severity == analyzer.Off {
			continue
		}
		if f.New {
			s.fresh = append(s.fresh, f)
		} else {
			s.existing = append(s.existing, f)
		}
	}
	worst := func(a, b *analyzer.Finding) int { return rank(a.Severity) - rank(b.Severity) }
	slices.SortStableFunc(s.fresh, worst)
	slices.SortStableFunc(s.existing, worst)
	for _, a := range r.Accepted {
		if id := a.Finding.Identity(); !seen[id] {
			seen[id] = true
			s.accepted = append(s.accepted, a)
		}
	}
	s.unread = append(slices.Clone(r.Unread), partial...)
	return s
}

// rank orders severities, the worst first.
func rank(s analyzer.Severity) int {
	return slices.Index([]analyzer.Severity{analyzer.Error, analyzer.Warning, analyzer.Note}, s)
}

// tally counts findings by severity, each identity once.
func tally(fs []*analyzer.Finding) (errors, warnings, notes int) {
	seen := map[string]bool{}
	for _, f := range fs {
		if id := f.Identity(); seen[id] {
			continue
		} else {
			seen[id] = true
		}
		switch f.Severity {
		case analyzer.Error:
			errors++
		case analyzer.Warning:
			warnings++
		default:
			notes++
		}
	}
	return errors, warnings, notes
}
