package dynlink

import (
	"slices"
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
	Import   *elfobj.Import
	Outcome  Outcome
	Provider *Library // who defines it; of NoVersion and of a versioned NoSymbol the library that should have; else nil
}

// Bind looks every import up in a scope, as a load with RTLD_NOW does (Python's default). musl's loader (ldso/dynlink.c) ignores versions altogether.
func (e *Environment) Bind(imports []elfobj.Import, scope []*Library) []Binding {
	musl := e.Libc == "musl"
	p := e.providers
	questions := p.names.Of(imports, musl)
	p.enter(scope)
	named := map[string]*Library{} // vn_file: the library whose version nodes are checked at load
	var unknown []*Library
	for _, l := range scope {
		if name := l.Names()[0]; named[name] == nil {
			named[name] = l
		}
		if !l.Known {
			unknown = append(unknown, l)
		}
	}
	out := make([]Binding, len(imports))
	for n := range imports {
		i, b := &imports[n], &out[n]
		b.Import = i
		versioned := !musl && i.Version != ""
		if !musl && i.Library != "" {
			b.Provider = named[i.Library]
		}
		known := b.Provider != nil && b.Provider.Known
		if known && versioned && !p.hasVersion(b.Provider, i.Version) {
			b.Outcome = NoVersion
			continue
		}
		if k := p.first(questions[n]); k >= 0 {
			b.Outcome, b.Provider = Bound, scope[k]
			continue
		}
		switch {
		case known && versioned && !i.Weak:
			b.Outcome = NoSymbol // the node is that library's own, so no other one can bring the symbol
		case i.Weak:
			b.Outcome = WeakUndefined
		case slices.ContainsFunc(unknown, func(l *Library) bool { return l.mayDefine(i.Name) }):
			b.Outcome = Undecided
		default:
			b.Outcome = NoSymbol
		}
	}
	return out
}

// Of a library whose exports are not known while those of neighbouring releases are, a name counts as possible when it begins like one of theirs that far: symbols of one
// project begin alike, _ZN8Shiboken and a little more in C++, a short prefix in C.
const (
	likeCpp = 16
	likeC   = 4
)

// mayDefine tells whether a library whose exports are not known can have a symbol. Those that a platform promises by name only (libX11, libGL, libglib)
// are C libraries, and export no C++ name.
func (l *Library) mayDefine(symbol string) bool {
	mangled := strings.HasPrefix(symbol, "_Z")
	switch {
	case l.Kind == FromPlatform:
		return !mangled
	case !l.alike:
		return true
	case mangled:
		return l.Similar(symbol) >= min(likeCpp, len(symbol))
	}
	return l.Similar(symbol) >= min(likeC, len(symbol))
}
