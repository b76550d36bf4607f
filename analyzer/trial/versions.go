package trial

import (
	"slices"
	"sort"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// span is a row of versions that all look as if they help: versions[low] to versions[high].
type span struct{ low, high int }

// versionSearch finds the versions nearest to the one at fault that help.
type versionSearch struct {
	versions []pkgmeta.Version // oldest first
	here     int               // the one at fault
	good     func(i int) bool
}

// probes are the distances from the version at fault at which others are looked up: each may be a
// download. Near versions are looked up one by one, and from a good one that is further away a
// bisection finds the nearest.
var probes = []int{1, 2, 3, 4, 8, 16, 32}

// nearby is the distance up to which every newer version is looked up.
const nearby = 3

// newVersionSearch sorts the final versions of a package, with the one at fault among them. ok is
// false where that can't be parsed.
func newVersionSearch(
	listed []string,
	from string,
	good func(version string) bool,
) (l *versionSearch, ok bool) {
	at, err := pkgmeta.ParseVersion(from)
	if err != nil {
		return nil, false
	}
	versions := slices.DeleteFunc(
		packages.Sorted(listed),
		func(v pkgmeta.Version) bool { return v.IsPreRelease() || v.Compare(at) == 0 },
	)
	here, _ := slices.BinarySearchFunc(versions, at, pkgmeta.Version.Compare)
	l = &versionSearch{versions: slices.Insert(versions, here, at), here: here}
	l.good = func(i int) bool { return i != here && good(l.versions[i].String()) }
	return l, true
}

// spans finds the nearest row of good versions on each side, the nearer one first. It looks up few
// versions, since each may be a download: the neighbours; then the newest one, and where that is
// good the first good one by bisection, because symbols are rarely removed, or a nearby one; then
// those further away, on both sides in turn. A row above the version at fault ends before the first
// bad version, by bisection; one below it where its minor release ends.
func (l *versionSearch) spans() []span {
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
		// A nearer version may be good where others between are not: a private symbol that only
		// some builds have.
		for d := 2; d <= nearby && d < above-l.here; d++ {
			if l.good(l.here + d) {
				above = l.here + d
			}
		}
	}
	for n := 1; n < len(probes) && below < 0 && (above < 0 || probes[n] < above-l.here); n++ {
		look(n)
	}
	var out []span
	if above >= 0 {
		high := last
		if !l.good(last) { // the first one after it that is not good
			high = above + sort.Search(last-above, func(i int) bool { return !l.good(above + 1 + i) })
		}
		out = append(out, span{above, high})
	}
	if below >= 0 {
		out = append(out, span{l.reach(below, -1), below})
	}
	slices.SortStableFunc(out, func(a, b span) int { return l.distance(a) - l.distance(b) })
	return out
}

// reach is the last good version of the same minor release in a direction, found by bisection where
// not all of them are good.
func (l *versionSearch) reach(i, step int) int {
	end := l.minor(i, step)
	if l.good(end) {
		return end
	}
	return i + step*sort.Search((end-i)*step-1, func(n int) bool { return !l.good(i + step*(n+1)) })
}

// minor is the last version of the same minor release in a direction.
func (l *versionSearch) minor(i, step int) int {
	for i+step >= 0 && i+step < len(l.versions) && i+step != l.here &&
		samePrefix(l.versions[i+step], l.versions[i], 2) {
		i += step
	}
	return i
}

func (l *versionSearch) distance(s span) int {
	if s.low > l.here {
		return s.low - l.here
	}
	return l.here - s.high
}

// specs writes a span as requirements, each narrower than the one before: all of it, the nearest
// version's major release, its minor release, that version alone.
func (l *versionSearch) specs(s span) []string {
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

func (l *versionSearch) between(s span) string {
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

// versionEnd is a version at fault, and what has to hold of another one.
type versionEnd struct {
	from string
	all  []func(version string) bool
}

func (e versionEnd) good(version string) bool {
	return !slices.ContainsFunc(e.all, func(good func(string) bool) bool { return !good(version) })
}

// helpful finds the spans of versions that look as if they help against what is wrong at all ends,
// the nearest first; none where the versions can't be parsed. With several ends it is the span
// between the lowest end and the highest.
func helpful(listed []string, ends []versionEnd) (*versionSearch, []span) {
	version := func(e versionEnd) pkgmeta.Version {
		v, _ := pkgmeta.ParseVersion(e.from) // newVersionSearch reports the error
		return v
	}
	slices.SortFunc(ends, func(a, b versionEnd) int { return version(a).Compare(version(b)) })
	lowest, highest := ends[0], ends[len(ends)-1]
	l, ok := newVersionSearch(listed, lowest.from, lowest.good)
	switch {
	case !ok:
		return nil, nil
	case len(ends) == 1:
		return l, l.spans()
	}
	end, _ := slices.BinarySearchFunc(l.versions, version(highest), pkgmeta.Version.Compare)
	between := end - l.here - 1
	first := l.here + 1 + sort.Search(between, func(i int) bool { return l.good(l.here + 1 + i) })
	last := end - 1 - sort.Search(between, func(i int) bool {
		return highest.good(l.versions[end-1-i].String())
	})
	if between < 1 || first > last {
		return l, nil
	}
	return l, []span{{first, last}}
}

// search looks for other versions of a package. ok is false where the source does not know them.
func (t *Verifier) search(
	name, from string,
	good func(version string) bool,
) (l *versionSearch, ok bool) {
	listed, err := t.releases.Versions(name)
	if err != nil {
		return nil, false
	}
	return newVersionSearch(listed, from, good)
}

// nearest is a requirement on the versions of a package around the nearest one that good accepts.
func (t *Verifier) nearest(
	name, version string,
	good func(*packages.Release) bool,
) (spec string, ok bool) {
	l, ok := t.search(
		name,
		version,
		func(v string) bool { r := t.releases.Get(name, v); return r != nil && good(r) },
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
