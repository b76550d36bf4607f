package trial

import (
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// An artifact is checked in at most maxTrials changed scenarios, and in fewer if it has many
// objects or findings: maxWork limits the objects of all trials together (about ten seconds),
// and findingsPerObject findings cost as much as an object. Fixes that are not tried are
// offered as not verified.
const (
	maxTrials         = 64
	maxPlanTrials     = 24 // in addition to maxTrials
	maxWork           = 1500
	findingsPerObject = 20
)

// Verifier tries fixes for an artifact on a target.
type Verifier struct {
	ctx      context.Context
	session  *judge.Session
	base     judge.Case // without a fix
	releases *judge.Releases
	before   map[string]bool // identities of the findings without a fix
	lacking  map[string]bool // missing libraries of objects, which are errors; see libraryOf
	// objects with a missing library, whose symbols could not be checked
	hidden map[string]bool
	// symbols of objects that a linker does not resolve even without a fix
	unlinked  map[string]bool
	conflicts []string // between packages without a fix
	revealed  []judge.Found
	known     map[string]*trial
	most      int // limit of trials
	// newer are the verifiers of other releases of the artifact's package, by NAME==VERSION.
	newer map[string]*Verifier
}

// trial is the result of a changed scenario.
type trial struct {
	found  []judge.Found
	left   map[string]bool // identities of found
	sets   []*packages.Set
	failed bool // it breaks something else, so the check was stopped
	breaks bool // it breaks something else; see Verifier.breaks
	fresh  bool // a finding is new and more than a note
	cost   []string
	with   []string // requirements of the scenario
}

// Fixes tries the candidates of fresh, which are findings that no earlier target had, and sets
// their Fixes to those that work. A fix that cannot be simulated is offered as not verified,
// and one that fails is not offered. Fixes also determines where in a range of versions a
// finding starts, and whether it depends on the order of imports or on LD_LIBRARY_PATH. sets
// are the packages of the environment. It returns findings that occur only with a fix: symbols
// of an object with a missing library. The error is that of the context or of the source.
func (t *Verifier) Fixes(fresh []judge.Found, sets []*packages.Set) ([]judge.Found, error) {
	if err := t.fixEach(fresh, sets); err != nil {
		return nil, err
	}
	return t.revealed, nil
}

func (t *Verifier) fixEach(fresh []judge.Found, sets []*packages.Set) error {
	if err := t.asRequired(fresh, sets); err != nil {
		return err
	}
	most := t.most
	if err := t.ranges(sets, fresh); err != nil { // the search for other versions uses them
		return err
	}
	t.most = len(t.known) + most
	if err := t.candidates(fresh); err != nil {
		return err
	}
	if err := t.importOrder(fresh); err != nil {
		return err
	}
	return t.libraryPath(fresh)
}

// candidates tries the candidates of findings, and adds those that work to their Fixes.
func (t *Verifier) candidates(fresh []judge.Found) error {
	joint, err := t.jointSearches(fresh)
	if err != nil {
		return err
	}
	for _, x := range fresh {
		for _, candidate := range x.Candidates {
			var offers []fix.Fix
			var err error
			if q := candidate.Search; q != nil && joint[q.Package] != nil {
				offers, err = joint[q.Package].fixes(t, x)
			} else {
				offers, err = t.offer(x, candidate)
			}
			if err != nil {
				return err
			}
			x.Fixes = append(x.Fixes, offers...)
		}
	}
	return nil
}

// after returns a verifier for the scenario of a trial of t: its fixes are in addition to those of
// the scenario.
func (t *Verifier) after(s fix.Scenario, w *trial) *Verifier {
	out := *t
	out.base.Scenario = s
	out.before, out.conflicts = w.left, t.costs(w.sets, w.with)
	out.revealed, out.known, out.most = nil, map[string]*trial{}, maxPlanTrials
	return &out
}

// New returns a verifier for a case. outcome is its result without a fix.
func New(ctx context.Context, s *judge.Session, c judge.Case, outcome *judge.Outcome) *Verifier {
	t := &Verifier{
		ctx:      ctx,
		session:  s,
		base:     c,
		releases: s.Releases(ctx, c),
		before:   map[string]bool{},
		lacking:  map[string]bool{},
		hidden:   map[string]bool{},
		unlinked: map[string]bool{},
		known:    map[string]*trial{},
		most:     maxTrials,
	}
	t.conflicts = t.costs(outcome.Sets, nil)
	for _, x := range outcome.Found {
		t.before[x.Identity()] = true
		if x.Severity == result.Error && x.Symbol == "" {
			t.lacking[libraryOf(x.Finding)] = true
		}
		t.unlinked[linkedSymbol(x.Finding)] = true
		t.hidden[x.Object] = t.hidden[x.Object] || x.Symbol == "" && x.Library != ""
	}
	return t
}

// Replace makes w, the verifier of another release of the package of an artifact, the one that is
// used where a fix chooses pin, which is NAME==VERSION.
func Replace(verifiers []*Verifier, of *facts.Artifact, pin string, w *Verifier) {
	for _, t := range verifiers {
		if t.base.Artifact == of && t.base.Target.Key() == w.base.Target.Key() {
			if t.newer == nil {
				t.newer = map[string]*Verifier{}
			}
			t.newer[pin] = w
		}
	}
}

// in returns the verifier of the release that is installed in a scenario: t, unless it is one that
// Replace added.
func (t *Verifier) in(s fix.Scenario) *Verifier {
	m := t.base.Artifact.Metadata
	if m == nil || t.newer == nil {
		return t
	}
	for _, r := range slices.Backward(s.With) { // a later one replaces an earlier one
		if q, err := pkgmeta.ParseRequirement(r); err == nil && q.Name == pkgmeta.Normalize(m.Name) {
			if w := t.newer[r]; w != nil {
				return w
			}
			break
		}
	}
	return t
}

// offer tries a candidate for a finding, and returns the fixes to show.
func (t *Verifier) offer(x judge.Found, candidate fix.Candidate) ([]fix.Fix, error) {
	if candidate.Search != nil {
		q := candidate.Search
		end := versionEnd{from: q.From, all: []func(string) bool{q.Good}}
		return t.otherVersion([]judge.Found{x}, q.Package, []versionEnd{end})
	}
	offer := candidate.Fix
	offer.Change = candidate.Change
	if offer.Cost == nil {
		offer.Cost = []string{}
	}
	if candidate.Change == nil {
		return []fix.Fix{offer}, nil
	}
	if pin, ok := candidate.Change.(fix.Pin); ok && offer.Kind == fix.KindPin {
		if want := t.concrete(pin.Requirement); want != pin.Requirement {
			pin.Requirement = want
			offer.Title = fix.Titled("Pin %s", fix.Requirement(want))
			offer.Command = shellword.Requirement(want)
			offer.Change = pin
		}
	}
	w, err := t.tryFix(offer.Change.Apply(t.base.Scenario))
	switch {
	case err != nil:
		return nil, err
	case w == nil:
		return []fix.Fix{offer}, nil
	case t.fixes(w, x):
		offer.Verified = true
		offer.Cost = append(offer.Cost, w.cost...)
		return []fix.Fix{offer}, nil
	}
	return nil, nil
}

// run checks the artifact in a changed scenario completely. It returns nil if the limit of
// trials is reached.
func (t *Verifier) run(s fix.Scenario) (*trial, error) {
	w, err := t.try(s, nil)
	if err == nil && w != nil && w.failed {
		delete(t.known, s.Key())
		return t.try(s, nil)
	}
	return w, err
}

// tryFix is like run, but stops when the change breaks something.
func (t *Verifier) tryFix(s fix.Scenario) (*trial, error) { return t.try(s, t.breaks) }

func (t *Verifier) try(s fix.Scenario, hopeless func(*result.Finding) bool) (*trial, error) {
	w := t.known[s.Key()]
	weight := t.base.Artifact.Binaries() + len(t.before)/findingsPerObject
	if w != nil || len(t.known) >= t.most || len(t.known)*weight >= maxWork {
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
	c.Target.Excluded = c.Target.Excluded && !s.Retagged
	outcome, err := t.session.Try(t.ctx, c, hopeless)
	if err != nil {
		return nil, err
	}
	w = &trial{left: map[string]bool{}, failed: outcome == nil, with: s.With}
	if outcome != nil {
		w.found, w.sets = outcome.Found, outcome.Sets
	}
	t.assess(w)
	t.known[s.Key()] = w
	return w, nil
}

// assess compares the findings of a trial with those without a fix.
func (t *Verifier) assess(w *trial) {
	w.fresh, w.breaks = false, false
	for _, x := range w.found {
		w.left[x.Identity()] = true
		w.fresh = w.fresh || t.fresh(x.Finding)
		w.breaks = w.breaks || t.breaks(x.Finding)
	}
	w.cost = t.cost(w)
}

// fixes reports whether a changed scenario is without some findings, and without new errors or
// warnings. A library that other packages need from the system is a cost, not a finding of the
// artifact. A symbol that a linker did not find before is not new if it is missing for another
// reason.
func (t *Verifier) fixes(w *trial, xs ...judge.Found) bool {
	if w.failed || w.breaks {
		return false
	}
	for _, x := range xs {
		if w.left[x.Identity()] {
			return false
		}
		if w.fresh && linkedSymbol(x.Finding) != "" {
			return false
		}
	}
	return true
}

// fresh reports whether a finding of a changed scenario is new and more than a note.
func (t *Verifier) fresh(f *result.Finding) bool {
	return f.Severity != result.Note && !t.before[f.Identity()] && !fromSystem(f)
}

// breaks reports whether a finding of a changed scenario means that the change is not a fix. A
// warning about a library that was an error before is none: the library is there now, but whether
// something loads it first is not known.
func (t *Verifier) breaks(f *result.Finding) bool {
	better := f.Severity != result.Error && f.Library != "" && t.lacking[libraryOf(f)]
	return t.fresh(f) && !better && (linkedSymbol(f) == "" || !t.unlinked[linkedSymbol(f)])
}

// libraryOf identifies the object and the library of a finding.
func libraryOf(f *result.Finding) string { return f.Object + "\x00" + f.Library }

// linkedSymbol identifies the object and the symbol of a finding about linking with the object;
// it is "" for other findings.
func linkedSymbol(f *result.Finding) string {
	if !strings.HasPrefix(f.Rule, "link-") || f.Symbol == "" {
		return ""
	}
	return f.Object + "\x00" + f.Symbol
}

// fromSystem reports whether a finding only means that a library of another package needs one
// from the system.
func fromSystem(f *result.Finding) bool { return f.OtherPackage && f.Severity != result.Error }
