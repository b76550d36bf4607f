package abi

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// compile compiles sources of C, of which one is "-" for a side that does not have it, to object
// files in a folder, and returns their paths.
func compile(t *testing.T, side string, sources map[string]string, flags ...string) []string {
	t.Helper()
	gcc := needs.Program(t, "gcc", "gcc", "no object file is read")
	dir := filepath.Join(t.TempDir(), side)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range []string{"a", "b"} {
		if sources[name] == "" {
			continue
		}
		source := filepath.Join(dir, name+".c")
		if err := os.WriteFile(source, []byte("#line 1 \"x.h\"\n"+sources[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		object := filepath.Join(dir, name+".o")
		args := append([]string{"-c", "-O2", source, "-o", object}, flags...)
		if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, text)
		}
		out = append(out, object)
	}
	return out
}

// TestObjects compares object files and static libraries.
func TestObjects(t *testing.T) {
	source := func(member string) map[string]string {
		rec := "struct rec { int a; " + member + " int b; };\n"
		return map[string]string{
			"a": rec + "static int helper(int n) { return n; }\n" +
				"int get(const struct rec *r) { return helper(r->b); }\n" +
				"__attribute__((visibility(\"hidden\"))) int inner(void) { return 1; }\n",
			"b": rec + "int second(struct rec r) { return r.a; }\nint level;\n",
		}
	}
	needs.Program(t, "ar", "binutils", "no static library is read")
	for _, flags := range []string{"-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -ffunction-sections", "-g0"} {
		var objects, archives []*Library
		for _, side := range []string{"old", "new"} {
			member := map[string]string{"old": "", "new": "int m;"}[side]
			files := compile(t, side, source(member), strings.Fields(flags)...)
			objects = append(objects, read(t, files[0]))
			archive := filepath.Join(filepath.Dir(files[0]), "a_library_with_a_long_name.a")
			args := append([]string{"rcs", archive}, files...)
			if text, err := exec.Command("ar", args...).CombinedOutput(); err != nil {
				t.Fatalf("ar: %v\n%s", err, text)
			}
			b, err := os.ReadFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			l, err := ReadArchive(File{Name: archive, Content: bytes.NewReader(b), Size: int64(len(b))})
			if err != nil || len(l.Problems) > 0 {
				t.Fatal(err, l)
			}
			archives = append(archives, l)
		}
		for affected, two := range map[int][]*Library{1: objects, 2: archives} {
			r := Compare(two[0], two[1], Options{})
			want := fmt.Sprintf("breaking, breaks %d of %d\nerror type-layout-changed rec: struct rec: "+
				"it had 8 bytes and now has 12; the member b moved from byte 4 to byte 8; the member m "+
				"was added at byte 4.\n", affected, map[int]int{1: 1, 2: 3}[affected])
			if flags == "-g0" {
				want = fmt.Sprintf("none, breaks 0 of %d\n", len(two[0].Symbols))
			}
			if got := written(r); got != want {
				t.Errorf("%s: got\n%swant\n%s", flags, got, want)
			}
			if same := Compare(two[0], two[0], Options{}); same.Verdict != None {
				t.Errorf("%s: compared with itself: %s", flags, written(same))
			}
		}
	}
}

// kernelModule is the source of a module as the macros of Linux write it: the exports with their
// checksums and namespaces, and a static function.
func kernelModule(exports ...string) string {
	out := "int __this_module;\nstatic int helper(int n) { return n; }\n" +
		"int internal(int n) { return helper(n); }\n"
	for _, e := range exports {
		f := strings.Fields(e) // name, checksum, namespace or -, gpl or -
		table := "__ksymtab"
		if f[3] == "gpl" {
			table += "_gpl"
		}
		out += fmt.Sprintf("int %s(int n) { return helper(n) + 1; }\n", f[0])
		out += fmt.Sprintf(`__asm__(".section \"%s\",\"a\"\n__ksymtab_%s:\n.long 0\n`+
			`.section \"__kcrctab\",\"a\"\n__crc_%[2]s:\n.long %[3]s\n`+
			`.section \"__ksymtab_strings\",\"a\"\n__kstrtabns_%[2]s:\n.asciz \"%[4]s\"\n.text");`+"\n",
			table, f[0], f[1], strings.Trim(f[2], "-"))
	}
	return out
}

// TestKernelModule compares what the kernel checks when it loads a module that uses another one.
func TestKernelModule(t *testing.T) {
	module := func(side string, exports ...string) *Library {
		l := read(t, compile(t, side, map[string]string{"a": kernelModule(exports...)}, "-g0")[0])
		if l.Form != Module {
			t.Errorf("it is read as %q", l.Form)
		}
		return l
	}
	old := module("old", "kept 0x11 - -", "changed 0x22 - -", "moved 0x33 - -", "left 0x44 USB -",
		"licensed 0x55 - -", "gone 0x66 - -")
	new := module("new", "kept 0x11 - -", "changed 0x23 - -", "moved 0x33 USB -", "left 0x44 - -",
		"licensed 0x55 - gpl", "added 0x77 - -")
	const want = `breaking, breaks 3 of 6
error exported-symbol-removed gone: gone is no longer exported.
error symbol-checksum-changed changed: The checksum of changed was 0x00000022 and is now 0x00000023.
error symbol-namespace-changed moved: moved is now in the namespace USB.
warning symbol-license-changed licensed: licensed is now exported with EXPORT_SYMBOL_GPL.
note symbol-added added: added is newly exported.
note symbol-namespace-changed left: left is no longer in the namespace USB.
`
	if got := written(Compare(old, new, Options{})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestIntermediateCode does not take the object files of link time optimization for empty ones.
func TestIntermediateCode(t *testing.T) {
	file := compile(t, "lto", map[string]string{"a": "int f(void) { return 1; }\n"}, "-flto")[0]
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Read(File{Name: file, Content: bytes.NewReader(b), Size: int64(len(b))})
	if err == nil || !strings.Contains(err.Error(), "-ffat-lto-objects") {
		t.Errorf("%v, %v", l, err)
	}
}
