package abi

import (
	"path"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Headers are the public headers of a library: what they define, programs can use. A library that
// is joined into one source file has the same definitions in another file, and the headers of two
// releases may have different names, so the text decides, not the name of a file.
type Headers struct {
	files   map[string]bool // base names
	defined map[string]bool // structures, classes, unions and enumerations, and typedefs of them
}

// NewHeaders returns an empty set.
func NewHeaders() *Headers {
	return &Headers{files: map[string]bool{}, defined: map[string]bool{}}
}

var (
	headerNoise = lazyregexp.New(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|` +
		`\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)|alignas\s*\([^()]*\)|__declspec\s*\([^()]*\)`)
	// struct EXPORTED name final : base {
	headerDefinition = lazyregexp.New(
		`\b(?:struct|class|union|enum)\b(?:\s+[A-Za-z_]\w*)*?\s+([A-Za-z_]\w*)(?:\s+final)?` +
			`\s*(?:<[^<>{};]*>\s*)?(?::[^:{};][^{};]*)?\{`)
	// } name; or } name, *pointer;
	afterBrace = lazyregexp.New(`\}\s*\**\s*([A-Za-z_]\w*)`)
)

// Add reads a header. What macros define is not seen.
func (h *Headers) Add(name string, text []byte) {
	h.files[path.Base(name)] = true
	clean := headerNoise.ReplaceAllString(string(text), " ")
	for _, m := range headerDefinition.FindAllStringSubmatch(clean, -1) {
		h.defined[m[1]] = true
	}
	for _, m := range afterBrace.FindAllStringSubmatch(clean, -1) {
		h.defined[m[1]] = true
	}
}

// define reports whether the headers define a type, by its name without namespaces and arguments,
// or by the file that the debug information names for it.
func (h *Headers) define(t *Type) bool {
	name, _, _ := strings.Cut(t.Name, "<")
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	return h.defined[name] || h.files[path.Base(t.File)]
}
