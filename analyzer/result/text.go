package result

import (
	"fmt"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxMangled bounds what is demangled: a nested name of 120 KB costs the library seconds.
const maxMangled = 4 << 10

// Demangle gives the C++ or Rust name of a symbol, "" where it is not mangled.
func Demangle(symbol string) string {
	if len(symbol) > maxMangled ||
		!(strings.HasPrefix(symbol, "_Z") || strings.HasPrefix(symbol, "_R")) {
		return ""
	}
	s, err := demangle.ToString(symbol, demangle.NoClones)
	if err != nil || s == symbol {
		return ""
	}
	return s
}

// Versioned writes a symbol as tools do: name@VERSION, or the bare name.
func Versioned(symbol, version string) string {
	if version == "" {
		return symbol
	}
	return symbol + "@" + version
}

// Count writes a number with its noun: "1 symbol", "3 symbols".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
