package cause

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
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
	if g.kind.Parts != nil {
		if parts := g.kind.Parts(g); parts != nil {
			return parts, len(parts) > 1
		}
	}
	list := mergeFixes(g)
	if g.kind.Applicable != nil {
		list = g.kind.Applicable(g, list)
	}
	left := g.all // findings that none of the better fixes removes
	for _, m := range g.ranked(list) {
		if len(out) == maxFixes || len(out) > 0 && out[0].Clears == len(g.all) &&
			m.clears < len(g.all) {
			break
		}
		more := left
		if m.clears < len(g.all) {
			more = slices.DeleteFunc(slices.Clone(left), func(f *result.Finding) bool {
				return m.removes(f) || g.states(f) && satisfies(m.Fix, f)
			})
			if len(out) > 0 && len(more) == len(left) && m.Change == nil {
				continue // it is an alternative to the better ones; a trial may find that it removes more
			}
		}
		if !g.rejects(m, out) {
			left = more
			out = append(out, result.CauseFix{Fix: m.fix(), Clears: m.clears})
		}
	}
	var x *result.CauseFix
	if g.kind.Whole != nil {
		x = g.kind.Whole(g)
	}
	if x != nil && (len(out) == 0 || out[0].Clears < x.Clears) {
		if x.Clears == len(g.all) {
			out = nil // the others are parts of it
		}
		out = slices.Insert(out, 0, *x)
	}
	return out, len(out) > 1 && out[0].Clears < len(g.all)
}

// removes reports whether a fix, which was merged, is one of a finding.
func (m *merged) removes(f *result.Finding) bool {
	return slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
		if tried := x.Requirements(); tried != nil {
			x.Requirement = tried[0]
		}
		return keyOf(x) == m.key
	})
}

// together reports whether a fix changes several packages that are named, so that there is more to
// change than with another one.
func (m *merged) together() bool {
	_, all := m.Change.(fix.All)
	return all && len(m.Requirements()) > 1
}

// ranked sorts fixes, the best first.
func (g *group) ranked(list []*merged) []*merged {
	slices.SortStableFunc(list, func(a, b *merged) int {
		return cmp.Or(
			b.clears-a.clears,
			boolRank(a.Last)-boolRank(b.Last),
			boolRank(b.Verified)-boolRank(a.Verified),
			boolRank(a.Conflicts())-boolRank(b.Conflicts()),
			boolRank(a.together())-boolRank(b.together()),
			boolRank(b.Kind == g.kind.Prefers)-boolRank(a.Kind == g.kind.Prefers),
			a.Kind.Effort()-b.Kind.Effort(),
		)
	})
	return list
}

// rejects reports whether a fix is not shown after the better ones.
func (g *group) rejects(m *merged, better []result.CauseFix) bool {
	// A pin that pip refuses is worse than the first fix.
	solved := len(better) > 0 && better[0].Verified && better[0].Clears == len(g.all)
	return m.unusable() || m.Kind == fix.KindPin && m.Conflicts() && solved ||
		g.kind.Rejects != nil && g.kind.Rejects(g, m, solved)
}

func itoa(n int) string { return fmt.Sprint(n) }
