package platform

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func lookup(t *testing.T, name, arch string) *Platform {
	t.Helper()
	p, err := Lookup(name, arch)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Facts from published wheels and real loaders.
func TestFacts(t *testing.T) {
	m17 := lookup(t, "manylinux_2_17", "x86_64")
	for version, want := range map[string]bool{"GLIBC_2.17": true, "GLIBC_2.18": false,
		"GLIBC_2.27": false, "GLIBC_2.29": false, "GLIBCXX_3.4.19": true, "GLIBCXX_3.4.20": false,
		"CXXABI_1.3.7": true, "CXXABI_1.3.8": false, "GCC_4.8.0": true, "GCC_7.0.0": false,
		"GLIBC_PRIVATE": false} {
		if got := m17.HasVersion(version); got != want {
			t.Errorf("manylinux_2_17_x86_64 has %s: %v, want %v", version, got, want)
		}
	}
	d11 := lookup(t, "debian11", "x86_64")
	for version, want := range map[string]bool{"GLIBC_2.31": true, "GLIBC_2.32": false,
		"GLIBCXX_3.4.28": true, "GLIBCXX_3.4.29": false, "CXXABI_1.3.12": true, "GLIBC_PRIVATE": true} {
		if got := d11.HasVersion(version); got != want {
			t.Errorf("debian11 has %s: %v, want %v", version, got, want)
		}
	}
	for arch, want := range map[string][]string{"x86_64": {"GLIBC_2.2.5", "GLIBC_2.29"},
		"aarch64": {"GLIBC_2.17", "GLIBC_2.29"}} {
		if got := lookup(t, "debian11", arch).Library("libm.so.6").SymbolVersions("pow"); !slices.Equal(
			got,
			want,
		) {
			t.Errorf("pow on debian11/%s at %v, want %v", arch, got, want)
		}
		if got := lookup(t, "manylinux_2_28",
			arch).Library("libm.so.6").SymbolVersions("pow"); !slices.Equal(
			got,
			want[:1],
		) {
			t.Errorf("pow on manylinux_2_28_%s at %v, want %v", arch, got, want[:1])
		}
	}
	if v, ok := m17.Library("libm.so.6").Default("pow"); v != "GLIBC_2.2.5" || !ok {
		t.Errorf("a linker on manylinux_2_17 gives pow %q, %v", v, ok)
	}
	if v, ok := d11.Library("libm.so.6").Default("pow"); v != "GLIBC_2.29" || !ok {
		t.Errorf("a linker on debian11 gives pow %q, %v", v, ok)
	}
}

// Results of ld.so with the real libraries: a reference without a version cannot bind to
// __exp_finite, which was added in 2.15 and is hidden since 2.31.
func TestBinds(t *testing.T) {
	d12 := lookup(t, "debian12", "x86_64")
	for _, c := range []struct {
		library, symbol, version string
		want                     bool
	}{
		{"libm.so.6", "exp", "GLIBC_2.2.5", true}, {"libm.so.6", "exp", "GLIBC_2.28", false},
		{"libm.so.6", "exp", "", true},
		{"libm.so.6", "__exp_finite", "GLIBC_2.15", true}, {"libm.so.6", "__exp_finite", "", false},
		// hidden, and the oldest version
		{"libc.so.6", "sys_siglist", "GLIBC_2.2.5", true}, {"libc.so.6", "sys_siglist", "", true},
		{"libc.so.6", "exp", "", false},
	} {
		if got := d12.Library(c.library).Binds(c.symbol, c.version); got != c.want {
			t.Errorf("%s@%s binds to %s: %v, want %v", c.symbol, c.version, c.library, got, c.want)
		}
	}
}

func TestProviders(t *testing.T) {
	for _, c := range []struct{ platform, arch, symbol, want string }{
		{"manylinux_2_17", "x86_64", "dlopen", "libdl.so.2"},
		{"manylinux_2_17", "aarch64", "dlopen", "libdl.so.2"},
		{"manylinux_2_34", "x86_64", "dlopen", "libc.so.6"},
		{"debian11", "x86_64", "dlopen", "libdl.so.2"},
		{"debian12", "x86_64", "dlopen", "libc.so.6"},
		{"debian11", "aarch64", "shm_open", "librt.so.1"},
		{"debian11", "x86_64", "pthread_create", "libpthread.so.0"},
		{"manylinux_2_41", "s390x", "pthread_create", "libc.so.6"},
		{"debian11", "i686", "pow", "libm.so.6"},
		{"debian11", "x86_64", "GOMP_parallel", "libgomp.so.1"},
		{"manylinux_2_17", "x86_64", "no_such_symbol", ""},
	} {
		var got []string
		for _, l := range Providers(lookup(t, c.platform, c.arch), c.symbol) {
			got = append(got, l.SONAME)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s on %s/%s comes from %q, want %q", c.symbol, c.platform, c.arch, got, c.want)
		}
	}
	dl := lookup(t, "manylinux_2_17", "aarch64").Library("libdl.so.2")
	if !dl.Has("dlopen", "GLIBC_2.17") || dl.Has("dlopen", "GLIBC_2.2.5") {
		t.Errorf("dlopen on aarch64 at %v, want GLIBC_2.17", dl.SymbolVersions("dlopen"))
	}
}

func TestWithVersions(t *testing.T) {
	for _, c := range []struct {
		want     string
		versions []string
	}{
		{"manylinux_2_31_x86_64", []string{"GLIBC_2.29", "GLIBCXX_3.4.26"}},
		{"manylinux_2_24_x86_64", []string{"GLIBCXX_3.4.21", "CXXABI_1.3.9"}},
		{"manylinux_2_5_x86_64", nil},
		{"manylinux_2_36_x86_64", []string{"GLIBC_ABI_DT_RELR"}},
	} {
		got := WithVersions("x86_64", c.versions...)
		if len(got) == 0 || got[0].Name != c.want {
			t.Errorf("first with %v: %v, want %s", c.versions, got, c.want)
		}
	}
	if got := WithVersions("x86_64", "GLIBC_9.9"); got != nil {
		t.Errorf("GLIBC_9.9 is on %v", got)
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ name, arch, want string }{
		{"manylinux2014_x86_64", "", "manylinux_2_17_x86_64"},
		{"manylinux2014", "aarch64", "manylinux_2_17_aarch64"},
		{"manylinux1_i686", "x86_64", "manylinux_2_5_i686"},
		{"manylinux2010", "amd64", "manylinux_2_12_x86_64"},
		{"manylinux_2_28", "arm64", "manylinux_2_28_aarch64"},
		{"manylinux_2_29_x86_64", "", "manylinux_2_29_x86_64"},
		{"musllinux_1_2_x86_64", "", "musllinux_1_2_x86_64"},
		{"debian11", "x86_64", "debian11/x86_64"},
		{"debian:12", "x86_64", "debian12/x86_64"},
		{"trixie/riscv64", "x86_64", "debian13/riscv64"},
		{"debian11/aarch64", "x86_64", "debian11/aarch64"},
	} {
		p, err := Lookup(c.name, c.arch)
		if err != nil {
			t.Errorf("%s on %q: %v", c.name, c.arch, err)
		} else if p.String() != c.want {
			t.Errorf("%s on %q is %s, want %s", c.name, c.arch, p, c.want)
		}
		if again, _ := Lookup(c.name, c.arch); again != p {
			t.Errorf("%s: two lookups give two platforms", c.name)
		}
	}
	for _, c := range []struct{ name, arch, want string }{
		{"manylinux_2_71", "x86_64", "did you mean manylinux_2_17?"},
		{"manylinux_2_82", "x86_64", "did you mean manylinux_2_28?"},
		{"manylinux_2_4", "x86_64", "write manylinux_2_40 or manylinux_2_41"},
		{"debian7", "x86_64", "write debian10, debian11, debian12 or debian13"},
		{"linux_x86_64", "", "promises no library"},
		{"macos", "x86_64", "such as macosx_11_0_arm64"},
		{"Windows", "aarch64", "write win_amd64, win_arm64 or win32"},
		{"debian", "x86_64", "write debian10, debian11, debian12 or debian13"},
		{"ubunto22.04", "x86_64", "did you mean ubuntu22.04?"},
		{"debian11", "sparc64", "x86_64"},
		{"alpine3.17", "aarch64", "is known on x86_64 only; for aarch64"},
		{"debian11", "", "debian11/x86_64"},
		{"debian11/riscv64", "", "debian13"},
		{strings.Repeat("a", 1<<20), "x86_64", "debian12"},
	} {
		_, err := Lookup(c.name, c.arch)
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s on %q: error %.400v, want ErrUnknown with %q", c.name, c.arch, err, c.want)
		}
	}
	m29 := lookup(t, "manylinux_2_29", "x86_64")
	if m29.Note == "" || !m29.HasVersion("GLIBC_2.29") || m29.HasVersion("GLIBC_2.30") ||
		m29.HasVersion("GLIBCXX_3.4.26") ||
		!m29.Library("libm.so.6").Has("pow", "GLIBC_2.29") {
		t.Errorf(
			"manylinux_2_29: %q, pow at %v",
			m29.Note,
			m29.Library("libm.so.6").SymbolVersions("pow"),
		)
	}
}

