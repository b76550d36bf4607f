package rules

import (
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var symbolVersionMoved = &analyzer.Rule{
	ID:       "symbol-version-moved",
	Title:    "A symbol moved to another version, and its old version lacks it",
	Severity: analyzer.Warning,
	Doc: `In the base, a shared library exports a symbol with a version. In the head, the library
still defines the version, but exports the symbol only with another one. A program that
was linked against the old version asks for the symbol with its old version, and fails:
"undefined symbol: draw, version LIBX_1.0".

Fix: keep the symbol in its old version, and add the new definition with the new version as the
default one (".symver new_draw,draw@@LIBX_1.1").

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. An object of the same run that
still uses a symbol makes it an error. The rule needs an earlier build and checks public libraries
(lib*.so with a SONAME). A symbol that keeps its old
version and gets a new default one is not reported, because old programs still bind to it.

Not detected: a symbol that keeps its version and changes its meaning.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedLibrary,
		Warns: ofUsers,
	},
	References: []string{
		"glibc, elf/dl-lookup.c: check_match",
		"U. Drepper, How To Write Shared Libraries, section 3",
	},
	Check: func(p *analyzer.Pass) {
		for _, c := range abiChanges(p, abi.RuleVersionMoved) {
			reportABI(p, c, sameSONAME(c), fix.Text(strings.TrimSuffix(c.changes[0].Fix, ".")), "")
		}
	},
}
