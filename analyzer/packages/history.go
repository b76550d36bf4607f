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
)

//go:generate go run github.com/compat-app/compat/internal/gen/history -out data

//go:embed data/*.hist
var historyFiles embed.FS

const historySuffix = ".hist"

// historyPackages opens the embedded file of each package when it is first asked for. One that does
// not decode is a broken build, so it panics; a test reads them all.
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

// Embedded answers from the embedded files.
type Embedded struct{}

// History is the embedded provider history: the packages that compiled Python packages share a
// process with (CUDA, torch and their companions), as they were published when it was made. It
// answers without a package index, knows Linux on x86_64 and aarch64, and knows what their
// libraries export; of a few too large to have been read whole, Known is false, and Needed is what
// the head of the file told, nil where it told nothing.
//
// torch also has the builds that are on no public index: Release takes 2.7.0+rocm6.3, 2.7.0+cpu and
// 2.7.0+cu128, for every 2.7.0 that it knows, and describes them by their shape: which libraries
// such a build has, and that a build without CUDA needs no CUDA package. Versions lists published
// versions only, without yanked ones; Release answers for those too.
func History() Embedded { return Embedded{} }

// Versions implements Source.
func (Embedded) Versions(_ context.Context, name string) ([]string, error) {
	name = pkgmeta.Normalize(name)
	f := historyPackage(name)
	if f == nil {
		return nil, fmt.Errorf("package %s: %w to the built-in history", name, ErrUnknown)
	}
	var found []string
	for _, r := range f.Releases {
		if !r.Yanked && !slices.Contains(found, r.Version) {
			found = append(found, r.Version)
		}
	}
	slices.SortFunc(found, compareReleases)
	return found, nil
}

// Release implements Source.
func (h Embedded) Release(_ context.Context, name, version string, on On) (*Release, error) {
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

// Recorded tells from which file a release is known, and its SHA-256 in hex; ok is false where the
// release is not known. An index that lists this file with this digest publishes the release that
// Release describes.
func (Embedded) Recorded(name, version string, on On) (file, sha256 string, ok bool) {
	_, r, err := find(pkgmeta.Normalize(name), version, on)
	if err != nil {
		return "", "", false
	}
	return r.Wheel, r.SHA256, true
}

// Brings tells whether any release of a package, or of one that it requires, is known to bring a
// library that want accepts by its file name; known is false where the history does not hold the
// package.
func (Embedded) Brings(name string, want func(file string) bool) (brings, known bool) {
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

// notOfName tells characters that end a package's name in a requirement.
func notOfName(c rune) bool {
	return !strings.ContainsRune("-_.", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

// find looks for a release, also by another spelling of its version (1.0 is 1.0.0).
func find(name, version string, on On) (*historydata.File, *historydata.Release, error) {
	unknown := fmt.Errorf(
		"%s==%s on %s: %w to the built-in history",
		name,
		version,
		on.Arch,
		ErrUnknown,
	)
	f := historyPackage(name)
	if f == nil {
		return nil, nil, unknown
	}
	want, err := pkgmeta.ParseVersion(version)
	for i := range f.Releases {
		r := &f.Releases[i]
		if r.Arch != on.Arch {
			continue
		}
		if r.Version == version {
			return f, r, nil
		}
		if v, errOther := pkgmeta.ParseVersion(r.Version); err == nil && errOther == nil &&
			v.Compare(want) == 0 {
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

// convert makes a Release that the caller may change.
func convert(f *historydata.File, r *historydata.Release) *Release {
	out := &Release{Name: r.Name, Version: r.Version, Known: true}
	for _, text := range r.Requires {
		// a test holds that every one parses
		if q, err := pkgmeta.ParseRequirement(text); err == nil {
			out.Requires = append(out.Requires, q)
		}
	}
	for i := range r.Libraries {
		l := &r.Libraries[i]
		exports, err := f.Exports(l)
		if err != nil {
			panic(fmt.Errorf("embedded provider history: %s %s: %w", r.Name, r.Version, err))
		}
		if !l.Known {
			like, err := alike(f, r, l.SONAME)
			if err != nil {
				panic(fmt.Errorf("embedded provider history: %s %s: %w", r.Name, r.Version, err))
			}
			out.Libraries = append(
				out.Libraries,
				Library{
					Path:    l.Path,
					SONAME:  l.SONAME,
					Needed:  slices.Clone(l.Needed),
					RunPath: l.RunPath,
					Like:    elfobj.NewExports(like...),
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
		out.Libraries = append(out.Libraries, c)
	}
	return out
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

// alike is what a library exports in the nearest older and the nearest newer release for the same
// machine whose exports are known; nil where there is none.
func alike(f *historydata.File, r *historydata.Release, soname string) ([]elfobj.Export, error) {
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
