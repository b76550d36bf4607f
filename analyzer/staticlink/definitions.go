package staticlink

import (
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/symindex"
)

// definitionIndex numbers the libraries of a system and caches which library defines each
// import and which library has each needed name. Without it, each link would look up each
// import in each library: with hundreds of libraries, as in vtk's wheel, these are billions of
// lookups.
type definitionIndex struct {
	names   *symindex.Names
	number  map[*Library]int32
	entries []entry // by number
	*definitions
}

// definitions caches which library defines what. It depends only on exports and imports, so
// systems that differ in dependencies and paths share it.
type definitions struct {
	rows     symindex.Rows          // definitions of a name with any version, in order of entries
	gathered int                    // number of names in rows
	known    [2]symindex.TableCache // by way: the libraries that satisfy each query
	ways     [][2]*imports          // by number of the library
}

// entry is a library of a system.
type entry struct {
	*Library
	needs    []int32 // numbers of the names in DT_NEEDED
	ownNames []int32 // numbers of the names of this library
	// By index in needs: the library that a line without paths finds; none, or unasked.
	resolved []int32
}

const (
	none    = -1
	unasked = -2
)

// The two kinds of lookups, see symbols.
const (
	linking = iota
	binding
)

// imports are the imports of a library and what satisfied them in an earlier link or load. If
// the same libraries are present again, only the undefined ones are looked up again.
type imports struct {
	queries []int32 // by index of the import
	// Imports that must be defined, except those in closer.
	strong []int32
	closer []int32 // imports for which the type or the place of the definition matters
	// Imports in strong that determine which of gcc's own libraries GNU ld uses, before all
	// libraries are read.
	early []int32
	uses  []int32 // libraries that satisfied strong
	open  []int32 // imports in strong that nothing satisfied
	ok    bool    // uses and open are set
}

// addLibraries adds libraries, and resets the cache.
func (s *System) addLibraries(libraries ...*Library) {
	for _, l := range libraries {
		if _, twice := s.number[l]; !twice {
			s.number[l] = int32(len(s.entries))
			s.entries = append(s.entries, entry{Library: l})
		}
	}
	needed := map[string]int32{}
	byBase := map[string][]int32{}
	for n := range s.entries {
		e := &s.entries[n]
		e.needs, e.ownNames = make([]int32, 0, len(e.Needed)), nil
		for _, name := range e.Needed {
			k, ok := needed[name]
			if !ok {
				k = int32(len(needed))
				needed[name] = k
				byBase[path.Base(name)] = append(byBase[path.Base(name)], k)
			}
			e.needs = append(e.needs, k)
		}
		e.resolved = slices.Repeat([]int32{unasked}, len(e.needs))
		s.names.Of(e.Imports, false)
	}
	for n := range s.entries {
		e := &s.entries[n]
		e.ownNames = slices.Clone(byBase[path.Base(e.Path)])
		if k, ok := needed[e.SONAME]; ok && !slices.Contains(e.ownNames, k) {
			e.ownNames = append(e.ownNames, k)
		}
	}
	s.needed, s.definitions = len(needed), &definitions{ways: make([][2]*imports, len(s.entries))}
}

// Share reuses the cache of another system if both have the same libraries except for
// dependencies and paths.
func (s *System) Share(other *System) {
	if s.platform == other.platform && s.names == other.names &&
		slices.EqualFunc(s.entries, other.entries, func(a, b entry) bool {
			return a.symbols == b.symbols && a.SONAME == b.SONAME && a.plain == b.plain &&
				a.Imports == b.Imports
		}) {
		s.definitions = other.definitions
	}
}

// ensure adds a library if it is new.
func (s *System) ensure(l *Library) {
	if _, ok := s.number[l]; !ok {
		s.addLibraries(l)
	}
}

// gather updates the cache after names were added.
func (s *System) gather() {
	if s.gathered != s.names.Len() {
		s.gathered, s.known = s.names.Len(), [2]symindex.TableCache{}
		s.rows = s.names.Gather(
			len(s.entries),
			func(table int32, yield func(name, export int32)) {
				s.entries[table].symbols.each(s.names, yield)
			},
		)
	}
}

// of returns the rows of a name.
func (s *System) of(name int32) []symindex.Row {
	s.gather()
	return s.rows.Of(name)
}

