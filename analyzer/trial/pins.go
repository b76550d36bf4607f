package trial

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// otherVersion finds the smallest change of a package's version that removes all of some
// findings, tries it, and returns the fixes: the change alone and, if it breaks another
// package's requirement, one that changes the other packages too. ends are the versions that
// fail, with conditions for other versions.
func (t *Verifier) otherVersion(
	xs []judge.Found,
	name string,
	ends []versionEnd,
) ([]fix.Fix, error) {
	listed, err := t.releases.Versions(name)
	if err != nil {
		return nil, t.ctx.Err() // the source does not know the package
	}
	allowed := t.session.Admitted(name, listed)
	for i := range ends {
		ends[i].all = slices.Concat(ends[i].all, t.fitting(name), outsideRanges(xs, name, ends[i].from))
	}
	l, spans := helpful(allowed, ends)
	every, helping := l, spans
	if len(allowed) < len(listed) {
		every, helping = helpful(listed, ends)
	}
	if len(spans) == 0 {
		l, spans = every, helping
	}
	var uncovers func() fix.Fix
	for _, s := range spans {
		parts := l.parts(s)
		if t.session.Pinned() { // one version
			parts = parts[len(parts)-1:]
		}
		for n, p := range parts {
			spec := p.spec
			want := name + spec
			change := fix.Pin{Requirement: want, Direct: !t.session.Given(name)}
			changed := change.Apply(t.base.Scenario)
			w, err := t.run(changed)
			if err != nil || w == nil {
				return nil, err
			}
			offer := fix.Fix{
				Kind:        fix.KindPin,
				Title:       fix.Titled("Pin %s", fix.Requirement(want)),
				Command:     shellword.Requirement(want),
				Requirement: want,
				Change:      change,
			}
			for _, x := range helping {
				if t.session.Pinned() && every.contains(x, spec) {
					offer.Requirement = name + every.between(x)
				}
			}
			alone := t.fixes(w, xs...) && w.read(name)
			if alone {
				offer.Verified, offer.Cost = true, w.cost
				if len(newConflicts(t.costs(w.sets, w.with), t.conflicts)) == 0 {
					switch {
					case p.high < l.here && !t.session.Pinned():
						err = t.widen(&offer, xs, name, l, span{0, s.high}, p.span)
					case n > 0:
						err = t.widen(&offer, xs, name, l, s, p.span)
					}
					return []fix.Fix{offer}, err
				}
			}
			if found := t.uncovered(w, xs); uncovers == nil && len(found) > 0 {
				uncovers = func() fix.Fix {
					t.reveal(found, want)
					offer.Verified, offer.Cost = true, w.cost
					return offer
				}
			}
			together, err := t.together(xs, change, name, w)
			if together != nil {
				together.Requirement = offer.Requirement
			}
			switch {
			case err != nil:
				return nil, err
			case alone && together == nil:
				for _, x := range xs {
					x.Message += deadlock(w, t.conflicts, name, spec)
				}
				return []fix.Fix{offer}, nil
			case alone && !slices.Equal(offer.Requirements(), together.Requirements()):
				return []fix.Fix{offer, *together}, nil
			case together != nil:
				return []fix.Fix{*together}, nil
			}
		}
	}
	if uncovers != nil {
		return []fix.Fix{uncovers()}, nil
	}
	return nil, nil
}

// outsideRanges returns a condition for each range of versions of a package, around one that fails,
// in which one of some findings occurs. Without a range, of versions that were not read it is not
// known whether they have all symbols.
func outsideRanges(xs []judge.Found, name, failing string) (out []func(version string) bool) {
	for _, x := range xs {
		r := x.Range
		if r == nil || r.Package != name {
			continue
		}
		from, to := r.First, r.Highest
		if r.Fails == packages.Lowest {
			from, to = r.Lowest, r.Before
		}
		first, errFirst := pkgmeta.ParseVersion(from)
		last, errLast := pkgmeta.ParseVersion(to)
		if errFirst != nil || errLast != nil {
			continue
		}
		outside := func(version string) bool {
			v, err := pkgmeta.ParseVersion(version)
			return err != nil || v.Compare(first) < 0 || v.Compare(last) > 0
		}
		if !outside(failing) {
			out = append(out, outside)
		}
	}
	return out
}

