// Package cpython lists the symbols with the prefixes Py and _Py that each release of CPython
// exports to extension modules.
//
// Releases are written as in "3.11". The table is embedded; internal/gen/cpython writes it from the
// libraries of the releases, so private symbols are included. It covers default builds only, not
// debug or free-threaded ones.
//
// The libraries are those of packages of Debian and Ubuntu for Linux on x86-64, which the first
// line of the table names: one patch release of each release. There is no table for macOS, where
// the same symbols are assumed to be exported; a second table is for Windows (OnWindows).
package cpython

import (
	_ "embed"
	"slices"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

//go:generate go run github.com/compat-app/compat/internal/gen/cpython -out data/exports.txt

//go:embed data/exports.txt
var text string

// exported has the releases that export each symbol, oldest first.
var exported = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
	return symboltable.Open(text)
}}

// Releases lists the known releases that export a symbol, oldest first; may be nil. The slice is
// shared and must not be modified.
func Releases(symbol string) []string { return exported.Get().Find(symbol) }

// everywhere is a symbol that every release exports.
const everywhere = "PyList_New"

// Known reports whether the table contains a release.
func Known(release string) bool { return slices.Contains(Releases(everywhere), release) }
