package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// If PATH has no compat, a hint says how the printed commands find it.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "here", "compat")
	run := filepath.Join(dir, "go-build1", "b001", "exe", "compat")
	fixing := func(command shellword.Line) *analyzer.Report {
		x := analyzer.CauseFix{Fix: fix.Fix{Command: command}}
		return &analyzer.Report{Causes: []analyzer.Cause{{Fixes: []analyzer.CauseFix{x}}}}
	}
	const command = "apt-get install libz1 && compat fix --write fixed w.whl"
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for _, c := range []struct {
		program string
		command shellword.Line
		want    string
	}{
		{file, command, filepath.Dir(file)},
		{run, command, "go install"},
		{"", command, ""},
		{run, "auditwheel repair compat.whl", ""},
		{run, "", ""},
	} {
		got := install(environment{Program: c.program}, fixing(c.command))
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
	if got := install(environment{Program: file}, fixing(command)); got != "" {
		t.Errorf("got the hint %q although PATH has compat", got)
	}
}
