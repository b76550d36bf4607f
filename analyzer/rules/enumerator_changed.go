package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var enumeratorChanged = &analyzer.Rule{
	ID:       "enumerator-changed",
	Title:    "A name of an enumeration has another value",
	Severity: analyzer.Warning,
	Doc: `A name of an enumeration that exported functions use has another value than in the earlier build,
or vanished. A program has the old number compiled in, which means something else to the new
library. A name that was inserted before others usually changes all that follow.

Fix: give names their old numbers, and add new ones at the end.

Severity: a warning against a branch. Against a release it is an error, unless the version has a
new major number; then it is a note. In a wheel, whose libraries are rarely linked against from
outside, it is a note. The setting abi.policy replaces all of this. The rule needs an earlier
build and checks public libraries (lib*.so with a SONAME). Types are compared only where both
builds have debug information, of their own or in the baseline; the report says with which
evidence a library was compared.

Not detected: constants that are macros. A name that marks the end of the values, such as FOO_COUNT
or FOO_LAST, changes when others are added. It is listed but not reported, although a program can
have arrays of that size.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"U. Drepper, How To Write Shared Libraries, section 3",
		"libabigail manual: abidiff",
	},
	Check: typeChanges(abi.RuleEnumerator),
}