// widen makes a fix that works with a part of a span work with as much of the span as it does: the
// conditions of the search are necessary for a version to work, but not sufficient. The versions
// that work are found by bisection, and the whole range is tried. Older ones are only among those
// that the artifact allows.
func (t *Verifier) widen(
	offer *fix.Fix,
	xs []judge.Found,
	name string,
	l *versionSearch,
	all, found span,
) error {
	change := fix.Pin{Direct: !t.session.Given(name)}
	var failed error
	works := func(spec string) *trial {
		change.Requirement = name + spec
		w, err := t.run(change.Apply(t.base.Scenario))
		if failed = cmp.Or(failed, err); failed != nil || w == nil || !t.fixes(w, xs...) ||
			!w.read(name) ||
			len(newConflicts(t.costs(w.sets, w.with), t.conflicts)) > 0 {
			return nil
		}
		return w
	}
	wide := found
	if all.low > l.here {
		wide.high += sort.Search(all.high-found.high, func(i int) bool {
			return works("=="+l.versions[found.high+1+i].String()) == nil
		})
	} else {
		wide.low -= sort.Search(found.low-all.low, func(i int) bool {
			at := found.low - 1 - i
			return !t.allows(name, l.versions[at]) || !l.good(at) ||
				works("=="+l.versions[at].String()) == nil
		})
	}
	if wide == found || failed != nil {
		return failed
	}
	if w := works(l.between(wide)); w != nil {
		want := change.Requirement
		offer.Title, offer.Command = fix.Titled("Pin %s", fix.Requirement(want)),
			shellword.Requirement(want)
		offer.Requirement, offer.Change, offer.Cost = want, change, w.cost
	}
	return failed
}

// allows reports whether the artifact's own requirements allow a version of a package.
func (t *Verifier) allows(name string, v pkgmeta.Version) bool {
	m := t.base.Artifact.Metadata
	return m == nil || !slices.ContainsFunc(m.Requires, func(q pkgmeta.Requirement) bool {
		return q.Name == name && !q.Admits(v)
	})
}

// read reports whether all libraries of a package that matter were read in a changed scenario, so
// that it shows that a version works.
func (w *trial) read(name string) bool {
	return !slices.ContainsFunc(w.found, func(x judge.Found) bool {
		return x.Unknown && x.Severity == result.Warning && x.Package == name
	})
}

// fitting returns the conditions for a version of a package that the versions of other fixes set:
// it requires none but these, and they require none but it.
func (t *Verifier) fitting(name string) (out []func(version string) bool) {
	for _, r := range t.base.Scenario.With {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil || q.Name == name {
			continue
		}
		pin, exact := q.Pin()
		if !exact {
			continue
		}
		other := t.releases.Get(q.Name, pin.String())
		out = append(out, func(version string) bool {
			own := t.releases.Get(name, version)
			return (own == nil || !excludes(own, q.Name, pin.String())) &&
				(other == nil || !excludes(other, name, version))
		})
	}
	return out
}

// jointSearches finds versions of a package that remove all findings for which another version
// is searched, so that these get the same fix instead of contradictory ones. Findings at both
// ends of a range have a failing version at each. A package with one finding, or without a
// version that helps, is not in the result.
func (t *Verifier) jointSearches(fresh []judge.Found) (map[string]*jointSearch, error) {
	groups := map[string]*jointSearch{}
	var order []string
	// A version need not remove warnings if there are errors, except those that are errors with the
	// oldest versions: the fix gives both bounds.
	least := result.Warning
	for _, x := range fresh {
		if x.Severity == result.Error {
			least = result.Error
		}
	}
	for _, x := range fresh {
		if x.Severity.Rank() < least.Rank() && !x.Lowered {
			continue
		}
		for _, candidate := range x.Candidates {
			q := candidate.Search
			if q == nil {
				continue
			}
			g := groups[q.Package]
			if g == nil {
				g = &jointSearch{}
				groups[q.Package] = g
				order = append(order, q.Package)
			}
			g.findings = append(g.findings, x)
			i := slices.IndexFunc(g.ends, func(e versionEnd) bool { return e.from == q.From })
			if i < 0 {
				i = len(g.ends)
				g.ends = append(g.ends, versionEnd{from: q.From})
			}
			g.ends[i].all = append(g.ends[i].all, q.Good)
		}
	}
	out := map[string]*jointSearch{}
	for _, name := range order {
		g := groups[name]
		if len(g.findings) < 2 {
			continue
		}
		offers, err := t.otherVersion(g.findings, name, g.ends)
		if err != nil {
			return nil, err
		}
		if len(offers) > 0 && offers[0].Verified {
			g.offers = offers
			out[name] = g
		}
	}
	return out, nil
}

