package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var vtableChanged = &analyzer.Rule{
	ID:       "vtable-changed",
	Title:    "The virtual functions of a class have changed",
	Severity: analyzer.Warning,
	Doc: `The virtual table of an exported class has other functions, or the same in another order. A
program that was built before calls virtual functions by their place in the table, and so calls
another function. A class of the program that derives from it has a table of the old length.

Fix: add virtual functions at the end of classes that programs do not derive from, never in the
middle, and never change their order. Otherwise change the SONAME.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME). The tables are read from the library
itself, so that no debug information is needed.

Not detected: classes whose table is not exported.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"Itanium C++ ABI, 2.5: virtual table layout",
		"KDE Community Wiki: Policies/Binary Compatibility Issues With C++",
	},
	Check: typeChanges(abi.RuleVtable),
}
