package staticlink

import (
	"cmp"
	"iter"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Start is what the loader reports when a program starts.
type Start struct {
	Missing []string // libraries that are not found

	system    *System
	undefined []reference // sorted by query
}

// Undefined iterates over the imports that are undefined.
func (s *Start) Undefined() iter.Seq[elfobj.Import] {
	return func(yield func(elfobj.Import) bool) {
		for _, r := range s.undefined {
			if !yield(s.system.importOf(r)) {
				return
			}
		}
	}
}

// Lacks reports whether a symbol version is undefined.
func (s *Start) Lacks(symbol, version string) bool {
	query, ok := s.system.names.Find(symbol, version)
	return ok && s.lacks(query)
}

func (s *Start) lacks(query int32) bool {
	_, ok := slices.BinarySearchFunc(s.undefined, query, func(r reference, query int32) int {
		return cmp.Compare(r.query, query)
	})
	return ok
}

// Run models a program with these DT_NEEDED entries that starts with LD_BIND_NOW, if the loader
// can find all files of the system. Nothing is missing or undefined if it starts.
//
// The undefined symbols include references to an IFUNC of libm or libmvec that is not relocated
// yet: the loader relocates from the last library to the first, but dependencies before their
// users, so a library that does not list its provider must precede it ("Relink `libfoo.so' with
// `libm.so.6' for IFUNC symbol `sin'"). They also include references with a version to a library
// without versions (the assertion in check_match, glibc elf/dl-lookup.c).
func (s *System) Run(needed []string) *Start {
	out := &Start{system: s}
	var scope []*Library
	want := slices.Clone(needed)
	for n := 0; n < len(want); n++ {
		x := s.Named(want[n])
		if x == nil {
			out.Missing = append(out.Missing, want[n])
			continue
		}
		if slices.Contains(scope, x) {
			continue
		}
		scope = append(scope, x)
		for _, name := range x.Needed {
			if !slices.Contains(want, name) {
				want = append(want, name)
			}
		}
	}
	has, place := make([]bool, len(s.entries)), make([]int, len(s.entries))
	unknown := len(scope) // index of the first library with unknown exports
	for at, x := range scope {
		has[s.number[x]], place[s.number[x]] = true, at
		if !x.Known {
			unknown = min(unknown, at)
		}
	}
	for at, x := range scope {
		if x.Imports.Len() == 0 {
			continue
		}
		number := s.number[x]
		w := s.imports(number, binding)
		if unknown == len(scope) {
			open := s.undefined(number, binding, has)
			out.undefined = slices.Grow(out.undefined, len(open))
			for _, k := range open {
				out.undefined = append(out.undefined, reference{number, k, w.queries[k], none})
			}
		}
		for _, k := range w.closer {
			i, n := x.Imports.At(int(k)), unknown
			for _, y := range s.definers(w.queries[k], binding) {
				if has[y] {
					n = min(n, place[y])
				}
			}
			if n == len(scope) ||
				i.Version != "" && scope[n].plain && scope[n].HasName(i.Library) ||
				n < at && resolvesLate(scope[n]) && scope[n].symbols.kind(i.Name, i.Version) == "ifunc" &&
					!s.dependsOn(x, scope[n]) {
				out.undefined = append(out.undefined, reference{number, k, w.queries[k], none})
			}
		}
	}
	slices.SortStableFunc(out.undefined,
		func(a, b reference) int { return cmp.Compare(a.query, b.query) })
	return out
}

// resolvesLate reports whether a library's IFUNC resolvers crash before its relocation, because
// they read relocated data. Others query the CPU (libatomic), for which the loader only prints
// a warning.
func resolvesLate(l *Library) bool {
	return l.SONAME == "libm.so.6" || l.SONAME == "libmvec.so.1"
}

// dependsOn reports whether a library depends on another one, directly or indirectly.
func (s *System) dependsOn(from, to *Library) bool {
	want := slices.Clone(from.Needed)
	for n := 0; n < len(want); n++ {
		x := s.Named(want[n])
		if x == to {
			return true
		}
		if x == nil {
			continue
		}
		for _, name := range x.Needed {
			if !slices.Contains(want, name) {
				want = append(want, name)
			}
		}
	}
	return false
}
