package analyzer

import (
	"context"
	"slices"
	"sort"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/stack"
)

// World answers what a rule asks of packages beyond those that are beside the artifact.
type World struct {
	ctx    context.Context
	source stack.Source
	on     stack.On
	asked  map[string]*stack.Release // by NAME==VERSION on ARCH; nil where it is not to be had. Shared by all passes of a check
}

// maxAsked bounds for how many releases, beyond those beside the artifact, one check asks: each may be a download.
const maxAsked = 24

// release is one version of a package, nil when it is not to be had or when enough were asked for.
func (w *World) release(name, version string) *stack.Release {
	key := name + "==" + version + " on " + w.on.Arch
	if r, ok := w.asked[key]; ok || len(w.asked) >= maxAsked {
		return r
	}
	r, err := w.source.Release(w.ctx, name, version, w.on)
	if err != nil {
		r = nil
	}
	w.asked[key] = r
	return r
}

// First finds the oldest version of a package above floor that good accepts, and the newest below it that it does not (floor where there is
// none between). ok is false when even the newest is no good, or when the source can't say.
func (w *World) First(name, floor string, good func(*stack.Release) bool) (version, bad string, ok bool) {
	version, bad, ok, err := stack.First(w.ctx, w.source, name, floor, func(v string) (bool, error) {
		r := w.release(name, v)
		if r == nil {
			return false, stack.ErrUnknown
		}
		return good(r), nil
	})
	return version, bad, ok && err == nil
}

// maxProbes bounds how many other versions of a package are asked for: each may be a download.
const maxProbes = 12

// Nearest finds the versions of a package around the one nearest to the given version, later ones first, that good accepts, as the narrowest
// requirement that admits all of those in a row: ">=1.12.21,<1.13". ok is false when none of those probed is good.
func (w *World) Nearest(name, version string, good func(*stack.Release) bool) (spec string, ok bool) {
	listed, err := w.source.Versions(w.ctx, name)
	if err != nil {
		return "", false
	}
	at, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return "", false
	}
	versions := slices.DeleteFunc(stack.Sorted(listed), func(v pkgmeta.Version) bool { return v.IsPreRelease() || v.Compare(at) == 0 })
	here, _ := slices.BinarySearchFunc(versions, at, pkgmeta.Version.Compare)
	versions = slices.Insert(versions, here, at)
	fits := func(i int) bool {
		if i == here {
			return false
		}
		r := w.release(name, versions[i].String())
		return r != nil && good(r)
	}
	found := -1
	for d := 1; d <= maxProbes/2 && found < 0; d++ {
		if here+d < len(versions) && fits(here+d) {
			found = here + d
		} else if here-d >= 0 && fits(here-d) {
			found = here - d
		}
	}
	if found < 0 {
		return "", false
	}
	// The row of good versions around found ends at the given one at the latest; its ends are found by bisection.
	from, to := here, len(versions)
	if found < here {
		from, to = 0, here+1
	}
	low := from + sort.Search(found-from, func(i int) bool { return fits(from + i) })
	high := found + 1 + sort.Search(to-found-1, func(i int) bool { return !fits(found + 1 + i) })
	var below, beyond string
	if low > 0 {
		below = versions[low-1].String()
	}
	if high < len(versions) {
		beyond = versions[high].String()
	}
	return stack.Between(below, versions[low].String(), versions[high-1].String(), beyond), true
}

// Given tells whether the user named a package beside the artifact, so that a fix has to change that and not the artifact's own requirement.
func (p *Pass) Given(name string) bool {
	for _, w := range p.given {
		if w.Name == pkgmeta.Normalize(name) {
			return true
		}
	}
	return false
}
