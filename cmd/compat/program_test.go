package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Commands call compat by its path if PATH has none, and not one that "go run" removes.
func TestCalling(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "my compat")
	run := filepath.Join(dir, "go-build1", "b001", "exe", "compat")
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(file)
	write(run)
	const printed = "  compat fix --write fixed w.whl\n"
	check := func(program, want string, hint bool) {
		t.Helper()
		env := environment{Program: program}
		if got := string(calling(env)); got != want {
			t.Errorf("%s: called as %s, want %s", program, got, want)
		}
		if got := install(env, printed); (got != "") != hint {
			t.Errorf("%s: got the hint %q", program, got)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "empty"))
	check(file, "'"+file+"'", false)
	check(run, "", true)
	check("", "", false)
	check(filepath.Join(dir, "gone"), "", false)
	if got := install(environment{Program: run}, "compatible: w.whl\n"); got != "" {
		t.Errorf("got the hint %q for a text without commands", got)
	}
	write(filepath.Join(dir, "bin", "compat"))
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	check(file, "", false)
	check(run, "", false)
}
