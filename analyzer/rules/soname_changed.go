package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cause"
)

var sonameChanged = &analyzer.Rule{
	ID:       "soname-changed",
	Title:    "A library has another SONAME",
	Severity: analyzer.Note,
	Doc: `The SONAME of a library differs from that of the earlier build. Programs that were linked against
the old name keep loading the old library, and have to be rebuilt to use the new one. This is the
right answer to a change that breaks programs, and costs without need where there is none: the
message says which it is.

Fix: change the SONAME only with a change of the ABI that breaks programs, and keep the old
library installable next to the new one.

Severity: always a note, because old programs keep working with the old library. The rule needs an
earlier build and checks public libraries (lib*.so with a SONAME).

Not detected: whether distributions still have the old library.`,
	Cause: cause.Rule{
		Kind: cause.ABIChange, Subject: changedSymbol,
		Warns: ofUsers,
	},
	References: []string{
		"Debian Policy, 8.1: run-time shared libraries",
		"GNU libtool manual: Updating library version information",
	},
	Check: typeChanges(abi.RuleSoname),
}
