package judge

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
)

// once is a source that keeps each release for a check: a release of torch has 80,000 symbols.
// Where its source can't be reached the embedded history answers for the releases that it knows,
// which are those that the user pinned: other versions of a package may exist. It is for one
// goroutine.
type once struct {
	packages.Source
	noHistory bool // the embedded history is not used
	releases  map[releaseKey]*packages.Release
	offline   map[string]bool // packages that the history answered for
}

type releaseKey struct {
	name, version string
	on            packages.Target
}

func newOnce(source packages.Source, noHistory bool) *once {
	return &once{
		Source:    source,
		noHistory: noHistory,
		releases:  map[releaseKey]*packages.Release{},
		offline:   map[string]bool{},
	}
}

// Release implements packages.Source.
func (o *once) Release(
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

// note is a sentence about the packages that the history answered for; "" where there are none.
func (o *once) note() string {
	if len(o.offline) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(o.offline))
	return "the package index could not be reached; the built-in history was used for " +
		strings.Join(names, ", ")
}
