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

// Count returns a number with its noun: "1 symbol", "3 symbols", "3 libraries".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		noun = stem + "rie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Plural returns the form of a word for a number of things: "does" for 1, "do" for others.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// And joins names: "a", "a and b", "a, b and c". It is "" for none.
func And(names []string) string {
	n := len(names) - 1
	if n < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n], ", ") + " and " + names[n]
}

// List joins the first names of a list: "a, b and 3 more files". total is the number of all names,
// of which names may be only the first; at most shown are named. noun is what they name, in the
// singular.
func List(names []string, shown, total int, noun string) string {
	if n := min(len(names), shown); n < total {
		return strings.Join(names[:n], ", ") + " and " + Count(total-n, "more "+noun)
	}
	return strings.Join(names, ", ")
}
