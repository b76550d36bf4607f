package judge

import (
	"context"

	"github.com/compat-app/compat/analyzer/packages"
)

// once is a source that keeps each release for a check: a release of torch has 80,000 symbols. It is
// for one goroutine.
type once struct {
	packages.Source
	releases map[releaseKey]*packages.Release
}

type releaseKey struct {
	name, version string
	on            packages.On
}

func newOnce(source packages.Source) *once {
	return &once{source, map[releaseKey]*packages.Release{}}
}

// Release implements packages.Source.
func (o *once) Release(
	ctx context.Context,
	name, version string,
	on packages.On,
) (*packages.Release, error) {
	key := releaseKey{name, version, on}
	if r := o.releases[key]; r != nil {
		return r, nil
	}
	r, err := o.Source.Release(ctx, name, version, on)
	if err == nil {
		o.releases[key] = r
	}
	return r, err
}
