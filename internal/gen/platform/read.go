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
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
	"github.com/compat-app/compat/internal/apt"
)

// libraryPath matches the libraries on the loader's default path: no plugins (gconv, engines, audit
// libraries).
var libraryPath = regexp.MustCompile(
	`^(usr/)?lib(64|32)?/([a-z0-9_]+-linux-gnu[a-z0-9]*/)?[^/]+\.so[^/]*$`,
)

// readArch reads all suites of one architecture. Packages that the mirror lists but does not have
// stay as they are in before.
func readArch(
	ctx context.Context,
	a architecture,
	cache string,
	before *table.Set,
) (*table.Set, error) {
	set := &table.Set{Arch: a.name}
	b := newBuilder(set)
	for _, s := range a.suites {
		index, err := apt.Open(ctx, cache, s.apt, a.debian)
		if err != nil {
			return nil, err
		}
		base, err := index.Base(ctx, "python3")
		if err != nil {
			return nil, err
		}
		want := base
		for _, name := range extraPackages {
			if !slices.Contains(base, name) {
				want = append(want, name)
			}
		}
		debs, err := index.Fetch(ctx, want)
		if err != nil {
			return nil, err
		}
		if from, _ := kept(before, s.column, "libc6"); from < 0 && debs["libc6"] == "" {
			if s == sid {
				continue // an architecture that the next release will not have
			}
			return nil, fmt.Errorf("the mirror has no libc6 in %s", s.apt.Codename)
		}
		column := b.column(s.column, s.glibc)
		for _, name := range want {
			deb := debs[name]
			if deb == "" {
				b.keep(column, name, slices.Contains(base, name), before)
				continue
			}
			found := false
			err = libraries(ctx, deb, func(file string, o *elfobj.Object) {
				b.add(column, name, slices.Contains(base, name), file, o)
				found = true
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Base(deb), err)
			}
			if found {
				set.Columns[column].From = append(set.Columns[column].From, apt.Version(deb))
			}
		}
	}
	b.finish()
	return set, nil
}

// libraries visits every shared library of a .deb in the loader's search path.
func libraries(ctx context.Context, deb string, visit func(file string, o *elfobj.Object)) error {
	return apt.Files(ctx, deb, libraryPath.MatchString, func(file string, data []byte) error {
		return visitObject(file, data, visit)
	})
}

// visitObject visits a file if it is an ELF file.
func visitObject(file string, data []byte, visit func(file string, o *elfobj.Object)) error {
	if !bytes.HasPrefix(data, []byte("\x7fELF")) {
		return nil
	}
	o, err := elfobj.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	visit(path.Base(file), o)
	return nil
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

func (b *builder) add(column int, pkg string, base bool, file string, o *elfobj.Object) {
	soname := cmp.Or(o.SONAME, file)
	l := b.library(soname)
	l.Package = pkg
	facts := table.Facts{Present: true, Base: base, Needed: o.Needed}
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

// kept returns the column with a name in a set, and the package with its version (NAME=VERSION)
// that it was read from; -1 and "" if the set has no such column, or it does not have the package.
func kept(before *table.Set, name, pkg string) (column int, version string) {
	for i, c := range before.Columns {
		for _, from := range c.From {
			if c.Name == name && strings.HasPrefix(from, pkg+"=") {
				return i, from
			}
		}
	}
	return -1, ""
}

// keep adds the libraries of a package as they are in the column of the same name of another set.
func (b *builder) keep(to int, pkg string, base bool, before *table.Set) {
	column := &b.set.Columns[to]
	from, version := kept(before, column.Name, pkg)
	if from < 0 {
		return // the suite does not have it
	}
	column.From = append(column.From, version)
	for _, old := range before.Libraries {
		// The package of a library is named as in the newest release: libssl3t64.
		if strings.TrimSuffix(old.Package, "t64") != strings.TrimSuffix(pkg, "t64") ||
			!old.In[from].Present {
			continue
		}
		l := b.library(old.SONAME)
		l.Package, l.In[to] = pkg, old.In[from]
		l.In[to].Base = base
		for _, r := range old.Rows {
			if r.Present>>from&1 == 1 {
				b.row(old.SONAME, to, r.Name, r.Node, r.Kind, r.Hidden>>from&1 == 1)
			}
		}
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
