package judge

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
)

// Releases looks up releases that are not in the package set, for one artifact.
type Releases struct {
	ctx    context.Context
	source packages.Source
	on     packages.Target
	// Nil if it is not available; shared by a session.
	cache map[releaseOn]*packages.Release
	// What is known of releases before their libraries are read; nil if they are never read later.
	listing *demand
	listed  map[releaseOn]*packages.Release // shared by a session, like cache
}

// releaseOn is a release for an architecture.
type releaseOn struct {
	packages.ID
	arch string
}

// maxLookups limits how many releases outside the package sets a session looks up, because each
// may be a download.
const maxLookups = 24

// Releases returns the lookup of releases for a case.
func (s *Session) Releases(ctx context.Context, c Case) *Releases {
	return &Releases{
		ctx:     ctx,
		source:  s.sourceFor(c.Artifact, c.Target.Platform),
		on:      s.judge.options.on(c.Artifact, c.Target.Platform),
		cache:   s.releases,
		listing: s.judge.demand,
		listed:  s.listed,
	}
}

// Get returns a version of a package, or nil if it is not available or after maxLookups
// lookups.
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

// Versions returns the versions of a package that the artifact can be installed with, in any order.
// The error is that of the source.
func (w *Releases) Versions(name string) ([]string, error) {
	return w.source.Versions(w.ctx, name, w.on)
}

// First returns the oldest version of a package above floor that good accepts, and the newest
// version before it that good does not accept (floor if there is none between). ok is false if
// the newest version is not accepted or the source does not know the versions.
func (w *Releases) First(
	name, floor string,
	good func(*packages.Release) bool,
) (version, bad string, ok bool) {
	version, bad, ok, err := packages.First(
		w.ctx,
		w.source,
		w.on,
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

// OtherVersion returns a candidate fix: another version of a package of the environment that
// good accepts.
func (w *Releases) OtherVersion(r *packages.Release,
	good func(*packages.Release) bool) fix.Candidate {
	return fix.Candidate{
		Search: &fix.Search{Package: r.Name, From: r.Version, Good: func(version string) bool {
			o := w.Get(r.Name, version)
			return o != nil && good(o)
		}},
	}
}

// WithLibrary is like OtherVersion for versions that have a library of a name, which good looks at.
// It does not read versions whose files have only another version of it in their names.
func (w *Releases) WithLibrary(
	r *packages.Release, name string, good func(*packages.Release) bool,
) fix.Candidate {
	c := w.OtherVersion(r, good)
	all := c.Search.Good
	c.Search.Good = func(version string) bool {
		return w.mayHave(r.Name, version, name) && all(version)
	}
	return c
}

// mayHave reports whether a release may have a library. It is true if reading the release is no
// transfer, and after maxLookups lookups.
func (w *Releases) mayHave(of, version, library string) bool {
	if w.listing == nil || w.on.System != platform.Linux {
		return true
	}
	key := releaseOn{packages.ID{Name: of, Version: version}, w.on.Arch}
	if _, read := w.cache[key]; read {
		return true
	}
	r, ok := w.listed[key]
	if !ok {
		if len(w.listed) >= maxLookups {
			return true
		}
		r, _ = w.listing.cache.Release(w.ctx, of, version, w.on)
		w.listed[key] = r
	}
	return r == nil || hasVersion(r, library)
}

// hasVersion reports whether a release may have a library, by the numbers in the names of files
// that were not read: libx.so.1.2.3 may be libx.so.1, but not libx.so.2. A file without a number is
// a copy of one with a number, or may be any.
func hasVersion(r *packages.Release, library string) bool {
	want, numbered, other := major(library), false, false
	for _, l := range r.Libraries {
		file := path.Base(l.Path)
		switch have := major(file); {
		case l.SONAME == library:
			return true
		case !l.Unread || platform.Stem(file) != platform.Stem(library):
		case have == "":
			other = true
		case have == want || want == "":
			return true
		default:
			numbered = true
		}
	}
	return other && !numbered
}

// major returns the first number of a library's version: "1" for libx.so.1.2.3; "" without one.
func major(library string) string {
	_, version, _ := strings.Cut(library, ".so.")
	first, _, _ := strings.Cut(version, ".")
	return first
}

// releaseCache caches releases during a check: a release of torch has 80,000 symbols. If its
// source cannot be reached, it uses the embedded history for the packages that are in it. It is
// not safe for concurrent use.
type releaseCache struct {
	packages.Source
	noHistory bool // the embedded history is not used
	releases  map[releaseKey]lookup
	offline   map[string]error // packages that the history provided, and why the source did not
}

type releaseKey struct {
	name, version string
	on            packages.Target
}

// lookup is the answer of a source. What failed once is not requested again in the same check.
type lookup struct {
	release *packages.Release
	err     error
}

func newReleaseCache(source packages.Source, noHistory bool) *releaseCache {
	return &releaseCache{
		Source:    source,
		noHistory: noHistory,
		releases:  map[releaseKey]lookup{},
		offline:   map[string]error{},
	}
}

// Release implements packages.Source.
func (o *releaseCache) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	key := releaseKey{name, version, on}
	if l, ok := o.releases[key]; ok {
		return l.release, l.err
	}
	err := o.offline[name] // the source gets no second request
	var r *packages.Release
	if err == nil {
		r, err = o.Source.Release(ctx, name, version, on)
	}
	if !o.noHistory && packages.NoAnswer(err) {
		if known, e := packages.History().Release(ctx, name, version, on); e == nil && known.Known {
			o.offline[name] = err
			r, err = known, nil
		}
	}
	if ctx.Err() == nil {
		o.releases[key] = lookup{r, err}
	}
	return r, err
}

// Versions implements packages.Source.
func (o *releaseCache) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	err := o.offline[name]
	var versions []string
	if err == nil {
		versions, err = o.Source.Versions(ctx, name, on)
	}
	if !o.noHistory && packages.NoAnswer(err) {
		if known, e := packages.History().Versions(ctx, name, on); e == nil {
			o.offline[name] = err
			return known, nil
		}
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
