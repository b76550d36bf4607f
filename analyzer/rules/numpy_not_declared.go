package rules

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var numpyNotDeclared = &analyzer.Rule{
	ID:       "numpy-not-declared",
	Title:    "A module uses NumPy's C API, and its wheel requires no package",
	Severity: analyzer.Note,
	Doc: `A module that uses NumPy's C API imports NumPy when it is imported itself. If its wheel
requires nothing, NumPy is missing in a fresh environment: "No module named 'numpy'", or
"numpy.core.multiarray failed to import".

Fix: declare the dependency, or an extra for it if the module is optional.

Severity: an error for a module that users import by its own name and that has the error text of
NumPy's macro import_array, so that its import fails in a fresh environment; a warning if it has no
such text, and a note for a module inside a package or with a private name, which may be imported
only where NumPy is.

Not detected: wheels that require other packages, of which one may require NumPy; modules that use
NumPy from Python code, and modules of pybind11.`,
	References: []string{
		"numpy/core/code_generators/generate_numpy_api.py, import_array",
		"Core metadata specifications, Requires-Dist",
	},
	Cause: cause.Rule{Warns: "it works where NumPy is installed"},
	Check: checkNumPyDeclared,
}

func checkNumPyDeclared(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel || p.Facts.Metadata == nil || p.Installed ||
		pkgmeta.Normalize(p.Facts.Metadata.Name) == "numpy" ||
		p.Packages.Names("numpy") || p.Together("numpy") || p.Given("numpy") ||
		p.Scenario.Declares("numpy") {
		return
	}
	// What a requirement requires is only looked up if it may have a library that is missing.
	if slices.ContainsFunc(p.Facts.Metadata.Requires, func(q pkgmeta.Requirement) bool {
		return !strings.Contains(q.Marker, "extra")
	}) {
		return
	}
	for _, v := range p.Views {
		if v.NumPy == "" || !v.Extension() || continues(p, v) {
			continue
		}
		f := analyzer.Finding{Object: v.Path, Package: "numpy", Chain: []string{v.Path, "numpy"},
			Message: v.Path + " uses NumPy's C API, and the wheel does not require numpy"}
		f.Headline = f.Message
		own := !strings.Contains(v.Path, "/") && !strings.HasPrefix(v.Path, "_")
		switch {
		case own && v.NumPyError.Fails():
			f.Severity = analyzer.Error
			f.Message += ". Its import fails where no other package requires NumPy"
		case own:
			f.Severity = analyzer.Warning
		}
		requirement := "numpy"
		if v.NumPy == analyzer.NumPy1 {
			requirement = "numpy<2"
		}
		p.Report(f, fix.Candidate{
			Fix: fix.Fix{
				Kind:        fix.KindDependency,
				Title:       fix.Titled("Declare the dependency %s", fix.Requirement(requirement)),
				Requirement: requirement,
			},
			Change: fix.Pin{Requirement: requirement, Direct: true},
		})
	}
}
