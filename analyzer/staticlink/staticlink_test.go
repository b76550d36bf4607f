package staticlink_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// library parses an object in text form, lines separated by semicolons.
func library(t *testing.T, path, text string) *staticlink.Library {
	t.Helper()
	o := elftest.Object(t, "elf x86_64\n"+strings.ReplaceAll(text, "; ", "\n")+"\n")
	return staticlink.FromObject(path, o)
}

func on(t *testing.T, name string, files ...*staticlink.Library) *staticlink.System {
	t.Helper()
	p, err := platform.Lookup(name, "x86_64")
	if err != nil {
		t.Fatal(err)
	}
	return staticlink.NewSystem(p, files, nil)
}

// outcome formats a result: errors and missing libraries, or the program's DT_NEEDED and how it
// starts.
func outcome(s *staticlink.System, r *staticlink.Result) string {
	var words []string
	for p := range r.Problems.All() {
		words = append(words, p.Kind.String()+" "+p.Import.Name)
	}
	for _, a := range r.Absent {
		words = append(words, "cannot find "+a)
	}
	if r.Failed() {
		return strings.Join(words, ", ")
	}
	started := s.Run(r.Needed)
	for _, m := range started.Missing {
		words = append(words, "not found "+m)
	}
	for i := range started.Undefined() {
		words = append(words, "dies of "+i.Name)
	}
	return strings.Join(append([]string{"needs " + strings.Join(r.Needed, " ")}, words...), ", ")
}

// first returns the first problem of a link.
func first(t *testing.T, r *staticlink.Result) staticlink.Problem {
	t.Helper()
	for p := range r.Problems.All() {
		return p
	}
	t.Fatal("the link has no problem")
	return staticlink.Problem{}
}

const bare = "soname libx.so.1; import dlopen; export x"

// TestFlags has results measured with a library that imports dlopen and has no DT_NEEDED, on
// glibc 2.31.
func TestFlags(t *testing.T) {
	asNeeded := []staticlink.Named{{SONAME: "libdl.so.2", AsNeeded: true}}
	kept := staticlink.NoAsNeeded("libdl.so.2")
	const refused, dropped = "undefined reference dlopen", "needs libx.so.1 libc.so.6, dies of dlopen"
	for _, c := range []struct {
		name            string
		line            staticlink.Line
		gnu, lld, moldy string
	}{
		{"nothing", staticlink.Line{}, refused, refused, dropped},
		{"-ldl before", staticlink.Line{Before: asNeeded}, refused, dropped, dropped},
		{"-ldl after", staticlink.Line{After: asNeeded}, "needs libx.so.1 libdl.so.2 libc.so.6", dropped,
			dropped},
		{"--no-as-needed -ldl before", staticlink.Line{Before: kept},
			"needs libdl.so.2 libx.so.1 libc.so.6", "needs libdl.so.2 libx.so.1 libc.so.6",
			"needs libdl.so.2 libx.so.1 libc.so.6"},
		{"--no-as-needed -ldl after", staticlink.Line{After: kept},
			"needs libx.so.1 libdl.so.2 libc.so.6", "needs libx.so.1 libdl.so.2 libc.so.6",
			"needs libx.so.1 libdl.so.2 libc.so.6"},
		{"--allow-shlib-undefined", staticlink.Line{AllowUndefined: true}, dropped, dropped, dropped},
		{"a library that is nowhere", staticlink.Line{Before: staticlink.NoAsNeeded("libnowhere.so.1")},
			refused + ", cannot find libnowhere.so.1", refused + ", cannot find libnowhere.so.1",
			"cannot find libnowhere.so.1"},
	} {
		for by, want := range map[staticlink.Linker]string{staticlink.GNU: c.gnu, staticlink.LLD: c.lld,
			staticlink.Gold: c.lld, staticlink.Mold: c.moldy} {
			x := library(t, "libx.so.1", bare)
			s := on(t, "debian11", x)
			if got := outcome(s, s.Link(by, x, c.line)); got != want {
				t.Errorf("%s, %s: %s; want %s", c.name, by, got, want)
			}
		}
	}
}

