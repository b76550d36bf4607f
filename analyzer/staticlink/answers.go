package staticlink

import (
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/symindex"
)

// answers numbers the libraries of a system, and remembers who defines what they import and who
// answers to what they need. Without it each link asks each library that it reads for each import
// of each other: with hundreds of libraries, as in vtk's wheel, that is billions of questions.
type answers struct {
	names   *symindex.Names
	number  map[*Library]int32
	entries []entry // by number
	*definitions
}

// definitions are who defines what, by the libraries' exports and imports alone: systems in which
// only needs and paths differ share them.
type definitions struct {
	rows     symindex.Rows       // who has a name under any version, in order of entries
	gathered int                 // names that rows were gathered for
	known    [2]symindex.Answers // by way: who defines what a question asks for
	ways     [][2]*served        // by number of the library
}

// entry is a library of a system.
type entry struct {
	*Library
	needs    []int32 // numbers of its DT_NEEDED entries
	answers  []int32 // numbers of the names to which it answers
	resolved []int32 // by place in needs: whom a plain line finds; none, or unasked
}

const (
	none    = -1
	unasked = -2
)

// The two ways to ask; see symbols.
const (
	linking = iota
	binding
)

// served is who served the imports of a library in an earlier link or load. Where the same are
// there again, only what was open has to be looked at.
type served struct {
	questions []int32 // by import
	// the imports that somebody has to define, without those that need a closer look
	strong []int32
	closer []int32 // those: the kind or the place of the definition matters
	// strong ones that decide, before all is read, which of gcc's own libraries GNU ld takes
	early []int32
	uses  []int32 // libraries that served the strong ones
	open  []int32 // strong ones that nobody served
	ok    bool    // uses and open are there
}

// take numbers libraries. What was found out before is forgotten.
func (s *System) take(libraries ...*Library) {
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
		e.needs, e.answers = make([]int32, 0, len(e.Needed)), nil
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
		e.answers = slices.Clone(byBase[path.Base(e.Path)])
		if k, ok := needed[e.SONAME]; ok && !slices.Contains(e.answers, k) {
			e.answers = append(e.answers, k)
		}
	}
	s.needed, s.definitions = len(needed), &definitions{ways: make([][2]*served, len(s.entries))}
}

// Share takes over what another system found out of who defines what, where only needs and paths
// differ between them.
func (s *System) Share(other *System) {
	if s.platform == other.platform && s.names == other.names &&
		slices.EqualFunc(s.entries, other.entries, func(a, b entry) bool {
			return a.symbols == b.symbols && a.SONAME == b.SONAME && a.plain == b.plain &&
				a.Imports == b.Imports
		}) {
		s.definitions = other.definitions
	}
}

// learn takes in a library that is not there yet.
func (s *System) learn(l *Library) {
	if _, ok := s.number[l]; !ok {
		s.take(l)
	}
}

// gather takes in what is asked for meanwhile.
func (s *System) gather() {
	if s.gathered != s.names.Len() {
		s.gathered, s.known = s.names.Len(), [2]symindex.Answers{}
		s.rows = s.names.Gather(
			len(s.entries),
			func(table int32, yield func(name, export int32)) {
				s.entries[table].symbols.each(s.names, yield)
			},
		)
	}
}

// of lists the rows of a name.
func (s *System) of(name int32) []symindex.Row {
	s.gather()
	return s.rows.Of(name)
}

// definers lists who defines what a question asks for.
func (s *System) definers(question int32, way int) []int32 {
	s.gather()
	return s.known[way].Of(question, func(out []int32) []int32 {
		q := s.names.Question(question)
		for lib, own := range symindex.ByTable(s.rows.Of(q.Name)) {
			if s.oneServes(own, way, q.Symbol, q.Version) {
				out = append(out, lib)
			}
		}
		return out
	})
}

// oneServes tells whether one of a library's rows of a name serves a reference to it.
func (s *System) oneServes(own []symindex.Row, way int, name, version string) bool {
	x := s.entries[own[0].Table].symbols
	if way == binding {
		return x.bindsAmong(own, name, version)
	}
	return slices.ContainsFunc(
		own,
		func(r symindex.Row) bool { return x.linksAt(r.Export, name, version) },
	)
}

// imports sorts the imports of a library for one way to ask.
func (s *System) imports(lib int32, way int) *served {
	if w := s.ways[lib][way]; w != nil {
		return w
	}
	e := &s.entries[lib]
	w := &served{questions: s.names.Of(e.Imports, false)}
	wanted := s.gccs()
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
				s.definers(w.questions[n], linking),
				func(d int32) bool { return slices.Contains(wanted, d) },
			) ||
				i.Version == "" && inArchives(s.platform, i.Name) {
				w.early = append(w.early, int32(n))
			}
		case binding:
			if i.Weak || i.Version == "" && (i.Name == "main" || i.Name == "_start") {
				continue
			}
			if slices.ContainsFunc(s.definers(w.questions[n], binding), func(d int32) bool {
				x := s.entries[d].Library
				return i.Version != "" && x.plain ||
					choosesLate(x) && x.symbols.kind(i.Name, i.Version) == "ifunc"
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

// gccs are the libraries that gcc and the linker scripts of glibc put on a line as needed.
func (s *System) gccs() []int32 {
	var out []int32
	for _, soname := range []string{"libgcc_s.so.1", "libmvec.so.1", s.platform.Loader()} {
		if l := s.provided(soname); l != nil {
			out = append(out, s.number[l])
		}
	}
	return out
}

// unserved lists the strong imports of a library that nothing of a set defines, those that need a
// closer look left out.
func (s *System) unserved(lib int32, way int, has []bool) []int32 {
	w := s.imports(lib, way)
	inSet := func(d int32) bool { return has[d] }
	if w.ok && !slices.ContainsFunc(w.uses, func(d int32) bool { return !has[d] }) {
		var out []int32
		for _, n := range w.open {
			if !slices.ContainsFunc(s.definers(w.questions[n], way), inSet) {
				out = append(out, n)
			}
		}
		return out
	}
	w.ok, w.uses, w.open = true, w.uses[:0], nil
	uses := make([]bool, len(s.entries))
	for _, n := range w.strong {
		by := s.definers(w.questions[n], way)
		if k := slices.IndexFunc(by, inSet); k < 0 {
			w.open = append(w.open, n)
		} else if !uses[by[k]] {
			uses[by[k]] = true
			w.uses = append(w.uses, by[k])
		}
	}
	return slices.Clone(w.open)
}

// Definer is the first of some libraries that defines a name that is imported somewhere: one to
// which a linker binds, else one to which the loader does; nil where none does.
func (s *System) Definer(name string, among []*Library) *Library {
	number := s.names.Name(name)
	if number < 0 {
		return nil
	}
	for _, way := range []int{linking, binding} {
		best := -1
		for lib, own := range symindex.ByTable(s.of(number)) {
			if s.oneServes(own, way, name, "") {
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
