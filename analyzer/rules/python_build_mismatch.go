package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var pythonBuildMismatch = &analyzer.Rule{
	ID:       "python-build-mismatch",
	Title:    "A module is for another CPython than the one that is used, or for its other build",
	Severity: analyzer.Error,
	Doc: `CPython 3.13 and later have a default and a free-threaded build, whose objects have
different layouts. A module that is named x.so is imported by both, and works with the one that it
was compiled for. The ABI tag keeps them apart: cp314-cp314 and cp314-cp314t. pip installs a wheel
without one (cp314-none) for both, and the import in the other one crashes.

A wheel without an ABI tag is also installed where no file name of its modules is one that Python
imports: 3.13t does not find x.cpython-313-x86_64-linux-gnu.so, and 3.12 does not find
x.cpython-311-x86_64-linux-gnu.so of a wheel with the tag py3-none. This is reported in an
environment if the package imports the module in any case, or has no Python source; extension-suffix
reports it for the wheel.

Fix: build a wheel for each of the two, with the ABI in its tag.

Severity: an error in an environment with the other build, and a warning where the interpreter is
not known. A module counts as free-threaded if it imports what only those do: _Py_DecRefShared,
_Py_MergeZeroLocalRefcount or PyUnstable_Module_SetGIL.

Not detected: free-threaded modules that import none of these, and wheels for macOS and Windows.`,
	Cause: cause.Rule{
		Kind:  cause.Build("build a wheel for each build of CPython"),
		Warns: "only users of the other build of CPython are affected",
	},
	References: []string{"PEP 703", "PEP 425", "CPython: Include/refcount.h, Include/moduleobject.h"},
	Check:      checkPythonBuild,
}

// freeThreadedOnly are symbols that only modules for a free-threaded CPython import: those of its
// reference counts, which Py_DECREF uses inline, and that of the setting of the GIL.
var freeThreadedOnly = []string{
	"_Py_DecRefShared", "_Py_MergeZeroLocalRefcount", "PyUnstable_Module_SetGIL",
}

func checkPythonBuild(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || !slices.ContainsFunc(p.Facts.Wheel.Tags, func(t pkgmeta.Tag) bool {
		return t.ABI == "none"
	}) {
		return
	}
	python, inFree := strings.CutSuffix(p.Python, "t")
	release, both := withoutABI(p.Facts.Wheel.Tags)
	if !both && p.Python == "" {
		return
	}
	reportNotFound(p)
	for _, v := range p.Views {
		if _, named := parseModule(v.Path); named || !v.Extension() || v.Host != analyzer.HostPython {
			continue
		}
		forFree := v.Imports.Any(func(name string) bool {
			return slices.Contains(freeThreadedOnly, name)
		})
		f := analyzer.Finding{Object: v.Path, Chain: []string{v.Path}}
		built, other := "the default build", "the free-threaded one"
		if forFree {
			built, other = "the free-threaded build", "the default one"
		}
		switch {
		case p.Python != "" && inFree == forFree:
			continue
		case p.Python != "":
			f.Message = fmt.Sprintf("%s is for %s of CPython, not for %s of CPython %s, which imports it "+
				"because its name has no suffix", v.Path, built, other, python)
		default:
			f.Severity = analyzer.Warning
			f.Message = fmt.Sprintf("%s is for %s of %s. Because the tag has no ABI, pip also "+
				"installs the wheel for %s, where the import crashes", v.Path, built, release, other)
		}
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild,
			Title: fix.Titled("Build a wheel for each of the two, with the ABI in the tag " +
				"(cp314-cp314, cp314-cp314t)"),
		}})
	}
}

// reportNotFound reports modules that the interpreter of the environment does not find, because no
// file of that name has a suffix of its own.
func reportNotFound(p *analyzer.Pass) {
	at := slices.IndexFunc(p.Facts.Wheel.Tags, func(t pkgmeta.Tag) bool {
		_, ok := packages.Rate(t, packages.Target{Python: p.Python})
		return ok && t.ABI == "none"
	})
	if p.Python == "" || at < 0 {
		return
	}
	python, free := strings.CutSuffix(p.Python, "t")
	major, minor, _ := strings.Cut(python, ".")
	minor, _, _ = strings.Cut(minor, ".") // 3.12.4
	version := "cp" + major + minor
	exact := pkgmeta.Tag{Python: version, ABI: version, Platform: p.Platform.Name}
	if free {
		exact.ABI += "t"
	}
	found := map[string]bool{} // stems of modules that it imports
	var modules []module
	for _, v := range p.Views {
		m, named := parseModule(v.Path)
		switch {
		case !named:
			found[strings.TrimSuffix(v.Path, path.Ext(v.Path))] = true
		case m.imports(exact, p.Platform.Libc):
			found[m.stem] = true
		case v.Extension() && v.Exports.Any(isHook) && !ofOwnPython(p, v.Path):
			modules = append(modules, m)
		}
	}
	for _, m := range modules {
		if found[m.stem] || p.Facts.Sources && !p.Facts.Imports(m.path) {
			continue
		}
		found[m.stem] = true // once for the copies of a module
		f := analyzer.Finding{Object: m.path, Chain: []string{m.path}}
		f.Headline = m.path + " is imported only by " + m.interpreters
		f.Message = fmt.Sprintf("%s. pip installs the wheel for CPython %s by its tag %s, and the "+
			"import fails there", f.Headline, p.Python, p.Facts.Wheel.Tags[at])
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild, Title: fix.Titled("Use a build for CPython %s, or a Python that the "+
				"module is for: %s", p.Python, m.interpreters),
		}})
	}
}

// withoutABI returns the release of a tag without an ABI, if it has both builds.
func withoutABI(tags []pkgmeta.Tag) (r cpython.Release, both bool) {
	for _, t := range tags {
		if r, ok := cpython.OfTag(t.Python, t.ABI); ok && t.ABI == "none" && r.HasFreeThreaded() {
			return r, true
		}
	}
	return r, false
}
