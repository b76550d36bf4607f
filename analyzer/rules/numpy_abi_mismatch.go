package rules

import (
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var numpyABIMismatch = &analyzer.Rule{
	ID:       "numpy-abi-mismatch",
	Title:    "A module built against NumPy 1 is used with NumPy 2",
	Severity: analyzer.Error,
	Doc: `A module gets NumPy's C API as a table of function pointers when it is imported, so no
symbol shows which NumPy it was built against. A module that was built against NumPy 1 imports
only numpy.core._multiarray_umath and fails with NumPy 2: "A module that was compiled using NumPy
1.x cannot be run in NumPy 2.x", or "numpy.dtype size changed". A module that was built against
NumPy 2 uses numpy._core as well and works with both.

Some modules get the table only when they first use NumPy: tflite-runtime 2.14 can be imported with
NumPy 2, and creating an Interpreter fails.

The wheel may also require a release of another package that was built so, such as pandas<2.1, while
nothing limits NumPy. Of the packages with such releases that are used most, the last one is known
whose import fails: each was installed with NumPy 2 and imported.

Fix: require numpy<2, or build against NumPy 2. A module that was built against NumPy 2.0 works
with NumPy 2 and with NumPy 1 from 1.19 on; 2.1 and 2.2 raise that to 1.21, 2.3 and 2.4 to 1.23.
The macro NPY_TARGET_VERSION changes it.

Severity: an error with the NumPy that an installation gets today. It is a warning if the releases
of NumPy are not known, and for what can be imported without NumPy, although its functions for
arrays fail: torch, modules of Boost.Python, which do not look at the error, and libraries that
print and clear it, as libshiboken does. It is a warning for a release of another package unless the
wheel's package imports it in any case.

A module of Cython that only uses NumPy's types ("cimport numpy") imports no table, but the module
checks that numpy.dtype has the size that it had when it was built: "numpy.dtype size changed, may
indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject". Such a module is
recognized by the error texts of NumPy 1's declarations for Cython.

Not detected: modules of pybind11, which uses a name that exists in both, and old modules that
happen to work.`,
	Cause: cause.Rule{
		Warns:   "it works with NumPy 1, or as long as it does not use NumPy",
		Kind:    cause.WrongPackage,
		Subject: func(*analyzer.Finding) (string, bool) { return "numpy", false },
	},
	Explains: []string{"numpy-abi"},
	References: []string{
		"NumPy 2.0 migration guide, C-API changes",
		"numpy/core/code_generators/generate_numpy_api.py",
	},
	Check: checkNumPy,
}

func checkNumPy(p *analyzer.Pass) {
	version, sure := numpy2(p)
	if version == "" || p.Facts.Wheel != nil && pkgmeta.Normalize(p.Facts.Wheel.Name) == "numpy" {
		return // NumPy's own modules run with the NumPy that they are part of
	}
	checkNumPyOfOthers(p, version, sure)
	for _, v := range p.Views {
		if v.NumPy != analyzer.NumPy1 {
			continue
		}
		f := analyzer.Finding{Object: v.Path, Package: "numpy", Chain: []string{v.Path, "numpy"},
			BuiltWith: "NumPy 1", FailsWith: "NumPy 2",
			Message: v.Path + " was built against NumPy 1. Its import, or its first use of NumPy, " +
				"fails with " + version}
		if v.Extension() && v.Class == 64 {
			f.Raises = raisedWithNumPy2[v.NumPyError]
		}
		if continues(p, v) {
			f.Severity, f.Why = analyzer.Warning, "the package can be imported; what uses NumPy fails"
			f.Message = v.Path + " was built against NumPy 1. It cannot use " + version
		}
		if !sure {
			f.Severity, f.Why = analyzer.Warning, "pip may also choose NumPy 1, with which it works"
			f.Message += ", which the declared range allows"
		}
		p.Report(
			f,
			olderNumPy(p),
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: fix.Titled("Build against NumPy 2. %s", fix.NumPy1),
				},
			},
		)
	}
}

