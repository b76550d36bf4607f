package dynlink

import (
	"iter"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
)

// Outcome is the result of resolving an import.
type Outcome string

const (
	Bound Outcome = "bound"
	// A library in the scope may define it; the exports of that library are not known.
	Undecided Outcome = "undecided"
	// The library named in DT_VERNEED lacks the version definition: the loader refuses to load.
	NoVersion Outcome = "no version"
	NoSymbol  Outcome = "no symbol" // no library in the scope defines it
	// No library in the scope defines it, which is not an error for a weak symbol.
	WeakUndefined Outcome = "weak undefined"
)

// outcomes are numbered by their index in Bindings.rows.
var outcomes = [...]Outcome{Bound, Undecided, NoVersion, NoSymbol, WeakUndefined}

// Binding is an import and how the loader would resolve it.
type Binding struct {
	Import  elfobj.Import
	Outcome Outcome
	// The library that defines it. For NoVersion, and for NoSymbol with a version, the library that
	// should define it. Otherwise nil.
	Provider *Library
}

// Bindings contains the binding of each import of an object, in order, with 4 bytes per import.
type Bindings struct {
	imports *elfobj.Imports
	scope   []*Library
	rows    []uint32 // (index of the provider in scope + 1) << 3 | outcome
	failed  []int32  // indexes of the rows that are not Bound
}

// At returns the binding of import n, counted from 0.
func (b Bindings) At(n int) Binding {
	out := Binding{Import: b.imports.At(n), Outcome: outcomes[b.rows[n]&7]}
	if provider := b.rows[n] >> 3; provider > 0 {
		out.Provider = b.scope[provider-1]
	}
	return out
}

// Len is the number of imports.
func (b Bindings) Len() int { return len(b.rows) }

// All iterates over the bindings.
func (b Bindings) All() iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for n := range b.rows {
			if !yield(b.At(n)) {
				return
			}
		}
	}
}

// Failed iterates over the bindings that are not Bound.
func (b Bindings) Failed() iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for _, n := range b.failed {
			if !yield(b.At(int(n))) {
				return
			}
		}
	}
}

// To iterates over the bindings whose provider has the given kind.
func (b Bindings) To(kind Kind) iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for n, row := range b.rows {
			if row>>3 > 0 && b.scope[row>>3-1].Kind == kind && !yield(b.At(n)) {
				return
			}
		}
	}
}

// Bind resolves every import in a scope, like a load with RTLD_NOW (Python's default). With
// musl (ldso/dynlink.c) versions are ignored, and libc provides the names of its functions for
// large files: it defined them until 1.2.3, and its loader maps them since then.
//
// needs are the versions that the object needs. If one that is marked as weak is missing, glibc
// only warns, and a weak reference to it is not bound; nil if none is known to be weak.
func (e *Environment) Bind(
	imports *elfobj.Imports, scope []*Library, needs []elfobj.VersionNeed,
) Bindings {
	musl := e.Libc == "musl"
	p := e.providers
	queries := p.names.Of(imports, musl)
	p.setScope(scope)
	named := scopeIndex{ // finds vn_file, the library whose versions are checked while loading
		scope:  scope,
		places: map[string]int{},
	}
	var unknown []*Library
	libc := none
	if e.musl != nil {
		libc = slices.Index(scope, e.musl)
	}
	for _, l := range scope {
		if !l.Known {
			unknown = append(unknown, l)
		}
	}
	owner := owner{scope: scope}
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
			outcome := NoVersion
			if i.Weak && weakVersion(needs, i) {
				outcome = WeakUndefined
			}
			out.set(n, outcome, provider)
			continue
		}
		if k := p.first(queries[n]); k >= 0 {
			out.set(n, Bound, k)
			continue
		}
		if plain := largeFileName(i.Name); musl && libc != none && plain != "" &&
			scope[libc].Defines(plain, "") {
			out.set(n, Bound, libc)
			continue
		}
		switch {
		case known && versioned && !i.Weak:
			// The version belongs to that library, so no other one can define the symbol.
			out.set(n, NoSymbol, provider)
		case i.Weak:
			out.set(n, WeakUndefined, provider)
		case slices.ContainsFunc(unknown, func(l *Library) bool {
			return owner.mayDefine(l, i.Name)
		}):
			out.set(n, Undecided, provider)
		default:
			out.set(n, NoSymbol, provider)
		}
	}
	return out
}

// weakVersion reports whether the version of an import is marked as weak (VER_FLG_WEAK).
func weakVersion(needs []elfobj.VersionNeed, i elfobj.Import) bool {
	return slices.ContainsFunc(needs, func(n elfobj.VersionNeed) bool {
		return n.Library == i.Library && slices.Contains(n.Versions,
			elfobj.NeededVersion{Name: i.Version, Weak: true})
	})
}

const none = -1

// scopeIndex finds libraries of a scope by name. Most objects require versions of a few
// libraries.
type scopeIndex struct {
	scope  []*Library
	places map[string]int // index of the first library with a name, or none
	whole  bool           // places contains all libraries of the scope
}

func (n *scopeIndex) place(library string) int {
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

// If the exports of a library are not known but those of neighbouring releases are, a symbol
// may exist if it shares a prefix of this length with one of theirs. Symbols of a project start
// alike: in C++ with _ZN8Shiboken and a little more, in C with a short prefix.
const (
	likeCpp = 16
	likeC   = 4
)

// cPlusPlus are libraries with C++ symbols that a platform may guarantee only by name.
var cPlusPlus = []string{"libapt-pkg", "libdnf", "libstdc++"}

// MayDefine reports whether a library with unknown exports may define a symbol; it is false for
// other libraries, and for a symbol that a release of the library does not have which the platform
// includes. Most libraries that a platform guarantees only by name (libX11, libGL, libglib)
// are C libraries without C++ symbols.
func (l *Library) MayDefine(symbol string) bool {
	mangled := strings.HasPrefix(symbol, "_Z")
	switch {
	case l.Known:
		return false
	case l.Kind == FromPlatform:
		if _, without := l.Releases(symbol); without != nil {
			return false
		}
		return !mangled || slices.Contains(cPlusPlus, platform.Stem(l.SONAME))
	case !l.alike:
		return true
	case mangled:
		return l.Similar(symbol) >= min(likeCpp, len(symbol))
	}
	return l.Similar(symbol) >= min(likeC, len(symbol))
}
