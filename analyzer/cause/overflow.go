package cause

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/result"
)

// maxCauses is how many causes of an artifact are shown as they are. If there are more, those that
// the same person removes in the same way become one.
const maxCauses = 3

// similar are two sets of causes of which one is shown as a part of another. The sets may be the
// same.
type similar struct{ host, guest func(*group) bool }

// similars are tried in this order, until an artifact has no more than maxCauses causes.
var similars = []similar{
	{(*group).installed, (*group).installed},        // what a system needs
	{(*group).librariesAbsent, (*group).searched},   // what is changed so that libraries are found
	{(*group).builtAgain, (*group).builtAgain},      // what is changed in the next build
	{(*group).librariesAbsent, (*group).withoutFix}, // libraries for which no fix is known
	{(*group).librariesAbsent, (*group).installed},  // all libraries that are missing
}

// installed reports whether libraries have to be installed on the system.
func (g *group) installed() bool {
	return g.kind == system || g.kind == systemLibraries || g.kind == toolkits
}

// searched reports whether the libraries are there, and the loader does not look for them there.
func (g *group) searched() bool { return g.kind == Unreachable || g.kind == UnreachableDependency }

// librariesAbsent reports whether libraries are neither in the wheel nor in what it requires.
func (g *group) librariesAbsent() bool {
	return g.kind == missing || g.kind == undeclared || g.kind == undeclaredPackages
}

// builtAgain reports whether the objects should be compiled or linked differently.
func (g *group) builtAgain() bool {
	k := g.kind
	general := k.Title == nil && k.Task != nil && !k.First && !k.OfTags && !k.NotShipped
	return (general || g.searched()) && g.severity() != result.Error
}

// withoutFix reports whether libraries are missing and no fix is known.
func (g *group) withoutFix() bool {
	return (g.installed() || g.kind == missing || g.kind == WrongPackage) &&
		!slices.ContainsFunc(g.all, func(f *result.Finding) bool {
			return len(f.Fixes) > 0 || f.Library == ""
		})
}

// joinSimilar makes one group of similar ones of artifacts that have too many.
func joinSimilar(groups []*group) []*group {
	count := map[string]int{}
	for _, g := range groups {
		count[g.project]++
	}
	for _, s := range similars {
		for i := len(groups) - 1; i >= 0; i-- {
			g := groups[i]
			if count[g.project] <= maxCauses || !s.guest(g) || !g.optional() {
				continue
			}
			n := slices.IndexFunc(groups, func(h *group) bool {
				return h != g && h.project == g.project && s.host(h) &&
					h.severity().Rank() >= g.severity().Rank()
			})
			if n < 0 {
				continue
			}
			groups[n].take(g)
			groups = slices.Delete(groups, i, i+1)
			count[g.project]--
		}
	}
	return groups
}

// optional reports whether the plan, which has one fix for each cause that is an error, needs none
// for a group.
func (g *group) optional() bool {
	return g.severity() != result.Error ||
		!slices.ContainsFunc(g.all, func(f *result.Finding) bool { return len(f.Fixes) > 0 })
}

// take makes another group a part of this one.
func (g *group) take(other *group) {
	if g.installed() && other.installed() {
		g.join(other) // one command installs all
		g.origin = origin{systemLibraries, "", g.project}
		return
	}
	g.parts = append(g.parts, append([]*group{other}, other.parts...)...)
	other.parts = nil
}

// withParts returns a cause that has those of the parts of its group too. Its title says what is
// wrong with as many of them as it has room for.
func (g *group) withParts(r *result.Report, o Options) result.Cause {
	var parts []result.Cause
	var reasons set[string]
	for _, p := range g.parts {
		part := p.cause(r, o, maxTitle)
		parts = append(parts, part)
		reasons.add("; " + part.Reason)
	}
	var c result.Cause
	for n := len(reasons.list); ; n-- {
		rest := strings.Join(reasons.list[:n], "")
		if more := len(reasons.list) - n; more > 0 {
			rest += "; and " + result.Count(more, "more reason")
		}
		if c = g.cause(r, o, maxTitle-len(rest)); n == 0 || !g.cut {
			c.Title += rest
			break
		}
	}
	if len(parts) == 0 {
		return c
	}
	c.Fixes = needed(c)
	all := slices.Clone(g.all)
	for i, part := range parts {
		all = append(all, g.parts[i].all...)
		c.New, c.Undecided = c.New || part.New, c.Undecided || part.Undecided
		c.Action, c.Do = c.Action+" "+part.Action, ""
		c.Rules, c.Targets = union(c.Rules, part.Rules), union(c.Targets, part.Targets)
		c.Findings = slices.Concat(c.Findings, part.Findings)
		c.Evidence = slices.Concat(c.Evidence, part.Evidence)
		c.Fixes = append(c.Fixes, needed(part)...)
		if c.Reproduce == nil {
			c.Reproduce = part.Reproduce
		}
	}
	c.Together = len(c.Fixes) > 1
	c.On = on(all, c.Targets)
	c.Objects, c.Symbols = g.counts(all)
	return c
}

// needed returns the fixes of a cause without alternatives.
func needed(c result.Cause) []result.CauseFix {
	if c.Together {
		return slices.Clone(c.Fixes)
	}
	return slices.Clone(c.Fixes[:min(len(c.Fixes), 1)])
}

// union returns the values of two lists, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
