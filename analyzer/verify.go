package analyzer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
)

// An artifact is judged again in at most maxTrials different worlds, and fewer where it has many
// objects: maxWork bounds how many objects are judged in all trials together (about ten seconds).
// What is not tried any more is offered as unverified.
const (
	maxTrials = 64
	maxWork   = 1500
)

// tries judges one artifact on one platform again and again, each time with a fix applied.
type tries struct {
	ctx      context.Context
	check    *check
	facts    *facts.Artifact
	goal     goal
	scenario fix.Scenario
	world    *World
	before   map[string]bool // identities of the findings that are there without a fix
	// objects that lack a whole library, so that their symbols could not be judged
	hidden map[string]bool
	// objects with a symbol of theirs that a linker does not resolve without a fix
	unlinked  map[string]bool
	conflicts []string // of the packages that are beside it without a fix
	known     map[string]*trial
	most      int // trials
}

// trial is the outcome of one changed world.
type trial struct {
	found  []judged
	left   map[string]bool // their identities
	sets   []*packages.Set
	failed bool // something broke that no finding is worth, and the rest was not looked at
}

// try judges the artifact again with each candidate fix applied, and gives the fresh findings those
// that helped. A fix that can't be applied in the model is offered as unverified; one that fails is
// not offered.
func (c *check) try(
	ctx context.Context,
	f *facts.Artifact,
	g goal,
	s fix.Scenario,
	all []judged,
	sets []*packages.Set,
	fresh []judged,
) error {
	t := &tries{
		ctx:       ctx,
		check:     c,
		facts:     f,
		goal:      g,
		scenario:  s,
		world:     c.world(ctx, f, g),
		before:    map[string]bool{},
		hidden:    map[string]bool{},
		unlinked:  map[string]bool{},
		conflicts: conflicts(sets),
		known:     map[string]*trial{},
		most:      maxTrials,
	}
	for _, x := range all {
		t.before[x.Identity()] = true
		t.unlinked[linkedSymbol(x.Finding)] = true
		t.hidden[x.Object] = t.hidden[x.Object] || x.Symbol == "" && x.Library != ""
	}
	for _, x := range fresh {
		x.Fixes = []fix.Fix{}
		for _, candidate := range x.candidates {
			if candidate.Search != nil {
				offers, err := t.search(x, candidate.Search)
				if err != nil {
					return err
				}
				x.Fixes = append(x.Fixes, offers...)
				continue
			}
			offer := candidate.Fix
			if offer.Cost == nil {
				offer.Cost = []string{}
			}
			if candidate.Change == nil {
				x.Fixes = append(x.Fixes, offer)
				continue
			}
			w, err := t.fix(candidate.Change.Apply(s))
			switch {
			case err != nil:
				return err
			case w == nil:
				x.Fixes = append(x.Fixes, offer)
			case t.mends(w, x):
				offer.Verified = true
				offer.Cost = append(offer.Cost, t.cost(w)...)
				x.Fixes = append(x.Fixes, offer)
			}
		}
	}
	if err := t.ranges(sets, fresh); err != nil {
		return err
	}
	if err := t.order(fresh); err != nil {
		return err
	}
	return t.folders(fresh)
}

// run judges the artifact in a changed world, nil when enough worlds were judged.
func (t *tries) run(s fix.Scenario) (*trial, error) {
	w, err := t.judge(s, nil)
	if err == nil && w != nil && w.failed {
		delete(t.known, s.Key())
		return t.judge(s, nil)
	}
	return w, err
}

// fix does the same as far as it takes to know whether the change mends anything.
func (t *tries) fix(s fix.Scenario) (*trial, error) { return t.judge(s, t.breaks) }

func (t *tries) judge(s fix.Scenario, hopeless func(*Finding) bool) (*trial, error) {
	w := t.known[s.Key()]
	if w != nil || len(t.known) >= t.most || len(t.known)*len(t.facts.Objects) >= maxWork {
		return w, nil
	}
	g := t.goal
	g.trial = true
	if s.Platform != platformKey(g.platform) {
		p, err := platform.Lookup(s.Platform, g.platform.Arch)
		if err != nil {
			return nil, err
		}
		g.platform = p
	}
	found, sets, err := t.check.judge(t.ctx, t.facts, g, s, hopeless)
	if err != nil {
		return nil, err
	}
	w = &trial{found: found, left: map[string]bool{}, sets: sets, failed: sets == nil}
	for _, x := range found {
		w.left[x.Identity()] = true
	}
	t.known[s.Key()] = w
	return w, nil
}

// mends tells whether a changed world is without the finding, and without any error or warning that
// was not there before. What only the libraries of other packages ask of the system is no finding
// of the artifact: it is told as a cost. Nor is it new that a program can't be linked for want of a
// symbol, when the linker now misses it for another reason.
func (t *tries) mends(w *trial, x judged) bool {
	return !w.failed && !w.left[x.Identity()] && !slices.ContainsFunc(w.found, func(f judged) bool {
		return t.breaks(f.Finding) || linkedSymbol(x.Finding) != "" && t.fresh(f.Finding)
	})
}

// fresh tells whether a finding of a changed world was not there before, and counts.
func (t *tries) fresh(f *Finding) bool {
	return f.Severity != Note && !t.before[f.Identity()] && !asksSystem(f)
}

// breaks tells whether a finding of a changed world is one for which no other is worth being
// mended.
func (t *tries) breaks(f *Finding) bool {
	return t.fresh(f) && (linkedSymbol(f) == "" || !t.unlinked[linkedSymbol(f)])
}

// linkedSymbol is the object and the symbol of a finding about linking against the object, "" of any
// other.
func linkedSymbol(f *Finding) string {
	if !strings.HasPrefix(f.Rule, "link-") || f.Symbol == "" {
		return ""
	}
	return f.Object + "\x00" + f.Symbol
}

// asksSystem tells whether a finding is only that a library of another package needs one that the
// system has to bring.
func asksSystem(f *Finding) bool { return f.OtherPackage && f.Severity != Error }

// cost says what a changed world gives up: requirements that are no longer met, and what the system
// has to bring now.
func (t *tries) cost(w *trial) []string {
	out := newConflicts(conflicts(w.sets), t.conflicts)
	for _, f := range w.found {
		if text := fmt.Sprintf("%s of the system, which %s needs", f.Library, f.Package); asksSystem(f.Finding) &&
			!t.before[f.Identity()] &&
			!slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return append([]string{}, out...)
}

// conflicts writes what the chosen releases don't meet.
func conflicts(sets []*packages.Set) []string {
	var out []string
	for _, s := range sets {
		for _, x := range s.Conflicts {
			if text := conflictText(x); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

func conflictText(x packages.Conflict) string {
	if x.By == packages.Artifact {
		return "conflicts with the artifact's own requirement " + x.Requirement
	}
	return "conflicts with " + x.By + ", which requires " + x.Requirement
}

func newConflicts(now, known []string) []string {
	return slices.DeleteFunc(
		slices.Clone(now),
		func(s string) bool { return slices.Contains(known, s) },
	)
}