// All embedded data decodes, and All is sorted.
func TestAll(t *testing.T) {
	for _, arch := range Architectures() {
		var last *Platform
		for _, p := range All(arch) {
			if len(p.Libraries()) == 0 {
				t.Errorf("%s promises nothing", p)
			}
			if last != nil && last.LibcVersion == p.LibcVersion && last.Kind == Distribution &&
				p.Kind == Policy {
				t.Errorf("%s comes before %s", last, p)
			}
			if p.Libc == "glibc" && arch != "ppc64" && arch != "loongarch64" {
				for _, soname := range []string{"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1",
					p.Loader()} {
					if l := p.Library(soname); l == nil || !l.Known {
						t.Errorf("%s: exports of %q are not known", p, soname)
					}
				}
				if c := p.Library("libc.so.6"); !c.Has("malloc", "") || c.Has("malloc", "NONE_1") {
					t.Errorf("%s: malloc at %v", p, c.SymbolVersions("malloc"))
				}
			}
			last = p
		}
	}
	x := lookup(t, "manylinux_2_28", "x86_64")
	if l := x.Library("libGL.so.1"); l == nil || l.Known || l.Has("glBegin", "") {
		t.Errorf("libGL.so.1 of a policy: %+v, want it by name only", l)
	}
	if x.Library("libcrypt.so.1") != nil || x.Library("libcuda.so.1") != nil {
		t.Error("libcrypt.so.1 or libcuda.so.1 is promised by manylinux_2_28")
	}
	if m := lookup(t, "musllinux_1_2", "x86_64"); m.Library("libc.musl-x86_64.so.1") == nil ||
		m.Libc != "musl" ||
		m.LibcVersion != "1.2" {
		t.Errorf("musllinux_1_2: %+v", m)
	}
}

