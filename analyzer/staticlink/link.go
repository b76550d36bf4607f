package staticlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Missing is a DT_NEEDED entry that the linker did not find: "NAME, needed by BY, not found
// (try using -rpath or -rpath-link)".
type Missing struct {
	Name string
	By   *Library
}

// Result is the result of a link.
type Result struct {
	// In the order of libraries and their symbol tables; empty if the link succeeds.
	Problems Problems
	Missing  []Missing // each is only a warning
	Absent   []string  // libraries on the line that do not exist: "cannot find -lX"
	// Imports that a library with unknown exports may define.
	Undecided Problems
	Needed    []string // DT_NEEDED of the program if the link succeeds

	system *System
	read   []*Library
	from   map[*Library]*Library // the library that first needed a dependency
}

// Reads reports whether the linker read a library.
func (r *Result) Reads(l *Library) bool { return slices.Contains(r.read, l) }

// Only reports whether kind returns true for all libraries that the linker read.
func (r *Result) Only(kind func(*Library) bool) bool {
	return !slices.ContainsFunc(r.read, func(l *Library) bool { return !kind(l) })
}

// Failed reports whether the link failed.
func (r *Result) Failed() bool { return r.Problems.Len()+len(r.Absent) > 0 }

// Link links a program that only calls lib.
func (s *System) Link(by Linker, lib *Library, line Line) *Result {
	s.ensure(lib)
	l := &link{
		System:  s,
		line:    line,
		has:     make([]bool, len(s.entries)),
		present: make([]bool, s.needed),
		result:  &Result{system: s, from: map[*Library]*Library{}},
	}
	if line.CXX {
		l.line.After = append(
			slices.Clone(line.After),
			Named{"libstdc++.so.6", true},
			Named{"libm.so.6", true},
			Named{"libgcc_s.so.1", true},
		)
	}
	if by == GNU {
		l.gnu(lib)
	} else {
		l.other(by, lib)
	}
	l.result.read = l.read
	l.result.Problems = newProblems(l.result, l.problems)
	l.result.Undecided = newProblems(l.result, l.undecided)
	return l.result
}

// link is the state of a link.
type link struct {
	*System
	line    Line
	read    []*Library // libraries whose symbols were read
	has     []bool     // the same, by number
	present []bool     // by number of a name: a library with that name was read
	// Strong references that no library defines so far. Until all libraries are read, only those
	// that matter earlier, unless whole is set.
	open []reference
	// All references are needed to decide which libraries --as-needed keeps.
	whole     bool
	problems  []problem
	undecided []problem
	result    *Result
}

// reference is an import of a library. It has no pointers: a link can have 200,000 of them.
type reference struct {
	by    int32 // number of the library
	at    int32 // index of the import in the library
	query int32
	// number of the static library with a hidden definition, if there is no better one; or none
	hidden int32
}

// place identifies a reference.
type place struct{ by, at int32 }

// reads adds a library's definitions, not its references. It reports whether the library is
// new.
func (l *link) reads(lib *Library) bool {
	n := l.number[lib]
	if l.has[n] {
		return false
	}
	l.read, l.has[n] = append(l.read, lib), true
	for _, name := range l.entries[n].ownNames {
		l.present[name] = true
	}
	return true
}

// add reads a library on the line. keep: it is added to the program's DT_NEEDED.
func (l *link) add(lib *Library, keep bool) {
	if lib == nil {
		return
	}
	if name := lib.names()[0]; keep && !slices.Contains(l.result.Needed, name) {
		l.result.Needed = append(l.result.Needed, name)
	}
	if !l.reads(lib) {
		return
	}
	l.open = slices.DeleteFunc(l.open, func(r reference) bool { return l.satisfiedBy(lib, r) })
	if lib.Imports.Len() > 0 {
		number := l.number[lib]
		w := l.imports(number, linking)
		strong := w.strong
		if !l.whole {
			strong = w.early
		}
		l.refer(
			number,
			slices.DeleteFunc(slices.Clone(strong), func(n int32) bool { return l.defined(w.queries[n]) }),
		)
	}
}

// refer adds the undefined references of a library: open and those that need a closer look.
func (l *link) refer(lib int32, open []int32) {
	w := l.imports(lib, linking)
	for _, n := range w.closer {
		if !l.satisfied(reference{lib, n, w.queries[n], none}) {
			open = append(open, n)
		}
	}
	l.addOpen(lib, open, nil)
}

