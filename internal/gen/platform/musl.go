package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/table"
	"github.com/compat-app/compat/internal/apt"
)

// Debian has musl for architectures whose Alpine is not read. The releases of Alpine's tables are
// derived from it.
const (
	oldMusl = "1.1.24" // that of musllinux_1_1
	newMusl = "1.2.5"  // that of Debian 13
)

var muslLibrary = regexp.MustCompile(`^(usr/)?lib/[^/]+-linux-musl[^/]*/libc\.so$`)

// readMusl makes the table of musl for an architecture from Debian's: that of Debian 13 or, where
// it does not have the architecture, of a later one. model is x86_64's table, which was read from
// Alpine.
func readMusl(
	ctx context.Context,
	a architecture,
	cache string,
	model *table.Set,
) (*table.Set, error) {
	release := a.suites[0]
	for _, s := range a.suites {
		if s.column == trixie.column {
			release = s
		}
	}
	here, from, err := debianMusl(ctx, cache, release.apt, a.debian)
	if err != nil {
		return nil, err
	}
	there, _, err := debianMusl(ctx, cache, release.apt, "amd64")
	if err != nil {
		return nil, err
	}
	return deriveMusl(a.name, from, here, there, model)
}

// debianMusl reads Debian's musl, and returns its package with the version too.
func debianMusl(
	ctx context.Context,
	cache string,
	suite apt.Suite,
	arch string,
) (o *elfobj.Object, from string, err error) {
	index, err := apt.Open(ctx, cache, suite, arch)
	if err != nil {
		return nil, "", err
	}
	debs, err := index.Fetch(ctx, []string{"musl"})
	if err != nil {
		return nil, "", err
	}
	deb := debs["musl"]
	if deb == "" {
		return nil, "", fmt.Errorf("the mirror has no musl for %s in %s", arch, suite.Codename)
	}
	err = apt.Files(ctx, deb, muslLibrary.MatchString, func(file string, data []byte) error {
		return visitObject(file, data, func(_ string, read *elfobj.Object) { o = read })
	})
	if err == nil && o == nil {
		err = fmt.Errorf("%s has no libc.so", filepath.Base(deb))
	}
	return o, apt.Version(deb), err
}

// deriveMusl returns the table of an architecture. What Debian adds to musl and leaves out is what
// it adds and leaves out on x86_64, where Alpine's is known; there is Debian's of x86_64.
func deriveMusl(
	arch, from string,
	here, there *elfobj.Object,
	model *table.Set,
) (*table.Set, error) {
	alpine, err := muslOf(model, newMusl)
	if err != nil {
		return nil, err
	}
	debian := map[string]bool{}
	for _, e := range there.Exports.All() {
		debian[e.Name] = true
	}
	set := &table.Set{Arch: arch + "-musl"}
	b := newBuilder(set)
	column := b.column("musl"+newMusl, newMusl)
	set.Columns[column].From = []string{from}
	soname := platform.MuslLibc(arch)
	l := b.library(soname)
	l.Package, l.In[column] = "musl", table.Facts{Present: true, Base: true}
	for _, e := range here.Exports.All() {
		if !debian[e.Name] || alpine[e.Name] != "" {
			b.row(soname, column, e.Name, "", string(e.Kind), false)
		}
	}
	for name, kind := range alpine {
		if !debian[name] {
			b.row(soname, column, name, "", kind, false)
		}
	}
	b.finish()
	return set, addOldMusl(set, model)
}

// addOldMusl adds musl 1.1.24 to a table that does not have it. It has what x86_64 has in both,
// what only this architecture has (but for the functions with a time of 64 bits, which 1.2.0 added
// to those of 32 bits), and what x86_64 has no longer. An architecture that musl did not support
// then has a column that no platform uses. Builds of musl 1.1.24 and 1.2.5 for i686, armv7l,
// ppc64le, s390x and riscv64 export the same, but for __restore and __restore_rt of riscv64 in
// 1.1.24.
func addOldMusl(s, model *table.Set) error {
	if slices.ContainsFunc(s.Columns, func(c table.Column) bool { return c.Glibc == oldMusl }) {
		return nil
	}
	here, err := muslOf(s, newMusl)
	if err != nil {
		return err
	}
	now, err := muslOf(model, newMusl)
	if err != nil {
		return err
	}
	before, err := muslOf(model, oldMusl)
	if err != nil {
		return err
	}
	b, column := extend(s, "musl"+oldMusl, oldMusl)
	l := s.Libraries[slices.IndexFunc(s.Libraries, isMusl)]
	l.In[column] = table.Facts{Present: true, Base: true}
	for name, kind := range here {
		if before[name] != "" || now[name] == "" && !strings.Contains(name, "time64") {
			b.row(l.SONAME, column, name, "", kind, false)
		}
	}
	for name, kind := range before {
		if now[name] == "" {
			b.row(l.SONAME, column, name, "", kind, false)
		}
	}
	b.finish()
	return nil
}

func isMusl(l *table.Library) bool { return l.Package == "musl" }

// muslOf returns the kinds of the symbols of a release of musl, by name. Of several columns with
// it, the first counts.
func muslOf(s *table.Set, version string) (map[string]string, error) {
	column := slices.IndexFunc(s.Columns, func(c table.Column) bool { return c.Glibc == version })
	at := slices.IndexFunc(s.Libraries, isMusl)
	if column < 0 || at < 0 {
		return nil, fmt.Errorf("%s has no musl %s", s.Arch, version)
	}
	rows, err := s.Libraries[at].Read()
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for _, r := range rows {
		if r.Present>>column&1 == 1 {
			kinds[r.Name] = r.Kind
		}
	}
	return kinds, nil
}
