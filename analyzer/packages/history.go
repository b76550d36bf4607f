package packages

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages/historydata"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

//go:generate go run github.com/compat-app/compat/internal/gen/history -out data

//go:embed data/*.hist
var historyFiles embed.FS

const historySuffix = ".hist"

// historyPackages maps a package name to a function that decodes its embedded file on first use. An
// embedded file that does not decode is a build error, so it panics; a test decodes all files.
var historyPackages = sync.OnceValue(func() map[string]func() *historydata.File {
	entries, err := historyFiles.ReadDir("data")
	if err != nil {
		panic(fmt.Errorf("embedded provider history: %w", err))
	}
	all := make(map[string]func() *historydata.File, len(entries))
	for _, e := range entries {
		file := path.Join("data", e.Name())
		all[strings.TrimSuffix(e.Name(), historySuffix)] = sync.OnceValue(func() *historydata.File {
			data, err := historyFiles.ReadFile(file)
			if err == nil {
				var f *historydata.File
				if f, err = historydata.Open(data); err == nil {
					return f
				}
			}
			panic(fmt.Errorf("embedded provider history: %s: %w", file, err))
		})
	}
	return all
})

func historyPackage(name string) *historydata.File {
	if open := historyPackages()[name]; open != nil {
		return open()
	}
	return nil
}

// Embedded is the Source that reads the provider history built into the binary.
type Embedded struct{}

// History returns the embedded provider history: the published releases of packages whose libraries
// other packages are linked with (CUDA, torch, Qt, Intel's runtimes and others), at the time when
// internal/gen/history was last run. It needs no package index, covers Linux on x86_64 and
// aarch64, and has the exports of their libraries. For a few libraries that were too large to read,
// Known is false and Needed comes from the first part of the file, or is nil.
//
// It also covers the torch builds that are not on a public index: Release accepts 2.7.0+rocm6.3,
// 2.7.0+cpu and 2.7.0+cu128 for every known 2.7.0. It describes which libraries such a build
// contains and, for builds without CUDA, drops the CUDA requirements. Versions lists published
// versions that are not yanked; Release also accepts yanked ones.
func History() Embedded { return Embedded{} }

// Versions implements Source.
func (Embedded) Versions(_ context.Context, name string, on Target) ([]string, error) {
	name = pkgmeta.Normalize(name)
	f := historyPackage(name)
	if f == nil || on.System != platform.Linux {
		return nil, fmt.Errorf("package %s: %w to the built-in package history", name, ErrUnknown)
	}
	files := map[string][]File{}
	for i := range f.Releases {
		if r := &f.Releases[i]; !r.Yanked {
			files[r.Version] = append(files[r.Version], wheelsOf(r)...)
		}
	}
	var found []string
	for version, list := range files {
		if on.Installs(list) {
			found = append(found, version)
		}
	}
	slices.SortFunc(found, compareReleases)
	return found, nil
}

// wheelsOf returns the wheels of a release for its architecture.
func wheelsOf(r *historydata.Release) []File {
	if r.Tags == "" {
		return []File{{RequiresPython: r.RequiresPython}}
	}
	var files []File
	for tag := range strings.FieldsSeq(r.Tags) {
		t := pkgmeta.SplitTag(tag)
		t.Platform = "linux_" + r.Arch
		files = append(files, File{RequiresPython: r.RequiresPython, Tags: []pkgmeta.Tag{t}})
	}
	return files
}

// Release implements Source.
func (h Embedded) Release(_ context.Context, name, version string, on Target) (*Release, error) {
	name = pkgmeta.Normalize(name)
	if name == "torch" {
		if base, local, ok := strings.Cut(version, "+"); ok {
			return h.torchVariant(base, local, on)
		}
	}
	f, r, err := find(name, version, on)
	if err != nil {
		return nil, err
	}
	return convert(f, r), nil
}

// costlyBytes is the size of an encoded history from which reading a wheel of the index by ranges
// costs less than decoding the history: tensorflow-cpu has 667,000 symbols.
const costlyBytes = 4 << 20

// WheelOf returns the file name of the wheel that a release was read from, and its SHA-256 in hex.
// ok is false for a release that is not in the history, or that is better read from an index. An
// index that lists this file with this digest publishes the release that Release describes.
func (Embedded) WheelOf(name, version string, on Target) (file, sha256 string, ok bool) {
	f, r, err := find(pkgmeta.Normalize(name), version, on)
	if err != nil || f.Size > costlyBytes {
		return "", "", false
	}
	return r.Wheel, r.SHA256, true
}

// Provides reports whether a release of a package, or of one of its requirements, contains a
// library whose file name or SONAME want accepts. known is false for a package that is not in the
// history.
func (Embedded) Provides(name string, want func(file string) bool) (provides, known bool) {
	seen := map[string]bool{}
	var any func(name string) bool
	any = func(name string) bool {
		f := historyPackage(name)
		if f == nil || seen[name] {
			return false
		}
		seen[name] = true
		requires := map[string]bool{}
		for i := range f.Releases {
			for _, l := range f.Releases[i].Libraries {
				if want(path.Base(l.Path)) || want(l.SONAME) {
					return true
				}
			}
			for _, text := range f.Releases[i].Requires {
				requires[strings.FieldsFunc(text, notOfName)[0]] = true
			}
		}
		return slices.ContainsFunc(
			slices.Sorted(maps.Keys(requires)),
			func(n string) bool { return any(pkgmeta.Normalize(n)) },
		)
	}
	name = pkgmeta.Normalize(name)
	return any(name), historyPackage(name) != nil
}

