package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var symbolAddedToReleasedVersion = &analyzer.Rule{
	ID:       "symbol-added-to-released-version",
	Title:    "A symbol was added to a symbol version that was released",
	Severity: analyzer.Note,
	Doc: `The library exports a new symbol with a symbol version that the earlier build already has. A
program that uses the symbol is linked against the version, finds it in the old library too,
starts, and fails when it calls the symbol; a program that is linked with -z now fails at startup,
but with the same unclear error. If it had a new version, the loader would report that the library
is too old.

Fix: add new symbols to a new version node, such as LIBX_1.2 after LIBX_1.1.

Severity: always a note: programs that were built before keep working. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME).

Not detected: whether the earlier build was ever published, where it is a branch.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedLibrary,
		Warns: ofUsers,
	},
	References: []string{
		"U. Drepper, How To Write Shared Libraries, section 3.6",
		"GNU ld manual, VERSION command",
	},
	Check: func(p *analyzer.Pass) {
		for _, c := range abiChanges(p, abi.RuleAddedReleased) {
			what := fmt.Sprintf("%s in a version that the earlier build already has: %s",
				analyzer.Count(len(c.changes), "new symbol"), firstSymbols(c.changes))
			reportABI(p, c, abiMessage{ofLibrary(c, what), fmt.Sprintf(
				"%s: %s. A program that uses a new symbol also loads with the old library, and fails at "+
					"the first call, or at startup if it is linked with -z now", c.Path, what,
			)}, fix.Titled("Add new symbols to a new version node"), "")
		}
	},
}
