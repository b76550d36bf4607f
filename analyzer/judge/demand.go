package judge

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
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
	direct map[string]bool
	// The objects of the artifacts that need a library, by its stem.
	users     map[string][]searcher
	wanted    map[string]bool // stems of names; never removed
	modules   map[string]bool // paths without suffix of modules whose types the artifacts use
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
	out.users, out.modules = map[string][]searcher{}, map[string]bool{}
	return &out
}

// want adds the libraries that the objects of an artifact need.
func (d *demand) want(f *facts.Artifact, p *platform.Platform, s fix.Scenario) {
	if f.Metadata != nil {
		for _, q := range f.Metadata.Requires {
			d.declared[q.Name] = true
		}
	}
	for _, o := range f.Objects {
		for _, module := range o.Compared() {
			d.modules[strings.ReplaceAll(module, ".", "/")] = true
		}
	}
	for _, n := range needsOf(f, p, s) {
		stem := platform.Stem(n.name)
		d.direct[stem], d.wanted[stem] = d.bySystem(n.name), true
		if !slices.Contains(d.users[stem], n.by) {
			d.users[stem] = append(d.users[stem], n.by)
		}
	}
}

// bySystem reports whether a driver or a system package may provide a library, and no declared
// package is known to. Without the history any package may be one that does.
func (d *demand) bySystem(soname string) bool {
	p, ok := platform.ProviderOf(soname)
	if !ok {
		return false
	}
	for _, name := range p.Packages(platform.PyPI) {
		if d.noHistory || d.declared[pkgmeta.Normalize(name)] {
			return false
		}
	}
	if d.noHistory && gpu.Package(soname, "") != "" {
		return false
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
		d.cache.releases[releaseKey{name, version, on}] = lookup{release: read}
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
	worth := func(file string) int64 {
		_, direct := d.direct[platform.Stem(file)]
		switch {
		case first || direct:
			return worthDirect
		case on.System == platform.Linux && (d.wanted[platform.Stem(file)] || d.defines(file)):
			return worthIndirect
		}
		return 0 // what packages for other systems need of each other is not checked
	}
	if r.Abridged && d.definedBy(r) {
		on := on
		on.Modules = true
		if full, err := d.Reader.Release(ctx, r.Name, r.Version, on); err == nil && !full.Abridged {
			r = full
		}
	}
	for {
		before := len(d.wanted)
		read, err := d.Reader.Read(ctx, r, on, worth)
		if err != nil {
			return nil, err
		}
		for _, l := range read.Libraries {
			if !l.Unread && worth(l.Path) > 0 && on.System == platform.Linux {
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

// definedBy reports whether a release may have modules that define types which the artifacts use.
func (d *demand) definedBy(r *packages.Release) bool {
	for module := range d.modules {
		if top, _, _ := strings.Cut(module, "/"); hasTop(r, top) {
			return true
		}
	}
	return false
}

// hasTop reports whether a release has a top-level package, other than NumPy's, whose types have a
// rule of their own: it has its name, or a library in it.
func hasTop(r *packages.Release, top string) bool {
	return top != "numpy" && (pkgmeta.Normalize(top) == r.Name ||
		slices.ContainsFunc(r.Libraries, func(l packages.Library) bool {
			return strings.HasPrefix(l.Path, top+"/")
		}))
}

// defines reports whether a file may be the module that defines a type which the artifacts use: the
// one from which they import it, or one of that package, which gets it from there.
func (d *demand) defines(file string) bool {
	module := facts.ModuleName(file)
	return d.modules[module] || d.modules[path.Dir(module)]
}

// complete reads the libraries that the packages of a set need from each other. A package that
// cannot be read counts as unavailable.
func (d *demand) complete(ctx context.Context, set *packages.Set, on packages.Target) {
	for before := -1; before != len(d.wanted); {
		before = len(d.wanted)
		for r := range set.All() {
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
			set.Replace(read)
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
		if numpyMatters(f) || compares(f) {
			return nil
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
			switch {
			case d.noHistory:
				return false, false
			case p.OS != platform.Linux: // of which the history has no libraries
				return false, packages.History().Lacks(name, nil, every)
			}
			return packages.History().Provides(name, func(file string) bool {
				return names[platform.Family(file)]
			})
		}
	}
}

// missing returns the wanted stems that the packages of a set do not provide, or only in a folder
// to which no search path leads: another package may have the library that is loaded. The value is
// true if a driver or a system package may provide it, or the package without a path.
func (d *demand) missing(
	s *packages.Set,
	own map[string]bool,
	p *platform.Platform,
) map[string]bool {
	out, users := maps.Clone(d.direct), maps.Clone(d.users)
	for r := range s.All() {
		for _, l := range r.Libraries {
			if !d.wanted[platform.Stem(l.Path)] && !d.wanted[platform.Stem(l.SONAME)] {
				continue
			}
			if p.OS != platform.Linux {
				break
			}
			for _, n := range l.Needed {
				if stem := platform.Stem(n); !own[n] && !p.Installs(n) {
					out[stem] = d.bySystem(n)
					users[stem] = append(slices.Clip(users[stem]), searcher{path.Dir(l.Path), l.RunPath})
				}
			}
		}
	}
	reached := map[string]bool{}
	for r := range s.All() {
		for _, l := range r.Libraries {
			for _, stem := range []string{platform.Stem(l.Path), platform.Stem(l.SONAME)} {
				if _, ok := out[stem]; ok {
					out[stem] = true
					reached[stem] = reached[stem] || slices.ContainsFunc(users[stem], func(x searcher) bool {
						return elfobj.LeadsTo(x.paths, x.dir, path.Dir(l.Path))
					})
				}
			}
		}
	}
	maps.DeleteFunc(out, func(stem string, _ bool) bool { return reached[stem] })
	return out
}
