package analyzer

import (
	"context"

	"github.com/compat-app/compat/analyzer/stack"
)

// once asks a source for each release only once in a check: a release of torch has 80,000 symbols. It is for one goroutine.
type once struct {
	stack.Source
	releases map[releaseKey]*stack.Release
}

type releaseKey struct {
	name, version string
	on            stack.On
}

func newOnce(source stack.Source) *once {
	return &once{source, map[releaseKey]*stack.Release{}}
}

// Release implements stack.Source.
func (o *once) Release(ctx context.Context, name, version string, on stack.On) (*stack.Release, error) {
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
