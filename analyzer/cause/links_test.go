package cause_test

import (
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/shellword"
)

// TestSentences checks the title and the action of causes that depend on what the object links, on
// the system, and on the fix.
func TestSentences(t *testing.T) {
	provided := "widget/libown.so"
	undefined := func(library, version string) result.Finding {
		return result.Finding{
			Rule: "undefined-symbol", Object: "a.so", Symbol: "f", Library: library, Version: version,
			Package: "widget",
		}
	}
	missing := func(library string, fixes ...fix.Fix) result.Finding {
		return result.Finding{
			Rule: "library-not-found", Object: "a.so", Library: library, Fixes: fixes, Package: "widget",
		}
	}
	unreachable := func(target string, change fix.Change) result.Finding {
		return result.Finding{
			Rule: "bundled-library-not-reachable", Object: "a.so", Library: "libown.so.1", Target: target,
			Fixes: []fix.Fix{{Kind: fix.KindPatchelf, Title: fix.Titled("Edit"), Change: change}}, Package: "widget",
		}
	}
	with := func(f result.Finding, edit func(*result.Finding)) result.Finding {
		edit(&f)
		return f
	}
	on := func(target string, f result.Finding) result.Finding {
		f.Target = target
		return f
	}
	builder := "Whoever builds widget has to "
	const everybody = " Affected: everybody who loads this file."
	for name, c := range map[string]struct {
		finding       result.Finding
		title, action string
	}{
		"a system library is not linked": {
			undefined("libz.so.1", ""), "a.so does not link libz.so.1, which has f",
			builder + "link it with libz.so.1.",
		},
		"a bundled library is not linked": {
			with(undefined("", ""), func(f *result.Finding) { f.ProvidedBy = &provided }),
			"a.so does not link libown.so, which has f", builder + "link it with libown.so.",
		},
		"a linked library lacks the symbol": {
			undefined("libused.so.2", "USED_1"), "libused.so.2 lacks f, which a.so imports",
			builder + "use a libused.so.2 that has it, or build without it.",
		},
		"a library of the system lacks the symbol": {
			on("manylinux_2_17_x86_64", undefined("libglib-2.0.so.0", "")),
			"libglib-2.0.so.0 of the system lacks f, which a.so imports",
			builder + "build with the libglib-2.0.so.0 of the oldest system that it has to run on, " +
				"or bundle the one that it was built with.",
		},
		"a bundled library of which the system has another": {
			on("manylinux_2_17_x86_64", undefined("libexpat.so.1", "")),
			"libexpat.so.1 lacks f, which a.so imports",
			builder + "use a libexpat.so.1 that has it, or build without it.",
		},
		"a linked library has another version of it": {
			with(undefined("libown.so.1", "OWN_1"), func(f *result.Finding) { f.ProvidedBy = &provided }),
			"libown.so.1 has f only in another version than a.so imports, such as OWN_1",
			builder + "bundle the libown.so.1 that it was linked with.",
		},
		"no library is known": {
			undefined("", ""), "no library defines f, which a.so imports",
			builder + "link the library that defines it.",
		},
		"Windows": {
			on("win_amd64", undefined("used.dll", "")), "used.dll lacks f, which a.so imports",
			builder + "use a used.dll that has it, or build without it.",
		},
		"another std::string": {
			with(undefined("libown.so.1", ""), func(f *result.Finding) {
				f.Fixes = []fix.Fix{{Kind: fix.KindLinkFlag, Title: fix.Titled("Compile"), Command: "-D" + fix.StringABI}}
			}),
			"a.so imports f with another std::string ABI than libown.so.1",
			builder + "compile with the std::string ABI of libown.so.1.",
		},
		"libpython": {
			missing("libpython3.11.so.1.0", fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("Link without it")}),
			"a.so links libpython3.11.so.1.0, which only some installations of Python have",
			builder + "link without the library of Python, since the interpreter provides its symbols.",
		},
		"libpython of a program": {
			missing("libpython3.11.so.1.0", fix.Fix{Kind: fix.KindEnvironment, Title: fix.Titled("Install Python")}),
			"needs libpython3.11.so.1.0 of Python, which not every manylinux2014 system has",
			"Whoever installs widget has to install Python on the system.",
		},
		"the library of Python on macOS": {
			on("macosx_11_0_arm64", missing("/Library/Frameworks/Python.framework/Versions/3.11/Python")),
			"a.so links Python, which only some installations of Python have",
			builder + "link without the library of Python, since the interpreter provides its symbols.",
		},
		"a path in DT_NEEDED": {
			missing("build/libown.so"), "a.so needs libown.so by a path of the build machine",
			builder + "give the library a SONAME and link again, so that it is found by its name.",
		},
		"a path on macOS": {
			on("macosx_11_0_arm64", missing("/opt/lib/libown.dylib")),
			"needs libown.dylib, which is neither bundled nor declared",
			builder + "bundle this library or declare the package that provides it. " +
				"Affected: systems without libown.dylib.",
		},
		"no RUNPATH": {
			unreachable("", fix.SetRunPath{}), "a.so does not find libown.so.1, which the wheel contains",
			builder + "give this file a RUNPATH to the library." + everybody,
		},
		"another file name": {
			unreachable("", fix.All{fix.Rename{}, fix.SetRunPath{}}),
			"a.so does not find libown.so.1, which the wheel contains",
			builder + "give the file of the library the name that this file needs." + everybody,
		},
		"no run path on macOS": {
			unreachable("macosx_11_0_arm64", fix.SetRunPath{}),
			"a.so does not find libown.so.1, which the wheel contains",
			builder + "give this file a path to the library that starts with @loader_path." + everybody,
		},
		"another folder on Windows": {
			unreachable("win_amd64", fix.Bundle{}),
			"a.so does not find libown.so.1, which the wheel contains",
			builder + "put the DLL into the folder of the module, or into one that the package passes to " +
				"os.add_dll_directory." + everybody,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := report(c.finding)
			r.Artifacts[0].Needs = []result.Needs{
				{Object: "a.so", Libraries: []string{
					"libused.so.2", "libown.so.1", "libglib-2.0.so.0", "libexpat.so.1",
				}},
				{Object: provided, Name: "libanother.so.1"},
				{Object: "widget.libs/libexpat.so.1", Name: "libexpat.so.1"},
			}
			cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
			got := r.Causes[0]
			if got.Title != c.title || got.Action != c.action {
				t.Errorf("%s\n%s\nwant\n%s\n%s", got.Title, got.Action, c.title, c.action)
			}
		})
	}
}

// TestMisnamed checks that a wheel with a wrong file name has a builder, who is not told to choose
// another version of it.
func TestMisnamed(t *testing.T) {
	r := result.New("test")
	r.Artifacts = []result.Artifact{{Path: "widget.whl", Kind: facts.KindWheel, Project: "Widget"}}
	r.Findings = []result.Finding{{
		Rule: "undefined-symbol", Severity: result.Error, Artifact: "widget.whl", Object: "a.so",
		Symbol: "f", Package: "widget", Target: "manylinux_2_28_x86_64",
		Fixes: []fix.Fix{{Kind: fix.KindLinkFlag, Title: fix.Titled("Link"), Command: shellword.Line("-lf")}},
	}}
	cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
	got := r.Causes[0]
	if got.Actor != result.Builder ||
		got.Ship != "Do not ship this wheel: pip does not install a file of this name." {
		t.Errorf("%s: %s %s", got.Actor, got.Action, got.Ship)
	}
}
