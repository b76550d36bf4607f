package abi3

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

//go:embed data/stable.txt
var text string

// added has the version that added each symbol of the stable ABI.
var added = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
	return symboltable.Open(text)
}}

// Added returns the minor version of Python 3 that added a symbol to the stable ABI; stable is
// false for a symbol that is not part of it.
func Added(symbol string) (minor int, stable bool) {
	fields := added.Get().Find(symbol)
	if fields == nil {
		return 0, false
	}
	minor, err := strconv.Atoi(strings.TrimPrefix(fields[0], "3."))
	if err != nil {
		panic(fmt.Errorf("embedded stable ABI: %w", err)) // a test reads all symbols
	}
	return minor, true
}

// Version returns a version of Python 3 as text: "3.11".
func Version(minor int) string { return "3." + strconv.Itoa(minor) }
