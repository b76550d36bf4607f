package main

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages/historydata"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// shared matches shared libraries, without extension modules, which nothing links against.
var shared = regexp.MustCompile(`^lib[^/]*\.so(\.[0-9]+[a-z]?)*$`)

// read fetches the needed parts of one wheel: a small one completely; of others the directory,
// METADATA, and each library with its own range request. Libraries in kept are not read again.
func (x *index) read(
	ctx context.Context,
	w wheel,
	kept []historydata.Library,
) (*historydata.Release, error) {
	far, err := openRanged(ctx, w.url)
	if err != nil {
		return nil, err
	}
	if far.size <= atOnce && !w.list && len(kept) == 0 {
		if err := far.whole(); err != nil {
			return nil, err
		}
	}
	z, err := zip.NewReader(far, far.size)
	if err != nil {
		return nil, err
	}
	r := &historydata.Release{
		Name:           w.name,
		Version:        w.version,
		Arch:           w.arch,
		Wheel:          w.file,
		SHA256:         w.sha256,
		Yanked:         w.yanked,
		RequiresPython: w.python,
		Tags:           w.tags,
		Own:            w.own,
	}
	requires, err := requirements(z)
	if err != nil {
		return nil, err
	}
	for _, q := range requires {
		r.Requires = append(r.Requires, q.Raw)
	}
	for _, f := range z.File {
		if !shared.MatchString(path.Base(f.Name)) {
			continue
		}
		have := slices.IndexFunc(
			kept,
			func(l historydata.Library) bool { return l.Known && l.Path == installed(f.Name) },
		)
		if have >= 0 && (kept[have].Linked || !linksOthers(&kept[have], kept, w.arch)) {
			r.Libraries = append(r.Libraries, kept[have])
			continue
		}
		l, err := x.library(far, f, w)
		if errors.Is(err, elfobj.ErrNotELF) || errors.Is(err, elfobj.ErrForeign) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if have >= 0 {
			imports, linked := l.Imports, l.Linked
			l = kept[have]
			l.Imports, l.Linked = imports, linked
		}
		r.Libraries = append(r.Libraries, l)
	}
	takesFromOthers(r)
	slices.SortFunc(
		r.Libraries,
		func(a, b historydata.Library) int { return strings.Compare(a.Path, b.Path) },
	)
	return r, nil
}

// requirements returns what the METADATA of a wheel requires.
func requirements(z *zip.Reader) (out []pkgmeta.Requirement, err error) {
	found := false
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".dist-info/METADATA") || strings.Count(f.Name, "/") != 1 {
			continue
		}
		text, err := content(f)
		if err != nil {
			return nil, err
		}
		m, err := pkgmeta.ParseMetadata(text)
		if err != nil {
			return nil, err
		}
		out, found = append(out, m.Requires...), true
	}
	if !found {
		return nil, errors.New("has no METADATA")
	}
	return out, nil
}

// library describes a member with all its exports, or by its head if it is larger than the limit
// of the package.
func (x *index) library(far *ranged, f *zip.File, w wheel) (historydata.Library, error) {
	if w.list {
		return historydata.Library{Path: installed(f.Name), SONAME: path.Base(f.Name)}, nil
	}
	if f.CompressedSize64 > w.most() || x.heads && f.CompressedSize64 > mostRead {
		return named(f)
	}
	l := described{historydata.Library{Path: installed(f.Name)}}
	spool, err := far.inflate(f)
	if err != nil {
		return l.Library, err
	}
	defer spool.Close()
	o, err := elfobj.Read(spool, int64(f.UncompressedSize64))
	if err != nil {
		return l.Library, err
	}
	l.SONAME, l.Needed, l.RunPath = o.SONAME, o.Needed, cmp.Or(o.RunPath, o.RPath)
	l.symbols(o)
	return l.Library, nil
}

// described is a library whose symbols are being collected.
type described struct{ historydata.Library }

// symbols adds the exports and the imports of the library.
func (l *described) symbols(o *elfobj.Object) {
	l.Known, l.Linked = true, true
	for _, i := range o.Imports.All() {
		if !i.Weak {
			l.Imports = append(l.Imports, historydata.Import{
				Name: i.Name, Version: i.Version, Library: i.Library,
			})
		}
	}
	for _, d := range o.VersionDefs {
		if !d.Base {
			l.Versions = append(l.Versions, d.Name)
		}
	}
	for _, e := range o.Exports.All() {
		if importable(e.Name) {
			l.Exports = append(
				l.Exports,
				historydata.Export{
					Name:    e.Name,
					Version: e.Version,
					Kind:    string(e.Kind),
					Hidden:  e.Hidden,
					Weak:    e.Weak,
					Unique:  e.Unique,
				},
			)
		}
	}
}

// importable excludes symbols that no other object can import: those of unnamed namespaces, whose
// names contain a hash of their source file, and nvcc's kernel stubs. They are half of what a
// CUDA library exports, and change with every release.
func importable(symbol string) bool {
	return !strings.Contains(symbol, "_GLOBAL__N_") && !strings.Contains(symbol, "__device_stub__")
}

// installed returns the path of a member in site-packages: platlib and purelib of the .data
// folder are unpacked there (PEP 427).
func installed(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) == 3 && strings.HasSuffix(parts[0], ".data") &&
		(parts[1] == "platlib" || parts[1] == "purelib") {
		return parts[2]
	}
	return name
}

func content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
