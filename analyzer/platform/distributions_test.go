package platform

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// For a release whose packages were read, floors agrees with its libraries.
func TestFloorsMatchTheTables(t *testing.T) {
	compared := 0
	s := symbols("x86_64")
	for _, d := range distributions() {
		i := column(s, d.name)
		if d.floors == nil || i < 0 {
			continue
		}
		p := &Platform{Name: d.name, Arch: "x86_64", Libc: "glibc", LibcVersion: d.libc}
		derived, read := d.cut(p, s).Versions["x86_64"], map[string][]string{}
		for _, l := range s.Libraries {
			for _, node := range l.In[i].Nodes {
				family, rest, _ := strings.Cut(node, "_")
				if d.floors[family] != "" && !slices.Contains(read[family], rest) &&
					families[l.SONAME] != "" {
					read[family] = append(read[family], rest)
				}
			}
		}
		for family, want := range read {
			got := slices.DeleteFunc(
				slices.Clone(derived[family]),
				func(v string) bool { return !isVersion(family+"_"+v, family) },
			)
			want = slices.DeleteFunc(want, func(v string) bool { return !isVersion(family+"_"+v, family) })
			byNode := func(a, b string) int { return table.CompareNodes("_"+a, "_"+b) }
			slices.SortFunc(got, byNode)
			slices.SortFunc(want, byNode)
			if !slices.Equal(got, want) {
				t.Errorf("%s: the floors give %s %q, its packages have %q", d.name, family, got, want)
			}
			compared++
		}
	}
	if compared < 20 {
		t.Errorf("%d families compared, want those of five releases", compared)
	}
}

// From the distributions' release notes and the compliance data of PEP 600.
func TestDistributions(t *testing.T) {
	for _, c := range []struct{ name, arch, has, lacks string }{
		{"rhel7", "x86_64", "GLIBC_2.17 GLIBCXX_3.4.19 CXXABI_1.3.7 GCC_4.8.0 GLIBC_PRIVATE CXXABI_TM_1",
			"GLIBC_2.18 GLIBCXX_3.4.20 CXXABI_1.3.8 GCC_7.0.0 ZLIB_1.2.7.1"},
		{"centos7", "aarch64", "GLIBC_2.17", "GLIBC_2.25"},
		{"amazonlinux2", "x86_64", "GLIBC_2.26 GLIBCXX_3.4.24", "GLIBC_2.27 GLIBCXX_3.4.25"},
		{"ubuntu18.04", "x86_64", "GLIBC_2.27 GLIBCXX_3.4.25 ZLIB_1.2.9", "GLIBC_2.28 GLIBCXX_3.4.26"},
		{"ubuntu18.04", "aarch64", "GLIBC_2.27 GLIBCXX_3.4.25", "GLIBC_2.28 GLIBCXX_3.4.26"},
		{"alma8", "x86_64", "GLIBC_2.28 GLIBCXX_3.4.25", "GLIBC_2.29 GLIBCXX_3.4.26"},
		{"debian10", "x86_64", "GLIBC_2.28", "GLIBC_2.29"},
		{"ubuntu:20.04", "x86_64", "GLIBC_2.30 GLIBCXX_3.4.28", "GLIBC_2.32 GLIBCXX_3.4.29"},
		{"sles15", "x86_64", "GLIBC_2.30 GLIBCXX_3.4.32", "GLIBC_2.32"},
		{"rocky9", "x86_64", "GLIBC_2.34 GLIBCXX_3.4.29", "GLIBC_2.35 GLIBCXX_3.4.30 GLIBC_ABI_DT_RELR"},
		{"rhel9", "aarch64", "GLIBC_2.34 GCC_11.0", "GCC_13.0.0"},
		{"amazonlinux:2023", "x86_64", "GLIBC_2.34 GLIBCXX_3.4.33", "GLIBC_2.35"},
		{"jammy", "x86_64", "GLIBC_2.35 GLIBCXX_3.4.30", "GLIBC_2.36 GLIBC_ABI_DT_RELR GLIBCXX_3.4.31"},
		{"ubuntu24.04", "ppc64le", "GLIBC_2.38 GLIBC_ABI_DT_RELR GLIBCXX_3.4.33",
			"GLIBC_2.40 GLIBCXX_3.4.34"},
		{"rhel10", "x86_64", "GLIBC_2.39 GLIBC_ABI_DT_RELR", "GLIBC_2.40"},
		{"ubuntu26.04", "x86_64", "GLIBC_2.43 GLIBCXX_3.4.35", "GLIBC_2.44"},
		{"manylinux_2_42", "x86_64", "GLIBC_2.42 GLIBCXX_3.4.33", "GLIBC_2.43"},
		{"manylinux_2_43", "aarch64", "GLIBC_2.43", "GLIBC_2.44"},
	} {
		p := lookup(t, c.name, c.arch)
		for _, v := range strings.Fields(c.has) {
			if !p.HasVersion(v) {
				t.Errorf("%s lacks %s", p, v)
			}
		}
		for _, v := range strings.Fields(c.lacks) {
			if p.HasVersion(v) {
				t.Errorf("%s has %s", p, v)
			}
		}
	}
	if _, err := Lookup("manylinux_2_44", "x86_64"); err == nil {
		t.Error("manylinux_2_44 is known though no glibc 2.44 was read")
	}
	if _, err := Lookup("ubuntu18.04", "riscv64"); err != nil &&
		!strings.Contains(err.Error(), "riscv64") {
		t.Errorf("riscv64: %v", err)
	}
	// dlopen moved to libc with glibc 2.34.
	for name, want := range map[string]string{"rhel8": "libdl.so.2", "ubuntu20.04": "libdl.so.2",
		"rhel9": "libc.so.6", "ubuntu22.04": "libc.so.6"} {
		if got := Providers(lookup(t, name, "x86_64"), "dlopen"); len(got) == 0 ||
			got[0].SONAME != want {
			t.Errorf("dlopen on %s comes from %v, want %s", name, got, want)
		}
	}
}

