package judge

import (
	"context"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
)

// Releases looks up releases that are not in the package set, for one artifact.
type Releases struct {
	ctx    context.Context
	source packages.Source
	on     packages.Target
	cache  map[releaseOn]*packages.Release // nil where it could not be had; shared by a session
}

// releaseOn is a release on an architecture.
type releaseOn struct {
	packages.ID
	arch string
}

// maxLookups bounds how many releases outside the package sets one session looks up: each may be a
// download.
const maxLookups = 24

// Releases returns the look-up of releases for a case.
func (s *Session) Releases(ctx context.Context, c Case) *Releases {
	return &Releases{
		ctx:    ctx,
		source: s.judge.source,
		on:     s.judge.options.on(c.Artifact, c.Target.Platform.Arch),
		cache:  s.releases,
	}
}

// Get returns one version of a package; nil when it is not available or maxLookups were made.
func (w *Releases) Get(name, version string) *packages.Release {
	key := releaseOn{packages.ID{Name: name, Version: version}, w.on.Arch}
	if r, ok := w.cache[key]; ok || len(w.cache) >= maxLookups {
		return r
	}
	r, err := w.source.Release(w.ctx, name, version, w.on)
	if err != nil {
		r = nil
	}
	w.cache[key] = r
	return r
}

// Versions lists the versions of a package, in any order. The error is the source's.
func (w *Releases) Versions(name string) ([]string, error) {
	return w.source.Versions(w.ctx, name)
}

// First finds the oldest version of a package above floor that good accepts, and the newest version
// below it that good does not accept (floor where there is none between). ok is false when the
// newest version is not accepted either, or the source does not know.
func (w *Releases) First(
	name, floor string,
	good func(*packages.Release) bool,
) (version, bad string, ok bool) {
	version, bad, ok, err := packages.First(
		w.ctx,
		w.source,
		name,
		floor,
		func(v string) (bool, error) {
			r := w.Get(name, v)
			if r == nil {
				return false, packages.ErrUnknown
			}
			return good(r), nil
		},
	)
	return version, bad, ok && err == nil
}

// OtherVersion is a fix to try: another version of a package of the environment, which good
// accepts.
func (w *Releases) OtherVersion(r *packages.Release,
	good func(*packages.Release) bool) fix.Candidate {
	return fix.Candidate{
		Search: &fix.Search{Package: r.Name, From: r.Version, Good: func(version string) bool {
			o := w.Get(r.Name, version)
			return o != nil && good(o)
		}},
	}
}
