package cause_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/rules"
)

// declares returns a requirement in line 8 of a project.
func declares(requirement string) []lockfile.Declared {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		panic(err)
	}
	return []lockfile.Declared{{Requirement: q, File: "app/pyproject.toml", Line: 8}}
}

// TestEnvironment checks that the causes of an environment name the pin and what to change it to,
// with the command of the lock file, and never a change of the wheel or its metadata.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name          string
		pin           cause.Pin
		requirement   string
		title, action string
		command       string
	}{
		{
			"range", cause.Pin{Version: "2.7.0", File: "pins.txt", Line: 3}, "torch>=2.5,<2.7",
			"Change torch from 2.7.0 to a version >=2.5,<2.7 in pins.txt:3",
			"Choose another version of torch (pins.txt:3).", "",
		},
		{
			"requirements file", cause.Pin{Version: "2.5.0", File: "pins.txt", Line: 3}, "torch==2.6.0",
			"Change torch from 2.5.0 to 2.6.0 in pins.txt:3",
			"Choose another version of torch (pins.txt:3).", "",
		},
		{
			"lock file", cause.Pin{Version: "2.5.0", File: "app/uv.lock", Line: 30, Was: "2.4.0"},
			"torch==2.6.0",
			"Change torch from 2.5.0 to 2.6.0 in app/uv.lock:30",
			"torch was changed from 2.4.0 to 2.5.0. Choose another version of torch (app/uv.lock:30).",
			"uv lock --upgrade-package torch==2.6.0",
		},
		{
			"installed", cause.Pin{Version: "2.5.0"}, "torch==2.6.0",
			"Change torch from 2.5.0 to 2.6.0", "Choose another version of torch.",
			"pip install torch==2.6.0",
		},
		{
			"lock file of a project that pins it",
			cause.Pin{Version: "2.5.0", File: "app/uv.lock", Line: 30, Declared: declares("torch==2.5.0")},
			"torch==2.6.0",
			"Change torch from 2.5.0 to 2.6.0 in app/pyproject.toml:8",
			"Choose another version of torch (app/uv.lock:30).", "uv add torch==2.6.0",
		},
		{
			"lock file of a project that allows it",
			cause.Pin{Version: "2.5.0", File: "app/uv.lock", Line: 30, Declared: declares("torch>=2.5.0")},
			"torch==2.6.0",
			"Change torch from 2.5.0 to 2.6.0 in app/uv.lock:30",
			"Choose another version of torch (app/uv.lock:30).",
			"uv lock --upgrade-package torch==2.6.0",
		},
	} {
		f := lacks("widget/w.so", "c10_symbol", c.requirement)
		f.New = true
		f.Fixes = append(f.Fixes, fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("Build against " +
			"torch 2.5.0")})
		r := report(f)
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All()), Pins: map[string]cause.Pin{"torch": c.pin, "widget": {}}})
		x := r.Causes[0]
		if len(x.Fixes) != 1 || x.Fixes[0].Title.String() != c.title || string(x.Fixes[0].Command) != c.command {
			t.Errorf("%s: fixes %+v", c.name, x.Fixes)
		}
		if x.Action != c.action || x.Ship != "" || x.Actor != result.Installer ||
			x.File != c.pin.File || x.Line != c.pin.Line {
			t.Errorf("%s: cause %+v", c.name, x)
		}
	}
	f := tooNew("widget/w.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64")
	r := report(f)
	cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All()), Pins: map[string]cause.Pin{"widget": {Version: "1.0", File: "p.txt"}}})
	if x := r.Causes[0]; len(x.Fixes) > 0 || x.File != "p.txt" || x.Line != 0 ||
		!strings.HasPrefix(x.Action, "Choose another version of widget (p.txt) or another platform.") {
		t.Errorf("cause %+v", x)
	}
}