// notOfName reports whether a character cannot be part of the package name in a requirement.
func notOfName(c rune) bool {
	return !strings.ContainsRune("-_.", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

// find returns a release; versions are compared as in PEP 440 (1.0 equals 1.0.0). Of a version
// whose libraries differ between interpreters, it returns the release for that of the target.
func find(name, version string, on Target) (*historydata.File, *historydata.Release, error) {
	unknown := fmt.Errorf(
		"%s==%s on %s: %w to the built-in package history",
		name,
		version,
		on.Arch,
		ErrUnknown,
	)
	f := historyPackage(name)
	if f == nil || on.System != platform.Linux {
		return nil, nil, unknown
	}
	for i := range f.Releases {
		r := &f.Releases[i]
		if r.Arch != on.Arch || r.Own && !on.Installs(wheelsOf(r)) {
			continue
		}
		if pkgmeta.SameVersion(r.Version, version) {
			return f, r, nil
		}
	}
	return nil, nil, unknown
}

func compareReleases(a, b string) int {
	v, errA := pkgmeta.ParseVersion(a)
	w, errB := pkgmeta.ParseVersion(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return v.Compare(w)
}

// requires returns the parsed requirements of a release.
func requires(r *historydata.Release) (out []pkgmeta.Requirement) {
	for _, text := range r.Requires {
		// a test checks that every requirement parses
		if q, err := pkgmeta.ParseRequirement(text); err == nil {
			out = append(out, q)
		}
	}
	return out
}

// convert returns a Release that the caller may modify.
func convert(f *historydata.File, r *historydata.Release) *Release {
	out := &Release{Name: r.Name, Version: r.Version, Known: true, Requires: requires(r),
		Abridged: true}
	for i := range r.Libraries {
		l := &r.Libraries[i]
		exports, err := f.Exports(l)
		if err != nil {
			panic(fmt.Errorf("embedded provider history: %s %s: %w", r.Name, r.Version, err))
		}
		if !l.Known {
			like, err := nearestExports(f, r, l.SONAME)
			if err != nil {
				panic(fmt.Errorf("embedded provider history: %s %s: %w", r.Name, r.Version, err))
			}
			out.Libraries = append(
				out.Libraries,
				Library{
					Path:           l.Path,
					SONAME:         l.SONAME,
					Needed:         slices.Clone(l.Needed),
					RunPath:        l.RunPath,
					NearestExports: elfobj.NewExports(like...),
				},
			)
			continue
		}
		c := Library{
			Path:     l.Path,
			SONAME:   l.SONAME,
			Known:    l.Known,
			Needed:   slices.Clone(l.Needed),
			RunPath:  l.RunPath,
			Versions: slices.Clone(l.Versions),
		}
		c.Exports = elfobj.NewExports(exported(exports)...)
		if c.Imports, err = imported(f, l); err != nil {
			panic(fmt.Errorf("embedded provider history: %s %s: %w", r.Name, r.Version, err))
		}
		out.Libraries = append(out.Libraries, c)
	}
	return out
}

// imported returns what a library takes from those of other packages; nil if that is not known.
func imported(f *historydata.File, l *historydata.Library) (*elfobj.Imports, error) {
	if !l.Linked {
		return nil, nil
	}
	list, err := f.Imports(l)
	out := make([]elfobj.Import, 0, len(list))
	for _, i := range list {
		out = append(out, elfobj.Import{Name: i.Name, Version: i.Version, Library: i.Library})
	}
	return elfobj.NewImports(out...), err
}

func exported(list []historydata.Export) []elfobj.Export {
	var out []elfobj.Export
	for _, e := range list {
		out = append(
			out,
			elfobj.Export{
				Name:    e.Name,
				Version: e.Version,
				Kind:    elfobj.Kind(e.Kind),
				Hidden:  e.Hidden,
				Weak:    e.Weak,
				Unique:  e.Unique,
			},
		)
	}
	return out
}

// nearestExports returns the exports of a library in the nearest older and the nearest newer
// release for the same machine whose exports are known; nil without one.
func nearestExports(
	f *historydata.File, r *historydata.Release, soname string,
) ([]elfobj.Export, error) {
	var older, newer *historydata.Library
	var below, above string
	for i := range f.Releases {
		o := &f.Releases[i]
		n := slices.IndexFunc(
			o.Libraries,
			func(l historydata.Library) bool { return l.Known && l.SONAME == soname },
		)
		if o.Arch != r.Arch || n < 0 {
			continue
		}
		switch d := compareReleases(o.Version, r.Version); {
		case d < 0 && (older == nil || compareReleases(o.Version, below) > 0):
			older, below = &o.Libraries[n], o.Version
		case d > 0 && (newer == nil || compareReleases(o.Version, above) < 0):
			newer, above = &o.Libraries[n], o.Version
		}
	}
	var out []elfobj.Export
	for _, l := range []*historydata.Library{older, newer} {
		if l == nil {
			continue
		}
		list, err := f.Exports(l)
		if err != nil {
			return nil, err
		}
		out = append(out, exported(list)...)
	}
	return out, nil
}
