package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var dataObjectChanged = &analyzer.Rule{
	ID:       "data-object-changed",
	Title:    "An exported variable has another size or kind, but the SONAME is the same",
	Severity: analyzer.Warning,
	Doc: `In the base, a shared library exports a variable. In the head, the library has the same
SONAME, and the variable has another size, or it became a function or thread-local. A
program that was built without -fPIE has a copy of the variable with the old size (a
copy relocation), so that the program and the library read and write beyond it; the
loader prints "Symbol has different size in shared object, consider re-linking". A
program that expects data at the address of a function, or the reverse, reads wrong
values or crashes.

Fix: keep the size and the kind of exported variables, and export the new one under another name.
Access through a function does not have the problem.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. An object of the same run that
still uses a symbol makes it an error. The rule needs an earlier build and checks public libraries
(lib*.so with a SONAME). Virtual tables, typeinfo and
other data that the C++ compiler makes are not reported.

Not detected: another type of the same size, where there is no debug information.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"System V ABI, x86-64 supplement: R_X86_64_COPY",
		"glibc, elf/dl-reloc.c: different size in shared object",
	},
	Check: func(p *analyzer.Pass) {
		for _, c := range abiChanges(p, abi.RuleData) {
			reportABI(p, c, sameSONAME(c),
				fix.Titled("Keep the size and the kind of the variable, and export the new one under "+
					"another name"), "")
		}
	},
}