// GLib has no symbol versions. A policy has the symbols of each release that was read and that it
// includes, and of the last one before them; of what only newer ones than that have, nothing is
// said. The releases of the symbols are those of GLib's documentation: 2.66 is in Debian 11, 2.72
// in Ubuntu 22.04, 2.74 in Debian 12, 2.80 in Ubuntu 24.04, 2.84 in Debian 13.
func TestReleases(t *testing.T) {
	for _, c := range []struct {
		platform, symbol string
		has              bool
		without          string // the first of those that lack it, "" for none
	}{
		{"manylinux_2_28", "g_string_new", true, ""},
		// The oldest release that was read for aarch64 is newer than RHEL 8.
		{"manylinux_2_28_aarch64", "g_string_new", false, ""},
		{"manylinux_2_28_aarch64", "g_string_free_and_steal", false, "debian11"},
		{"manylinux_2_34_aarch64", "g_string_new", true, ""},
		{"manylinux_2_28", "g_string_free_and_steal", false, "debian11"}, // of 2.76
		{"manylinux_2_34", "g_string_free_and_steal", false, "ubuntu22.04"},
		{"manylinux_2_39", "g_string_free_and_steal", false, ""}, // Debian 12 lacks it, and is too old
		{"manylinux_2_34", "g_string_replace", false, ""},        // of 2.68, since Ubuntu 22.04
		{"manylinux_2_17", "no_such_symbol", false, "ubuntu18.04"},
		{"debian12", "g_string_replace", true, ""},
		{"debian12", "g_string_free_and_steal", false, "debian12"},
	} {
		l := lookup(t, c.platform, "x86_64").Library("libglib-2.0.so.0")
		with, without := l.Releases(c.symbol)
		if l.Has(c.symbol, "") != c.has || strings.Join(without[:min(1, len(without))], "") != c.without {
			t.Errorf("%s on %s: %v, with %v, without %v; want %v and %q", c.symbol, c.platform,
				l.Has(c.symbol, ""), with, without, c.has, c.without)
		}
	}
	with, without := lookup(t, "debian12", "x86_64").Library("libc.so.6").Releases("malloc")
	if with != nil || without != nil {
		t.Errorf("libc.so.6 has symbol versions, and %v and %v", with, without)
	}
}

