package cpython

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

// windowsText is the table of python3XX.dll, written by internal/gen/windows from the archives
// that its first line names: one patch release each of 3.9, 3.10, 3.11 and 3.13 for x86-64. For
// other releases, the table for Linux is used (OnWindows); 32-bit and ARM64 builds are assumed to
// export the same symbols.
//
//go:embed data/windows.txt
var windowsText string

var exportedOnWindows = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
	return symboltable.Open(windowsText)
}}

// OnWindows reports whether python3XX.dll of a release ("3.12") exports a symbol. known is false if
// the release is unknown, or if only its Linux library is known and the symbol differs between the
// two in other releases.
func OnWindows(release, symbol string) (exports, known bool) {
	windows := exportedOnWindows.Get()
	there, releases := windows.Find(symbol), windows.Find(everywhere)
	if slices.Contains(releases, release) {
		return slices.Contains(there, release), true
	}
	if !Known(release) {
		return false, false
	}
	linux := Releases(symbol)
	if strings.HasPrefix(symbol, "_") && there == nil && linux == nil {
		return false, false // private; a later patch release may have it
	}
	for _, r := range releases {
		if slices.Contains(there, r) != slices.Contains(linux, r) {
			return false, false
		}
	}
	return slices.Contains(linux, release), true
}