// jointSearch is the search for a version of one package that removes several findings.
type jointSearch struct {
	findings []judge.Found
	ends     []versionEnd
	offers   []fix.Fix
}

// fixes returns the fixes for a finding: those that were tried for it, or those that remove it
// too.
func (g *jointSearch) fixes(t *Verifier, x judge.Found) ([]fix.Fix, error) {
	if slices.ContainsFunc(g.findings, func(y judge.Found) bool { return y.Finding == x.Finding }) {
		return g.offers, nil
	}
	var out []fix.Fix
	for _, offer := range g.offers {
		w, err := t.run(offer.Change.Apply(t.base.Scenario))
		if err != nil {
			return nil, err
		}
		if w != nil && t.fixes(w, x) {
			out = append(out, offer)
		}
	}
	return out, nil
}

// uncovered returns the findings of a changed scenario that could not be detected before,
// because a library of the object was missing: the change is correct, but not sufficient. It
// returns nil if one of xs still occurs, or the change breaks something else.
func (t *Verifier) uncovered(w *trial, xs []judge.Found) []judge.Found {
	if slices.ContainsFunc(xs, func(x judge.Found) bool { return w.left[x.Identity()] }) {
		return nil
	}
	var out []judge.Found
	for _, f := range w.found {
		switch {
		case !t.fresh(f.Finding):
		case f.Symbol == "" || !t.hidden[f.Object]:
			return nil
		default:
			out = append(out, f)
		}
	}
	return out
}

// reveal adds findings that occur only with a requirement to those without a fix. Their fixes
// are not tried.
func (t *Verifier) reveal(found []judge.Found, requirement string) {
	for _, x := range found {
		if t.before[x.Identity()] {
			continue
		}
		t.before[x.Identity()] = true
		x.RevealedBy = requirement
		x.Message += ". The error appears only when " + requirement + " is installed"
		x.Fixes = []fix.Fix{}
		for _, c := range x.Candidates {
			if c.Change == nil && c.Search == nil {
				x.Fixes = append(x.Fixes, c.Fix)
			}
		}
		t.revealed = append(t.revealed, x)
	}
	for _, w := range t.known {
		t.assess(w)
	}
}

// maxTogether limits how many packages one fix changes.
const maxTogether = 6

// together changes other packages in addition to the first: those that the change requires in
// another version, those whose requirement excludes it (to the nearest version without that
// requirement), and those with findings in the changed scenario. A requirement is tried as
// written, then at its lowest version, with which the requiring package was probably built. It
// returns nil if neither removes the findings.
func (t *Verifier) together(
	xs []judge.Found,
	first fix.Pin,
	name string,
	w *trial,
) (*fix.Fix, error) {
	for _, lowest := range []bool{false, true} {
		offer, err := t.moving(xs, first, name, w, lowest)
		if offer != nil || err != nil {
			return offer, err
		}
	}
	return nil, nil
}

func (t *Verifier) moving(
	xs []judge.Found,
	first fix.Pin,
	name string,
	w *trial,
	lowest bool,
) (*fix.Fix, error) {
	moved := []string{first.Requirement}
	change := fix.All{first}
	names := map[string]bool{name: true}
	for w != nil && len(moved) < maxTogether {
		next, more, required := t.nextPackage(w, names)
		if next == "" {
			break
		}
		implied := t.implied(next, more, required)
		if lowest {
			more = t.lowest(next, more)
		}
		more = t.concrete(more)
		names[next] = true
		moved = append(moved, more)
		change = append(change, fix.Pin{Requirement: more, Implied: implied})
		var err error
		if w, err = t.run(change.Apply(t.base.Scenario)); err != nil {
			return nil, err
		}
	}
	if w == nil || len(moved) == 1 || !t.fixes(w, xs...) ||
		len(newConflicts(t.costs(w.sets, w.with), t.conflicts)) > 0 {
		return nil, nil
	}
	return &fix.Fix{
		Kind:        fix.KindEnvironment,
		Title:       fix.Together(moved),
		Command:     "pip install " + shellword.Quoted(moved),
		Requirement: first.Requirement,
		Verified:    true,
		Cost:        w.cost,
		Change:      change,
	}, nil
}

