package abi

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/test/needs"
)

// built is a library that a test built.
type built struct{ path, soname string }

// buildLibrary builds a library from one line of C, linked with others.
func buildLibrary(t *testing.T, folder, soname, source string, with ...built) built {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.c")
	if err := os.WriteFile(file, []byte("#line 1 \"x.h\"\n"+source+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := built{filepath.Join(folder, soname), soname}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"-g", "-shared", "-fPIC", "-w", "-Wl,-soname," + soname, "-Wl,--no-as-needed",
		"-o", out.path, file}
	for _, b := range with {
		args = append(args, b.path)
	}
	if b, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, b)
	}
	return out
}

// finder returns Options.Find for some libraries.
func finder(t *testing.T, some ...built) func(string, *Needed) *Needed {
	objects := map[string]*Needed{}
	for _, b := range some {
		content, err := os.ReadFile(b.path)
		if err != nil {
			t.Fatal(err)
		}
		o, err := elfobj.Read(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		objects[b.soname] = &Needed{Object: o, Path: b.path}
	}
	return func(soname string, _ *Needed) *Needed { return objects[soname] }
}

// What the new library imports without a version is found, missing, or, if a library was not read,
// a blind spot.
func TestImportsOfTheNewLibrary(t *testing.T) {
	needs.Program(t, "gcc", "gcc", "no library is compared with its dependencies")
	dir := t.TempDir()
	one := buildLibrary(t, dir, "libdep.so.1",
		"int dep_a(void) { return 1; } int dep_b(void) { return 2; }")
	two := buildLibrary(t, dir, "libdep.so.2", "int dep_a(void) { return 1; }")
	deep := buildLibrary(t, dir, "libdeep.so.1", "int deep(void) { return 3; }")
	outer := buildLibrary(t, dir, "libouter.so.1", "int outer(void) { return 4; }", deep)
	const head = "extern int dep_a(void), dep_b(void), deep(void), host(void), trace(void);"
	const plain, a, b = head + "int x(void) { return 1; }", head + "int x(void) { return dep_a(); }",
		head + "int x(void) { return dep_b(); }"
	for name, test := range map[string]struct {
		old, new     string // source
		with, linked []built
		found        []built
		verdict      Verdict
		says, blind  string // parts of the first change, and of a blind spot
	}{
		"in a library that was not read": {
			old: plain, new: a, linked: []built{one}, verdict: None,
			blind: "libraries that were not read (libdep.so.1) have what the new one imports: dep_a.",
		},
		"in a library that was read": {
			old: plain, new: a, linked: []built{one}, found: []built{one}, verdict: None,
		},
		"in one that this library needs": {
			old: plain, new: head + "int x(void) { return deep(); }", linked: []built{outer},
			found: []built{outer, deep}, verdict: None,
		},
		"in one that a library which was not read needs": {
			old: plain, new: head + "int x(void) { return deep(); }", linked: []built{outer},
			found: []built{outer}, verdict: None, blind: "not read (libdeep.so.1)",
		},
		"in none": {
			old: plain, new: b, linked: []built{two}, found: []built{two}, verdict: Breaking,
			says: "The library now uses dep_b",
		},
		"in another version": {
			old: a, new: a, with: []built{one}, linked: []built{two}, found: []built{one, two},
			verdict: Compatible, says: "The library needs libdep.so.2 instead of libdep.so.1",
		},
		"not in another version": {
			old: b, new: b, with: []built{one}, linked: []built{two}, found: []built{one, two},
			verdict: Breaking, says: "no longer needs libdep.so.1 (DT_NEEDED), but still uses dep_b",
		},
		"in another version that was not read": {
			old: b, new: b, with: []built{one}, linked: []built{two}, found: []built{one},
			verdict: Compatible, says: "instead of libdep.so.1", blind: "(libdep.so.2)",
		},
		"an export that moved to another library": {
			old: plain + " int dep_a(void) { return 1; }", new: plain, linked: []built{one},
			found: []built{one}, verdict: Compatible, says: "moved to a library that the new one needs",
			blind: "moved to another library, whose types are not compared: dep_a.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := buildLibrary(t, t.TempDir(), "libx.so.1", test.old, test.with...)
			new := buildLibrary(t, t.TempDir(), "libx.so.1", test.new, test.linked...)
			r := Compare(read(t, old.path), read(t, new.path), Options{Find: finder(t, test.found...)})
			if r.Verdict != test.verdict {
				t.Errorf("verdict %s, want %s; %v", r.Verdict, test.verdict, r.Changes)
			}
			if test.says != "" && !strings.Contains(r.Changes[0].Detail, test.says) {
				t.Errorf("it says %q, not %q", r.Changes[0].Detail, test.says)
			}
			if (test.blind == "") != (len(r.Blind) == 0) ||
				!strings.Contains(strings.Join(r.Blind, " "), test.blind) {
				t.Errorf("blind spots %q, want %q", r.Blind, test.blind)
			}
		})
	}
}

