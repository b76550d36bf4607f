package analyzer

import (
	"context"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/stack"
)

// World answers what a rule asks of packages beyond those that are beside the artifact.
type World struct {
	ctx    context.Context
	source stack.Source
	on     stack.On
}

// First finds the oldest version of a package above floor that good accepts, and the newest below it that it does not (floor where there is
// none between). ok is false when even the newest is no good, or when the source can't say.
func (w *World) First(name, floor string, good func(*stack.Release) bool) (version, bad string, ok bool) {
	version, bad, ok, err := stack.First(w.ctx, w.source, name, floor, func(v string) (bool, error) {
		r, err := w.source.Release(w.ctx, name, v, w.on)
		if err != nil {
			return false, err
		}
		return good(r), nil
	})
	return version, bad, ok && err == nil
}

// maxProbes bounds how many other versions of a package are asked for: each may be a download.
const maxProbes = 12

// Nearest finds the version of a package nearest to the given one, later ones first, that good accepts; "" when none of those probed is.
func (w *World) Nearest(name, version string, good func(*stack.Release) bool) string {
	listed, err := w.source.Versions(w.ctx, name)
	if err != nil {
		return ""
	}
	at, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return ""
	}
	var later, earlier []string
	for _, v := range stack.Sorted(listed) {
		switch n := v.Compare(at); {
		case v.IsPreRelease():
		case n > 0:
			later = append(later, v.String())
		case n < 0:
			earlier = append([]string{v.String()}, earlier...)
		}
	}
	for i := 0; i < maxProbes/2; i++ {
		for _, side := range [][]string{later, earlier} {
			if i >= len(side) {
				continue
			}
			if r, err := w.source.Release(w.ctx, name, side[i], w.on); err == nil && good(r) {
				return side[i]
			}
		}
	}
	return ""
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