// implied reports whether nextPackage found a package of which an installer chooses the version
// itself: no file names it, and one that was changed requires exactly this version.
func (t *Verifier) implied(name, requirement string, required bool) bool {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil || !required {
		return false
	}
	_, exact := q.Pin()
	return exact && t.session.Implied(name)
}

// lowest returns a requirement for the lowest version that a requirement allows, or the
// requirement itself if no version is known.
func (t *Verifier) lowest(name, requirement string) string {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		return requirement
	}
	s, err := pkgmeta.ParseSpec(q.Spec)
	listed, listErr := t.releases.Versions(name)
	if err != nil || listErr != nil {
		return requirement
	}
	for _, v := range packages.Sorted(listed) {
		if s.Contains(v) {
			return name + "==" + v.String()
		}
	}
	return requirement
}

// concrete returns a requirement for the newest version that a requirement allows, if the packages
// are those of an environment, whose files pin versions; of these, the newest that the other
// packages allow. It returns the requirement itself if no version is known.
func (t *Verifier) concrete(requirement string) string {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil || q.Spec == "" || !t.session.Pinned() {
		return requirement
	}
	s, err := pkgmeta.ParseSpec(q.Spec)
	listed, listErr := t.releases.Versions(q.Name)
	if _, pinned := s.Pin(); pinned || err != nil || listErr != nil {
		return requirement
	}
	for _, some := range [][]string{t.session.Admitted(q.Name, listed), listed} {
		for _, v := range slices.Backward(packages.Sorted(some)) {
			if !v.IsPreRelease() && s.Admits(v) {
				return q.Name + "==" + v.String()
			}
		}
	}
	return requirement
}

// nextPackage returns the next package that has to change in a changed scenario, and the
// requirement for it, or "" if there is none. required is set if one that was changed requires it.
func (t *Verifier) nextPackage(
	w *trial,
	moved map[string]bool,
) (name, requirement string, required bool) {
	for _, s := range w.sets {
		for _, c := range s.Conflicts {
			by := c.Release.Name
			switch {
			case slices.Contains(t.conflicts, conflictText(c)):
			case by != "" && moved[by] && !moved[c.Package]:
				return c.Package, c.Requirement, true
			case moved[c.Package] && by != "" && !moved[by]:
				if spec, ok := t.nearest(by, c.Release.Version, func(r *packages.Release) bool {
					return !excludes(r, c.Package, c.Chosen)
				}); ok {
					return by, by + spec, false
				}
			}
		}
	}
	for _, f := range w.found {
		if t.before[f.Identity()] {
			continue
		}
		for _, candidate := range f.Candidates {
			q := candidate.Search
			if q == nil || moved[q.Package] {
				continue
			}
			if l, ok := t.search(q.Package, q.From, q.Good); ok {
				if spans := l.spans(); len(spans) > 0 {
					parts := l.parts(spans[0])
					return q.Package, q.Package + parts[len(parts)-1].spec, false
				}
			}
		}
	}
	return "", "", false
}

// excludes reports whether a release's requirements exclude a version of a package.
func excludes(r *packages.Release, name, version string) bool {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
		return q.Name == name && !q.Admits(v)
	})
}

// deadlock describes the two requirements that contradict each other.
func deadlock(w *trial, known []string, name, spec string) string {
	for _, s := range w.sets {
		for _, c := range s.Conflicts {
			if c.Package != name || slices.Contains(known, conflictText(c)) {
				continue
			}
			return fmt.Sprintf(
				". %s%s conflicts with %s, which %s requires",
				name,
				spec,
				c.Requirement,
				c.By,
			)
		}
	}
	return ""
}