// TestInstalled compares the libraries of a distribution with debootstrap --variant=minbase
// --include=python3 and with the images of Alpine.
func TestInstalled(t *testing.T) {
	for _, c := range []struct{ name, has, lacks string }{
		{"debian11", "libstdc++.so.6 libgcc_s.so.1 libz.so.1 libnsl.so.2 libtinfo.so.6",
			"libgomp.so.1 libatomic.so.1 libgfortran.so.5 libtinfo.so.5 libncursesw.so.5"},
		{"debian12", "libstdc++.so.6 libexpat.so.1 libffi.so.8 libssl.so.3 libtirpc.so.3 libzstd.so.1",
			"libgomp.so.1 libquadmath.so.0 libitm.so.1 libnuma.so.1 libtinfo.so.5"},
		{"debian13", "libstdc++.so.6 libsqlite3.so.0 libdb-5.3.so", "libgomp.so.1 libnsl.so.2 libtirpc.so.3"},
		{"ubuntu18.04", "libtinfo.so.5 libncursesw.so.5 libuuid.so.1", "libgomp.so.1"},
		{"ubuntu22.04", "libstdc++.so.6 libnsl.so.2 libbz2.so.1.0", "libgomp.so.1 libatomic.so.1"},
		{"ubuntu24.04", "libstdc++.so.6 libreadline.so.8", "libgomp.so.1 libnsl.so.2"},
		{"alpine3.20", "libz.so.1 libffi.so.8", "libstdc++.so.6 libgcc_s.so.1 libgomp.so.1"},
	} {
		p := lookup(t, c.name, "x86_64")
		for _, soname := range strings.Fields(c.has) {
			if !p.Installs(soname) {
				t.Errorf("%s does not install %s", c.name, soname)
			}
		}
		for _, soname := range strings.Fields(c.lacks) {
			if p.Library(soname) == nil || p.Installs(soname) {
				t.Errorf("%s: %s is not a library that has to be installed", c.name, soname)
			}
		}
		ecosystem := Debian
		switch {
		case p.Libc == "musl":
			ecosystem = Alpine
		case !Older(p.LibcVersion, "2.39"):
			ecosystem = Debian13
		}
		for _, l := range p.Libraries() {
			provider, _ := ProviderOf(l.SONAME)
			if !l.Installed && !provider.Available(ecosystem) {
				t.Errorf("%s: no package has %s", c.name, l.SONAME)
			}
		}
	}
}

