package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var exportedSymbolRemoved = &analyzer.Rule{
	ID:       "exported-symbol-removed",
	Title:    "A library no longer exports a symbol, but keeps its SONAME",
	Severity: analyzer.Warning,
	Doc: `In the base, a shared library exports a symbol. In the head, the library has the same
SONAME, but does not export it. Programs and libraries that were linked against the old version
load the new one, and fail: "undefined symbol". An unchanged SONAME means that this does not
happen.

Fix: export the symbols again, as stubs if necessary, or change the SONAME.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. An object of the same run that
still uses a symbol makes it an error. The rule needs an earlier build and checks public libraries
(lib*.so with a SONAME). Copies of
inline functions and templates and symbols that linkers define are not reported; symbols of private
versions are notes. A symbol that still exists under another version is reported by
symbol-version-removed or symbol-version-moved.

Not detected: private symbols are not distinguished from public ones, unless abi.private or an
.abignore file names them.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedLibrary,
		Warns: ofUsers,
	},
	References: []string{
		"GNU Gnulib, libtool: versioning",
		"Debian Policy, 8.6: shared library symbols",
	},
	Check: func(p *analyzer.Pass) {
		for _, c := range abiChanges(p, abi.RuleRemoved) {
			lost := c.changes
			name, _, _ := strings.Cut(lost[0].Symbol, "@")
			headline := c.Result.Library + " no longer exports " + cause.Short(name, "")
			if len(lost) > 1 {
				headline = fmt.Sprintf("%s no longer exports %d symbols", c.Result.Library, len(lost))
			}
			reportABI(p, c, abiMessage{headline, fmt.Sprintf(
				"%s keeps the SONAME %s, but no longer exports %s: %s. Programs that use %s "+
					"fail with an undefined symbol%s",
				c.Path, c.Result.Library, analyzer.Count(len(lost), "symbol"), firstSymbols(lost),
				them(len(lost)), c.usedBy(),
			)}, fix.Titled("Export the symbols again, as stubs if necessary"), inScript(lost))
		}
	},
}
