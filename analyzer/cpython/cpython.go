// Package cpython knows which of its own symbols each release of CPython exports to extension
// modules: those that begin with Py or _Py.
//
// A release is written as in "3.11". The table is embedded; internal/gen/cpython makes it from the
// releases' own libraries, so it has the private symbols too, and no other build of CPython than
// the usual one: neither the debug nor the free-threaded one.
package cpython

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

//go:generate go run github.com/compat-app/compat/internal/gen/cpython -out data/exports.gz

//go:embed data/exports.gz
var packed []byte

// exported maps each symbol to the releases that export it, oldest first. Data that does not decode
// is a broken build, so reading it panics; a test reads it.
var exported = sync.OnceValue(func() map[string][]string { return unpack(packed) })

// unpack reads a table: the releases of each symbol, oldest first.
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

// Releases lists the releases that export a symbol, oldest first; nil where none does that is
// known. The slice is shared: don't change it.
func Releases(symbol string) []string { return exported()[symbol] }

// everywhere is a symbol that each release exports.
const everywhere = "PyList_New"

// Known tells whether the exports of a release are known.
func Known(release string) bool { return slices.Contains(exported()[everywhere], release) }
