package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var debianSymbols = &analyzer.Rule{
	ID:       "debian-symbols",
	Title:    "The symbols file of a Debian package lacks new symbols",
	Severity: analyzer.Warning,
	Doc: `The library exports symbols that the debian/*.symbols file, which the setting abi.against names,
does not list. Packages that use them then depend on the wrong version of the package: dpkg-
shlibdeps takes the version of a symbol from this file. Symbols that the file lists and the
library no longer exports are reported by exported-symbol-removed; dpkg-gensymbols fails then.

Fix: add each symbol with the package version that introduced it, as "name@VERSION 1.4".

Severity: a warning. Symbols with the tags arch, symver and regex are not compared, and optional
ones may vanish.

Not detected: the versions in the file. A file with several libraries is not read.`,
	Cause: cause.Rule{
		Kind: cause.SymbolsFile, Subject: changedLibrary,
		Warns: "only packages that are built against the library are affected",
	},
	References: []string{
		"deb-src-symbols(5)",
		"dpkg-gensymbols(1)",
	},
	Check: func(p *analyzer.Pass) {
		for _, c := range abiChanges(p, abi.RuleDebian) {
			what := fmt.Sprintf("%s exports %s that %s does not list: %s", c.Path,
				analyzer.Count(len(c.changes), "symbol"), c.Earlier.Name, firstSymbols(c.changes))
			reportABI(p, c, abiMessage{ofLibrary(c, what), what},
				fix.Titled("Add the symbols to %s", c.Earlier.Name), inSymbolsFile(c))
		}
	},
}
