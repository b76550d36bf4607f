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
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
)

//go:generate go run github.com/compat-app/compat/internal/gen/cpython -out data/exports.gz

//go:embed data/exports.gz
var packed []byte

// exported maps each symbol to the releases that export it, oldest first. Embedded data that does
// not decode is a build error, so it panics; a test decodes it.
var exported = lazy.Value[map[string][]string]{New: func() map[string][]string {
	return unpack(packed)
}}

// unpack decodes a table: the releases of each symbol, oldest first.
func unpack(packed []byte) map[string][]string {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Errorf("embedded exports of CPython: %w", err))
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Errorf("embedded exports of CPython: %w", err))
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		releases := strings.Split(words[0], ",")
		for _, name := range words[1:] {
			out[name] = releases
		}
	}
	return out
}

// Releases lists the known releases that export a symbol, oldest first; may be nil. The slice is
// shared and must not be modified.
func Releases(symbol string) []string { return exported.Get()[symbol] }

// everywhere is a symbol that every release exports.
const everywhere = "PyList_New"

// Known reports whether the table contains a release.
func Known(release string) bool { return slices.Contains(exported.Get()[everywhere], release) }
