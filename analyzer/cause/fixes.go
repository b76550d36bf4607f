package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

const (
	maxFixes = 4 // per cause; the first are the best
	maxCosts = 4
)

// fixes returns the fixes of a cause, the best first. together is set if no fix removes all
// findings.
func fixes(g *group) (out []result.CauseFix, together bool) {
	out = []result.CauseFix{}
	for _, m := range g.ranked(g.applicable(mergeFixes(g))) {
		if len(out) == maxFixes || len(out) > 0 && out[0].Clears == len(g.all) &&
			m.clears < len(g.all) {
			break
		}
		if !g.rejects(m, out) {
			out = append(out, result.CauseFix{Fix: m.fix(), Clears: m.clears})
		}
	}
	x := installation(g)
	if g.kind == ofExtras && (len(out) == 0 || out[0].Clears < len(g.all)) {
		x = g.allExtras()
	}
	if x != nil && (len(out) == 0 || out[0].Clears < x.Clears) {
		if x.Clears == len(g.all) {
			out = nil // the others are parts of it
		}
		out = slices.Insert(out, 0, *x)
	}
	return out, len(out) > 1 && out[0].Clears < len(g.all)
}

// applicable returns the fixes that are one for the cause, and counts the findings that they remove
// because of what the cause is.
func (g *group) applicable(list []*merged) []*merged {
	switch g.kind {
	case TooNew: // the linker error is due to a build on an older system
		loader := 0
		for _, f := range g.all {
			loader += boolRank(!g.rules[f.Rule].Linker)
		}
		if loader > 0 { // that it works where it was built is no fix for the platform
			list = slices.DeleteFunc(list, func(m *merged) bool {
				_, moves := m.Change.(fix.Retag)
				return moves && m.Kind == fix.KindEnvironment
			})
		}
		for _, m := range list {
			if m.ofLoader && (m.Kind == fix.KindImage || m.Kind == fix.KindSymver) && m.clears >= loader {
				m.clears = len(g.all)
			}
		}
	case wrongLibc: // other libraries of the system do not help
		others := slices.DeleteFunc(slices.Clone(list), func(m *merged) bool {
			return m.Kind == fix.KindEnvironment
		})
		if len(others) > 0 {
			list = others
		}
		for _, m := range list {
			m.clears = len(g.all)
		}
	}
	return list
}

// ranked sorts fixes, the best first.
func (g *group) ranked(list []*merged) []*merged {
	slices.SortStableFunc(list, func(a, b *merged) int {
		return cmp.Or(
			b.clears-a.clears,
			boolRank(a.Last)-boolRank(b.Last),
			boolRank(b.Verified)-boolRank(a.Verified),
			boolRank(a.Conflicts())-boolRank(b.Conflicts()),
			boolRank(g.prefers(b.Kind))-boolRank(g.prefers(a.Kind)),
			a.Kind.Effort()-b.Kind.Effort(),
		)
	})
	return list
}

// prefers reports whether a kind of fix comes before those with less effort. If a linker does not
// find a dependency of a library, an edit of the library comes first, because it helps all of its
// users. If other versions were specified than the artifact requires, the required ones come first.
func (g *group) prefers(kind fix.Kind) bool {
	return g.kind == linkPath && kind == fix.KindPatchelf ||
		g.kind == otherVersions && kind == fix.KindEnvironment
}

// rejects reports whether a fix is not shown after the better ones.
func (g *group) rejects(m *merged, better []result.CauseFix) bool {
	switch {
	case m.unusable():
		return true
	case m.Kind == fix.KindPatchelf:
		return g.fromSystem()
	case m.Kind == fix.KindImage:
		return g.kind == TooNew && g.private()
	}
	// Another pin than the required one, and one that pip refuses, are worse than the first fix.
	return m.Kind == fix.KindPin && (g.kind == otherVersions || m.Conflicts()) &&
		len(better) > 0 && better[0].Verified && better[0].Clears == len(g.all)
}

// fromSystem reports whether a cause is about libraries of the system or of another project.
func (g *group) fromSystem() bool { return g.kind == system || g.kind == systemLibraries }

// installation returns the fix that installs libraries of the system or of another project: one
// command for all packages. It returns nil if no provider is known. If the name of a package
// depends on the release of the system, it names the projects.
func installation(g *group) *result.CauseFix {
	if !g.fromSystem() && g.kind != missing {
		return nil
	}
	var projects, debian, pypi set[string]
	clears, unnamed := 0, false
	for _, f := range g.all {
		p, ok := platform.ProviderOf(f.Library)
		if !ok || p.Kind == platform.BundleProvider && !f.OtherPackage || g.artifact.has(p) {
			continue
		}
		system, python := p.Packages(platform.Debian), p.Packages(platform.PyPI)
		// a package that the artifact declares already is not offered by the finding
		python = slices.DeleteFunc(slices.Clone(python), func(name string) bool {
			return !slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
				return x.Kind == fix.KindDependency && x.Requirement == name
			})
		})
		if len(system)+len(python) == 0 && len(p.Packages(platform.PyPI)) > 0 {
			continue
		}
		clears++
		projects.add(p.Project)
		for _, name := range system {
			debian.add(name)
		}
		for _, name := range python {
			pypi.add(name)
		}
		unnamed = unnamed || len(system) == 0
	}
	x := fix.Fix{Kind: fix.KindEnvironment}
	switch {
	case clears == 0:
		return nil
	case len(debian.list) > 0 && !unnamed:
		x = fix.Install(
			fix.Titled("Install what contains these libraries (Debian and Ubuntu)"),
			fix.SystemPackages{With: fix.Apt, Names: debian.list},
		)
	case len(pypi.list) > 0:
		x.Kind = fix.KindDependency
		x.Title = fix.Titled("Declare the dependency %s", strings.Join(pypi.list, " and "))
	default:
		// "ROCm 5" is more specific than "ROCm"
		names := slices.DeleteFunc(slices.Clone(projects.list), func(name string) bool {
			return slices.ContainsFunc(projects.list, func(other string) bool {
				return name != other && release.ReplaceAllString(other, "") == name
			})
		})
		x.Title = fix.Titled("Install %s", Listed(names, 3, 40, "project"))
	}
	x.Cost = []string{}
	return &result.CauseFix{Fix: x, Clears: clears}
}

func itoa(n int) string { return fmt.Sprint(n) }
