package dynlink

import (
	"iter"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Outcome says what became of an import.
type Outcome string

const (
	Bound Outcome = "bound"
	// a library of the scope may have it; what that exports is not known
	Undecided Outcome = "undecided"
	// the library it names lacks the version node: the loader refuses at once
	NoVersion     Outcome = "no version"
	NoSymbol      Outcome = "no symbol"      // no library of the scope defines it
	WeakUndefined Outcome = "weak undefined" // nothing defines it, and that is no error
)

// outcomes are numbered in Bindings.
var outcomes = [...]Outcome{Bound, Undecided, NoVersion, NoSymbol, WeakUndefined}

// Binding is an import with what the loader would make of it.
type Binding struct {
	Import  elfobj.Import
	Outcome Outcome
	// who defines it; of NoVersion and of a versioned NoSymbol the library that should have; else
	// nil
	Provider *Library
}

// Bindings are those of an object's imports, in their order, in 4 bytes each.
type Bindings struct {
	imports *elfobj.Imports
	scope   []*Library
	rows    []uint32 // place of the provider in scope, +1; behind it 3 bits for the outcome
	failed  []int32  // places of the rows that are not Bound
}

// At is one of them, by the place of its import from 0.
func (b Bindings) At(n int) Binding {
	out := Binding{Import: b.imports.At(n), Outcome: outcomes[b.rows[n]&7]}
	if provider := b.rows[n] >> 3; provider > 0 {
		out.Provider = b.scope[provider-1]
	}
	return out
}

// All gives every one.
func (b Bindings) All() iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for n := range b.rows {
			if !yield(b.At(n)) {
				return
			}
		}
	}
}

// Failed gives those that are not Bound.
func (b Bindings) Failed() iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for _, n := range b.failed {
			if !yield(b.At(int(n))) {
				return
			}
		}
	}
}

// To gives those with a provider of a kind.
func (b Bindings) To(kind Kind) iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for n, row := range b.rows {
			if row>>3 > 0 && b.scope[row>>3-1].Kind == kind && !yield(b.At(n)) {
				return
			}
		}
	}
}

// Bind looks every import up in a scope, as a load with RTLD_NOW does (Python's default). musl's
// loader (ldso/dynlink.c) ignores versions altogether.
func (e *Environment) Bind(imports *elfobj.Imports, scope []*Library) Bindings {
	musl := e.Libc == "musl"
	p := e.providers
	questions := p.names.Of(imports, musl)
	p.enter(scope)
	named := firsts{
		scope:  scope,
		places: map[string]int{},
	} // vn_file: the library whose version nodes are checked at load
	var unknown []*Library
	for _, l := range scope {
		if !l.Known {
			unknown = append(unknown, l)
		}
	}
	out := Bindings{imports: imports, scope: scope, rows: make([]uint32, imports.Len())}
	for n := range out.rows {
		i := imports.At(n)
		provider, known := none, false
		versioned := !musl && i.Version != ""
		if !musl && i.Library != "" {
			if provider = named.place(i.Library); provider != none {
				known = scope[provider].Known
			}
		}
		if known && versioned && !p.hasVersion(scope[provider], i.Version) {
			out.set(n, NoVersion, provider)
			continue
		}
		if k := p.first(questions[n]); k >= 0 {
			out.set(n, Bound, k)
			continue
		}
		switch {
		case known && versioned && !i.Weak:
			out.set(
				n,
				NoSymbol,
				provider,
			) // the node is that library's own, so no other one can bring the symbol
		case i.Weak:
			out.set(n, WeakUndefined, provider)
		case slices.ContainsFunc(unknown, func(l *Library) bool { return l.mayDefine(i.Name) }):
			out.set(n, Undecided, provider)
		default:
			out.set(n, NoSymbol, provider)
		}
	}
	return out
}

const none = -1

// firsts finds libraries of a scope by name. Most objects have versions of a handful of libraries.
type firsts struct {
	scope  []*Library
	places map[string]int // of the first with a name, none where there is none
	whole  bool           // all are in places
}

func (n *firsts) place(library string) int {
	const few = 16
	if k, ok := n.places[library]; ok {
		return k
	}
	if n.whole {
		return none
	}
	if len(n.places) == few {
		for k, l := range slices.Backward(n.scope) {
			n.places[l.name()] = k
		}
		n.whole = true
		return n.place(library)
	}
	k := slices.IndexFunc(n.scope, func(l *Library) bool { return l.name() == library })
	n.places[library] = k
	return k
}

func (b *Bindings) set(n int, o Outcome, provider int) {
	b.rows[n] = uint32(provider+1)<<3 | uint32(slices.Index(outcomes[:], o))
	if o != Bound {
		b.failed = append(b.failed, int32(n))
	}
}

// Of a library whose exports are not known while those of neighbouring releases are, a name counts
// as possible when it begins like one of theirs that far: symbols of one project begin alike,
// _ZN8Shiboken and a little more in C++, a short prefix in C.
const (
	likeCpp = 16
	likeC   = 4
)

// mayDefine tells whether a library whose exports are not known can have a symbol. Those that a
// platform promises by name only (libX11, libGL, libglib) are C libraries, and export no C++ name.
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
