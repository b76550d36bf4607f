package analyzer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
)

// TestConcreteFix checks that a fix of an environment names a version, also where a rule or another
// package requires a range: a lock file has no ranges.
func TestConcreteFix(t *testing.T) {
	grid := func(text string, requires ...string) analyzer.Input {
		return extension(t, "grid", "1.0", text, requires...)
	}
	const old = "section .rodata 6e756d70792e636f72652e5f6d756c746961727261795f756d61746800\n"
	numpys := map[string]string{
		"numpy==1.25.2": "", "numpy==1.26.4": "", "numpy==2.0.0rc1": "", "numpy==2.0.2": "",
	}
	for _, c := range []struct {
		name     string
		wheel    analyzer.Input
		with     []string
		releases map[string]string
		is       string // title of the cause
		title    string
		command  string
		admits   string // requirement of the finding's first fix
	}{
		{"a range of the wheel", grid(old, "numpy<2,>=1.23.2"), []string{"grid==1.0", "numpy==2.0.2"},
			numpys, "grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to 1.26.4 in uv.lock:2", "uv lock --upgrade-package numpy==1.26.4",
			"numpy<2,>=1.23.2"},
		{"a range of a rule", grid(old, "numpy"), []string{"grid==1.0", "numpy==2.0.2"}, numpys,
			"grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to 1.26.4 in uv.lock:2", "uv lock --upgrade-package numpy==1.26.4",
			"numpy<2"},
		{"what others allow", grid(old, "numpy!=1.26.4"), []string{"grid==1.0", "numpy==2.0.2"}, numpys,
			"grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to 1.25.2 in uv.lock:2", "uv lock --upgrade-package numpy==1.25.2",
			"numpy<2"},
		{"no version is known", grid(old, "numpy"), []string{"grid==1.0", "numpy==2.0.2"},
			map[string]string{"numpy==2.0.2": ""}, "grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to a version <2 in uv.lock:2", "uv lock --upgrade-package 'numpy<2'",
			"numpy<2"},
		{"the requirement of another package", grid("needed libone.so\nimport new@ONE libone.so\n", "one"),
			[]string{"grid==1.0", "one==1.0", "two==1.0"},
			map[string]string{
				"one==1.0": "old@ONE", "one==2.0": "old@ONE new@ONE requires two>=2,<4",
				"two==1.0": "", "two==2.0": "", "two==3.0": "", "two==3.1": "", "two==4.0": "",
			},
			"grid 1.0: fails with one 1.0, which lacks new",
			"Change one from 1.0 to 2.0 in uv.lock:2; change two from 1.0 to 3.1 in uv.lock:3",
			"uv lock --upgrade-package one==2.0 --upgrade-package two==3.1",
			"one>=2.0"},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12", With: c.with,
			Wheels: []analyzer.Input{c.wheel}, Origins: map[string]analyzer.Origin{},
		}
		for i, w := range c.with {
			e.Origins[w] = analyzer.Origin{File: "uv.lock", Line: i + 1}
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), e, nil, analyzer.Options{Source: stock{t, c.releases}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Causes) == 0 || !slices.ContainsFunc(r.Causes[0].Fixes, func(x analyzer.CauseFix) bool {
			return x.Title.String() == c.title && string(x.Command) == c.command
		}) {
			t.Errorf("%s: verdict %s, causes %+v", c.name, r.Verdict, r.Causes)
		}
		if title := r.Causes[0].Title; !strings.HasPrefix(title, c.is) {
			t.Errorf("%s: title %q, want %q", c.name, title, c.is)
		}
		if fixes := r.Findings[0].Fixes; fixes[0].Requirement != c.admits {
			t.Errorf("%s: fixes %+v", c.name, fixes)
		}
	}
}