// TestAdding checks that a package which nothing requires is added by the command that adds
// packages, or in the file that lists them.
func TestAdding(t *testing.T) {
	for _, c := range []struct {
		file        string
		requirement string
		title       string
		command     string
	}{
		{"app/uv.lock", "torch", "Add torch to the packages of the environment", "uv add torch"},
		{"uv.lock", "torch==2.6.0", "Add torch==2.6.0 to the packages of the environment",
			"uv add torch==2.6.0"},
		{"poetry.lock", "torch", "Add torch to the packages of the environment", "poetry add torch"},
		{"pdm.lock", "torch", "Add torch to the packages of the environment", "pdm add torch"},
		{"pixi.lock", "torch", "Add torch to the packages of the environment",
			"pixi add --pypi torch"},
		{"pins.txt", "torch", "Add torch to pins.txt", ""},
		{"", "torch", "Add torch to the packages of the environment", "pip install torch"},
	} {
		f := lacks("widget/w.so", "c10_symbol", c.requirement)
		f.Fixes[0].Kind = fix.KindDependency
		r := report(f)
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All()), Pins: map[string]cause.Pin{"widget": {Version: "1", File: c.file}}})
		x := r.Causes[0].Fixes
		if len(x) != 1 || x[0].Title.String() != c.title || string(x[0].Command) != c.command {
			t.Errorf("%s: fixes %+v", c.file, x)
		}
	}
}

// TestTitlesNameThePackages checks that the title of a cause of an environment names the packages
// that fail, once.
func TestTitlesNameThePackages(t *testing.T) {
	missing := func(artifact, library string) result.Finding {
		return result.Finding{
			Artifact: artifact, Rule: "library-not-found", Object: artifact + "/m.so", Library: library,
		}
	}
	broken := func(artifact string) result.Finding {
		return result.Finding{
			Artifact: artifact, Rule: "broken-installation", Object: artifact, Package: artifact,
			Version: "macOS", InstalledFor: "macOS", Headline: artifact + " 1.0 is installed for macOS, but this is Linux",
			Reason: "macOS, but this is Linux",
			Fixes:  []fix.Fix{{Kind: fix.KindEnvironment, Title: fix.Titled("Install it again")}},
		}
	}
	twice := broken("pa")
	twice.Headline = "pa is installed twice, as 1.0 and 2.0"
	twice.Version, twice.InstalledFor = "", ""
	abi := result.Finding{
		Artifact: "pa", Rule: "symbol-missing-in-package", Object: "pa/m.so", Package: "torch",
		Symbol: "c10_" + strings.Repeat("long_", 8),
	}
	for _, c := range []struct {
		findings []result.Finding
		want     string
	}{
		{
			[]result.Finding{missing("pa", "libodd.so.1")},
			"pa 1.0: needs libodd.so.1, which is neither bundled nor declared",
		},
		{[]result.Finding{broken("pa")}, "pa 1.0 is installed for macOS, but this is Linux"},
		{
			[]result.Finding{broken("pa"), broken("pb")},
			"pa 1.0 and pb 1.0 are installed for macOS, but this is Linux",
		},
		{[]result.Finding{twice}, "pa is installed twice, as 1.0 and 2.0"},
		{
			[]result.Finding{abi},
			"pa 1.0: torch lacks c10_long_long_long_long_long_long_long_long_, needed by m.so",
		},
	} {
		r := environment(c.findings...)
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All()), Pins: map[string]cause.Pin{}})
		if len(r.Causes) != 1 || r.Causes[0].Title != c.want {
			t.Errorf("causes %+v; want the title %q", r.Causes, c.want)
		}
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
		if title := r.Causes[0].Title; strings.HasPrefix(title, "pa 1.0: ") {
			t.Errorf("%q names the wheel, which is known", title)
		}
	}
}

// environment returns a report about packages of version 1.0, with a finding for each.
func environment(findings ...result.Finding) *result.Report {
	r := result.New("test")
	r.Environment = true
	for i := range findings {
		f := &findings[i]
		name := f.Artifact
		f.Artifact += "-1.0-cp312-cp312-manylinux_2_17_x86_64.whl"
		f.Target, f.Severity = "manylinux_2_17_x86_64", cmp.Or(f.Severity, result.Error)
		if !slices.ContainsFunc(r.Artifacts, func(a result.Artifact) bool { return a.Path == f.Artifact }) {
			r.Artifacts = append(r.Artifacts, result.Artifact{
				Path: f.Artifact, Kind: "wheel", Wheel: &result.Wheel{Name: name, Version: "1.0"},
			})
		}
	}
	r.Findings = findings
	return r
}

