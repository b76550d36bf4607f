package abi3

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
)

//go:embed data/stable.gz
var packed []byte

// added maps each symbol of the stable ABI to the minor version that added it. Embedded data that
// does not decode is a build error, so it panics; a test decodes it.
var added = lazy.Value[map[string]int]{New: func() map[string]int {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Errorf("embedded stable ABI: %w", err))
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Errorf("embedded stable ABI: %w", err))
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		minor, err := strconv.Atoi(strings.TrimPrefix(words[0], "3."))
		if err != nil {
			panic(fmt.Errorf("embedded stable ABI: %w", err))
		}
		for _, name := range words[1:] {
			out[name] = minor
		}
	}
	return out
}}

// Added returns the minor version of Python 3 that added a symbol to the stable ABI; stable is
// false for a symbol that is not part of it.
func Added(symbol string) (minor int, stable bool) {
	minor, stable = added.Get()[symbol]
	return minor, stable
}

// Version returns a version of Python 3 as text: "3.11".
func Version(minor int) string { return "3." + strconv.Itoa(minor) }
