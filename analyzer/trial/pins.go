package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
)

// otherVersion finds the smallest change of a package's version that removes a finding, tries it, and
// writes the fixes: the change alone and, where it breaks another package's requirement, one that
// changes the other packages too.
func (t *verifier) otherVersion(x judge.Found, q *fix.Search) ([]fix.Fix, error) {
	l, ok := t.search(q.Package, q.From, q.Good)
	if !ok {
		return nil, nil
	}
	var uncovers *fix.Fix
	for _, s := range l.spans() {
		for _, spec := range l.specs(s) {
			want := q.Package + spec
			change := fix.Pin{Requirement: want, Direct: !t.session.Given(q.Package)}
			changed := change.Apply(t.base.Scenario)
			w, err := t.run(changed)
			if err != nil || w == nil {
				return nil, err
			}
			offer := fix.Fix{
				Kind:        fix.KindPin,
				Title:       "Pin " + want,
				Command:     want,
				Requirement: want,
			}
			alone := t.fixes(w, x)
			if alone {
				offer.Verified, offer.Cost = true, t.cost(w)
				if len(newConflicts(conflicts(w.sets), t.conflicts)) == 0 {
					return []fix.Fix{offer}, nil
				}
			}
			if next := t.uncovered(w, x); uncovers == nil && next != "" {
				offer.Cost = append(t.cost(w), next)
				uncovers = &offer
			}
			together, err := t.together(x, q.Package, want, changed, w)
			switch {
			case err != nil:
				return nil, err
			case alone && together == nil:
				x.Message += deadlock(w, t.conflicts, q.Package, spec)
				return []fix.Fix{offer}, nil
			case alone:
				return []fix.Fix{offer, *together}, nil
			case together != nil:
				return []fix.Fix{*together}, nil
			}
		}
	}
	if uncovers != nil {
		return []fix.Fix{*uncovers}, nil
	}
	return nil, nil
}

// uncovered describes what a changed scenario shows that could not be seen before, because the object
// lacked a whole library: the change is right, but not enough. "" where the finding is still there,
// or the change breaks something else.
func (t *verifier) uncovered(w *trial, x judge.Found) string {
	if w.left[x.Identity()] {
		return ""
	}
	var first string
	for _, f := range w.found {
		switch {
		case f.Severity == result.Note || t.before[f.Identity()] || asksSystem(f.Finding):
		case f.Symbol == "" || !t.hidden[f.Object]:
			return ""
		case first == "":
			first = "not enough by itself: then " + result.Versioned(
				f.Symbol,
				f.Version,
			) + " of " + f.Object + " is not found"
		}
	}
	return first
}

// maxTogether bounds how many packages one fix changes.
const maxTogether = 6

// together changes other packages along with one: those that the change requires in another version,
// those whose requirement excludes it (to the nearest version without that), and those in which the
// changed scenario finds something broken. A requirement is used as it is written, or else at its
// lowest version, for which the requiring package was built. nil where neither removes the finding.
func (t *verifier) together(
	x judge.Found,
	name, want string,
	changed fix.Scenario,
	w *trial,
) (*fix.Fix, error) {
	for _, lowest := range []bool{false, true} {
		offer, err := t.moving(x, name, want, changed, w, lowest)
		if offer != nil || err != nil {
			return offer, err
		}
	}
	return nil, nil
}

func (t *verifier) moving(
	x judge.Found,
	name, want string,
	changed fix.Scenario,
	w *trial,
	lowest bool,
) (*fix.Fix, error) {
	moved := []string{want}
	names := map[string]bool{name: true}
	for w != nil && len(moved) < maxTogether {
		next, more := t.follow(w, names)
		if next == "" {
			break
		}
		if lowest {
			more = t.lowest(next, more)
		}
		names[next] = true
		moved = append(moved, more)
		changed = fix.Pin{Requirement: more}.Apply(changed)
		var err error
		if w, err = t.run(changed); err != nil {
			return nil, err
		}
	}
	if w == nil || len(moved) == 1 || !t.fixes(w, x) ||
		len(newConflicts(conflicts(w.sets), t.conflicts)) > 0 {
		return nil, nil
	}
	command := "pip install"
	for _, m := range moved {
		command += " '" + m + "'"
	}
	return &fix.Fix{
		Kind:        fix.KindEnvironment,
		Title:       "Change together: " + strings.Join(moved, ", "),
		Command:     command,
		Requirement: want,
		Verified:    true,
		Cost:        t.cost(w),
	}, nil
}

// lowest narrows a requirement to the lowest version that it admits; the requirement itself where
// none is known.
func (t *verifier) lowest(name, requirement string) string {
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

// follow returns the next package that has to change in a changed scenario, and the requirement on it;
// "" where nothing more can be done.
func (t *verifier) follow(w *trial, moved map[string]bool) (name, requirement string) {
	for _, s := range w.sets {
		for _, c := range s.Conflicts {
			by := c.Release.Name
			switch {
			case slices.Contains(t.conflicts, conflictText(c)):
			case by != "" && moved[by] && !moved[c.Package]:
				return c.Package, c.Requirement
			case moved[c.Package] && by != "" && !moved[by]:
				if spec, ok := t.nearest(by, c.Release.Version, func(r *packages.Release) bool { return !excludes(r, c.Package, c.Chosen) }); ok {
					return by, by + spec
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
					specs := l.specs(spans[0])
					return q.Package, q.Package + specs[len(specs)-1]
				}
			}
		}
	}
	return "", ""
}

// excludes reports whether a release's requirements exclude a version of a package.
func excludes(r *packages.Release, name, version string) bool {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
		s, err := pkgmeta.ParseSpec(q.Spec)
		return q.Name == name && err == nil && !s.Admits(v)
	})
}

// deadlock describes which two requirements contradict each other.
func deadlock(w *trial, known []string, name, spec string) string {
	for _, s := range w.sets {
		for _, c := range s.Conflicts {
			if c.Package != name || slices.Contains(known, conflictText(c)) {
				continue
			}
			return fmt.Sprintf(
				"; %s%s, which it takes, and %s, which %s requires, cannot hold together",
				name,
				spec,
				c.Requirement,
				c.By,
			)
		}
	}
	return ""
}
