package staticlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Kind is the kind of a linker error.
type Kind string

const (
	Undefined Kind = "undefined reference"
	// Defined in a static library or a start file, referenced by a shared library.
	Hidden Kind = "hidden symbol"
	// A thread-local reference to a definition that is not thread-local.
	TLSMismatch Kind = "TLS mismatch"
)

// Problem is a symbol for which a linker reports an error.
type Problem struct {
	Kind   Kind
	Import elfobj.Import
	// The library that refers to it: the linked library or one of its dependencies.
	By    *Library
	In    string     // for Hidden the file that defines it, for TLSMismatch the library
	Chain []*Library // from the linked library to By, each needed by the one before
	// The library that should define it and was not found: the one of its version, or the first
	// missing one; "" if none is missing.
	Missing string
}

// Missing is a DT_NEEDED entry that the linker did not find: "NAME, needed by BY, not found
// (try using -rpath or -rpath-link)".
type Missing struct {
	Name string
	By   *Library
}

// Result is the result of a link.
type Result struct {
	// In the order of libraries and their symbol tables; empty if the link succeeds.
	Problems []Problem
	Missing  []Missing // each is only a warning
	Absent   []string  // libraries on the line that do not exist: "cannot find -lX"
	// Imports that a library with unknown exports may define.
	Undecided []elfobj.Import
	Needed    []string // DT_NEEDED of the program if the link succeeds

	read []*Library
	// Index of the first problem of each symbol; nil until Problem is called.
	place map[symbolVersion]int
}

// Reads reports whether the linker read a library.
func (r *Result) Reads(l *Library) bool { return slices.Contains(r.read, l) }

// Only reports whether kind returns true for all libraries that the linker read.
func (r *Result) Only(kind func(*Library) bool) bool {
	return !slices.ContainsFunc(r.read, func(l *Library) bool { return !kind(l) })
}

// Failed reports whether the link failed.
func (r *Result) Failed() bool { return len(r.Problems)+len(r.Absent) > 0 }

// Problem returns the problem with a reference, or nil.
func (r *Result) Problem(i elfobj.Import) *Problem {
	if r.place == nil {
		r.place = make(map[symbolVersion]int, len(r.Problems))
		for n, p := range slices.Backward(r.Problems) {
			r.place[symbolVersion{p.Import.Name, p.Import.Version}] = n
		}
	}
	if n, ok := r.place[symbolVersion{i.Name, i.Version}]; ok {
		return &r.Problems[n]
	}
	return nil
}

// symbolVersion identifies a symbol in a result.
type symbolVersion struct{ name, version string }

// Link links a program that only calls lib.
func (s *System) Link(by Linker, lib *Library, line Line) *Result {
	s.ensure(lib)
	l := &link{
		System:  s,
		line:    line,
		from:    map[*Library]*Library{},
		has:     make([]bool, len(s.entries)),
		present: make([]bool, s.needed),
		result:  &Result{},
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
	whole  bool
	from   map[*Library]*Library // the library that first needed a dependency
	result *Result
}

// reference is an import of a library.
type reference struct {
	elfobj.Import
	by     *Library
	at     int32 // index of the import in the library
	query  int32
	hidden string // the static library with a hidden definition, if there is no better one
}

// place identifies a reference.
type place struct {
	by *Library
	at int32
}

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
		w := l.imports(l.number[lib], linking)
		strong := w.strong
		if !l.whole {
			strong = w.early
		}
		l.refer(
			lib,
			slices.DeleteFunc(slices.Clone(strong), func(n int32) bool { return l.defined(w.queries[n]) }),
		)
	}
}

// refer adds the undefined references of a library: open and those that need a closer look.
func (l *link) refer(lib *Library, open []int32) {
	w := l.imports(l.number[lib], linking)
	for _, n := range w.closer {
		if !l.satisfied(reference{Import: lib.Imports.At(int(n)), by: lib, at: n, query: w.queries[n]}) {
			open = append(open, n)
		}
	}
	l.addOpen(lib, open, nil)
}

// addOpen adds undefined references by index. hidden contains those that a static library
// defines.
func (l *link) addOpen(lib *Library, open []int32, hidden map[place]string) {
	w := l.imports(l.number[lib], linking)
	slices.Sort(open)
	l.open = slices.Grow(l.open, len(open))
	for _, n := range open {
		l.open = append(
			l.open,
			reference{
				Import: lib.Imports.At(int(n)),
				by:     lib,
				at:     n,
				query:  w.queries[n],
				hidden: hidden[place{lib, n}],
			},
		)
	}
}

