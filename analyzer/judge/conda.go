package judge

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// condaSource provides the packages installed in a conda environment, and other packages from
// another source. It is not safe for concurrent use.
type condaSource struct {
	packages.Source
	conda    *Conda
	folders  map[string]string // dist-info folder by name of the package
	releases map[string]*packages.Release
	read     map[string]packages.Library // by path
}

var _ packages.Reader = (*condaSource)(nil)

func newCondaSource(source packages.Source, k *Conda) *condaSource {
	p := &condaSource{
		Source:   source,
		conda:    k,
		folders:  map[string]string{},
		releases: map[string]*packages.Release{},
		read:     map[string]packages.Library{},
	}
	for _, f := range k.DistInfo {
		if name, _, ok := strings.Cut(strings.TrimSuffix(f, ".dist-info"), "-"); ok {
			p.folders[pkgmeta.Normalize(name)] = f
		}
	}
	return p
}

// installed returns a package of the environment, or nil if it is not installed or cannot be
// read.
func (p *condaSource) installed(name string) *packages.Release {
	folder := p.folders[name]
	if r, ok := p.releases[name]; ok || folder == "" {
		return r
	}
	r := p.describe(name, path.Join(p.conda.Site, folder))
	p.releases[name] = r
	return r
}

func (p *condaSource) describe(name, at string) *packages.Release {
	meta, err := pkgmeta.ParseMetadata(p.conda.Text(path.Join(at, "METADATA")))
	if err != nil {
		return nil
	}
	version, err := pkgmeta.ParseVersion(meta.Version)
	if err != nil {
		return nil
	}
	r := &packages.Release{Name: name, Version: version.String(), Requires: meta.Requires}
	record := p.conda.Text(path.Join(at, "RECORD"))
	if record == nil {
		return r
	}
	err = pkgmeta.ParseRecord(record, func(row pkgmeta.RecordRow) bool {
		if file := path.Clean(row.Path); strings.Contains(path.Base(file), ".so") &&
			!path.IsAbs(file) &&
			!strings.HasPrefix(file, "../") {
			r.Libraries = append(r.Libraries, packages.Library{Path: file, Unread: true})
		}
		return true
	})
	r.Known = err == nil
	return r
}

// version returns the installed version of a package, or "".
func (p *condaSource) version(name string) string {
	if r := p.installed(name); r != nil {
		return r.Version
	}
	return ""
}

// others returns the installed packages that an artifact does not declare and that have a library
// which it needs and which is neither in it nor on the platform, in the order of their names.
func (p *condaSource) others(
	f *facts.Artifact,
	on *platform.Platform,
	declared []pkgmeta.Requirement,
) (out []pkgmeta.Requirement) {
	needed := map[string]bool{}
	for _, n := range needsOf(f, on, fix.Scenario{}) {
		if on.Library(n.name) == nil {
			needed[n.name] = true
		}
	}
	if len(needed) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.folders)) {
		r := p.installed(name)
		if r == nil || name == project(f) || requires(declared, name) {
			continue
		}
		if slices.ContainsFunc(r.Libraries, func(l packages.Library) bool {
			return needed[path.Base(l.Path)]
		}) {
			out = append(out, pkgmeta.Requirement{Name: name, Raw: name})
		}
	}
	return out
}

// Versions implements packages.Source.
func (p *condaSource) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	versions, err := p.Source.Versions(ctx, name, on)
	if v := p.version(name); v != "" && ctx.Err() == nil {
		return append(slices.Clone(versions), v), nil
	}
	return versions, err
}

// Release implements packages.Source.
func (p *condaSource) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	if p.version(name) == version {
		return p.installed(name), nil
	}
	return p.Source.Release(ctx, name, version, on)
}

// Read implements packages.Reader.
func (p *condaSource) Read(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	worth func(path string) int64,
) (*packages.Release, error) {
	if p.version(r.Name) != r.Version {
		if source, ok := p.Source.(packages.Reader); ok {
			return source.Read(ctx, r, on, worth)
		}
		return r, nil
	}
	out := *r
	out.Libraries = slices.Clone(r.Libraries)
	for i, l := range out.Libraries {
		if l.Unread && worth(l.Path) > 0 {
			out.Libraries[i] = p.library(l.Path)
		}
	}
	return &out, nil
}

// library returns a file of a package. If the file cannot be read, only its path is known.
func (p *condaSource) library(file string) packages.Library {
	l, ok := p.read[file]
	if !ok {
		at := path.Join(p.conda.Site, file)
		l = packages.NewLibrary(file, p.conda.Open(at), nil)
		if p.conda.Types != nil {
			l.Types = p.conda.Types(at)
		}
		p.read[file] = l
	}
	return l
}
