package analyzer

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// span is a row of versions, each of which looks as if it helped: versions[low] to versions[high].
type span struct{ low, high int }

// ladder is the versions of a package around the one at fault.
type ladder struct {
	versions []pkgmeta.Version // oldest first
	here     int               // the one at fault
	good     func(i int) bool
}

// probes are the distances at which other versions are asked for on each side of the one at fault:
// each may be a download. What is near is looked at one by one, and behind the first good one
// further off a bisection finds the nearest.
var probes = []int{1, 2, 3, 4, 8, 16, 32}

// newLadder lists the final versions of a package with the one at fault among them.
func (w *World) newLadder(name, from string, good func(version string) bool) (*ladder, bool) {
	listed, err := w.source.Versions(w.ctx, name)
	if err != nil {
		return nil, false
	}
	at, err := pkgmeta.ParseVersion(from)
	if err != nil {
		return nil, false
	}
	versions := slices.DeleteFunc(
		packages.Sorted(listed),
		func(v pkgmeta.Version) bool { return v.IsPreRelease() || v.Compare(at) == 0 },
	)
	here, _ := slices.BinarySearchFunc(versions, at, pkgmeta.Version.Compare)
	l := &ladder{versions: slices.Insert(versions, here, at), here: here}
	l.good = func(i int) bool { return i != here && good(l.versions[i].String()) }
	return l, true
}

// spans finds the nearest row of good versions on each side, the nearer one first. It asks for few
// versions, since each may be a download: the neighbours; then the newest one, and where that is
// good the first good one by bisection however far it lies, for symbols are rarely taken away; then
// those further off, side by side. A row is followed to the newest version, or as far as its minor
// release goes.
func (l *ladder) spans() []span {
	above, below := -1, -1
	last := len(l.versions) - 1
	look := func(n int) {
		nearer := 0
		if n > 0 {
			nearer = probes[n-1]
		}
		if d := min(probes[n], last-l.here); above < 0 && d > nearer && l.good(l.here+d) {
			above = l.here + nearer + 1 + sort.Search(
				d-nearer-1,
				func(i int) bool { return l.good(l.here + nearer + 1 + i) },
			)
		}
		if d := min(probes[n], l.here); below < 0 && d > nearer && l.good(l.here-d) {
			below = l.here - nearer - 1 - sort.Search(
				d-nearer-1,
				func(i int) bool { return l.good(l.here - nearer - 1 - i) },
			)
		}
	}
	look(0)
	if above < 0 && below < 0 && last > l.here+1 && l.good(last) {
		above = l.here + 2 + sort.Search(
			last-l.here-2,
			func(i int) bool { return l.good(l.here + 2 + i) },
		)
	}
	for n := 1; n < len(probes) && below < 0 && (above < 0 || probes[n] < above-l.here); n++ {
		look(n)
	}
	var out []span
	if above >= 0 {
		high := last
		if !l.good(last) {
			high = l.reach(above, 1)
		}
		out = append(out, span{above, high})
	}
	if below >= 0 {
		out = append(out, span{l.reach(below, -1), below})
	}
	slices.SortStableFunc(out, func(a, b span) int { return l.distance(a) - l.distance(b) })
	return out
}

// reach is the last good version in a direction, as far as its minor release goes: found by
// bisection where that is not good to its end.
func (l *ladder) reach(i, step int) int {
	end := l.minor(i, step)
	if l.good(end) {
		return end
	}
	return i + step*sort.Search((end-i)*step-1, func(n int) bool { return !l.good(i + step*(n+1)) })
}

// minor is the last version in a direction that is of the same minor release.
func (l *ladder) minor(i, step int) int {
	for i+step >= 0 && i+step < len(l.versions) && i+step != l.here && samePrefix(l.versions[i+step], l.versions[i], 2) {
		i += step
	}
	return i
}

func (l *ladder) distance(s span) int {
	if s.low > l.here {
		return s.low - l.here
	}
	return l.here - s.high
}

// specs writes a span as requirements, each narrower than the one before: all of it, the nearest
// version's major and minor release, that version alone.
func (l *ladder) specs(s span) []string {
	nearest := s.low
	if s.low < l.here {
		nearest = s.high
	}
	out := []string{l.between(s)}
	for n := 1; n <= 2; n++ {
		same := func(i int) bool { return samePrefix(l.versions[i], l.versions[nearest], n) }
		t := span{nearest, nearest}
		for t.low > s.low && same(t.low-1) {
			t.low--
		}
		for t.high < s.high && same(t.high+1) {
			t.high++
		}
		out = append(out, l.between(t))
	}
	return slices.Compact(append(out, "=="+l.versions[nearest].String()))
}

func (l *ladder) between(s span) string {
	var below, beyond string
	if s.low > 0 {
		below = l.versions[s.low-1].String()
	}
	if s.high+1 < len(l.versions) {
		beyond = l.versions[s.high+1].String()
	}
	return packages.Between(below, l.versions[s.low].String(), l.versions[s.high].String(), beyond)
}