// TestManyPackagesOfOnePin checks that packages which one change of one pin fixes are one cause that
// names them, and that those that need another change are not part of it.
func TestManyPackagesOfOnePin(t *testing.T) {
	fails := func(artifact, rule, provider, symbol string, fixes ...string) result.Finding {
		f := result.Finding{
			Artifact: artifact, Rule: rule, Object: artifact + "/m.so", Symbol: symbol, Package: provider,
		}
		if rule == "numpy-abi-mismatch" {
			f.BuiltWith, f.FailsWith = "NumPy 1", "NumPy 2"
		}
		for _, q := range fixes {
			f.Fixes = append(f.Fixes, fix.Fix{
				Kind: fix.KindPin, Title: fix.Titled("Pin %s",
					fix.Requirement(q)), Requirement: q, Verified: true,
				Change: fix.Pin{Requirement: q},
			})
		}
		return f
	}
	required := func(f result.Finding, q string) result.Finding {
		f.Fixes = append(f.Fixes, fix.Fix{
			Kind: fix.KindEnvironment, Title: fix.Titled("Install the versions that it requires"),
			Requirement: q, Verified: true,
			Change: fix.AsRequired{Requirements: []string{q}, Pins: []string{q}},
		})
		return f
	}
	unmet := func(artifact, provider, requirement, q string) result.Finding {
		f := fails(artifact, "requirement-not-met", provider, "", q)
		f.Object, f.Version, f.Severity = artifact, requirement, result.Warning
		f.RequiredBy, f.Requirement = artifact, requirement
		f.Headline = artifact + " 1.0 requires " + requirement + ", but another version is pinned"
		return f
	}
	const numpy, missing = "numpy-abi-mismatch", "symbol-missing-in-package"
	for _, c := range []struct {
		name     string
		findings []result.Finding
		titles   []string
		fixes    string // of the first cause
	}{
		{
			"required and other versions",
			[]result.Finding{
				unmet("pa", "numpy", "numpy<2", "numpy==1.26.4"),
				required(fails("pa", numpy, "numpy", "", "numpy==1.26.4"), "numpy==1.26.4"),
				fails("pb", numpy, "numpy", "", "numpy==1.26.4"),
				fails("pc", numpy, "numpy", "", "numpy==1.26.4"),
				fails("pd", numpy, "numpy", "", "numpy==1.26.4"),
				unmet("pe", "numpy", "numpy<2.1", "numpy==1.26.4"),
			},
			[]string{"pa 1.0, pb 1.0, pc 1.0 and 1 more package, built against NumPy 1, fail with numpy 2.1.0"},
			"Change numpy from 2.1.0 to 1.26.4 in pins.txt:1",
		},
		{
			"only required versions",
			[]result.Finding{
				required(fails("pa", missing, "torch", "c10_a", "torch==2.6.0"), "torch==2.6.0"),
				required(fails("pb", missing, "torch", "c10_b", "torch==2.6.0"), "torch==2.6.0"),
			},
			[]string{"pa 1.0 and pb 1.0 fail with torch 2.5.0"},
			"Change torch from 2.5.0 to 2.6.0 in pins.txt:2",
		},
		{
			"two answers",
			[]result.Finding{
				fails("pa", missing, "torch", "c10_a", "torch==2.6.0"),
				fails("pb", missing, "torch", "c10_b", "torch==2.4.0"),
			},
			[]string{"torch lacks c10_a", "torch lacks c10_b"},
			"Change torch from 2.5.0 to 2.6.0 in pins.txt:2",
		},
		{
			"no answer",
			[]result.Finding{
				fails("pa", missing, "torch", "c10_a"), fails("pb", missing, "torch", "c10_b"),
			},
			[]string{"pa 1.0 and pb 1.0 fail with torch 2.5.0"},
			"",
		},
		{
			"only requirements",
			[]result.Finding{
				unmet("pa", "numpy", "numpy<2", "numpy==1.26.4"),
				unmet("pb", "numpy", "numpy<2.1", "numpy==1.26.4"),
			},
			[]string{"pa 1.0 requires numpy<2, but another version is pinned (and 1 more requirement)"},
			"Change numpy from 2.1.0 to 1.26.4 in pins.txt:1",
		},
	} {
		r := environment(c.findings...)
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All()), Pins: map[string]cause.Pin{
			"numpy": {Version: "2.1.0", File: "pins.txt", Line: 1},
			"torch": {Version: "2.5.0", File: "pins.txt", Line: 2},
		}})
		var titles, fixes []string
		findings := 0
		for _, x := range r.Causes {
			titles = append(titles, x.Title)
			findings += len(x.Findings)
		}
		for _, x := range r.Causes[0].Fixes {
			fixes = append(fixes, x.Title.String())
		}
		if !slices.EqualFunc(titles, c.titles, strings.Contains) || findings != len(r.Findings) {
			t.Errorf("%s: %d findings in %q; want %q", c.name, findings, titles, c.titles)
		}
		if strings.Join(fixes, "\n") != c.fixes {
			t.Errorf("%s: fixes %q; want %q", c.name, fixes, c.fixes)
		}
	}
}