// addOpen adds undefined references by index. hidden contains those that a static library
// defines.
func (l *link) addOpen(lib int32, open []int32, hidden map[place]int32) {
	w := l.imports(lib, linking)
	slices.Sort(open)
	l.open = slices.Grow(l.open, len(open))
	for _, n := range open {
		r := reference{lib, n, w.queries[n], none}
		if h, ok := hidden[place{lib, n}]; ok {
			r.hidden = h
		}
		l.open = append(l.open, r)
	}
}

// defined reports whether a library that was read satisfies a query.
func (l *link) defined(query int32) bool {
	return slices.ContainsFunc(l.definers(query, linking), func(d int32) bool { return l.has[d] })
}

// satisfied reports whether a library that was read defines a reference. For a thread-local symbol
// the first definition is used, because its type may be wrong.
func (l *link) satisfied(r reference) bool {
	if !l.threadLocal(r) {
		return l.defined(r.query)
	}
	return slices.ContainsFunc(l.read, func(x *Library) bool { return l.satisfiedBy(x, r) })
}

// defines reports whether a library defines a reference.
func (l *link) defines(x *Library, r reference) bool {
	return slices.Contains(l.definers(r.query, linking), l.number[x])
}

// satisfiedBy is like defines, and reports a definition of the wrong type.
func (l *link) satisfiedBy(x *Library, r reference) bool {
	if !l.defines(x, r) {
		return false
	}
	if l.threadLocal(r) {
		i := l.importOf(r)
		if kind := x.symbols.kind(i.Name, i.Version); kind == "object" || kind == "func" {
			l.report(r, TLSMismatch, l.number[x])
		}
	}
	return true
}

// importOf returns the import of a reference.
func (s *System) importOf(r reference) elfobj.Import {
	return s.entries[r.by].Imports.At(int(r.at))
}

// threadLocal reports whether a reference is to a thread-local symbol.
func (l *link) threadLocal(r reference) bool { return l.importOf(r).Kind == "tls" }

// gnu models GNU ld: it reads the line from left to right, then the dependencies.
func (l *link) gnu(lib *Library) {
	l.whole = slices.ContainsFunc(l.line.After, func(n Named) bool { return n.AsNeeded })
	for _, n := range l.expand(l.line.Before) {
		if !n.AsNeeded { // nothing is undefined yet, so --as-needed drops them all
			l.add(n.library, true)
		}
	}
	l.add(lib, true)
	for _, n := range l.expand(l.line.After) {
		if !n.AsNeeded || l.keepsAsNeeded(n.library) {
			l.add(n.library, true)
		}
	}
	l.fetch(libgcc)
	l.asNeeded("libgcc_s.so.1")
	l.add(l.provided("libc.so.6"), true)
	l.fetch(nonshared)
	l.fetch(startFiles)
	l.asNeeded(l.platform.Loader())
	l.asNeeded("libgcc_s.so.1")
	l.follow()
	l.collectProblems(l.read)
}

// found is a library on the line.
type found struct {
	Named
	library *Library
}

// expand finds the libraries, including those that linker scripts add.
func (l *link) expand(names []Named) []found {
	var out []found
	for _, name := range names {
		for _, n := range l.script(name) {
			if x := l.Named(n.SONAME); x != nil {
				out = append(out, found{n, x})
			} else {
				l.result.Absent = append(l.result.Absent, n.SONAME)
			}
		}
	}
	return out
}

func (l *link) asNeeded(soname string) {
	if x := l.provided(soname); x != nil && l.keepsAsNeeded(x) {
		l.add(x, true)
	}
}

// keepsAsNeeded reports whether --as-needed keeps a library: it defines an undefined symbol, and no
// library that was read needs it directly (bfd/elflink.c, on_needed_list).
func (l *link) keepsAsNeeded(x *Library) bool {
	if slices.ContainsFunc(
		l.read,
		func(by *Library) bool { return slices.Contains(by.Needed, x.SONAME) },
	) {
		return false
	}
	return slices.ContainsFunc(
		l.open,
		func(r reference) bool { return r.hidden == none && l.defines(x, r) },
	)
}

