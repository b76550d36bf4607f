package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var signatureChanged = &analyzer.Rule{
	ID:       "signature-changed",
	Title:    "A function has other parameters or another result",
	Severity: analyzer.Warning,
	Doc: `An exported function has the same name as in the earlier build, and takes or returns other types:
one parameter more, a long for an int, a structure of another size by value. A program that was
built before passes arguments by the old rules, and the function reads wrong values. C does not
notice, because its symbols have no types in their names.

Fix: keep the function as it is and add a new one, or give the old behaviour its own symbol
version.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME). Types are compared only where both
builds have debug information, of their own or in the baseline; the report says with which
evidence a library was compared.

Not detected: other meanings of the same types, and attributes that compilers do not write into
debug information (ms_abi, regparm).`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"System V ABI, x86-64 supplement, 3.2: function calling sequence",
		"U. Drepper, How To Write Shared Libraries, section 3",
	},
	Check: typeChanges(abi.RuleSignature),
}