func samePrefix(a, b pkgmeta.Version, n int) bool {
	x, y := a.Release(), b.Release()
	return len(x) >= n && len(y) >= n && slices.Equal(x[:n], y[:n])
}

// search finds the smallest change of a package's version that removes a finding, tries it, and
// writes the fixes: the change alone and, where it breaks a requirement of somebody else, one with
// the others that have to move with it.
func (t *tries) search(x judged, q *fix.Search) ([]fix.Fix, error) {
	l, ok := t.world.newLadder(q.Package, q.From, q.Good)
	if !ok {
		return nil, nil
	}
	var uncovers *fix.Fix
	for _, s := range l.spans() {
		for _, spec := range l.specs(s) {
			want := q.Package + spec
			change := fix.Pin{Requirement: want, Direct: !given(t.check.with, q.Package)}
			changed := change.Apply(t.scenario)
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
			alone := t.mends(w, x)
			if alone {
				offer.Verified, offer.Cost = true, t.cost(w)
				if len(newConflicts(conflicts(w.sets), t.conflicts)) == 0 {
					return []fix.Fix{offer}, nil
				}
			}
			if behind := t.behind(w, x); uncovers == nil && behind != "" {
				offer.Cost = append(t.cost(w), behind)
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

// behind says what a changed world shows that could not be seen before, because the object lacked a
// whole library: the change is right, and not enough. "" where the finding is still there, or
// something else broke.
func (t *tries) behind(w *trial, x judged) string {
	if w.left[x.Identity()] {
		return ""
	}
	var first string
	for _, f := range w.found {
		switch {
		case f.Severity == Note || t.before[f.Identity()] || asksSystem(f.Finding):
		case f.Symbol == "" || !t.hidden[f.Object]:
			return ""
		case first == "":
			first = "not enough by itself: then " + Versioned(
				f.Symbol,
				f.Version,
			) + " of " + f.Object + " is not found"
		}
	}
	return first
}

// maxTogether bounds how many packages one fix moves.
const maxTogether = 6

// together moves other packages along with one that was changed: those that the change requires in
// another version, those whose requirement stands against it (the nearest version without that),
// and those in which the changed world finds something broken. What is required is taken as it is
// written, or else at its lowest version, for which the one that requires it was built. nil where
// neither mends the finding.
func (t *tries) together(
	x judged,
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

func (t *tries) moving(
	x judged,
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
			more = t.world.lowest(next, more)
		}
		names[next] = true
		moved = append(moved, more)
		changed = fix.Pin{Requirement: more}.Apply(changed)
		var err error
		if w, err = t.run(changed); err != nil {
			return nil, err
		}
	}
	if w == nil || len(moved) == 1 || !t.mends(w, x) ||
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
func (w *World) lowest(name, requirement string) string {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		return requirement
	}
	s, err := pkgmeta.ParseSpec(q.Spec)
	listed, listErr := w.source.Versions(w.ctx, name)
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

// follow names the next package that has to move in a changed world, and the requirement on it. ""
// where nothing more can be done.
func (t *tries) follow(w *trial, moved map[string]bool) (name, requirement string) {
	for _, s := range w.sets {
		for _, c := range s.Conflicts {
			by := c.Release.Name
			switch {
			case slices.Contains(t.conflicts, conflictText(c)):
			case by != "" && moved[by] && !moved[c.Package]:
				return c.Package, c.Requirement
			case moved[c.Package] && by != "" && !moved[by]:
				if spec, ok := t.world.nearest(by, c.Release.Version, func(r *packages.Release) bool { return !stands(r, c.Package, c.Chosen) }); ok {
					return by, by + spec
				}
			}
		}
	}
	for _, f := range w.found {
		if t.before[f.Identity()] {
			continue
		}
		for _, candidate := range f.candidates {
			q := candidate.Search
			if q == nil || moved[q.Package] {
				continue
			}
			if l, ok := t.world.newLadder(q.Package, q.From, q.Good); ok {
				if spans := l.spans(); len(spans) > 0 {
					specs := l.specs(spans[0])
					return q.Package, q.Package + specs[len(specs)-1]
				}
			}
		}
	}
	return "", ""
}

// stands tells whether a release's requirements refuse a version of a package.
func stands(r *packages.Release, name, version string) bool {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
		s, err := pkgmeta.ParseSpec(q.Spec)
		return q.Name == name && err == nil && !s.Admits(v)
	})
}

// nearest is the narrow requirement on the versions of a package around the nearest one that good
// accepts.
func (w *World) nearest(
	name, version string,
	good func(*packages.Release) bool,
) (spec string, ok bool) {
	l, ok := w.newLadder(
		name,
		version,
		func(v string) bool { r := w.release(name, v); return r != nil && good(r) },
	)
	if !ok {
		return "", false
	}
	spans := l.spans()
	if len(spans) == 0 {
		return "", false
	}
	return l.between(spans[0]), true
}

// deadlock says which two requirements cannot hold together.
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
