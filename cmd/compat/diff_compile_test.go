package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// The headers of two builds without debug information show what symbols do not.
func TestDiffReadsHeaders(t *testing.T) {
	gcc := needs.Program(t, "gcc", "gcc", "no header is compiled")
	dir := t.TempDir()
	header := "#define MODE 1\nstruct item { int a; @ int b; };\nint get(const struct item *i);\n"
	var libraries, packages []string
	for _, side := range []string{"old", "new"} {
		text := strings.Replace(header, "@", "", 1)
		if side == "new" {
			text = strings.NewReplacer("@", "int between;", "MODE 1", "MODE 2").Replace(header)
		}
		for name, text := range map[string]string{
			"x.h": text, "x.c": "#include \"x.h\"\nint get(const struct item *i) { return i->b; }\n",
		} {
			to := filepath.Join(dir, side, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		library := filepath.Join(dir, side, "libx.so.1")
		if out, err := exec.Command(gcc, "-s", "-shared", "-fPIC", "-Wl,-soname,libx.so.1", "-o", library,
			filepath.Join(dir, side, "x.c")).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		libraries = append(libraries, library)
		packages = append(packages, packed(t, map[string]string{"usr/include/x.h": text}))
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{nil, exitOK, []string{"symbols only"}},
		{
			[]string{"--old-headers", filepath.Join(dir, "old"), "--new-headers", filepath.Join(dir, "new", "x.h")},
			exitIncompatible,
			[]string{"symbols and types (headers)", "error: struct item", "macro MODE is 2, was 1"},
		},
		{
			[]string{"--old-headers", packages[0], "--new-headers", packages[1], "--format", "json"},
			exitIncompatible,
			[]string{`"evidence":{"old":"headers","new":"headers"}`,
				`"source":[{"kind":"macro","name":"MODE","old":"1","new":"2"}]`},
		},
		{[]string{"--old-headers", dir}, exitUsage, []string{"give --old-headers and --new-headers"}},
		{
			[]string{"--old-headers", dir, "--new-headers", dir, "--cc", "no-such-compiler"}, exitUsage,
			[]string{"no-such-compiler"},
		},
		{
			[]string{"--old-headers", packed(t, map[string]string{"a.txt": ""}), "--new-headers", dir},
			exitUsage, []string{"has no header"},
		},
	} {
		var out, errs bytes.Buffer
		args := append(append([]string{"diff"}, c.args...), libraries...)
		code := run(context.Background(), args,
			environment{Getenv: os.LookupEnv, Out: &out, Err: &errs})
		if code != c.code {
			t.Errorf("%q: exit %d, want %d: %s%s", c.args, code, c.code, &out, &errs)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String()+errs.String(), want) {
				t.Errorf("%q: no %q in\n%s%s", c.args, want, &out, &errs)
			}
		}
	}
}
