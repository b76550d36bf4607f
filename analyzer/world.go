package analyzer

import (
	"context"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// World answers what a rule asks of packages beyond those that are beside the artifact.
type World struct {
	ctx    context.Context
	source packages.Source
	on     packages.On
	// by NAME==VERSION on ARCH; nil where it is not to be had. Shared by all passes of a check
	asked map[string]*packages.Release
}

// maxAsked bounds for how many releases, beyond those beside the artifact, one check asks: each may
// be a download.
const maxAsked = 24

// release is one version of a package, nil when it is not to be had or when enough were asked for.
func (w *World) release(name, version string) *packages.Release {
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

// First finds the oldest version of a package above floor that good accepts, and the newest below
// it that it does not (floor where there is none between). ok is false when even the newest is no
// good, or when the source can't say.
func (w *World) First(
	name, floor string,
	good func(*packages.Release) bool,
) (version, bad string, ok bool) {
	version, bad, ok, err := packages.First(
		w.ctx,
		w.source,
		name,
		floor,
		func(v string) (bool, error) {
			r := w.release(name, v)
			if r == nil {
				return false, packages.ErrUnknown
			}
			return good(r), nil
		},
	)
	return version, bad, ok && err == nil
}

// OtherVersion is a search for another version of a package beside the artifact, to be tried as a
// fix: one that good accepts.
func (w *World) OtherVersion(r *packages.Release, good func(*packages.Release) bool) fix.Candidate {
	return fix.Candidate{
		Search: &fix.Search{Package: r.Name, From: r.Version, Good: func(version string) bool {
			o := w.release(r.Name, version)
			return o != nil && good(o)
		}},
	}
}

// Given tells whether the user named a package beside the artifact, so that a fix has to change
// that and not the artifact's own requirement.
func (p *Pass) Given(name string) bool { return given(p.given, name) }

func given(with []pkgmeta.Requirement, name string) bool {
	return slices.ContainsFunc(
		with,
		func(q pkgmeta.Requirement) bool { return q.Name == pkgmeta.Normalize(name) },
	)
}
