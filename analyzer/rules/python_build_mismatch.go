package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var pythonBuildMismatch = &analyzer.Rule{
	ID:       "python-build-mismatch",
	Title:    "A module is for the other build of CPython, with or without the GIL",
	Severity: analyzer.Error,
	Doc: `CPython 3.13 and later have a default and a free-threaded build, whose objects have
different layouts. A module that is named x.so is imported by both, and works with the one that it
was compiled for. The ABI tag keeps them apart: cp314-cp314 and cp314-cp314t. pip installs a wheel
without one (cp314-none) for both, and the import in the other one crashes.

Fix: build a wheel for each of the two, with the ABI in its tag.

Severity: an error in an environment with the other build, and a warning where the interpreter is
not known. A module counts as free-threaded if it imports what only those do: _Py_DecRefShared,
_Py_MergeZeroLocalRefcount or PyUnstable_Module_SetGIL.

Not detected: free-threaded modules that import none of these, and wheels for macOS and Windows.`,
	Cause:      cause.Rule{Kind: cause.Build("build a wheel for each build of CPython")},
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
			f.Message = fmt.Sprintf("%s is for %s of %s. pip also installs the wheel for %s, "+
				"because its tag has no ABI, and that imports the module", v.Path, built, release, other)
		}
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild,
			Title: fix.Titled("Build a wheel for each of the two, with the ABI in the tag " +
				"(cp314-cp314, cp314-cp314t)"),
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
