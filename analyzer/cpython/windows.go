package cpython

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// windowsPacked is what python3XX.dll of some releases exports; internal/gen/windows makes it.
//
//go:embed data/windows.gz
var windowsPacked []byte

var exportedOnWindows = sync.OnceValue(func() map[string][]string { return unpack(windowsPacked) })

// OnWindows reports whether python3XX.dll of a release ("3.12") exports a symbol. known is false
// where that can't be said: the release is unknown, or only its library for Linux is known and the
// symbol is one that differs.
func OnWindows(release, symbol string) (exports, known bool) {
	windows := exportedOnWindows()
	there := windows[symbol]
	if slices.Contains(windows[everywhere], release) {
		return slices.Contains(there, release), true
	}
	if !Known(release) {
		return false, false
	}
	if strings.HasPrefix(symbol, "_") && there == nil && Releases(symbol) == nil {
		return false, false // a private one, which a later patch release may have
	}
	linux := slices.Contains(Releases(symbol), release)
	for _, r := range windows[everywhere] {
		if slices.Contains(there, r) != slices.Contains(Releases(symbol), r) {
			return false, false
		}
	}
	return linux, true
}