// definers returns the numbers of the libraries that satisfy a query.
func (s *System) definers(query int32, way int) []int32 {
	s.gather()
	return s.known[way].Of(query, func(out []int32) []int32 {
		q := s.names.Query(query)
		for lib, own := range symindex.ByTable(s.rows.Of(q.Name)) {
			if s.satisfies(own, way, q.Symbol, q.Version) {
				out = append(out, lib)
			}
		}
		return out
	})
}

// satisfies reports whether one of a library's rows for a name satisfies a reference.
func (s *System) satisfies(own []symindex.Row, way int, name, version string) bool {
	x := s.entries[own[0].Table].symbols
	if way == binding {
		return x.bindsAmong(own, name, version)
	}
	return slices.ContainsFunc(
		own,
		func(r symindex.Row) bool { return x.linksAt(r.Export, name, version) },
	)
}

// imports returns the imports of a library for one kind of lookup.
func (s *System) imports(lib int32, way int) *imports {
	if w := s.ways[lib][way]; w != nil {
		return w
	}
	e := &s.entries[lib]
	w := &imports{queries: s.names.Of(e.Imports, false)}
	wanted := s.gccLibraries()
	for n, i := range e.Imports.All() {
		switch way {
		case linking:
			if i.Weak || i.Version == "" && ofProgram(s.platform, i.Name) {
				continue
			}
			if i.Kind == "tls" {
				w.closer = append(w.closer, int32(n))
				continue
			}
			if slices.ContainsFunc(
				s.definers(w.queries[n], linking),
				func(d int32) bool { return slices.Contains(wanted, d) },
			) ||
				i.Version == "" && inArchives(s.platform, i.Name) {
				w.early = append(w.early, int32(n))
			}
		case binding:
			if i.Weak || i.Version == "" && (i.Name == "main" || i.Name == "_start") {
				continue
			}
			if slices.ContainsFunc(s.definers(w.queries[n], binding), func(d int32) bool {
				x := s.entries[d].Library
				return i.Version != "" && x.plain ||
					resolvesLate(x) && x.symbols.kind(i.Name, i.Version) == "ifunc"
			}) {
				w.closer = append(w.closer, int32(n))
				continue
			}
		}
		w.strong = append(w.strong, int32(n))
	}
	s.ways[lib][way] = w
	return w
}

// gccLibraries are the libraries that gcc and the linker scripts of glibc add with --as-needed.
func (s *System) gccLibraries() []int32 {
	var out []int32
	for _, soname := range []string{"libgcc_s.so.1", "libmvec.so.1", s.platform.Loader()} {
		if l := s.provided(soname); l != nil {
			out = append(out, s.number[l])
		}
	}
	return out
}

// undefined returns the imports in strong of a library that no library in a set defines.
func (s *System) undefined(lib int32, way int, has []bool) []int32 {
	w := s.imports(lib, way)
	inSet := func(d int32) bool { return has[d] }
	if w.ok && !slices.ContainsFunc(w.uses, func(d int32) bool { return !has[d] }) {
		var out []int32
		for _, n := range w.open {
			if !slices.ContainsFunc(s.definers(w.queries[n], way), inSet) {
				out = append(out, n)
			}
		}
		return out
	}
	w.ok, w.uses, w.open = true, w.uses[:0], nil
	uses := make([]bool, len(s.entries))
	for _, n := range w.strong {
		by := s.definers(w.queries[n], way)
		if k := slices.IndexFunc(by, inSet); k < 0 {
			w.open = append(w.open, n)
		} else if !uses[by[k]] {
			uses[by[k]] = true
			w.uses = append(w.uses, by[k])
		}
	}
	return slices.Clone(w.open)
}

// Definer returns the first library in among to whose definition of an imported name a linker
// binds; otherwise the first to which the loader binds; otherwise nil.
func (s *System) Definer(name string, among []*Library) *Library {
	number := s.names.Name(name)
	if number < 0 {
		return nil
	}
	for _, way := range []int{linking, binding} {
		best := -1
		for lib, own := range symindex.ByTable(s.of(number)) {
			if s.satisfies(own, way, name, "") {
				if k := slices.Index(among, s.entries[lib].Library); k >= 0 &&
					(best < 0 || k < best) {
					best = k
				}
			}
		}
		if best >= 0 {
			return among[best]
		}
	}
	return nil
}