// TestPlatforms has differences between glibc versions: the merge in 2.34, stat in 2.33, and
// symbols that are only for old programs.
func TestPlatforms(t *testing.T) {
	for _, c := range []struct{ text, debian11, debian12 string }{
		{bare, "undefined reference dlopen", "needs libx.so.1 libc.so.6"},
		{"soname libx.so.1; import weak dlopen", "needs libx.so.1 libc.so.6",
			"needs libx.so.1 libc.so.6"},
		{"soname libx.so.1; import stat", "hidden symbol stat", "needs libx.so.1 libc.so.6"},
		{"soname libx.so.1; import atexit", "hidden symbol atexit", "hidden symbol atexit"},
		{"soname libx.so.1; import pthread_atfork", "hidden symbol pthread_atfork",
			"needs libx.so.1 libc.so.6"},
		{"soname libx.so.1; import sys_errlist", "needs libx.so.1 libc.so.6",
			"undefined reference sys_errlist"},
		{"soname libx.so.1; import __libc_csu_init",
			"needs libx.so.1 libc.so.6, dies of __libc_csu_init", "undefined reference __libc_csu_init"},
		{"soname libx.so.1; import _Unwind_Resume; import __udivti3",
			"needs libx.so.1 libgcc_s.so.1 libc.so.6", "needs libx.so.1 libgcc_s.so.1 libc.so.6"},
		{"soname libx.so.1; import __udivti3", "hidden symbol __udivti3", "hidden symbol __udivti3"},
		{"soname libx.so.1; needed libgcc_s.so.1; import __udivti3", "needs libx.so.1 libc.so.6",
			"needs libx.so.1 libc.so.6"},
		{"soname libx.so.1; import tls environ", "TLS mismatch environ", "TLS mismatch environ"},
		{"soname libx.so.1; needed libc.so.6; import pthread_create@GLIBC_2.34 libc.so.6",
			"undefined reference pthread_create", "needs libx.so.1 libc.so.6"},
	} {
		for name, want := range map[string]string{"debian11": c.debian11, "debian12": c.debian12} {
			x := library(t, "libx.so.1", c.text)
			s := on(t, name, x)
			if got := outcome(s, s.Link(staticlink.GNU, x, staticlink.Line{})); got != want {
				t.Errorf("%s on %s: %s; want %s", c.text, name, got, want)
			}
		}
	}
}

// TestIndirect has the folders in which GNU ld searches dependencies.
func TestIndirect(t *testing.T) {
	const links, gone = "needs libx.so.1 libc.so.6", "undefined reference f"
	for _, c := range []struct {
		name, text, dep string
		line            staticlink.Line
		want            string
	}{
		{"no path", "", "dep/libdep.so.1", staticlink.Line{}, gone},
		{"next to it", "", "libdep.so.1", staticlink.Line{}, gone},
		{"runpath", "; runpath $ORIGIN/dep", "dep/libdep.so.1", staticlink.Line{}, links},
		{"rpath", "; rpath ${ORIGIN}/dep", "dep/libdep.so.1", staticlink.Line{}, links},
		{"runpath wins over rpath", "; rpath $ORIGIN/dep; runpath /nowhere", "dep/libdep.so.1",
			staticlink.Line{}, gone},
		{"-rpath-link", "", "dep/libdep.so.1", staticlink.Line{RPathLink: []string{"dep"}}, links},
		{"named, as needed, before", "", "dep/libdep.so.1",
			staticlink.Line{Before: []staticlink.Named{{SONAME: "libdep.so.1", AsNeeded: true}}}, links},
		{"a library as output", "", "dep/libdep.so.1", staticlink.Line{Shared: true}, links},
	} {
		x := library(t, "libx.so.1", "soname libx.so.1; needed libdep.so.1"+c.text+"; import f; export x")
		s := on(t, "debian12", x, library(t, c.dep, "soname libdep.so.1; export f"))
		r := s.Link(staticlink.GNU, x, c.line)
		if got := outcome(s, r); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
		if r.Failed() && first(t, r).Missing != "libdep.so.1" {
			t.Errorf("%s: the missing library is %q", c.name, first(t, r).Missing)
		}
		if got := outcome(s, s.Link(staticlink.LLD, x, c.line)); !strings.HasPrefix(got, "needs") {
			t.Errorf("%s: lld looks where it does not: %s", c.name, got)
		}
	}
}

// TestVersions has definitions that satisfy a reference, for linkers and for the loader.
func TestVersions(t *testing.T) {
	for _, c := range []struct{ reference, provider, want string }{
		{"f", "export f", "needs libx.so.1 libc.so.6"},
		{"f", "verdef V_1; export f@@V_1", "needs libx.so.1 libc.so.6"},
		{"f", "verdef V_1; export f@V_1", "undefined reference f"},
		{"f@V_1 libdep.so.1", "verdef V_1; export f@V_1", "needs libx.so.1 libc.so.6"},
		{"f@V_1 libdep.so.1", "verdef V_2; export f@@V_2", "undefined reference f"},
		{"f@V_1 libdep.so.1", "export f", "undefined reference f"},
	} {
		x := library(
			t,
			"libx.so.1",
			"soname libx.so.1; needed libdep.so.1; runpath $ORIGIN; import "+c.reference,
		)
		s := on(t, "debian12", x, library(t, "libdep.so.1", "soname libdep.so.1; "+c.provider))
		if got := outcome(s, s.Link(staticlink.GNU, x, staticlink.Line{})); got != c.want {
			t.Errorf("%s, %s: %s; want %s", c.reference, c.provider, got, c.want)
		}
	}
}

