package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var typeLayoutChanged = &analyzer.Rule{
	ID:       "type-layout-changed",
	Title:    "A structure or class of the interface has another layout",
	Severity: analyzer.Warning,
	Doc: `A structure, union or class that exported functions use has another size, or a member has moved,
appeared in the middle or vanished. A program that was built before reserves the old size and
reads members at their old offsets: it gets wrong values, or the library writes beyond the memory
of the program. Each changed type is reported once, with the functions that use it.

Fix: add members at the end of structures that only the library allocates, use reserved members,
or hide the type behind a pointer. Otherwise change the SONAME.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME). Types are compared only where both
builds have debug information, of their own or in the baseline; the report says with which
evidence a library was compared. Types that are defined in source files, or outside of the headers
that abi.headers names, are private: programs only have pointers to them. A member that has another
type with the same numbers and pointers in memory, such as a structure of two pointers in place of
an array of two, is not reported.

Not detected: members with the same type and another meaning, and macros of headers.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"KDE Community Wiki: Policies/Binary Compatibility Issues With C++",
		"Itanium C++ ABI, 2: data layout",
	},
	Check: typeChanges(abi.RuleLayout),
}
