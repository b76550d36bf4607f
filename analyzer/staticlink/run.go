package staticlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Run tells whether a program that needs these libraries starts with LD_BIND_NOW, with the files of
// the system within the loader's reach: what is missing or undefined then, in the loader's terms.
// Both are empty when it starts.
//
// Undefined are also references to an IFUNC of libm or libmvec while that is not relocated yet: the
// loader relocates from the last to the first, but dependencies before their users, so that a
// library which does not list its provider must stand before it ("Relink `libfoo.so' with
// `libm.so.6' for IFUNC symbol `sin'"); and references with a version to a library that gave up its
// versions (the assertion of check_match in glibc's elf/dl-lookup.c).
func (s *System) Run(needed []string) (missing []string, undefined []elfobj.Import) {
	var scope []*Library
	want := slices.Clone(needed)
	for n := 0; n < len(want); n++ {
		x := s.Named(want[n])
		if x == nil {
			missing = append(missing, want[n])
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
	unknown := len(scope) // the first of which only the name is known
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
		if unknown == len(scope) {
			for _, k := range s.unserved(number, binding, has) {
				undefined = append(undefined, x.Imports.At(int(k)))
			}
		}
		w := s.imports(number, binding)
		for _, k := range w.closer {
			i, n := x.Imports.At(int(k)), unknown
			for _, y := range s.definers(w.questions[k], binding) {
				if has[y] {
					n = min(n, place[y])
				}
			}
			if n == len(scope) ||
				i.Version != "" && scope[n].plain && scope[n].AnswersTo(i.Library) ||
				n < at && choosesLate(scope[n]) && scope[n].symbols.kind(i.Name, i.Version) == "ifunc" &&
					!s.leadsTo(x, scope[n]) {
				undefined = append(undefined, i)
			}
		}
	}
	return missing, undefined
}

// choosesLate tells whether a library's IFUNC resolvers read what its own relocation fills in, and
// crash before. Others ask the processor (libatomic), and the loader only grumbles.
func choosesLate(l *Library) bool { return l.SONAME == "libm.so.6" || l.SONAME == "libmvec.so.1" }

// leadsTo tells whether what a library needs, directly or not, has another in it.
func (s *System) leadsTo(from, to *Library) bool {
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
