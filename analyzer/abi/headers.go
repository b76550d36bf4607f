package abi

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
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

// ReadDeclared sets the types of the exports of a library without types from object files whose
// debug information declares them, as programs that use them have it. What they do not declare
// stays without a type. It is an error if a file is for another machine.
func (l *Library) ReadDeclared(files []File) error {
	b := newBuilder(l)
	for _, f := range files {
		o, x, err := elfobj.ReadRelocatable(f.Content, f.Size)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if o.Machine.String() != l.Machine || o.Class != l.Class {
			return fmt.Errorf("the compiler writes files for %s, and %s is for %s; name another one with "+
				"--cc", o.Machine, l.Name, l.Machine)
		}
		f.Content = x.Content
		b.found, b.described = nil, nil // the entries of another file
		if err := l.readTypes(f, o, nil, b); err != nil {
			l.withoutTypes(err)
			return nil
		}
	}
	b.finish()
	if len(files) > 0 {
		l.Evidence = EvidenceHeaders
	}
	return nil
}
