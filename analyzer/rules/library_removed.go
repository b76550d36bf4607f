package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var libraryRemoved = &analyzer.Rule{
	ID:       "library-removed",
	Title:    "A library is gone that programs need",
	Severity: analyzer.Warning,
	Doc: `An earlier build has a shared library, and this one does not, under any name. A program that needs
it does not start: "cannot open shared object file".

Fix: keep the library; if its functions moved, keep an empty library with the old SONAME that
needs the new one. If programs have to change anyway, publish a new major version.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME).

Not detected: a wheel or package that this run did not build at all, for example for another
Python. A library that a package manager installs from elsewhere is reported all the same.`,
	Cause: cause.Rule{
		Kind: cause.LibraryRemoved, Subject: changedLibrary,
		Warns: ofUsers,
	},
	References: []string{
		"Debian Policy, 8.1: run-time shared libraries",
		"ld.so(8)",
	},
	Check: typeChanges(abi.RuleLibraryRemoved),
}
