package trial

import (
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// An artifact is checked in at most maxTrials changed scenarios, and in fewer where it has many
// objects: maxWork bounds the objects of all trials together (about ten seconds). Fixes that are not
// tried are offered as not verified.
const (
	maxTrials = 64
	maxWork   = 1500
)

// verifier tries fixes for one artifact on one target.
type verifier struct {
	ctx      context.Context
	session  *judge.Session
	base     judge.Case // without a fix
	releases *judge.Releases
	before   map[string]bool // identities of the findings without a fix
	// objects that lack a whole library, so that their symbols could not be checked
	hidden map[string]bool
	// objects with a symbol of theirs that a linker does not resolve without a fix
	unlinked  map[string]bool
	conflicts []string // between the packages without a fix
	known     map[string]*trial
	most      int // trials
}

// trial is the outcome of one changed scenario.
type trial struct {
	found  []judge.Found
	left   map[string]bool // their identities
	sets   []*packages.Set
	failed bool // it breaks something else, and was not checked to the end
}

// Verify tries the candidates of fresh, findings of outcome that no earlier target had, and gives the
// findings those fixes that work. A fix that the model can't apply is offered as not verified, and
// one that fails is not offered. It also finds where in a range of versions a finding begins, and
// whether it depends on the order of imports or on LD_LIBRARY_PATH. The error is that of ctx or of
// the source.
func Verify(
	ctx context.Context,
	s *judge.Session,
	c judge.Case,
	outcome *judge.Outcome,
	fresh []judge.Found,
) error {
	t := newVerifier(ctx, s, c, outcome)
	for _, x := range fresh {
		x.Fixes = []fix.Fix{}
		for _, candidate := range x.Candidates {
			offers, err := t.offer(x, candidate)
			if err != nil {
				return err
			}
			x.Fixes = append(x.Fixes, offers...)
		}
	}
	if err := t.ranges(outcome.Sets, fresh); err != nil {
		return err
	}
	if err := t.importOrder(fresh); err != nil {
		return err
	}
	return t.libraryPath(fresh)
}

func newVerifier(
	ctx context.Context,
	s *judge.Session,
	c judge.Case,
	outcome *judge.Outcome,
) *verifier {
	t := &verifier{
		ctx:       ctx,
		session:   s,
		base:      c,
		releases:  s.Releases(ctx, c),
		before:    map[string]bool{},
		hidden:    map[string]bool{},
		unlinked:  map[string]bool{},
		conflicts: conflicts(outcome.Sets),
		known:     map[string]*trial{},
		most:      maxTrials,
	}
	for _, x := range outcome.Found {
		t.before[x.Identity()] = true
		t.unlinked[linkedSymbol(x.Finding)] = true
		t.hidden[x.Object] = t.hidden[x.Object] || x.Symbol == "" && x.Library != ""
	}
	return t
}

// offer tries a candidate for a finding, and returns the fixes to show.
func (t *verifier) offer(x judge.Found, candidate fix.Candidate) ([]fix.Fix, error) {
	if candidate.Search != nil {
		return t.otherVersion(x, candidate.Search)
	}
	offer := candidate.Fix
	if offer.Cost == nil {
		offer.Cost = []string{}
	}
	if candidate.Change == nil {
		return []fix.Fix{offer}, nil
	}
	w, err := t.tryFix(candidate.Change.Apply(t.base.Scenario))
	switch {
	case err != nil:
		return nil, err
	case w == nil:
		return []fix.Fix{offer}, nil
	case t.fixes(w, x):
		offer.Verified = true
		offer.Cost = append(offer.Cost, t.cost(w)...)
		return []fix.Fix{offer}, nil
	}
	return nil, nil
}

// run checks the artifact in a changed scenario to the end; nil when enough scenarios were tried.
func (t *verifier) run(s fix.Scenario) (*trial, error) {
	w, err := t.try(s, nil)
	if err == nil && w != nil && w.failed {
		delete(t.known, s.Key())
		return t.try(s, nil)
	}
	return w, err
}

// tryFix is run, but stops as soon as the change is known to break something.
func (t *verifier) tryFix(s fix.Scenario) (*trial, error) { return t.try(s, t.breaks) }

func (t *verifier) try(
	s fix.Scenario,
	hopeless func(*result.Finding) bool,
) (*trial, error) {
	w := t.known[s.Key()]
	if w != nil || len(t.known) >= t.most ||
		len(t.known)*len(t.base.Artifact.Objects) >= maxWork {
		return w, nil
	}
	c := t.base
	c.Scenario = s
	if s.Platform != c.Target.Key() {
		p, err := platform.Lookup(s.Platform, c.Target.Platform.Arch)
		if err != nil {
			return nil, err
		}
		c.Target.Platform = p
	}
	outcome, err := t.session.Try(t.ctx, c, hopeless)
	if err != nil {
		return nil, err
	}
	w = &trial{left: map[string]bool{}, failed: outcome == nil}
	if outcome != nil {
		w.found, w.sets = outcome.Found, outcome.Sets
	}
	for _, x := range w.found {
		w.left[x.Identity()] = true
	}
	t.known[s.Key()] = w
	return w, nil
}

// fixes reports whether a changed scenario is without the finding, and without any error or warning
// that was not there before. What only the libraries of other packages need of the system is no
// finding of the artifact but a cost. A symbol that a linker already did not find is not new when it
// is missing for another reason.
func (t *verifier) fixes(w *trial, x judge.Found) bool {
	return !w.failed && !w.left[x.Identity()] && !slices.ContainsFunc(w.found, func(f judge.Found) bool {
		return t.breaks(f.Finding) || linkedSymbol(x.Finding) != "" && t.fresh(f.Finding)
	})
}

// fresh reports whether a finding of a changed scenario is new and is more than a note.
func (t *verifier) fresh(f *result.Finding) bool {
	return f.Severity != result.Note && !t.before[f.Identity()] && !asksSystem(f)
}

// breaks reports whether a finding of a changed scenario rules the change out as a fix.
func (t *verifier) breaks(f *result.Finding) bool {
	return t.fresh(f) && (linkedSymbol(f) == "" || !t.unlinked[linkedSymbol(f)])
}

// linkedSymbol is the object and the symbol of a finding about linking against the object, "" of any
// other.
func linkedSymbol(f *result.Finding) string {
	if !strings.HasPrefix(f.Rule, "link-") || f.Symbol == "" {
		return ""
	}
	return f.Object + "\x00" + f.Symbol
}

// asksSystem reports whether a finding is only that a library of another package needs one that the
// system has to provide.
func asksSystem(f *result.Finding) bool { return f.OtherPackage && f.Severity != result.Error }
