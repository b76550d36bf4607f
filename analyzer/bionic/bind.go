package bionic

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/platform/android"
)

// Outcome is the result of the lookup of an import.
type Outcome int

// Values of Outcome.
const (
	Bound     Outcome = iota
	Weak              // not found, and it may be
	Undecided         // a library of the load is not found, or its exports are not known
	NotLinked         // a library has it that is not part of the load: Binding.Library
	TooNew            // a library of the load has it from a later API level on: Binding.Since
	NoSymbol
)

// Binding is the lookup of an import.
type Binding struct {
	Symbol  string
	Outcome Outcome
	Library string // of Android or Python, or a file of the artifact
	Since   int    // an API level
}

// Bind looks up the imports of a file of the load.
func (l *Load) Bind(f *File) (out []Binding) {
	for _, i := range f.Object.Imports.All() {
		b := l.lookup(i.Name)
		if i.Weak && b.Outcome != Bound {
			b = Binding{Symbol: i.Name, Outcome: Weak}
		}
		out = append(out, b)
	}
	return out
}

// lookup looks up a symbol in the files of the load.
func (l *Load) lookup(symbol string) Binding {
	b := Binding{Symbol: symbol, Outcome: Bound}
	python := strings.HasPrefix(symbol, "Py") || strings.HasPrefix(symbol, "_Py")
	later := Binding{Symbol: symbol, Outcome: TooNew}
	for _, f := range l.Found {
		switch {
		case f.File != nil:
			if f.File.exports(symbol) {
				return b
			}
		case f.System != nil:
			since, ok := f.System.Symbol(symbol, l.env.Arch)
			switch {
			case ok && since <= l.env.Level:
				return b
			case ok && later.Library == "":
				later.Library, later.Since = f.System.Name, since
			}
		case f.Python != "" && python && cpython.Known(f.Python):
			if slices.Contains(cpython.Releases(symbol), f.Python) {
				return b
			}
		}
	}
	if later.Library != "" {
		return later
	}
	if l.unread != "" || len(l.Missing) > 0 {
		b.Outcome = Undecided
		return b
	}
	if b.Library = l.elsewhere(symbol); b.Library != "" {
		b.Outcome = NotLinked
		return b
	}
	b.Outcome = NoSymbol
	return b
}

// elsewhere returns a library that has a symbol and is not part of the load: one of Android, or a
// file of the artifact.
func (l *Load) elsewhere(symbol string) string {
	for library, since := range android.Exporters(symbol, l.env.Arch) {
		if since <= l.env.Level {
			return library
		}
	}
	for _, f := range l.env.files {
		if f != l.Root && f.Object.SONAME != "" && f.exports(symbol) {
			return f.Path
		}
	}
	return ""
}

// exports reports whether the file exports a symbol.
func (f *File) exports(symbol string) bool { return len(f.Object.Exports.Named(symbol)) > 0 }

// LinksPython reports whether a libpython is part of the load.
func (l *Load) LinksPython() bool {
	return slices.ContainsFunc(l.Found, func(f Found) bool { return f.Python != "" })
}