// TestCombinedFixes checks that the fixes of several causes of an environment are tried together, that
// another version is searched if they contradict each other, and that it is reported if there is none.
func TestCombinedFixes(t *testing.T) {
	wheel := func(name, text string, requires ...string) analyzer.Input {
		return extension(t, name, "1.0", text, requires...)
	}
	grid := wheel("grid", "section .rodata 6e756d70792e636f72652e5f6d756c746961727261795f756d61746800\n",
		"numpy")
	mesh := wheel("mesh", "needed libone.so\nimport new@ONE libone.so\n", "one")
	late := wheel("late", "needed libone.so\nimport old@ONE libone.so\n", "one")
	for _, c := range []struct {
		name     string
		one2     string // the release of one that is the next to have the symbol
		one3     string
		want     []string
		verified bool
		cost     string
	}{
		{"they fit", "old@ONE new@ONE requires numpy<2", "old@ONE new@ONE",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==2.0",
			}, true, "another version of numpy: one 2.0 requires numpy<2, not 2.0.2"},
		{"another version fits", "old@ONE new@ONE requires numpy>=2", "old@ONE new@ONE requires numpy<2",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==3.0",
			}, true, ""},
		{"none fits", "old@ONE new@ONE requires numpy>=2", "old@ONE new@ONE requires numpy>=2",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==2.0",
			}, false, "pip cannot resolve this: one==2.0 requires numpy>=2, not 1.26.4"},
		{"another package needs the old version", "new@ONE", "new@ONE",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==2.0",
			}, false, fix.Remain + ": "},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			With:   []string{"grid==1.0", "mesh==1.0", "numpy==2.0.2", "one==1.0"},
			Wheels: []analyzer.Input{grid, mesh}, Origins: map[string]analyzer.Origin{},
		}
		if strings.HasPrefix(c.cost, fix.Remain) {
			e.With, e.Wheels = append(e.With, "late==1.0"), append(e.Wheels, late)
		}
		for i, w := range e.With {
			e.Origins[w] = analyzer.Origin{File: "uv.lock", Line: i + 1}
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{
			Source: stock{t, map[string]string{
				"numpy==1.26.4": "", "numpy==2.0.2": "", "one==1.0": "old@ONE", "one==2.0": c.one2,
				"one==3.0": c.one3,
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got, costs []string
		for _, x := range r.Plan.Fixes {
			got = append(got, string(x.Command))
			costs = append(costs, x.Cost...)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || r.Plan.Verified != c.verified ||
			!strings.HasPrefix(strings.Join(costs, "; "), c.cost) || c.cost == "" && costs != nil {
			t.Errorf("%s: plan %+v", c.name, r.Plan)
		}
		for i, x := range r.Causes[:len(r.Plan.Fixes)] {
			if len(x.Fixes) == 0 || x.Fixes[0].Command != r.Plan.Fixes[i].Command {
				t.Errorf("%s: cause %+v", c.name, x)
			}
		}
	}
}

// TestOneFixIsEnough checks the plan for a package that was changed without the packages that it
// requires: to change it back removes what fails with it and what it fails with, and the versions
// that it requires are not part of the plan.
func TestOneFixIsEnough(t *testing.T) {
	const usesNew = "needed libone.so\nimport new@ONE libone.so\n"
	with := []string{"core==2.0", "vision==1.0", "one==1.0", "onnx==1.0"}
	e := &analyzer.Environment{
		On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12", With: with,
		Wheels: []analyzer.Input{
			extension(t, "core", "2.0", usesNew, "one==2.0"),
			extension(t, "vision", "1.0", "needed libcore.so\nimport f@ONE libcore.so\n", "core"),
		},
		Origins: map[string]analyzer.Origin{},
	}
	for i, w := range with {
		e.Origins[w] = analyzer.Origin{File: "uv.lock", Line: i + 1}
	}
	check := func() *analyzer.Report {
		t.Helper()
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{
			Source: stock{t, map[string]string{
				"core==1.0": "f requires one==1.0", "core==2.0": "g requires one==2.0",
				"one==1.0": "old@ONE", "one==2.0": "old@ONE new@ONE",
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := check()
	if len(r.Causes) != 2 || !r.Plan.Verified || len(r.Plan.Fixes) != 2 {
		t.Fatalf("plan %+v, causes %+v", r.Plan, r.Causes)
	}
	for i, x := range r.Plan.Fixes {
		if got := string(x.Command); got != "uv lock --upgrade-package core==1.0" {
			t.Errorf("plan: %s", got)
		}
		if c := r.Causes[i].Fixes[0]; c.Command != x.Command || !c.Verified {
			t.Errorf("cause %d: %+v", i+1, c)
		}
	}

	// A package without a wheel has none with another version of another package either.
	e.NoWheel = []analyzer.NoWheel{{
		Package: "onnx", Version: "1.0", Reason: "onnx==1.0 has no wheel for Python 3.12",
		Others: []string{"1.1"}, At: e.Origins["onnx==1.0"],
	}}
	r = check()
	if len(r.Causes) != 3 || r.Plan.Verified || len(r.Plan.Fixes) != 3 {
		t.Fatalf("plan %+v, causes %+v", r.Plan, r.Causes)
	}
	for i, c := range r.Causes {
		want := "core==1.0"
		if c.Rules[0] == "no-wheel" {
			want = "onnx==1.1"
		}
		if x := r.Plan.Fixes[i]; x.Requirement != want || c.Fixes[0].Requirement != want ||
			x.Verified != (want == "core==1.0") {
			t.Errorf("plan %+v, cause %+v; want %s", x, c, want)
		}
	}
}

// TestInstallerOfTheSystem checks that a package of the system is installed with a program that the
// system has: releases before RHEL 8 have no dnf.
func TestInstallerOfTheSystem(t *testing.T) {
	for platform, want := range map[string]string{
		"amazonlinux2": "yum install ", "rhel7": "yum install ", "rhel8": "dnf install ",
		"amazonlinux2023": "dnf install ", "debian12": "apt-get install ", "alpine3.20": "apk add ",
	} {
		r, err := analyzer.New(rules.All()).Check(
			t.Context(), []analyzer.Input{extension(t, "draw", "1.0", "needed libX11.so.6\n")},
			analyzer.Options{Platforms: []string{platform}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Findings, func(f analyzer.Finding) bool {
			return slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
				return strings.HasPrefix(string(x.Command), want)
			})
		}) {
			t.Errorf("%s: findings %+v; want %s", platform, r.Findings, want)
		}
	}
}
