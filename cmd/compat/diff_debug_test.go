package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/abi"
)

// packed writes a package with members, and returns its path.
func packed(t *testing.T, members map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range members {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "packed.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDebugPackages opens debug files where GDB and debuginfod look for them: in folders, and in
// packages.
func TestDebugPackages(t *testing.T) {
	file := packed(t, map[string]string{
		"usr/lib/debug/.build-id/ab/cdef.debug":                  "by build ID",
		"usr/lib/debug/usr/lib/x86_64-linux-gnu/libfoo.so.debug": "by name",
		"usr/lib/debug/.dwz/x86_64-linux-gnu/foo.debug":          "shared",
		"usr/share/doc/foo/changelog":                            "text",
	})
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "abcdef"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "abcdef", "debuginfo")
	if err := os.WriteFile(at, []byte("debuginfod"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := openDebug(t.Context(), []string{dir}, []string{file})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	of := d.of("./usr/lib/x86_64-linux-gnu")
	defer of.close()
	for name, want := range map[string]string{
		".build-id/ab/cdef.debug":                        "by build ID",
		"libfoo.so.debug":                                "by name",
		"/usr/lib/debug/.dwz/x86_64-linux-gnu/foo.debug": "shared",
		"abcdef/debuginfo":                               "debuginfod",
		"changelog":                                      "",
		"../doc/foo/changelog":                           "",
		"libbar.so.debug":                                "",
	} {
		r, size, ok := of.open(name)
		got := ""
		if ok {
			b, err := io.ReadAll(io.NewSectionReader(r, 0, size))
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for file, want := range map[string]string{
		packed(t, map[string]string{"usr/bin/tool": "x"}): "it has no debug file",
		filepath.Join(dir, "nothing.deb"):                 "no such file",
	} {
		_, err := openDebug(t.Context(), nil, []string{file})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

func TestPackedHeaders(t *testing.T) {
	headers := abi.NewHeaders()
	file := packed(t, map[string]string{
		"usr/include/foo/foo.h": "struct foo { int a; };\n", "usr/lib/libfoo.a": "no header",
	})
	if err := addPackedHeaders(t.Context(), headers, file); err != nil {
		t.Fatal(err)
	}
	file = packed(t, map[string]string{"usr/lib/libfoo.a": "no header"})
	if err := addPackedHeaders(t.Context(), headers, file); err == nil ||
		!strings.Contains(err.Error(), "it has no header") {
		t.Errorf("%v", err)
	}
}
