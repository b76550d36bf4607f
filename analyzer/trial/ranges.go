package trial

import (
	"fmt"
	"slices"
	"sort"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

const (
	// trials in addition to those of fixes; a bisection of a thousand versions needs 10
	maxRangeTrials = 24
	maxSuspects    = 4 // packages that are tried as the cause
)

// ranges determines for each finding that occurs at only one end of the declared ranges which
// package it depends on, and at which version it starts.
func (t *Verifier) ranges(sets []*packages.Set, fresh []judge.Found) error {
	if len(sets) < 2 {
		return nil
	}
	t.most = len(t.known) + maxRangeTrials
	for _, x := range fresh {
		if x.Severity == result.Note || x.Unknown || x.At[0] == x.At[1] {
			continue // of what was not read, it is not known in which releases it is
		}
		r, err := t.rangeOf(x, sets[0], sets[1])
		if err != nil {
			return err
		}
		if r == nil {
			end := packages.Highest
			if x.At[0] {
				end = packages.Lowest
			}
			x.OnlyAt = end
			x.Message += fmt.Sprintf(
				". It occurs only with the %s allowed versions of the dependencies",
				end,
			)
			continue
		}
		x.Range = r
		x.Message += r.String()
	}
	return nil
}

// rangeOf returns nil if the finding does not depend on a single package, or the limit of
// trials is reached.
func (t *Verifier) rangeOf(x judge.Found, low, high *packages.Set) (*result.Range, error) {
	bad, good, fails := high, low, packages.Highest
	if x.At[0] {
		bad, good, fails = low, high, packages.Lowest
	}
	suspects := 0
	// try the package of the finding first, and then those that have the library in some version
	likely := func(r *packages.Release) int {
		return 2*boolToInt(r.Name == x.Package) + boolToInt(x.Library != "" &&
			slices.ContainsFunc(r.Libraries, func(l packages.Library) bool {
				return platform.OfFamily(x.Library)(l.Path)
			}))
	}
	releases := slices.Collect(bad.All())
	slices.SortStableFunc(releases, func(a, b *packages.Release) int { return likely(b) - likely(a) })
	for _, at := range releases {
		other := good.Release(at.Name)
		if other == nil || other.Version == at.Version || suspects >= maxSuspects {
			continue
		}
		suspects++
		left, known, err := t.shows(x, at.Name, other.Version)
		if err != nil {
			return nil, err
		}
		if known && !left {
			return t.bisect(x, at.Name, low.Release(at.Name).Version, high.Release(at.Name).Version, fails)
		}
	}
	return nil, nil
}

// shows reports whether a finding occurs with a version of a package. known is false if that
// cannot be determined or the limit of trials is reached.
func (t *Verifier) shows(x judge.Found, name, version string) (left, known bool, err error) {
	w, err := t.run(
		fix.Pin{
			Requirement: name + "==" + version,
			Direct:      !t.session.Given(name),
		}.Apply(t.base.Scenario),
	)
	if err != nil || w == nil {
		return false, false, err
	}
	for _, s := range w.sets {
		if r := s.Release(name); r == nil || !r.Known || r.Version != version {
			return false, false, nil
		}
	}
	return w.left[x.Identity()], true, nil
}

func (t *Verifier) bisect(x judge.Found, name, lowest, highest string,
	fails packages.End) (*result.Range, error) {
	listed, err := t.releases.Versions(name)
	if err != nil {
		// an error of the source is not an error of the check
		return nil, t.ctx.Err() //nolint:nilerr
	}
	from, errFrom := pkgmeta.ParseVersion(lowest)
	to, errTo := pkgmeta.ParseVersion(highest)
	if errFrom != nil || errTo != nil {
		return nil, nil //nolint:nilerr // versions that cannot be parsed have none between them
	}
	requirement, spec := t.declared(name)
	versions := slices.DeleteFunc(packages.Sorted(listed), func(v pkgmeta.Version) bool {
		end := v.Compare(from) == 0 || v.Compare(to) == 0
		return v.Compare(from) < 0 || v.Compare(to) > 0 ||
			!end && (v.IsPreRelease() || !spec.Admits(v))
	})
	if len(versions) < 2 {
		return nil, nil
	}
	unknown := false
	first := 1 + sort.Search(len(versions)-2, func(i int) bool {
		left, known, e := t.shows(x, name, versions[i+1].String())
		unknown = unknown || !known
		if e != nil {
			err = e
		}
		return left == (fails == packages.Highest)
	})
	if err != nil || unknown {
		return nil, err
	}
	return &result.Range{
		Package:     name,
		Requirement: requirement,
		Lowest:      lowest,
		Highest:     highest,
		Fails:       fails,
		Before:      versions[first-1].String(),
		First:       versions[first].String(),
	}, nil
}

// declared returns the requirement of the user or the artifact on a package, or its name and an
// unlimited range if there is none.
func (t *Verifier) declared(name string) (requirement string, spec pkgmeta.Spec) {
	for _, q := range t.session.Requirements(t.base.Artifact) {
		if s, err := pkgmeta.ParseSpec(q.Spec); q.Name == name && err == nil {
			return q.Name + q.Spec, s
		}
	}
	return name, spec
}
