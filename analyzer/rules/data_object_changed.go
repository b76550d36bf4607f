package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
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

Fix: keep the size and the kind of exported variables, and export what is new under another name.
Access through a function does not have the problem.

Severity: a note in a wheel, whose libraries are rarely linked against from outside. The rule
needs a base and checks public libraries (lib*.so with a SONAME). Virtual tables, typeinfo and
other data that the C++ compiler makes are not reported.

Not detected: another type of the same size ("compat diff" detects it where there is debug
information).`,
	References: []string{
		"System V ABI, x86-64 supplement: R_X86_64_COPY",
		"glibc, elf/dl-reloc.c: different size in shared object",
	},
	Check: func(p *analyzer.Pass) {
		for _, v := range p.Views {
			changed := changesFromBase(p, v, abi.RuleData)
			if len(changed) == 0 {
				continue
			}
			reportABI(
				p,
				v,
				changed,
				sameSONAME(v, changed),
				"Keep the size and the kind of the variable, and export what is new under "+
					"another name",
			)
		}
	},
}
