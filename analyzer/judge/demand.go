package judge

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// The maximum number of bytes to transfer for one library. Libraries that the artifact needs
// directly are required; one that only another library needs rarely changes the result.
const (
	worthDirect   = 512 << 20
	worthIndirect = 16 << 20
)

// demand limits what is read from a Reader to what is needed: libraries in DT_NEEDED that
// neither the artifacts nor the platform have, their dependencies, and all libraries of
// packages that are imported first.
type demand struct {
	packages.Reader
	cache *releaseCache
	// Stems of names; true if a driver or a system package may provide the library.
	direct    map[string]bool
	wanted    map[string]bool // stems of names; never removed
	declared  map[string]bool // packages that the artifacts require
	first     []string
	noHistory bool // the embedded history is not used
}

// newDemand returns nil if the source is not a Reader and so returns everything at once.
func newDemand(source packages.Source, o Options) *demand {
	r, ok := source.(packages.Reader)
	if !ok {
		return nil
	}
	d := &demand{
		Reader:    r,
		cache:     newReleaseCache(r, o.NoHistory),
		first:     o.First,
		noHistory: o.NoHistory,
	}
	return d.fresh()
}

// fresh returns a demand for nothing yet, with the same cache.
func (d *demand) fresh() *demand {
	out := *d
	out.direct, out.wanted, out.declared = map[string]bool{}, map[string]bool{}, map[string]bool{}
	return &out
}

// want adds the libraries that the objects of an artifact need.
func (d *demand) want(f *facts.Artifact, p *platform.Platform, s fix.Scenario) {
	own := ownNames(f)
	if f.Metadata != nil {
		for _, q := range f.Metadata.Requires {
			d.declared[q.Name] = true
		}
	}
	add := func(names []string) {
		for _, n := range names {
			if !own[n] && !p.Installs(n) {
				d.direct[platform.Stem(n)], d.wanted[platform.Stem(n)] = d.bySystem(n), true
			}
		}
	}
	for _, o := range f.Objects {
		if o.Arch() == p.Arch {
			add(o.Needed)
			add(s.Needed[o.Path])
		}
	}
}

// bySystem reports whether a driver or a system package may provide a library, and no declared
// package is known to.
func (d *demand) bySystem(soname string) bool {
	p, ok := platform.ProviderOf(soname)
	if !ok {
		return false
	}
	for _, name := range p.Packages(platform.PyPI) {
		if d.declared[pkgmeta.Normalize(name)] {
			return false
		}
	}
	_, ok = platform.Known(soname)
	return ok
}

// Versions implements packages.Source.
func (d *demand) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	return d.cache.Versions(ctx, name, on)
}

// Release implements packages.Source.
func (d *demand) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	r, err := d.cache.Release(ctx, name, version, on)
	if err != nil {
		return nil, err
	}
	read, err := d.read(ctx, r, on)
	if err == nil {
		d.cache.releases[releaseKey{name, version, on}] = read
	}
	return read, err
}

// read reads the wanted libraries of a release, and their dependencies in it.
func (d *demand) read(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
) (*packages.Release, error) {
	first := slices.ContainsFunc(
		d.first,
		func(n string) bool { return pkgmeta.Normalize(n) == r.Name },
	)
	worth := func(path string) int64 {
		_, direct := d.direct[platform.Stem(path)]
		switch {
		case first || direct:
			return worthDirect
		case d.wanted[platform.Stem(path)]:
			return worthIndirect
		}
		return 0
	}
	for {
		before := len(d.wanted)
		read, err := d.Reader.Read(ctx, r, on, worth)
		if err != nil {
			return nil, err
		}
		for _, l := range read.Libraries {
			if !l.Unread && worth(l.Path) > 0 {
				for _, n := range l.Needed {
					d.wanted[platform.Stem(n)] = true
				}
			}
		}
		if r = read; len(d.wanted) == before {
			return r, nil
		}
	}
}

// complete reads the libraries that the packages of a set need from each other. A package that
// cannot be read counts as unavailable.
func (d *demand) complete(ctx context.Context, set *packages.Set, on packages.Target) {
	for before := -1; before != len(d.wanted); {
		before = len(d.wanted)
		for i, r := range set.Releases {
			read, err := d.read(ctx, r, on)
			if err != nil {
				set.Unresolved = append(
					set.Unresolved,
					packages.Unresolved{
						Package:     r.Name,
						Requirement: r.ID().String(),
						Err:         err,
					},
				)
				continue
			}
			set.Releases[i] = read
		}
	}
}

// lazy makes a resolution look up only the packages that are needed, because each needs at
// least a page of the index. Until all wanted libraries are found, packages that provide some
// of them according to the embedded history come first, and packages that never did are
// skipped.
func (d *demand) lazy(artifacts []*facts.Artifact, p *platform.Platform) packages.Lazy {
	own := map[string]bool{}
	for _, f := range artifacts {
		if slices.ContainsFunc(f.Objects, func(o *facts.Object) bool { return o.NumPy == facts.NumPy1 }) {
			return nil // the version of numpy matters, which no library shows
		}
		maps.Copy(own, ownNames(f))
	}
	return func(s *packages.Set) (enough bool, provides func(string) (provides, known bool)) {
		missing := d.missing(s, own, p)
		enough = true
		names := map[string]bool{}
		for stem, bySystem := range missing {
			enough, names[platform.Family(stem)] = enough && bySystem, true
		}
		return enough, func(name string) (bool, bool) {
			if d.noHistory {
				return false, false
			}
			return packages.History().Provides(name, func(file string) bool {
				return names[platform.Family(file)]
			})
		}
	}
}

// missing returns the wanted stems that the packages of a set do not provide; the value is true
// if a driver or a system package may.
func (d *demand) missing(
	s *packages.Set,
	own map[string]bool,
	p *platform.Platform,
) map[string]bool {
	out := map[string]bool{}
	need := func(names []string) {
		for _, n := range names {
			if !own[n] && !p.Installs(n) {
				out[platform.Stem(n)] = d.bySystem(n)
			}
		}
	}
	maps.Copy(out, d.direct)
	for _, r := range s.Releases {
		for _, l := range r.Libraries {
			if d.wanted[platform.Stem(l.Path)] || d.wanted[platform.Stem(l.SONAME)] {
				need(l.Needed)
			}
		}
	}
	for _, r := range s.Releases {
		for _, l := range r.Libraries {
			delete(out, platform.Stem(l.Path))
			delete(out, platform.Stem(l.SONAME))
		}
	}
	return out
}

// ownNames returns the names of the artifact's objects.
func ownNames(f *facts.Artifact) map[string]bool {
	own := map[string]bool{}
	for _, o := range f.Objects {
		own[o.SONAME], own[path.Base(o.Path)] = true, true
	}
	return own
}