func TestPolicyQuestions(t *testing.T) {
	p := lookup(t, "manylinux2014_x86_64", "")
	for version, want := range map[string][2]bool{"GLIBC_2.17": {true, true},
		"GLIBC_2.18": {false, true}, "GLIBC_PRIVATE": {false, true}, "OPENSSL_3.0.0": {false, false},
		"CXXABI_TM_1": {true, true}} {
		if allowed, known := p.Allows(version); allowed != want[0] || known != want[1] {
			t.Errorf("%s: allowed %v, known %v; want %v", version, allowed, known, want)
		}
	}
	if p.Priority() != 80 || !slices.Contains(p.Whitelist(), "libGL.so.1") ||
		!slices.Contains(p.Blacklist("libz.so.1"), "deflate_copyright") {
		t.Errorf("priority %d, whitelist %v", p.Priority(), p.Whitelist())
	}
	if p.Library("libz.so.1").Has("deflate", "") != true ||
		p.Library("libz.so.1").Has("inflate_copyright", "") {
		t.Error("libz.so.1: deflate is missing or inflate_copyright is there")
	}
}

func BenchmarkHas(b *testing.B) {
	p, err := Lookup("manylinux_2_28", "x86_64")
	if err != nil {
		b.Fatal(err)
	}
	l := p.Library("libstdc++.so.6")
	for b.Loop() {
		l.Has("_ZSt24__throw_out_of_range_fmtPKcz", "GLIBCXX_3.4.20")
	}
}

func TestFirst(t *testing.T) {
	for _, c := range []struct{ arch, soname, version, want string }{
		{"x86_64", "libm.so.6", "GLIBC_2.29",
			"Debian 11, Ubuntu 20.04, RHEL 9, Amazon Linux 2023, SLES 15 SP3"},
		{"amd64", "libc.so.6", "GLIBC_2.38", "Debian 13, Ubuntu 24.04, RHEL 10, SLES 15.6"},
		{"aarch64", "libstdc++.so.6", "GLIBCXX_3.4.29",
			"Debian 12, Ubuntu 22.04, RHEL 9, Amazon Linux 2023, SLES 15 SP3"},
		{"x86_64", "libc.so.6", "GLIBC_9.9", ""},
		{"x86_64", "libnothing.so.1", "GLIBC_2.29", ""},
		{"pdp11", "libc.so.6", "GLIBC_2.29", ""},
	} {
		if got := strings.Join(First(c.arch, c.soname, c.version), ", "); got != c.want {
			t.Errorf("First(%s, %s, %s) = %s, want %s", c.arch, c.soname, c.version, got, c.want)
		}
	}
}

// From the os-release of Rocky Linux 9 and of Debian 12, which quote differently.
func TestOSRelease(t *testing.T) {
	for text, want := range map[string]string{
		"NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n": "rocky rhel centos fedora",
		"ID=debian\n# a comment\n": "debian",
		"":                         "",
	} {
		if got := strings.Join(LikeOf(text), " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := OSRelease("VERSION_ID='3.20.1'\n")["VERSION_ID"]; got != "3.20.1" {
		t.Errorf("VERSION_ID is %q", got)
	}
}

// TestBaseline checks the processors that systems require.
func TestBaseline(t *testing.T) {
	for name, want := range map[string]string{
		"rhel8": "", "rhel9": "x86-64-v2", "rhel10": "x86-64-v3", "debian13": "",
		"manylinux_2_28_x86_64": "",
	} {
		p, err := Lookup(name, "x86_64")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Baseline(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
