package artifact

import (
	"strings"
	"testing"
)

func TestRunsForPulls(t *testing.T) {
	for _, c := range []struct {
		text      string
		own, fork bool
	}{
		{"on: pull_request", true, true},
		{"on: [push, pull_request]", true, true},
		{"on:\n  pull_request:\n", true, true},
		{"on:\n  pull_request:\n    paths: ['src/**']\n", true, true},
		{"on:\n  pull_request:\n    types: [labeled]\n", false, false},
		{"on:\n  pull_request:\n    types: [labeled, synchronize]\n", true, true},
		{"on:\n  pull_request_target:\n    branches: [main]\n", true, true},
		{"on: push", true, false},
		{"'on':\n  push:\n    branches: [main]\n", false, false},
		{"on:\n  push:\n    tags: ['v*']\n  workflow_dispatch:\n", false, false},
		{"on:\n  push:\n    paths-ignore: [docs]\n", true, false},
		{"on:\n  schedule:\n    - cron: '0 0 * * *'\n", false, false},
		{"on: {workflow_run: {workflows: [build], types: [completed]}}", false, false},
		{"jobs: {}", false, false},
		{"- on: push", false, false},
		{"on: [", false, false},
		{"", false, false},
	} {
		if own, fork := RunsForPulls(c.text, true), RunsForPulls(c.text, false); own != c.own ||
			fork != c.fork {
			t.Errorf(
				"%q: %t for the repository's own branches and %t for forks, want %t and %t",
				c.text,
				own,
				fork,
				c.own,
				c.fork,
			)
		}
	}
}

// RunsForPulls returns for any text, and what runs for a fork's head also runs for branches of
// the repository itself.
func FuzzRunsForPulls(f *testing.F) {
	f.Add("on: [push, pull_request]")
	f.Add("on:\n  pull_request:\n    types: [labeled]\n")
	f.Add("a: &a [*a]\non: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		own, fork := RunsForPulls(text, true), RunsForPulls(text, false)
		if fork && !own {
			t.Error("runs for a fork's head alone")
		}
		if own && !strings.Contains(text, "pu") &&
			!strings.Contains(text, "\\") { // letters may be escaped
			t.Error("no event is named")
		}
	})
}

func TestDocumentation(t *testing.T) {
	globs := []string{"examples/**"}
	for p, want := range map[string]bool{
		"README.md": true, "docs/a.html": true, "docs/conf.py": true, "src/x/guide.rst": true,
		"LICENSE": true, "LICENSE.txt": true, "LICENSE-MIT": true, "LICENSE-APACHE-2.0": true,
		"LICENSE_OF_X.md": true, "src/LICENSE": true, "examples/a.c": true,

		"LICENSE_evil.c": false, "LICENSE.c": false, "LICENSE.md.c": false, "LICENSE.2.c": false,
		"docs/evil.c": false, "docs/sub/evil.PYX": false, "docs/setup.py": false,
		"docs/requirements.txt": false, "docs/CMakeLists.txt": false, "examples/setup.py": false,
		".github/workflows/docs.md": false, "src/docs/a.c": false, "README.md/evil.c": false,
		"readme": false, "docs": false,
	} {
		if got := Documentation([]string{p}, globs); got != want {
			t.Errorf("%s: %t, want %t", p, got, want)
		}
	}
	if Documentation([]string{"README.md", "a.c"}, nil) || Documentation(nil, nil) {
		t.Error("a change with another file, or without any, is documentation")
	}
}