// defined reports whether a library that was read satisfies a query.
func (l *link) defined(query int32) bool {
	return slices.ContainsFunc(l.definers(query, linking), func(d int32) bool { return l.has[d] })
}

// satisfied reports whether a library that was read defines a reference. For a thread-local symbol
// the first definition is used, because its type may be wrong.
func (l *link) satisfied(r reference) bool {
	if r.Kind != "tls" {
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
	if r.Kind == "tls" {
		if kind := x.symbols.kind(r.Name, r.Version); kind == "object" || kind == "func" {
			l.report(Problem{Kind: TLSMismatch, Import: r.Import, By: r.by, In: x.names()[0]})
		}
	}
	return true
}

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
		func(r reference) bool { return r.hidden == "" && l.defines(x, r) },
	)
}

// fetch extracts the members of a static library that define open references. GNU ld does that
// for references of shared libraries too.
func (l *link) fetch(a archive) {
	for i := range l.open {
		if r := &l.open[i]; r.hidden == "" && r.Version == "" && a.has(l.platform, r.Name) {
			r.hidden = a.name
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
				l.from[l.entries[x].Library] = by
				l.reads(l.entries[x].Library)
			} else if needed := by.Needed[k]; !by.System && !slices.ContainsFunc(l.result.Missing,
				func(m Missing) bool {
					return m.Name == needed
				}) {
				l.result.Missing = append(l.result.Missing, Missing{needed, by})
			}
		}
	}
	hidden := map[place]string{}
	closer := map[*Library][]int32{}
	for _, r := range l.open {
		switch {
		case r.Kind == "tls" && !l.satisfied(r):
			closer[r.by] = append(closer[r.by], r.at)
			hidden[place{r.by, r.at}] = r.hidden
		case r.hidden != "":
			hidden[place{r.by, r.at}] = r.hidden
		}
	}
	l.open = nil
	for n, lib := range l.read {
		if lib.Imports.Len() == 0 {
			continue
		}
		open := l.undefined(l.number[lib], linking, l.has)
		if n < of {
			l.addOpen(lib, append(open, closer[lib]...), hidden)
		} else {
			l.refer(lib, open)
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
	if !l.line.Shared && !l.line.AllowUndefined && !l.line.IgnoreInShared {
		l.result.Problems = slices.Grow(l.result.Problems, len(l.open))
	}
	for _, r := range l.open {
		switch {
		case !slices.Contains(of, r.by):
		case r.hidden != "":
			// Any definition in a shared library suffices, even one for old programs only, such as
			// pthread_atfork in glibc 2.34 and later.
			if !l.line.Shared &&
				!slices.ContainsFunc(
					l.of(l.names.Query(r.query).Name),
					func(d symindex.Row) bool { return l.has[d.Table] },
				) {
				l.report(Problem{Kind: Hidden, Import: r.Import, By: r.by, In: r.hidden})
			}
		case (unknown || absent) && l.undecided(r.Import, unknown):
			l.result.Undecided = append(l.result.Undecided, r.Import)
		case !l.line.Shared && !l.line.AllowUndefined && !l.line.IgnoreInShared:
			l.report(Problem{Kind: Undefined, Import: r.Import, By: r.by, Missing: l.missing(r.Import)})
		}
	}
}

// report adds a problem. A symbol table may contain a name twice.
func (l *link) report(p Problem) {
	for x := p.By; x != nil && len(p.Chain) < len(l.read); x = l.from[x] {
		p.Chain = slices.Insert(p.Chain, 0, x)
	}
	if last := len(l.result.Problems) - 1; last < 0 || l.result.Problems[last].Import != p.Import ||
		l.result.Problems[last].By != p.By {
		l.result.Problems = append(l.result.Problems, p)
	}
}

// undecided reports whether a library with unknown exports may define the reference. A required
// version identifies the library, which may be known. If unknown is false, a missing library is
// assumed not to define symbols of the platform: dlopen belongs to libdl.
func (l *link) undecided(i elfobj.Import, unknown bool) bool {
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

// missing returns the library that should define the reference and was not found, or "".
func (l *link) missing(i elfobj.Import) string {
	for _, m := range l.result.Missing {
		if i.Library == "" || i.Library == m.Name {
			return m.Name
		}
	}
	return ""
}

// mayBeInstalled reports whether a driver or a system package is known to provide a library, so
// that the linking machine may have it.
func mayBeInstalled(name string) bool {
	_, ok := platform.Known(name)
	return ok
}
