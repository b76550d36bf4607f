package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/stack/historydata"
)

// shared matches shared libraries and leaves out extension modules, which nothing links against.
var shared = regexp.MustCompile(`^lib[^/]*\.so(\.[0-9]+)*$`)

// read fetches one wheel as far as it is needed.
func (x *index) read(ctx context.Context, w wheel) (*historydata.Release, error) {
	var at io.ReaderAt
	var size int64
	if w.whole {
		data, err := get(ctx, w.url, "")
		if err != nil {
			return nil, err
		}
		at, size = bytes.NewReader(data), int64(len(data))
	} else {
		r, err := openRanged(ctx, w.url)
		if err != nil {
			return nil, err
		}
		at, size = r, r.size
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, err
	}
	r := &historydata.Release{Name: w.name, Version: w.version, Arch: w.arch, Wheel: w.file, Yanked: w.yanked}
	metadata := false
	for _, f := range z.File {
		switch {
		case strings.HasSuffix(f.Name, ".dist-info/METADATA") && strings.Count(f.Name, "/") == 1:
			text, err := content(f)
			if err != nil {
				return nil, err
			}
			m, err := pkgmeta.ParseMetadata(text)
			if err != nil {
				return nil, err
			}
			for _, q := range m.Requires {
				r.Requires = append(r.Requires, q.Raw)
			}
			metadata = true
		case shared.MatchString(path.Base(f.Name)):
			l, err := library(f, w.whole)
			if errors.Is(err, elfobj.ErrNotELF) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			r.Libraries = append(r.Libraries, l)
		}
	}
	if !metadata {
		return nil, errors.New("has no METADATA")
	}
	slices.SortFunc(r.Libraries, func(a, b historydata.Library) int { return strings.Compare(a.Path, b.Path) })
	return r, nil
}

// library describes a member with all its exports, or by name.
func library(f *zip.File, whole bool) (historydata.Library, error) {
	if !whole {
		return named(f)
	}
	l := historydata.Library{Path: f.Name}
	data, err := content(f)
	if err != nil {
		return l, err
	}
	o, err := elfobj.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return l, err
	}
	l.Known, l.SONAME, l.Needed, l.RunPath = true, o.SONAME, o.Needed, o.RunPath
	for _, d := range o.VersionDefs {
		if !d.Base {
			l.Versions = append(l.Versions, d.Name)
		}
	}
	for _, e := range o.Exports {
		l.Exports = append(l.Exports, historydata.Export{Name: e.Name, Version: e.Version, Kind: string(e.Kind), Hidden: e.Hidden, Weak: e.Weak, Unique: e.Unique})
	}
	return l, nil
}

func content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
