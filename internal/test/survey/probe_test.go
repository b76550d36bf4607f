package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/test/needs"
)

// A library that fails alone is not reported if an object of its distribution loads it, whose run
// paths lead to what it needs in another distribution.
func TestProbeLoadedByOthers(t *testing.T) {
	const why = "no library that needs another distribution is opened"
	gcc := needs.Program(t, "gcc", "gcc", why)
	python := needs.Program(t, "python3", "python3", why)
	dir, site := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		at := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("empty.c", "")
	write("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
	version, err := exec.Command(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").
		Output()
	if err != nil {
		t.Fatal(err)
	}
	running := strings.TrimSpace(string(version))
	write("demo-1.0.dist-info/RECORD", "demo/libuser.so,,\ndemo/plug.so,,\ndemo/liblost.so,,\n"+
		"demo/libshim_"+running+".so,,\ndemo/libshim_3.99.so,,\ndemo/libonly_3.99.so,,\n")
	write("other/keep", "")
	write("demo/keep", "")
	for _, args := range [][]string{
		{"other/libdep.so.1"},
		{"demo/libuser.so", "other/libdep.so.1"},
		{"demo/plug.so", "demo/libuser.so", "other/libdep.so.1", "-Wl,-rpath,$ORIGIN:$ORIGIN/../other"},
		{"demo/liblost.so", "other/libdep.so.1"}, // nothing loads it
		{"demo/libshim_" + running + ".so"},
		{"demo/libshim_3.99.so", "other/libdep.so.1"}, // for another Python
		{"demo/libonly_3.99.so", "other/libdep.so.1"}, // no other one is for this Python
	} {
		args = append([]string{"-shared", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined",
			"-Wl,-soname," + filepath.Base(args[0]), "-o", args[0], "empty.c"}, args[1:]...)
		c := exec.Command(gcc, args...)
		c.Dir = site
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	bin := filepath.Join(dir, "venv", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(python, filepath.Join(bin, "python")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", site)
	got := (&survey{}).probe(t.Context(), dir, []string{"demo"})
	const lacks = "libdep.so.1: cannot open shared object"
	if got.opened != 5 || len(got.notRun) > 0 || len(got.fails) != 2 ||
		!strings.Contains(got.fails["demo/liblost.so"], lacks) ||
		!strings.Contains(got.fails["demo/libonly_3.99.so"], lacks) {
		t.Errorf("%d objects were opened, not run: %q, failures: %q", got.opened, got.notRun, got.fails)
	}
}

// An object for a newer macOS than all tags of its wheel is reported. There is no macOS 10 for
// arm64, so what a tag for two architectures says of it counts as 11.
func TestBuiltFor(t *testing.T) {
	const commands = "      cmd LC_BUILD_VERSION\n platform 1\n      sdk 15.1\n    minos "
	for _, c := range []struct{ minos, tags, want string }{
		{"15.0", "macosx_11_0_arm64", "15.0"},
		{"15", "macosx_14_0_arm64", "15.0"},
		{"14.2", "macosx_14_0_arm64", "14.2"},
		{"14.0", "macosx_14_0_arm64", ""},
		{"14.0", "macosx_11_0_arm64 macosx_14_0_arm64", ""},
		{"11.0", "macosx_10_9_universal2", ""},
	} {
		var tags []pkgmeta.Tag
		for p := range strings.FieldsSeq(c.tags) {
			tags = append(tags, pkgmeta.Tag{Platform: p})
		}
		if got := builtFor(commands+c.minos+"\n", tags); got != c.want {
			t.Errorf("%s, tags %s: %q, want %q", c.minos, c.tags, got, c.want)
		}
	}
	if got := builtFor("      cmd LC_UUID\n", nil); got != "" {
		t.Errorf("without a version: %q", got)
	}
}