// A library that takes symbols from the program which opens it may find more there. One that
// programs are linked with does not.
func TestPlugin(t *testing.T) {
	needs.Program(t, "gcc", "gcc", "no plug-in is compared")
	const old, new = "extern int host(void); int x(void) { return host(); }",
		"extern int host(void), trace(void); int x(void) { return host() + trace(); }"
	for _, test := range []struct {
		folder, soname string
		user           bool // another library needs it
		want           Severity
	}{
		{"usr/lib/x86_64-linux-gnu", "libx.so.1", false, Error},
		{"usr/lib/x86_64-linux-gnu/host/plugins", "libx.so", false, Warning},
		{"usr/lib/x86_64-linux-gnu/host", "libx.so.1", true, Error},
		{"build", "libx.so.1", false, Error},
		{"build", "x.so", false, Warning},
		{"build", "x.so", true, Error},
	} {
		before := buildLibrary(t, filepath.Join(t.TempDir(), test.folder), test.soname, old)
		after := buildLibrary(t, filepath.Join(t.TempDir(), test.folder), test.soname, new)
		pairs := []Pairing{{read(t, before.path), read(t, after.path)}}
		if test.user {
			user := buildLibrary(t, t.TempDir(), "libuser.so.1", "int u(void) { return 1; }", after)
			pairs = append(pairs, Pairing{read(t, user.path), read(t, user.path)})
		}
		whole, _ := ComparePairs(pairs, func(*Library) Options {
			return Options{Find: finder(t, before, after)}
		})
		i := slices.IndexFunc(whole.Changes, func(c Change) bool { return c.Rule == RuleUndefined })
		if i < 0 || whole.Changes[i].Severity != test.want {
			t.Errorf("%s/%s: changes %v, want %s", test.folder, test.soname, whole.Changes, test.want)
		}
	}
}

// Programs load the C library also if the library does not need it. A symbol that older systems do
// not have there is a warning, and one with a version, or of a kernel module, is not found there.
func TestRemovedSymbolOfLibc(t *testing.T) {
	for _, test := range []struct {
		symbol  string
		form    Form
		want    Verdict
		warning bool
	}{
		{"getenv", "", Compatible, false},
		{"strlcpy", "", Compatible, true}, // glibc 2.38
		{"getenv@X_1", "", Breaking, false},
		{"no_such_function", "", Breaking, false},
		{"getenv", Module, Breaking, false},
	} {
		old, new := exporting(test.symbol, "keep"), exporting("keep")
		old.Form, new.Form = test.form, test.form
		r := Compare(old, new, Options{})
		warning := strings.Contains(written(r), "warning symbol-moved-to-dependency")
		if r.Verdict != test.want || warning != test.warning {
			t.Errorf("%s of %q: %s", test.symbol, test.form, written(r))
		}
	}
}