// TestLinkThroughADependency has a library that links, but whose dependency does not, and one
// whose reference another library satisfies.
func TestLinkThroughADependency(t *testing.T) {
	x := library(t, "libx.so.1", "soname libx.so.1; needed libdep.so.1; runpath $ORIGIN; import f")
	dep := library(t, "libdep.so.1", "soname libdep.so.1; import dlopen; export f")
	s := on(t, "debian11", x, dep)
	r := s.Link(staticlink.GNU, x, staticlink.Line{})
	if got := outcome(s, r); got != "undefined reference dlopen" {
		t.Fatal(got)
	}
	if p := first(t, r); p.By != dep || !slices.Equal(p.Chain, []*staticlink.Library{x, dep}) ||
		!r.Reads(dep) {
		t.Errorf("by %s, chain %v", p.By.Path, p.Chain)
	}
	spared := *x
	spared.Needed = []string{"libdep.so.1", "libdl.so.2"}
	if got := outcome(s, s.Link(staticlink.GNU, &spared,
		staticlink.Line{})); got != "needs libx.so.1 libc.so.6, dies of dlopen" {
		t.Error(got) // the program's own run goes by name, to the library that does not list it
	}
}

// TestIFUNC: a provider with IFUNC symbols must be relocated before its user, so it must follow
// it in the search list.
func TestIFUNC(t *testing.T) {
	x := library(t, "libx.so.1", "soname libx.so.1; import _ZGVbN2v_sin")
	s := on(t, "debian12", x)
	for _, c := range []struct {
		line staticlink.Line
		want string
	}{
		{staticlink.Line{Before: staticlink.NoAsNeeded("libmvec.so.1")},
			"needs libmvec.so.1 libx.so.1 libc.so.6, dies of _ZGVbN2v_sin"},
		{staticlink.Line{After: staticlink.NoAsNeeded("libmvec.so.1")},
			"needs libx.so.1 libmvec.so.1 libc.so.6"},
		// libm's linker script has libmvec as needed
		{staticlink.Line{Before: staticlink.NoAsNeeded("libm.so.6")}, "undefined reference _ZGVbN2v_sin"},
		{staticlink.Line{CXX: true}, "needs libx.so.1 libmvec.so.1 libc.so.6"},
	} {
		if got := outcome(s, s.Link(staticlink.GNU, x, c.line)); got != c.want {
			t.Errorf("%+v: %s; want %s", c.line, got, c.want)
		}
	}
}

// TestUnknown: if only the name of a library is known, a missing symbol means nothing.
func TestUnknown(t *testing.T) {
	for _, text := range []string{"needed libGL.so.1; import glBegin",
		"needed libcuda.so.1; import cuInit"} {
		x := library(t, "libx.so.1", "soname libx.so.1; "+text)
		s := on(t, "manylinux_2_28", x)
		if r := s.Link(staticlink.GNU, x, staticlink.Line{}); r.Failed() || r.Undecided.Len() != 1 {
			t.Errorf("%s: %s, %d undecided", text, outcome(s, r), r.Undecided.Len())
		}
	}
	x := library(t, "libx.so.1", "soname libx.so.1; needed libcuda.so.1; import cuInit; import dlopen")
	if s := on(t, "debian11", x); outcome(
		s,
		s.Link(staticlink.GNU, x, staticlink.Line{}),
	) != "undefined reference dlopen" {
		t.Error("a library that is not there defines no dlopen")
	}
	x = library(
		t,
		"libx.so.1",
		"soname libx.so.1; needed libX11.so.6; import f@GLIBC_2.99 libc.so.6; needed libc.so.6",
	)
	if s := on(t, "manylinux_2_28", x); outcome(
		s,
		s.Link(staticlink.GNU, x, staticlink.Line{}),
	) != "undefined reference f" {
		t.Error("a version belongs to its library, and that is known")
	}
}

func TestFlag(t *testing.T) {
	s := on(t, "debian11")
	for soname, want := range map[string]string{"libdl.so.2": "-ldl", "libstdc++.so.6": "-lstdc++",
		"libgcc_s.so.1": "-lgcc_s", "libz.so.1": "-l:libz.so.1", "libdep.so.1": "-l:libdep.so.1"} {
		if got := s.Flag(soname); got != want {
			t.Errorf("%s: %s, want %s", soname, got, want)
		}
	}
}
