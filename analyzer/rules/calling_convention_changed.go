package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var callingConventionChanged = &analyzer.Rule{
	ID:       "calling-convention-changed",
	Title:    "Values are passed to functions in another way",
	Severity: analyzer.Warning,
	Doc: `A class is passed to functions by value, and got or lost a destructor, copy constructor or move
constructor: values that were passed in registers or on the stack are now passed by the address of a
copy, or the reverse. Or a function was marked with another calling convention. A program that was
built before passes an address where a value is expected, or the reverse.

Fix: keep the class trivially copyable, or keep the destructor or constructor that it had. New
functions take it by pointer or reference (const T&).

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME). Types are compared only where both
builds have debug information, of their own or in the baseline; the report says with which
evidence a library was compared.

Not detected: conventions that compilers do not write into debug information (ms_abi, regparm).`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"Itanium C++ ABI, 3.1.2.3: non-trivial parameters",
		"System V ABI, x86-64 supplement, 3.2: function calling sequence",
	},
	Check: typeChanges(abi.RuleConvention),
}
