package rules

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
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

Severity: a warning for a module that users import by its own name, and a note for one inside a
package, which the package may import only where NumPy is.

Not detected: wheels that require other packages, of which one may require NumPy; modules that use
NumPy from Python code, and modules of pybind11.`,
	References: []string{
		"numpy/core/code_generators/generate_numpy_api.py, import_array",
		"Core metadata specifications, Requires-Dist",
	},
	Check: checkNumPyDeclared,
}

func checkNumPyDeclared(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel || p.Facts.Metadata == nil || p.Installed ||
		pkgmeta.Normalize(p.Facts.Metadata.Name) == "numpy" ||
		p.Packages.Names("numpy") || p.Together("numpy") {
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
		if !strings.Contains(v.Path, "/") {
			f.Severity = analyzer.Warning
		}
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind:        fix.KindDependency,
			Title:       fix.Titled("Declare the dependency %s", fix.Requirement("numpy")),
			Requirement: "numpy",
		}})
	}
}
