package cause

import (
	"strings"

	"github.com/compat-app/compat/analyzer/result"
)

// ABIChange is the kind of libraries that no longer fit programs which were linked with an earlier
// build. The subject is the rule, the library and the changed type.
var ABIChange = abiKind("keep the old interface, or change the SONAME")

// LibraryRemoved is like ABIChange for a library that is gone, and SymbolsFile for one that a file
// with symbols does not describe.
var (
	LibraryRemoved = abiKind("keep shipping the library")
	SymbolsFile    = abiKind("update the symbols file")
)

func abiKind(do string) *Kind {
	return &Kind{
		Name:  "abi",
		Apart: true,
		Title: func(t *Text) string { // with the name of the earlier build
			since := " (since " + strings.Join(t.First().Against, ", ") + ")"
			return shorten(t.First().Headline, maxTitle-len(since)) + since
		},
		Task: func(*Text) Task { return Task{Actor: result.Builder, Do: do} },
	}
}
