package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
	"github.com/compat-app/compat/internal/apt"
)

// libraryPath matches the libraries on the loader's default path: no plugins (gconv, engines, audit
// libraries).
var libraryPath = regexp.MustCompile(
	`^(usr/)?lib(64|32)?/([a-z0-9_]+-linux-gnu[a-z0-9]*/)?[^/]+\.so[^/]*$`,
)

// notLoaded are libraries of libc6 that a program never needs by itself.
var notLoaded = regexp.MustCompile(
	`^lib(nss_|thread_db|memusage|pcprofile|c_malloc_debug|BrokenLocale|SegFault|nss|panelw|formw|menuw)`,
)

// readArch reads all suites of one architecture.
func readArch(ctx context.Context, a architecture, cache string) (*table.Set, error) {
	set := &table.Set{Arch: a.name}
	b := newBuilder(set)
	for _, s := range a.suites {
		want := append(slices.Clone(basePackages), extraPackages...)
		debs, err := apt.Fetch(ctx, cache, s.apt, a.debian, want)
		if err != nil {
			return nil, err
		}
		if debs["libc6"] == "" && s == sid {
			continue // an architecture that the next release will not have
		}
		if debs["libc6"] == "" {
			return nil, fmt.Errorf("the mirror has no libc6 in %s", s.apt.Codename)
		}
		column := b.column(s.column, s.glibc)
		for _, name := range want {
			deb := debs[name]
			if deb == "" {
				continue
			}
			set.Columns[column].From = append(set.Columns[column].From, apt.Version(deb))
			err = libraries(ctx, deb, func(file string, o *elfobj.Object) { b.add(column, name, file, o) })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Base(deb), err)
			}
		}
	}
	b.finish()
	return set, nil
}

// libraries visits every shared library of a .deb in the loader's search path.
func libraries(ctx context.Context, deb string, visit func(file string, o *elfobj.Object)) error {
	want := func(file string) bool {
		return libraryPath.MatchString(file) && !notLoaded.MatchString(path.Base(file))
	}
	return apt.Files(ctx, deb, want, func(file string, data []byte) error {
		if !bytes.HasPrefix(data, []byte("\x7fELF")) {
			return nil
		}
		o, err := elfobj.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		visit(path.Base(file), o)
		return nil
	})
}

// builder collects objects of several columns into one set.
type builder struct {
	set  *table.Set
	libs map[string]*table.Library
	rows map[string]map[[3]string]*table.Row // by SONAME, then name, node and kind
}

func newBuilder(s *table.Set) *builder {
	return &builder{
		set:  s,
		libs: map[string]*table.Library{},
		rows: map[string]map[[3]string]*table.Row{},
	}
}

func (b *builder) column(name, glibc string) int {
	b.set.Columns = append(b.set.Columns, table.Column{Name: name, Glibc: glibc})
	return len(b.set.Columns) - 1
}

// library gives the library of that SONAME with facts for every column so far.
func (b *builder) library(soname string) *table.Library {
	l := b.libs[soname]
	if l == nil {
		l = &table.Library{SONAME: soname}
		b.libs[soname] = l
		b.rows[soname] = map[[3]string]*table.Row{}
	}
	for len(l.In) < len(b.set.Columns) {
		l.In = append(l.In, table.Facts{})
	}
	return l
}

func (b *builder) add(column int, pkg, file string, o *elfobj.Object) {
	soname := cmp.Or(o.SONAME, file)
	l := b.library(soname)
	l.Package, l.Base = pkg, isBase(pkg)
	facts := table.Facts{Present: true, Needed: o.Needed}
	for _, d := range o.VersionDefs {
		if !d.Base {
			facts.Nodes = append(facts.Nodes, d.Name)
		}
	}
	l.In[column] = facts
	for _, e := range o.Exports.All() {
		if slices.ContainsFunc(
			o.VersionDefs,
			func(d elfobj.VersionDef) bool { return d.Name == e.Name },
		) {
			continue // the marker symbol that linkers add for each version node
		}
		b.row(soname, column, e.Name, e.Version, string(e.Kind), e.Hidden)
	}
}

func (b *builder) row(soname string, column int, name, node, kind string, hidden bool) {
	key := [3]string{name, node, kind}
	r := b.rows[soname][key]
	if r == nil {
		r = &table.Row{Name: name, Node: node, Kind: kind}
		b.rows[soname][key] = r
	}
	r.Present |= 1 << column
	if hidden {
		r.Hidden |= 1 << column
	}
}

// finish puts everything in order.
func (b *builder) finish() {
	b.set.Libraries = nil
	for soname := range b.libs {
		l := b.library(soname)
		l.Rows = nil
		for _, r := range b.rows[soname] {
			l.Rows = append(l.Rows, *r)
		}
		slices.SortFunc(l.Rows, func(x, y table.Row) int {
			return cmp.Or(
				cmp.Compare(x.Name, y.Name),
				table.CompareNodes(x.Node, y.Node),
				cmp.Compare(x.Kind, y.Kind),
			)
		})
		b.set.Libraries = append(b.set.Libraries, l)
	}
	slices.SortFunc(
		b.set.Libraries,
		func(x, y *table.Library) int { return cmp.Compare(x.SONAME, y.SONAME) },
	)
}