func TestMusl(t *testing.T) {
	for _, c := range []struct {
		name, symbol string
		want         bool
	}{
		{"alpine3.17", "malloc", true},
		{"alpine3.17", "qsort_r", true}, // musl 1.2.3
		{"alpine3.12", "qsort_r", false},
		{"alpine3.19", "statx", false}, // musl 1.2.5
		{"alpine3.20", "statx", true},
		{"alpine3.22", "statx", true},
		{"alpine3.20", "__cxa_thread_atexit_impl", false}, // glibc's
		{"alpine3.20", "gnu_get_libc_version", false},
		{"musllinux_1_2", "statx", true},
		{"musllinux_1_1", "qsort_r", false},
	} {
		p := lookup(t, c.name, "x86_64")
		for _, soname := range []string{"libc.musl-x86_64.so.1", "libc.so"} {
			l := p.Library(soname)
			if l == nil && soname == "libc.so" && p.Kind == Distribution {
				continue
			}
			if l == nil || !l.Known || l.Has(c.symbol, "") != c.want {
				t.Errorf("%s of %s: %s is there: %v, want %v", soname, p, c.symbol, !c.want, c.want)
			}
		}
		if p.Libc != "musl" {
			t.Errorf("%s has %s", p, p.Libc)
		}
	}
	p := lookup(t, "alpine3.20", "x86_64")
	// Alpine builds libstdc++ without versions, and its Python image does not contain it.
	if l := p.Library("libstdc++.so.6"); l == nil || l.Installed || len(l.Versions) > 0 ||
		!l.Has("_ZdaPvm", "") {
		t.Errorf("%s: libstdc++ is unknown, installed, has versions or lacks operator delete[]", p)
	}
	if p.Library("libcrypto.so.3") == nil {
		t.Errorf("%s has no libcrypto.so.3", p)
	}
}

// Every name and alias identifies one platform, on each architecture that has it.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, arch := range Architectures() {
		for _, n := range Names(arch) {
			p := lookup(t, n, arch)
			if p.Arch != arch || p.Name != n && !slices.Contains(p.Aliases, n) {
				t.Errorf("%s on %s is %s", n, arch, p)
			}
			if other, ok := seen[n+arch]; ok {
				t.Errorf("%s on %s is there twice: %s and %s", n, arch, other, p)
			}
			seen[n+arch] = p.Name
		}
	}
	var missing []string
	for _, d := range distributions() {
		if !slices.ContainsFunc(
			slices.Collect(maps.Values(seen)),
			func(n string) bool { return n == d.name },
		) {
			missing = append(missing, d.name)
		}
	}
	if len(missing) > 0 {
		t.Error(fmt.Sprint("on no architecture at all: ", missing))
	}
}

// The libraries that the tables have as those of a small image are those of a root that debootstrap
// makes: testdata/minbase.txt, which make minbase writes.
func TestMinbase(t *testing.T) {
	text, err := os.ReadFile("testdata/minbase.txt")
	if err != nil {
		t.Fatal(err)
	}
	releases := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		releases++
		p := lookup(t, words[0], "x86_64")
		for _, soname := range words[1:] {
			if !p.Installs(soname) {
				t.Errorf("%s does not install %s", p, soname)
			}
		}
		for _, l := range p.Libraries() {
			if l.Installed && !slices.Contains(words[1:], l.SONAME) {
				t.Errorf("%s: %s of %s is not in a small image", p, l.SONAME, l.Package)
			}
		}
	}
	if releases < 5 {
		t.Errorf("%d releases compared, want 5", releases)
	}
}