// fetch extracts the members of a static library that define open references. GNU ld does that
// for references of shared libraries too.
func (l *link) fetch(number int32) {
	a := &archives[number]
	for i := range l.open {
		r := &l.open[i]
		if r.hidden != none {
			continue
		}
		if q := l.names.Query(r.query); q.Version == "" && a.has(l.platform, q.Symbol) {
			r.hidden = number
		}
	}
}

// follow reads the dependencies of the libraries, recursively.
func (l *link) follow() {
	of := len(l.read)
	for n := 0; n < len(l.read); n++ {
		by := l.read[n]
		number := l.number[by]
		for k, name := range l.entries[number].needs {
			if l.present[name] {
				continue
			}
			if x := l.find(number, int32(k), l.line); x != none {
				l.result.from[l.entries[x].Library] = by
				l.reads(l.entries[x].Library)
			} else if needed := by.Needed[k]; !by.System && !slices.ContainsFunc(l.result.Missing,
				func(m Missing) bool {
					return m.Name == needed
				}) {
				l.result.Missing = append(l.result.Missing, Missing{needed, by})
			}
		}
	}
	hidden := map[place]int32{}
	closer := map[int32][]int32{}
	for _, r := range l.open {
		switch {
		case l.threadLocal(r) && !l.satisfied(r):
			closer[r.by] = append(closer[r.by], r.at)
			hidden[place{r.by, r.at}] = r.hidden
		case r.hidden != none:
			hidden[place{r.by, r.at}] = r.hidden
		}
	}
	l.open = nil
	for n, lib := range l.read {
		if lib.Imports.Len() == 0 {
			continue
		}
		number := l.number[lib]
		open := l.undefined(number, linking, l.has)
		if n < of {
			l.addOpen(number, append(open, closer[number]...), hidden)
		} else {
			l.refer(number, open)
		}
	}
}

// collectProblems adds the problems for the open references of some libraries.
func (l *link) collectProblems(of []*Library) {
	unknown := slices.ContainsFunc(l.read, func(x *Library) bool { return !x.Known })
	absent := slices.ContainsFunc(
		l.result.Missing,
		func(m Missing) bool { return mayBeInstalled(m.Name) },
	)
	checked := make([]bool, len(l.entries))
	for _, x := range of {
		checked[l.number[x]] = true
	}
	for _, r := range l.open {
		switch {
		case !checked[r.by]:
		case r.hidden != none:
			// Any definition in a shared library suffices, even one for old programs only, such as
			// pthread_atfork in glibc 2.34 and later.
			if !l.line.Shared &&
				!slices.ContainsFunc(
					l.of(l.names.Query(r.query).Name),
					func(d symindex.Row) bool { return l.has[d.Table] },
				) {
				l.report(r, Hidden, r.hidden)
			}
		case (unknown || absent) && l.mayBeDefined(l.importOf(r), unknown):
			l.undecided = append(l.undecided, problem{r, Undecided, none})
		case !l.line.Shared && !l.line.AllowUndefined && !l.line.IgnoreInShared:
			l.report(r, Undefined, none)
		}
	}
}

// report adds a problem. A symbol table may contain a name twice.
func (l *link) report(r reference, kind Kind, in int32) {
	if last := len(l.problems) - 1; last >= 0 && l.problems[last].by == r.by &&
		l.problems[last].query == r.query &&
		l.importOf(l.problems[last].reference) == l.importOf(r) {
		return
	}
	l.problems = append(l.problems, problem{r, kind, in})
}

// mayBeDefined reports whether a library with unknown exports may define a reference. A required
// version identifies the library, which may be known. If unknown is false, a missing library is
// assumed not to define symbols of the platform: dlopen belongs to libdl.
func (l *link) mayBeDefined(i elfobj.Import, unknown bool) bool {
	if i.Library == "" {
		return unknown ||
			!slices.ContainsFunc(
				l.platform.Libraries(),
				func(p *platform.Library) bool { _, ok := p.Default(i.Name); return ok },
			)
	}
	for _, x := range l.read {
		if x.HasName(i.Library) {
			return !x.Known
		}
	}
	return mayBeInstalled(i.Library)
}

// mayBeInstalled reports whether a driver or a system package is known to provide a library, so
// that the linking machine may have it.
func mayBeInstalled(name string) bool {
	_, ok := platform.Known(name)
	return ok
}
