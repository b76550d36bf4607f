package trial

import (
	"slices"
	"sort"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// span is a range of versions that may help: versions[low] to versions[high].
type span struct{ low, high int }

// versionSearch finds the nearest versions that help.
type versionSearch struct {
	versions []pkgmeta.Version // oldest first
	here     int               // index of the failing version
	good     func(i int) bool
}

// probes are the distances from the failing version at which others are looked up, because each
// may be a download. Near versions are looked up one by one. From a good one further away, a
// bisection finds the nearest.
var probes = []int{1, 2, 3, 4, 8, 16, 32}

// nearby is the distance up to which every newer version is looked up.
const nearby = 3

// newVersionSearch sorts the final versions of a package, including the failing one. ok is
// false if that version cannot be parsed.
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

// spans returns the nearest span of good versions on each side, the nearer one first. It looks
// up few versions, since each may be a download: first the neighbours; then the newest version
// and, if it is good, the first good one by bisection (symbols are rarely removed) or a nearby
// one; then versions further away, alternating between both sides. A newer span ends before the
// first bad version, found by bisection; an older span at the end of its minor release.
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
		// A nearer version may be good although others between are not: a private symbol that only
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
		if !l.good(last) { // find the first one after it that is not good
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

// reach returns the last good version of the same minor release in a direction, by bisection if
// not all are good.
func (l *versionSearch) reach(i, step int) int {
	end := l.minor(i, step)
	if l.good(end) {
		return end
	}
	return i + step*sort.Search((end-i)*step-1, func(n int) bool { return !l.good(i + step*(n+1)) })
}

// minor returns the last version of the same minor release in a direction.
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

// part is a part of a span, and the requirement for its versions.
type part struct {
	span
	spec string
}

// parts returns parts of a span, each smaller than the one before: all of it, the nearest version's
// major release, its minor release, only that version.
func (l *versionSearch) parts(s span) []part {
	nearest := s.low
	if s.low < l.here {
		nearest = s.high
	}
	out := []part{{s, l.between(s)}}
	for n := 1; n <= 2; n++ {
		same := func(i int) bool { return samePrefix(l.versions[i], l.versions[nearest], n) }
		t := span{nearest, nearest}
		for t.low > s.low && same(t.low-1) {
			t.low--
		}
		for t.high < s.high && same(t.high+1) {
			t.high++
		}
		out = append(out, part{t, l.between(t)})
	}
	out = append(out, part{span{nearest, nearest}, "==" + l.versions[nearest].String()})
	return slices.CompactFunc(out, func(a, b part) bool { return a.spec == b.spec })
}

// contains reports whether a span has the version of a requirement such as "==1.2".
func (l *versionSearch) contains(s span, spec string) bool {
	return slices.ContainsFunc(l.versions[s.low:s.high+1], func(v pkgmeta.Version) bool {
		return spec == "=="+v.String()
	})
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

// versionEnd is a failing version, with conditions for other versions.
type versionEnd struct {
	from string
	all  []func(version string) bool
}

func (e versionEnd) good(version string) bool {
	return !slices.ContainsFunc(e.all, func(good func(string) bool) bool { return !good(version) })
}

// helpful returns the spans of versions that may help at all ends, nearest first, or none if
// the versions cannot be parsed. With several ends it is the span between the lowest end and
// the highest.
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

// search searches other versions of a package. ok is false if the source does not know them.
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

// nearest returns a requirement for the versions of a package around the nearest one that good
// accepts.
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
