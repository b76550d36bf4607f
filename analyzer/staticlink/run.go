package staticlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Run reports whether a program with these DT_NEEDED entries starts with LD_BIND_NOW if the
// loader can find all files of the system. It returns the libraries that are missing and the
// symbols that are undefined then; both are empty if it starts.
//
// undefined includes references to an IFUNC of libm or libmvec that is not relocated yet: the
// loader relocates from the last library to the first, but dependencies before their users, so
// a library that does not list its provider must precede it ("Relink `libfoo.so' with
// `libm.so.6' for IFUNC symbol `sin'"). It also includes references with a version to a library
// without versions (the assertion in check_match, glibc elf/dl-lookup.c).
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
		if unknown == len(scope) {
			for _, k := range s.undefined(number, binding, has) {
				undefined = append(undefined, x.Imports.At(int(k)))
			}
		}
		w := s.imports(number, binding)
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
				undefined = append(undefined, i)
			}
		}
	}
	return missing, undefined
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
