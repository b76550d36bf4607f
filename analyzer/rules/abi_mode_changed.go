package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var abiModeChanged = &analyzer.Rule{
	ID:       "abi-mode-changed",
	Title:    "A library was built for another machine or floating-point mode",
	Severity: analyzer.Warning,
	Doc: `The library has the name and SONAME of the earlier build, and was built for another machine, word
size, byte order, or floating-point calling convention. Programs that were built before cannot
load it, or pass floating-point values in the wrong registers.

Fix: build with the same target and -m flags as before, or publish it as another artifact.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME).

Not detected: flags that leave no trace in the ELF header, such as -mlong-double-64 or -fshort-
enums, unless the types of the interface show them.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"ELF for the Arm Architecture, 5.2: e_flags",
		"RISC-V ELF psABI: file header",
	},
	Check: typeChanges(abi.RuleMode),
}
