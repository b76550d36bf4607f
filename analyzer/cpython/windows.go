package cpython

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
)

// windowsPacked is the table of python3XX.dll, written by internal/gen/windows from the archives
// that its first line names: one patch release each of 3.9, 3.10, 3.11 and 3.13 for x86-64. For
// other releases, the table for Linux is used (OnWindows); 32-bit and ARM64 builds are assumed to
// export the same symbols.
//
//go:embed data/windows.gz
var windowsPacked []byte

var exportedOnWindows = lazy.Value[map[string][]string]{New: func() map[string][]string {
	return unpack(windowsPacked)
}}

// OnWindows reports whether python3XX.dll of a release ("3.12") exports a symbol. known is false if
// the release is unknown, or if only its Linux library is known and the symbol differs between the
// two in other releases.
func OnWindows(release, symbol string) (exports, known bool) {
	windows := exportedOnWindows.Get()
	there := windows[symbol]
	if slices.Contains(windows[everywhere], release) {
		return slices.Contains(there, release), true
	}
	if !Known(release) {
		return false, false
	}
	if strings.HasPrefix(symbol, "_") && there == nil && Releases(symbol) == nil {
		return false, false // private; a later patch release may have it
	}
	linux := slices.Contains(Releases(symbol), release)
	for _, r := range windows[everywhere] {
		if slices.Contains(there, r) != slices.Contains(Releases(symbol), r) {
			return false, false
		}
	}
	return linux, true
}
