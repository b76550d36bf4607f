package analyzer

import (
	"context"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/stack"
)

// An artifact is judged again in at most maxTrials different worlds, and fewer where it has many objects: maxWork bounds how many objects are judged in all
// trials together (about ten seconds). What is not tried any more is offered as unverified.
const (
	maxTrials = 64
	maxWork   = 1500
)

// trial is the outcome of one changed world.
type trial struct {
	left map[string]bool // identities of the findings that are there
	sets []*stack.Set
}

// try judges the artifact again with each candidate fix applied, and gives the fresh findings those that helped. A fix that can't be
// applied in the model is offered as unverified; one that fails is not offered.
func (c *check) try(ctx context.Context, f *Facts, g goal, s fix.Scenario, all []judged, sets []*stack.Set, fresh []judged) (err error) {
	before := map[string]bool{}
	for _, x := range all {
		before[x.Identity()] = true
	}
	known := conflicts(sets)
	trials := map[string]*trial{}
	for _, x := range fresh {
		x.Fixes = []fix.Fix{}
		for _, candidate := range x.candidates {
			offer := candidate.Fix
			if offer.Cost == nil {
				offer.Cost = []string{}
			}
			if candidate.Change == nil {
				x.Fixes = append(x.Fixes, offer)
				continue
			}
			changed := candidate.Change.Apply(s)
			t := trials[changed.Key()]
			if t == nil && len(trials) < maxTrials && len(trials)*len(f.Objects) < maxWork {
				if t, err = c.trial(ctx, f, g, changed); err != nil {
					return err
				}
				trials[changed.Key()] = t
			}
			switch {
			case t == nil:
				x.Fixes = append(x.Fixes, offer)
			case t.left[x.Identity()] || t.adds(before):
				// It does not help, or it breaks something else.
			default:
				offer.Verified = true
				offer.Cost = append(offer.Cost, newConflicts(conflicts(t.sets), known)...)
				x.Fixes = append(x.Fixes, offer)
			}
		}
	}
	return nil
}

func (c *check) trial(ctx context.Context, f *Facts, g goal, s fix.Scenario) (*trial, error) {
	if s.Platform != platformKey(g.platform) {
		p, err := platform.Lookup(s.Platform, g.platform.Arch)
		if err != nil {
			return nil, err
		}
		g.platform = p
	}
	again, sets, err := c.judge(ctx, f, g, s)
	if err != nil {
		return nil, err
	}
	t := &trial{left: map[string]bool{}, sets: sets}
	for _, x := range again {
		t.left[x.Identity()] = true
	}
	return t, nil
}

// adds tells whether the changed world has a finding that was not there before.
func (t *trial) adds(before map[string]bool) bool {
	for id := range t.left {
		if !before[id] {
			return true
		}
	}
	return false
}

// conflicts writes what the chosen releases don't meet.
func conflicts(sets []*stack.Set) []string {
	var out []string
	for _, s := range sets {
		for _, x := range s.Conflicts {
			text := "conflicts with " + x.By + ", which requires " + x.Requirement
			if x.By == stack.Artifact {
				text = "conflicts with the artifact's own requirement " + x.Requirement
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

func newConflicts(now, known []string) []string {
	return slices.DeleteFunc(now, func(s string) bool { return slices.Contains(known, s) })
}
