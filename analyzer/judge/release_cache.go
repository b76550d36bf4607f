package judge

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
)

// releaseCache caches releases during a check: a release of torch has 80,000 symbols. If its
// source cannot be reached, it uses the embedded history for the releases that the user pinned;
// it does not know which other versions exist. It is not safe for concurrent use.
type releaseCache struct {
	packages.Source
	noHistory bool // the embedded history is not used
	releases  map[releaseKey]*packages.Release
	offline   map[string]bool // packages that the history provided
}

type releaseKey struct {
	name, version string
	on            packages.Target
}

func newReleaseCache(source packages.Source, noHistory bool) *releaseCache {
	return &releaseCache{
		Source:    source,
		noHistory: noHistory,
		releases:  map[releaseKey]*packages.Release{},
		offline:   map[string]bool{},
	}
}

// Release implements packages.Source.
func (o *releaseCache) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	key := releaseKey{name, version, on}
	if r := o.releases[key]; r != nil {
		return r, nil
	}
	r, err := o.Source.Release(ctx, name, version, on)
	if !o.noHistory && errors.Is(err, packages.ErrUnreachable) {
		if known, e := packages.History().Release(ctx, name, version, on); e == nil && known.Known {
			o.offline[name] = true
			r, err = known, nil
		}
	}
	if err == nil {
		o.releases[key] = r
	}
	return r, err
}

// Versions implements packages.Source. The history knows versions for a fix: a package that it
// answered for is pinned, so none of them is chosen for the environment.
func (o *releaseCache) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	versions, err := o.Source.Versions(ctx, name, on)
	if o.offline[name] && errors.Is(err, packages.ErrUnreachable) {
		return packages.History().Versions(ctx, name, on)
	}
	return versions, err
}

// note returns a sentence about the packages that the history provided, or "".
func (o *releaseCache) note() string {
	if len(o.offline) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(o.offline))
	return "the package index could not be reached; the built-in package history was used for " +
		strings.Join(names, ", ")
}