// raisedWithNumPy2 are the exceptions that the import of a module raises which was built against
// NumPy 1. The sizes of numpy.dtype are those of 64-bit machines.
var raisedWithNumPy2 = map[analyzer.NumPyError]string{
	analyzer.NumPyRaises: "ImportError: numpy.core.multiarray failed to import",
	analyzer.NumPyCompares: "ValueError: numpy.dtype size changed, may indicate binary " +
		"incompatibility. Expected 96 from C header, got 88 from PyObject",
}

// olderNumPy returns the fix that limits the version of NumPy.
func olderNumPy(p *analyzer.Pass) fix.Candidate {
	return fix.Candidate{
		Fix: fix.Fix{
			Kind:        fix.KindPin,
			Title:       fix.Titled("Require %s", fix.Requirement("numpy<2")),
			Command:     "numpy<2",
			Requirement: "numpy<2",
		},
		Change: fix.Pin{Requirement: "numpy<2", Direct: !p.Given("numpy")},
	}
}

// checkNumPyOfOthers reports packages that the artifact is installed with and that were built
// against NumPy 1. In an environment the packages are checked themselves.
func checkNumPyOfOthers(p *analyzer.Pass, version string, sure bool) {
	if p.Pinned {
		return
	}
	var releases []packages.ID
	for r := range p.Packages.All() {
		releases = append(releases, r.ID())
	}
	for _, u := range p.Packages.Unresolved {
		q, badName := pkgmeta.ParseRequirement(u.Requirement)
		s, badSpec := pkgmeta.ParseSpec(q.Spec)
		if v, pinned := s.Pin(); badName == nil && badSpec == nil && pinned {
			releases = append(releases, packages.ID{Name: u.Package, Version: v.String()})
		}
	}
	for _, r := range releases {
		module := packages.History().BuiltForNumPy1(r)
		if module == "" || p.Facts.Wheel != nil && r.Name == pkgmeta.Normalize(p.Facts.Wheel.Name) {
			continue // a lock file may pin the wheel itself
		}
		f := analyzer.Finding{
			Object: r.String(), Package: "numpy", Chain: []string{r.String(), "numpy"},
			BuiltWith: "NumPy 1", FailsWith: "NumPy 2",
			Message: r.String() + " was built against NumPy 1. Its import fails with " + version,
		}
		if !sure || !p.Facts.ImportsOther(module) {
			f.Severity = analyzer.Warning
		}
		p.Report(f, olderNumPy(p), fix.Candidate{Fix: fix.Fix{
			Kind:  fix.KindPin,
			Title: fix.Titled("Allow a release of %s that was built against NumPy 2", r.Name),
		}})
	}
}

// continues reports whether what uses an object can be imported although the object cannot use
// NumPy. Boost.Python and its library for NumPy leave the error of the import to whoever asks.
func continues(p *analyzer.Pass, v *analyzer.View) bool {
	return v.NumPyError == analyzer.NumPyCatches ||
		p.Facts.Wheel != nil && pkgmeta.Normalize(p.Facts.Wheel.Name) == "torch" ||
		v.Library.Defines("_ZN5boost6python5numpy10initializeEb", "") ||
		v.Imports.Any(func(name string) bool {
			return strings.HasPrefix(name, "_ZN5boost6python6detail11init_module")
		})
}

// numpy2 returns the NumPy 2 of the environment, or "". sure is false if the declared range allows
// it and the releases of NumPy are not known.
func numpy2(p *analyzer.Pass) (name string, sure bool) {
	if r := p.Packages.Release("numpy"); r != nil {
		if v, err := pkgmeta.ParseVersion(r.Version); err == nil && v.Release()[0] >= 2 {
			return "numpy==" + r.Version, true
		}
		return "", false
	}
	two, err := pkgmeta.ParseVersion("2.0.0")
	for _, u := range p.Packages.Unresolved {
		if u.Package != "numpy" {
			continue
		}
		q, badName := pkgmeta.ParseRequirement(u.Requirement)
		s, badSpec := pkgmeta.ParseSpec(q.Spec)
		if err != nil || badName != nil || badSpec != nil {
			continue
		}
		if v, ok := s.Pin(); ok && v.Release()[0] >= 2 {
			return u.Requirement, true
		} else if !ok && s.Contains(two) {
			return "NumPy 2 (" + u.Requirement + ")", false
		}
	}
	return "", false
}
