package rules

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
)

// fileConflict has no check: its findings come from analyzer.CheckEnvironment.
var fileConflict = &analyzer.Rule{
	ID:       analyzer.RuleConflict,
	Title:    "Two packages of an environment install the same files",
	Severity: analyzer.Warning,
	Doc: `Two packages of an environment have a module or a library with the same path and other
content: opencv-python and opencv-python-headless, onnxruntime and onnxruntime-gpu, cupy-cuda11x
and cupy-cuda12x. Most are builds of one project for different systems or GPUs. pip installs both
without a warning, and the package that is installed last overwrites the files of the other one.
pip does not guarantee an order, and uv installs in parallel, so the result can differ between two
installations. If one of them is removed, the files of both are gone: "No module named cv2".

Fix: keep one of them. If other packages require only one of them, that one is named. If packages
require both, remove one and install the other one afterwards, as a whole: most packages only
import the module, so "pip check" reports the removed one, and the packages work. In an installed
environment, install the one that is kept again, because pip removes its files with those of the
other one.

Severity: a warning, because the packages may work with the files of either.

Not detected: files that are no modules or libraries (Python sources), objects of wheels that have
no build ID and differ only in their machine code, modules of packages whose wheel is not read
because the built-in package history knows it (of these the libraries are compared by their path),
installed packages without hashes in RECORD, and conda environments. Files with the same content are
not reported.`,
	Cause: cause.Rule{Subject: ofPackage, Kind: &cause.Kind{
		Advice: func(t *cause.Text, where string) string {
			if !hasOtherCauses(t) {
				return firstFix(t, where)
			}
			return firstFix(t, where) +
				" Do this first: the other causes of what you remove are then gone."
		},
		NamesPackages: true,
		First:         true,
	}},
	References: []string{
		"PyPA: Recording installed projects, the RECORD file",
		"opencv-python: README, Installation and Usage",
	},
}

// hasOtherCauses reports whether packages of which one is to be removed have findings of other
// rules.
func hasOtherCauses(t *cause.Text) bool {
	of := map[string]bool{}
	for _, f := range t.All() {
		of[f.Artifact] = true
	}
	return slices.ContainsFunc(t.Report().Findings, func(f analyzer.Finding) bool {
		return f.Rule != t.First().Rule && f.Severity.Rank() >= analyzer.Warning.Rank() && of[f.Artifact]
	})
}