// TestUnmetIsPartOfTheError checks that a requirement that the pins do not satisfy is part of the
// error that the same change of the pins removes, and that another one is a cause of its own.
func TestUnmetIsPartOfTheError(t *testing.T) {
	unmet := func(requirement, name string) result.Finding {
		pin := name + "==1.26"
		return result.Finding{
			Rule: "requirement-not-met", Object: "widget", Package: name, Version: requirement,
			RequiredBy: "widget", Requirement: requirement,
			Severity: result.Warning, Headline: "widget 1.0 requires " + requirement,
			Fixes: []fix.Fix{{
				Kind: fix.KindPin, Title: fix.Titled("Pin %s", fix.Requirement(pin)), Requirement: pin,
				Change: fix.Pin{Requirement: pin},
			}},
		}
	}
	pins := map[string]cause.Pin{"torch": {Version: "2.7"}, "numpy": {Version: "2.0"}, "scipy": {}}
	r := report(asRequired(lacks("widget/w.so", "c10_symbol", "torch<2.6")),
		unmet("numpy<2", "numpy"), unmet("torch<2.6", "torch"), unmet("scipy<1.27", "scipy"))
	cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All()), Pins: pins})
	if len(r.Causes) != 2 || len(r.Causes[0].Findings) != 3 || r.Causes[0].Objects != 1 ||
		r.Causes[0].Severity != result.Error || r.Causes[1].ID != "requirement-not-met-scipy" {
		t.Fatalf("causes %+v", r.Causes)
	}
	x := r.Causes[0].Fixes
	if string(x[0].Command) != "pip install torch==2.5.1 numpy==1.26" || x[0].Clears != 3 {
		t.Errorf("fixes %+v", x)
	}
}

// A title says that a version fails only if it was read.
func TestOtherVersionsUnread(t *testing.T) {
	for unknown, want := range map[bool]string{
		false: "requires torch<2.6, and fails with torch 2.7 (and 1 more package of other versions)",
		true: "requires torch<2.6; not all of torch 2.7 was read (and 1 more package of other " +
			"versions)",
	} {
		f := asRequired(lacks("widget/w.so", "c10_symbol", "torch<2.6"))
		f.Unknown = unknown
		r := report(f)
		r.Targets = []result.Target{{Name: "manylinux_2_28_x86_64", With: []string{"torch==2.7"}}}
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
		if len(r.Causes) != 1 || r.Causes[0].Title != want {
			t.Errorf("unknown %v: %+v", unknown, r.Causes)
		}
	}
}

// TestExtrasOfEnvironment checks that what several extras of one package require is one fix, in the
// words of the file that names the package.
func TestExtrasOfEnvironment(t *testing.T) {
	const both = "the extras cuda and cudnn to widget"
	for _, c := range []struct {
		pin            cause.Pin
		title, command string
	}{
		{cause.Pin{Version: "1.0"}, "Add " + both, "pip install 'widget[cuda,cudnn]==1.0'"},
		{cause.Pin{Version: "1.0", File: "pins.txt", Line: 3}, "Add " + both + " in pins.txt:3, and pin " +
			"what they require: nvidia-cudnn-cu12~=9.0 and nvidia-cufft-cu12~=11.0", ""},
		{cause.Pin{Version: "1.0", File: "uv.lock", Line: 3}, "Add " + both + " in uv.lock:3",
			"uv add 'widget[cuda,cudnn]==1.0'"},
	} {
		r := report(ofExtra("libcudnn.so.9", "nvidia-cudnn-cu12~=9.0", "cudnn"),
			ofExtra("libcufft.so.11", "nvidia-cufft-cu12~=11.0", "cuda"))
		cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All()), Pins: map[string]cause.Pin{"widget": c.pin}})
		x := r.Causes[0]
		if len(x.Fixes) != 1 || x.Fixes[0].Title.String() != c.title ||
			string(x.Fixes[0].Command) != c.command || x.Fixes[0].Clears != 2 {
			t.Errorf("%+v: %+v", c.pin, x.Fixes)
		}
	}
}
