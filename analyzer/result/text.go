package result

import (
	"fmt"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxMangled limits what is demangled, in bytes: a nested name of 120 KB takes the library
// seconds.
const maxMangled = 4 << 10

// Demangle returns the C++ or Rust name of a symbol, or "" if it is not mangled.
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

// Versioned returns name@VERSION, or only the name if version is "".
func Versioned(symbol, version string) string {
	if version == "" {
		return symbol
	}
	return symbol + "@" + version
}

// Count returns a number with its noun: "1 symbol", "3 symbols".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List joins the first names of a list: "a, b and 3 more". total is the number of all names, of
// which names may be only the first; at most shown are named.
func List(names []string, shown, total int) string {
	if n := min(len(names), shown); n < total {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), total-n)
	}
	return strings.Join(names, ", ")
}
