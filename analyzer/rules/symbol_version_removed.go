package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var symbolVersionRemoved = &analyzer.Rule{
	ID:       "symbol-version-removed",
	Title:    "A library no longer defines a symbol version, but keeps its SONAME",
	Severity: analyzer.Warning,
	Doc: `In the base, a shared library defines a symbol version, and exports symbols with it. In
the head, the library has the same SONAME, but not the version; the symbols have another
version or none. A program that was linked against the old version does not start:
"version 'LIBX_1.0' not found". A library that drops all its versions is reported only
if it has no DT_VERSYM at all: the loader of glibc then stops with an assertion.
Otherwise the loader prints a warning and binds the symbols.

Fix: keep the version node in the version script, with the symbols that it had, or change the
SONAME.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. An object of the same run that
still uses a symbol makes it an error. The rule needs an earlier build and checks public libraries
(lib*.so with a SONAME). Versions whose name says that
they are private (LIBX_PRIVATE) are not reported.

Not detected: programs that use dlvsym with the version.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedLibrary,
		Warns: ofUsers,
	},
	References: []string{
		"glibc, elf/dl-version.c: _dl_check_map_versions",
		"GNU ld manual, VERSION command",
	},
	Check: func(p *analyzer.Pass) {
		for _, c := range abiChanges(p, abi.RuleVersionRemoved) {
			reportABI(p, c, sameSONAME(c),
				fix.Titled("Keep the version in the version script, with the symbols that it had"), "")
		}
	},
}
