package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If PATH has no compat, a hint says how the printed commands find it.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "here", "compat")
	run := filepath.Join(dir, "go-build1", "b001", "exe", "compat")
	const printed = "  compat fix --write fixed w.whl\n"
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for _, c := range []struct{ program, printed, want string }{
		{file, printed, filepath.Dir(file)},
		{run, printed, "go install"},
		{"", printed, ""},
		{run, "compatible: w.whl\n", ""},
	} {
		got := install(environment{Program: c.program}, c.printed)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got the hint %q, want %q in it", c.program, got, c.want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "compat"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := install(environment{Program: file}, printed); got != "" {
		t.Errorf("got the hint %q although PATH has compat", got)
	}
}
