package artifact

import (
	"strings"
	"testing"
)

func TestStarts(t *testing.T) {
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
		{"x: &p {paths: ['src/**']}\non: {pull_request: *p}", true, true},
		{"x: &p [pull_request]\non: *p", true, true},
		{"x: &p pull_request\non: [push, *p]", true, true},
		{"jobs: {}", false, false},
		{"- on: push", false, false},
		{"on: [", false, false},
		{"", false, false},
	} {
		own, fork := Change{Own: true}.Starts(c.text), Change{}.Starts(c.text)
		if own != c.own || fork != c.fork {
			t.Errorf(
				"%q: %t for the repository's own branches and %t for forks, want %t and %t",
				c.text,
				own,
				fork,
				c.own,
				c.fork,
			)
		}
		if part := Triggers(c.text); (Change{}).Starts(part) != fork {
			t.Errorf("%q: for forks, another answer of its triggers %q", c.text, part)
		}
	}
}

// Filters of branches and paths, as in GitHub's documentation of filter patterns.
func TestFilters(t *testing.T) {
	const pull = "on:\n  pull_request:\n    "
	for _, c := range []struct {
		text  string
		base  string
		paths string
		want  bool
	}{
		{"on: pull_request", "main", "tests/a.py", true},
		{pull + "paths: ['src/**', pyproject.toml]", "main", "tests/a.py", false},
		{pull + "paths: ['src/**', pyproject.toml]", "main", "tests/a.py src/x/y.c", true},
		{pull + "paths: ['src/**', pyproject.toml]", "main", "pyproject.toml", true},
		{pull + "paths: ['**.c']", "main", "src/x/y.c", true},
		{pull + "paths: ['*.c']", "main", "src/x/y.c", false},
		{pull + "paths: ['**/y.c']", "main", "y.c", true},
		{pull + "paths: ['src/**', '!src/docs/**']", "main", "src/docs/a.md", false},
		{pull + "paths: ['src/**', '!src/docs/**', src/docs/x.c]", "main", "src/docs/x.c", true},
		{pull + "paths: src/**", "main", "src/a.c", true},
		{"x: &p ['src/**']\n" + pull + "paths: *p", "main", "src/a.c", true},
		{"x: &p ['src/**']\n" + pull + "paths: *p", "main", "tests/a.py", false},
		{"x: &p 'src/**'\n" + pull + "paths: [*p]", "main", "src/a.c", true},
		{pull + "paths-ignore: ['docs/**', '**.md']", "main", "docs/a README.md", false},
		{pull + "paths-ignore: ['docs/**', '**.md']", "main", "docs/a src/a.c", true},
		{pull + "paths-ignore: ['docs/']", "main", "docs/a/b", false},
		{pull + "paths: ['[']", "main", "src/a.c", true}, // cannot be read
		{pull + "paths: ['src/[ab].jsx?']", "main", "src/a.js", true},
		{pull + "branches: [main]", "release-1.x", "a.c", false},
		{pull + "branches: ['release-**']", "release-1.x", "a.c", true},
		{pull + "branches-ignore: ['release-*']", "release-1.x", "a.c", false},
		{pull + "paths: ['src/**']\n  push:", "main", "tests/a.py", false},
		{pull + "branches: [main]\n  push:\n    paths: ['src/**']", "v1", "src/a.c", true},
		{pull + "branches: [main]\n  push:\n    paths: ['src/**']", "v1", "tests/a.py", false},
	} {
		change := Change{Base: c.base, Own: true, Paths: strings.Fields(c.paths)}
		if part := Triggers(c.text); change.Starts(part) != change.Starts(c.text) {
			t.Errorf("%q starts in other cases than its triggers, %q", c.text, part)
		}
		if got := change.Starts(c.text); got != c.want {
			t.Errorf("%q, base %s, paths %s: %t, want %t", c.text, c.base, c.paths, got, c.want)
		}
	}
	const push = "on:\n  push:\n    "
	for _, c := range []struct {
		text, head string
		want       bool
	}{
		{push + "branches: ['**']", "fix/1", true},
		{push + "branches: ['*']", "fix/1", false},
		{push + "branches: ['**']\n    tags: ['v*']", "fix/1", true},
		{push + "branches: [main, 'fix/**']", "fix/1", true},
		{push + "branches: [main]", "fix/1", false},
		{push + "branches-ignore: [gh-pages]", "fix/1", true},
		{push + "branches-ignore: ['fix/**']", "fix/1", false},
		{push + "branches: ['**', '!fix/**']", "fix/1", false},
		{push + "branches: ['**']\n    paths: ['src/**']", "fix/1", false},
		{push + "branches: ['**']", "", false},
		{push + "tags: ['v*']", "fix/1", false},
		{"on:\n  pull_request:\n    branches: [v1]\n  push:\n    branches: ['**']", "fix/1", true},
	} {
		change := Change{Base: "main", Head: c.head, Own: true, Paths: []string{"a.c"}}
		if got := change.Starts(c.text); got != c.want {
			t.Errorf("%q, head %s: %t, want %t", c.text, c.head, got, c.want)
		}
		if change.Own = false; change.Starts(c.text) {
			t.Errorf("%q starts for the head of a fork", c.text)
		}
	}
	group := Change{Base: "main", Own: true, Group: true, Paths: []string{"tests/a.py"}}
	for text, want := range map[string]bool{
		"on: [pull_request, merge_group]": true, "on: pull_request": false, "on: push": true,
		"on: {merge_group: {types: [checks_requested]}}": true,
		"on: {merge_group: {branches: [release]}}":       false,
	} {
		if got := group.Starts(text); got != want {
			t.Errorf("%q for a merge group: %t, want %t", text, got, want)
		}
	}
}

// Starts returns for any text, and what runs for a fork's head also runs for branches of
// the repository itself.
func FuzzStarts(f *testing.F) {
	f.Add("on: [push, pull_request]")
	f.Add("on:\n  pull_request:\n    types: [labeled]\n")
	f.Add("a: &a [*a]\non: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		own, fork := Change{Own: true}.Starts(text), Change{}.Starts(text)
		if fork && !own {
			t.Error("runs for a fork's head alone")
		}
		if own && !strings.Contains(text, "pu") &&
			!strings.Contains(text, "\\") { // letters may be escaped
			t.Error("no event is named")
		}
		if (Change{Own: true}).Starts(Triggers(text)) != own {
			t.Error("another answer of the triggers alone")
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
		"docs/evil.c": false, "docs/evil.hip": false, "docs/fix.patch": false, "docs/sub/evil.PYX": false, "docs/setup.py": false,
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
