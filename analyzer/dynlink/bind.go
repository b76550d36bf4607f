package dynlink

import (
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Outcome says what became of an import.
type Outcome string

const (
	Bound         Outcome = "bound"
	Undecided     Outcome = "undecided"      // a library of the scope may have it; what that exports is not known
	NoVersion     Outcome = "no version"     // the library it names lacks the version node: the loader refuses at once
	NoSymbol      Outcome = "no symbol"      // no library of the scope defines it
	WeakUndefined Outcome = "weak undefined" // nothing defines it, and that is no error
)

// Binding is an import with what the loader would make of it.
type Binding struct {
	Import   elfobj.Import
	Outcome  Outcome
	Provider *Library // who defines it; of NoVersion and of a versioned NoSymbol the library that should have; else nil
}

// Bind looks every import up in a scope, as a load with RTLD_NOW does (Python's default).
func (e *Environment) Bind(imports []elfobj.Import, scope []*Library) []Binding {
	out := make([]Binding, 0, len(imports))
	for _, i := range imports {
		out = append(out, bind(i, scope, e.Libc == "musl"))
	}
	return out
}

// bind looks up one import. musl's loader (ldso/dynlink.c) ignores versions altogether.
func bind(i elfobj.Import, scope []*Library, musl bool) Binding {
	b := Binding{Import: i}
	if musl {
		i.Version, i.Library = "", ""
	}
	var named *Library // vn_file: the library whose version nodes are checked at load
	unknown := false
	for _, l := range scope {
		if i.Library != "" && named == nil && (l.SONAME == i.Library || l.SONAME == "" && l.Names()[0] == i.Library) {
			named = l
		}
		if !l.Known && l.mayDefine(i.Name) {
			unknown = true
		}
	}
	b.Provider = named
	if named != nil && named.Known && i.Version != "" && !named.HasVersion(i.Version) {
		b.Outcome = NoVersion
		return b
	}
	for _, l := range scope {
		if l.Known && l.Defines(i.Name, i.Version) {
			b.Outcome, b.Provider = Bound, l
			return b
		}
	}
	switch {
	case named != nil && named.Known && i.Version != "" && !i.Weak:
		b.Outcome = NoSymbol // the node is that library's own, so no other one can bring the symbol
	case i.Weak:
		b.Outcome = WeakUndefined
	case unknown:
		b.Outcome = Undecided
	default:
		b.Outcome = NoSymbol
	}
	return b
}

// mayDefine tells whether a library whose exports are not known can have a symbol. Those that a platform promises by name only (libX11, libGL, libglib)
// are C libraries, and export no C++ name.
func (l *Library) mayDefine(symbol string) bool {
	return l.Kind != FromPlatform || !strings.HasPrefix(symbol, "_Z")
}
