package main

import (
	"reflect"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
)

func object(soname string, exports ...elfobj.Export) *elfobj.Object {
	return &elfobj.Object{SONAME: soname, Exports: elfobj.NewExports(exports...)}
}

func export(name, version string) elfobj.Export {
	return elfobj.Export{Name: name, Version: version, Kind: "func"}
}

// at lists "library symbol@version" of one column.
func at(s *table.Set, column string) (list []string) {
	for i, c := range s.Columns {
		if c.Name != column {
			continue
		}
		for _, l := range s.Libraries {
			for _, r := range l.Rows {
				if r.Present>>i&1 == 1 {
					list = append(list, l.SONAME+" "+r.Name+"@"+r.Node)
				}
			}
		}
	}
	return list
}

// Symbols that moved without changing their node are put back where they were.
func TestDerive(t *testing.T) {
	model := &table.Set{Arch: "aarch64"}
	b := newBuilder(model)
	c := b.column("debian11", "2.31")
	b.add(
		c,
		"libc6",
		true,
		"",
		object(
			"libc.so.6",
			export("malloc", "GLIBC_2.17"),
			export("close", "GLIBC_2.17"),
			export("clock_gettime", "GLIBC_2.17"),
			export("pthread_self", "GLIBC_2.17"),
		),
	)
	b.add(c, "libc6", true, "", object("libdl.so.2", export("dlopen", "GLIBC_2.17")))
	b.add(c, "libc6", true, "", object("libpthread.so.0", export("close", "GLIBC_2.17")))
	b.add(c, "libc6", true, "", object("librt.so.1", export("shm_open", "GLIBC_2.17")))
	b.finish()
	young := &table.Set{Arch: "riscv64"}
	b = newBuilder(young)
	c = b.column("debian13", "2.41")
	b.add(
		c,
		"libc6",
		true,
		"",
		object(
			"libc.so.6",
			export("malloc", "GLIBC_2.27"),
			export("close", "GLIBC_2.27"),
			export("dlopen", "GLIBC_2.27"),
			export("dlopen", "GLIBC_2.34"),
			export("__riscv_flush_icache", "GLIBC_2.27"),
			export("clock_gettime", "GLIBC_2.27"),
		),
	)
	b.add(c, "libc6", true, "", object("libdl.so.2", export("__libdl_version_placeholder", "GLIBC_2.27")))
	b.add(
		c,
		"libc6",
		true,
		"",
		object("libpthread.so.0", export("__libpthread_version_placeholder", "GLIBC_2.27")),
	)
	b.finish()
	if err := derive([]*table.Set{model, young}); err != nil {
		t.Fatal(err)
	}
	if got, want := at(young, "glibc2.31"), []string{"libc.so.6 __riscv_flush_icache@GLIBC_2.27",
		"libc.so.6 clock_gettime@GLIBC_2.27", "libc.so.6 close@GLIBC_2.27",
		"libc.so.6 malloc@GLIBC_2.27", "libdl.so.2 dlopen@GLIBC_2.27",
		"libpthread.so.0 close@GLIBC_2.27"}; !reflect.DeepEqual(
		got,
		want,
	) {
		t.Errorf("riscv64 glibc 2.31: %q\nwant %q", got, want)
	}
	if got, want := at(model, "glibc2.30"), []string{"libc.so.6 clock_gettime@GLIBC_2.17",
		"libc.so.6 close@GLIBC_2.17", "libc.so.6 malloc@GLIBC_2.17", "libc.so.6 pthread_self@GLIBC_2.17",
		"libdl.so.2 dlopen@GLIBC_2.17", "libpthread.so.0 close@GLIBC_2.17",
		"libpthread.so.0 pthread_self@GLIBC_2.17", "librt.so.1 shm_open@GLIBC_2.17"}; !reflect.DeepEqual(
		got,
		want,
	) {
		t.Errorf("aarch64 glibc 2.30: %q\nwant %q", got, want)
	}
}

// A package whose file is missing keeps its libraries, also if a newer release has renamed it.
func TestKeep(t *testing.T) {
	before := &table.Set{}
	b := newBuilder(before)
	for _, c := range []struct{ column, pkg string }{
		{"debian12", "libssl3"}, {"debian13", "libssl3t64"},
	} {
		n := b.column(c.column, "2.36")
		before.Columns[n].From = []string{c.pkg + "=3.0"}
		b.add(n, c.pkg, true, "", object("libssl.so.3", export("SSL_new", "OPENSSL_3.0.0")))
	}
	b.finish()
	after := &table.Set{}
	b = newBuilder(after)
	b.keep(b.column("debian12", "2.36"), "libssl3", true, before)
	b.keep(b.column("debian13", "2.41"), "libssl3t64", true, before)
	b.finish()
	for _, c := range after.Columns {
		if got := at(after, c.Name); len(got) != 1 || len(c.From) != 1 {
			t.Errorf("%s: %q of %q", c.Name, got, c.From)
		}
	}
	if from, _ := kept(before, "debian12", "libssl3t64"); from >= 0 {
		t.Errorf("debian12 has libssl3t64, in column %d", from)
	}
}

// What Debian adds and leaves out on x86_64 it adds and leaves out elsewhere, and an older musl has
// no functions with a time of 64 bits that only 32-bit systems have.
func TestDeriveMusl(t *testing.T) {
	musl := func(names ...string) *elfobj.Object {
		var exports []elfobj.Export
		for _, name := range names {
			exports = append(exports, export(name, ""))
		}
		return object("libc.musl-x86_64.so.1", exports...)
	}
	model := &table.Set{Arch: "x86_64-musl"}
	b := newBuilder(model)
	old, now := b.column("alpine3.12", "1.1.24"), b.column("alpine3.20", "1.2.5")
	b.add(old, "musl", true, "", musl("open", "open64", "crypt"))
	b.add(now, "musl", true, "", musl("open", "crypt", "statx"))
	b.finish()
	set, err := deriveMusl("armv7l", "musl=1.2.5-3",
		musl("open", "statx", "fts_open", "__aeabi_memcpy", "__clock_gettime64", "__stat_time64"),
		musl("open", "statx", "fts_open"), model)
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string][]string{
		"musl1.1.24": {"__aeabi_memcpy", "crypt", "open", "open64"},
		"musl1.2.5": {
			"__aeabi_memcpy", "__clock_gettime64", "__stat_time64", "crypt", "open", "statx",
		},
	} {
		for i, name := range want {
			want[i] = "libc.musl-armv7.so.1 " + name + "@"
		}
		if got := at(set, column); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
	if _, err := deriveMusl("armv7l", "", musl(), musl(), &table.Set{}); err == nil {
		t.Error("a table without musl")
	}
}
