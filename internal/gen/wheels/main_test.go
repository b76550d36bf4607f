package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/rules"
)

// Every wheel is one that compat itself finds nothing wrong with, and the same each time.
func TestWheels(t *testing.T) {
	program := elftest.File(t, "elf x86_64\nimport malloc@GLIBC_2.2.5 libc.so.6\nneeded libc.so.6\n")
	for system, platforms := range tags {
		name, content, err := wheel(system, "1.2.3rc1", "# compat\n", program)
		if err != nil {
			t.Fatal(err)
		}
		if want := "binary_compat-1.2.3rc1-py3-none-" + platforms + ".whl"; name != want {
			t.Errorf("%s, want %s", name, want)
		}
		_, again, err := wheel(system, "1.2.3rc1", "# compat\n", program)
		if err != nil || !bytes.Equal(content, again) {
			t.Errorf("%s: a second wheel has other bytes: %v", system, err)
		}
		script := "binary_compat-1.2.3rc1.data/scripts/compat"
		if strings.HasPrefix(system, "windows/") {
			script += ".exe"
		}
		if got := member(t, content, script); !bytes.Equal(got, program) {
			t.Errorf("%s: the program changed", system)
		}
		if system == "linux/amd64" {
			check(t, name, content)
		}
	}
}

// check fails for findings about the metadata: the program of the test has no others to make.
func check(t *testing.T, name string, content []byte) {
	t.Helper()
	r, err := analyzer.New(rules.All()).Check(context.Background(), []analyzer.Input{
		{Name: name, Content: bytes.NewReader(content), Size: int64(len(content))},
	}, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Artifacts[0].Wheel; w == nil || w.Name != module || w.Version != "1.2.3rc1" {
		t.Fatalf("not read as a wheel: %+v", w)
	}
	for _, f := range r.Findings {
		if f.Rule == "metadata-mismatch" || f.Rule == "record-mismatch" {
			t.Errorf("%s: %s", f.Rule, f.Message)
		}
	}
}

func member(t *testing.T, content []byte, name string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	program, readme := filepath.Join(dir, "compat"), filepath.Join(dir, "README.md")
	for _, p := range []string{program, readme} {
		if err := os.WriteFile(p, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir, "v1.2.3-rc.1", readme, []string{"windows/arm64=" + program}); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "binary_compat-1.2.3rc1-py3-none-win_arm64.whl")
	if _, err := os.Stat(want); err != nil {
		t.Error(err)
	}
	for _, wrong := range []struct{ version, program, want string }{
		{"devel", "linux/amd64=" + program, "-version"},
		{"1.0", "plan9/amd64=" + program, "of a known system"},
		{"1.0", "linux/amd64=" + dir + "/none", "no such file"},
	} {
		err := write(dir, wrong.version, readme, []string{wrong.program})
		if err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
