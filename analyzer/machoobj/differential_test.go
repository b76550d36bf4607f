package machoobj

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// TestAgainstLLVM builds a library with clang and LLVM's linker in both encodings of imports, and
// compares the result of Read with the output of llvm-objdump.
func TestAgainstLLVM(t *testing.T) {
	const why = "the reader is not compared with LLVM's"
	objdump := needs.Program(t, "llvm-objdump-19", "llvm-19", why)
	clang := needs.Program(t, "clang", "clang", why)
	linker := needs.Program(t, "ld64.lld-19", "lld-19", why)
	dir := t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	run := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	stub := file("stub.tbd", `--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '@rpath/libh.dylib'
current-version: 5.1
compatibility-version: 5.0
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ _helper, _data, dyld_stub_binder ]
...
`)
	source := file("c.c", `int helper(void); extern int data; int flat(void);
extern int maybe(void) __attribute__((weak_import));
__attribute__((visibility("default"))) int own(void) {
	return helper() + data + flat() + (maybe ? maybe() : 0);
}
__attribute__((visibility("default"))) int *place = &data;
__attribute__((visibility("default"))) int owner;
`)
	for _, c := range [][]string{{"x86_64", "-no_fixup_chains"}, {"arm64", "-fixup_chains"}} {
		object, library := filepath.Join(dir, "c.o"), filepath.Join(dir, c[0]+".dylib")
		run(clang, "-target", c[0]+"-apple-macos11.0", "-fno-stack-protector", "-c", source, "-o", object)
		run(linker, "-arch", c[0], "-platform_version", "macos", "11.0", "13.1", "-dylib",
			"-install_name", "@rpath/libown.dylib", "-rpath", "@loader_path", "-undefined",
			"dynamic_lookup", c[1], "-o", library, object, stub)
		b, err := os.ReadFile(library)
		if err != nil {
			t.Fatal(err)
		}
		f, err := read(b)
		if err != nil || f.Slices[0].Err != nil {
			t.Fatal(err, f)
		}
		o := f.Slices[0].Object
		var imports, exports []string
		for _, i := range o.Imports {
			imports = append(imports, i.Name)
		}
		for _, e := range o.Exports {
			exports = append(exports, e.Name)
		}
		printed := run(objdump, "--macho", "--bind", "--lazy-bind", "--weak-bind", library)
		name := regexp.MustCompile(`(?m)^__\w+ +\S+ +0x.* ([^\s(]+)(?: \(weak.import\))?$`)
		if c[1] == "-fixup_chains" {
			printed = run(objdump, "--macho", "--chained-fixups", library)
			name = regexp.MustCompile(`name_offset = \d+ \((.*)\)`)
		}
		same(t, c[0]+" imports", imports, found(name, printed))
		printed = run(objdump, "--macho", "--exports-trie", library)
		same(t, c[0]+" exports", exports, found(regexp.MustCompile(`(?m)^0x\S+ +(\S+)`), printed))
		if len(o.Needed) != 1 || o.Needed[0] != (Needed{Path: "@rpath/libh.dylib",
			Current: Make(5, 1), Compatibility: Make(5, 0)}) || o.InstallName != "@rpath/libown.dylib" ||
			!slices.Equal(o.RunPaths, []string{"@loader_path"}) || o.MinOS != Make(11, 0) ||
			o.SDK != Make(13, 1) || o.Platform != MacOS || !o.TwoLevel {
			t.Errorf("%s is %s", c[0], asJSON(t, o))
		}
		if s := o.Signature; c[0] == "arm64" && (s == nil || !s.AdHoc || s.Stale != "") {
			t.Errorf("the linker's signature reads %+v", s)
		}
	}
}

func found(re *regexp.Regexp, text string) []string {
	var out []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// same compares two lists, ignoring order and repetition.
func same(t *testing.T, what string, a, b []string) {
	t.Helper()
	for _, l := range []*[]string{&a, &b} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	if len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("%s: read %q, llvm-objdump prints %q", what, a, b)
	}
}
