package staticlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Kind says what a linker complains of.
type Kind string

const (
	Undefined Kind = "undefined reference"
	// of a static library or the start files, referred to by a shared library
	Hidden      Kind = "hidden symbol"
	TLSMismatch Kind = "TLS mismatch" // a thread-local reference to a definition that is not
)

// Problem is one symbol that a linker refuses.
type Problem struct {
	Kind   Kind
	Import elfobj.Import
	// the library that refers to it: the one linked against, or one that its needs lead to
	By    *Library
	In    string     // of Hidden the file that has it, of TLSMismatch the library
	Chain []*Library // who needs whom, from the library linked against to By
	// Missing is the library that should have it and was not found: the one its version names, or
	// the first missing one; "" where none is.
	Missing string
}

// Missing is a DT_NEEDED entry that the linker did not find: "NAME, needed by BY, not found (try
// using -rpath or -rpath-link)".
type Missing struct {
	Name string
	By   *Library
}

// Result is the outcome of a link.
type Result struct {
	Problems []Problem // in order of libraries read, and of their tables; empty: it links
	Missing  []Missing // a warning by itself
	Absent   []string  // libraries that the line names and that are nowhere: "cannot find -lX"
	// Undecided are imports that a library may define of which only the name is known.
	Undecided []elfobj.Import
	Needed    []string // DT_NEEDED of the program, where it links

	read  []*Library
	place map[question]int // of the first problem of each reference; nil until Problem is asked
}

// Reads tells whether the linker read a library.
func (r *Result) Reads(l *Library) bool { return slices.Contains(r.read, l) }

// Only tells whether everything that the linker read is of a kind.
func (r *Result) Only(kind func(*Library) bool) bool {
	return !slices.ContainsFunc(r.read, func(l *Library) bool { return !kind(l) })
}

// Failed tells whether the link fails.
func (r *Result) Failed() bool { return len(r.Problems)+len(r.Absent) > 0 }

// Problem finds what a result says of a reference, nil when nothing.
func (r *Result) Problem(i elfobj.Import) *Problem {
	if r.place == nil {
		r.place = make(map[question]int, len(r.Problems))
		for n, p := range slices.Backward(r.Problems) {
			r.place[question{p.Import.Name, p.Import.Version}] = n
		}
	}
	if n, ok := r.place[question{i.Name, i.Version}]; ok {
		return &r.Problems[n]
	}
	return nil
}

// question is a reference in a result.
type question struct{ name, version string }

// Link links a neutral program against lib.
func (s *System) Link(by Linker, lib *Library, line Line) *Result {
	s.learn(lib)
	l := &link{
		System:   s,
		line:     line,
		from:     map[*Library]*Library{},
		has:      make([]bool, len(s.entries)),
		answered: make([]bool, s.needed),
		result:   &Result{},
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

// link is one link under way.
type link struct {
	*System
	line     Line
	read     []*Library // whose symbols are in the table
	has      []bool     // the same, by number
	answered []bool     // by number of a name: something that was read answers to it
	// strong references that nothing read so far defines; until all is read only those that matter
	// before, but for whole
	open []reference
	// the line has libraries that only a look at all references keeps or drops
	whole  bool
	from   map[*Library]*Library // who needs a library that was read for that
	result *Result
}

// reference is an import of a library.
type reference struct {
	elfobj.Import
	by       *Library
	at       int32 // its place among the library's imports
	question int32
	hidden   string // the static library whose hidden symbol serves it, for want of a better one
}

// place is where a reference comes from.
type place struct {
	by *Library
	at int32
}

// reads puts a library into the table, without a look at what it refers to, and tells whether it is
// new.
func (l *link) reads(lib *Library) bool {
	n := l.number[lib]
	if l.has[n] {
		return false
	}
	l.read, l.has[n] = append(l.read, lib), true
	for _, name := range l.entries[n].answers {
		l.answered[name] = true
	}
	return true
}

// add reads a library of the line; keep: the program will need it.
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
	l.open = slices.DeleteFunc(l.open, func(r reference) bool { return l.serves(lib, r) })
	if lib.Imports.Len() > 0 {
		w := l.imports(l.number[lib], linking)
		strong := w.strong
		if !l.whole {
			strong = w.early
		}
		l.refer(
			lib,
			slices.DeleteFunc(
				slices.Clone(strong),
				func(n int32) bool { return l.defined(w.questions[n]) },
			),
		)
	}
}

// refer adds what a library refers to and nothing that was read defines: of its strong imports
// those that are open.
func (l *link) refer(lib *Library, open []int32) {
	w := l.imports(l.number[lib], linking)
	for _, n := range w.closer {
		if !l.served(
			reference{Import: lib.Imports.At(int(n)), by: lib, at: n, question: w.questions[n]},
		) {
			open = append(open, n)
		}
	}
	l.leave(lib, open, nil)
}

// leave adds open references, by their places; hidden has those that a static library serves.
func (l *link) leave(lib *Library, open []int32, hidden map[place]string) {
	w := l.imports(l.number[lib], linking)
	slices.Sort(open)
	for _, n := range open {
		l.open = append(
			l.open,
			reference{
				Import:   lib.Imports.At(int(n)),
				by:       lib,
				at:       n,
				question: w.questions[n],
				hidden:   hidden[place{lib, n}],
			},
		)
	}
}

// defined tells whether a library that was read defines what a question asks for.
func (l *link) defined(question int32) bool {
	return slices.ContainsFunc(
		l.definers(question, linking),
		func(d int32) bool { return l.has[d] },
	)
}

// served tells whether a library that was read defines what is referred to. The first one read
// does, which matters where its kind may be wrong.
func (l *link) served(r reference) bool {
	if r.Kind != "tls" {
		return l.defined(r.question)
	}
	return slices.ContainsFunc(l.read, func(x *Library) bool { return l.serves(x, r) })
}

// defines tells whether a library defines what is referred to.
func (l *link) defines(x *Library, r reference) bool {
	return slices.Contains(l.definers(r.question, linking), l.number[x])
}

// serves tells the same, and notes a definition of the wrong kind.
func (l *link) serves(x *Library, r reference) bool {
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

// gnu is GNU ld: the line from left to right, then what the libraries need.
func (l *link) gnu(lib *Library) {
	l.whole = slices.ContainsFunc(l.line.After, func(n Named) bool { return n.AsNeeded })
	for _, n := range l.expand(l.line.Before) {
		if !n.AsNeeded { // nothing is undefined yet, so that --as-needed drops all
			l.add(n.library, true)
		}
	}
	l.add(lib, true)
	for _, n := range l.expand(l.line.After) {
		if !n.AsNeeded || l.wants(n.library) {
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
	l.judge(l.read)
}

// found is a library that the line names.
type found struct {
	Named
	library *Library
}

// expand finds what is named, with what linker scripts add.
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
	if x := l.provided(soname); x != nil && l.wants(x) {
		l.add(x, true)
	}
}

// wants tells whether a library is kept under --as-needed: it defines what is undefined so far, and
// no library read so far needs it by itself (bfd/elflink.c, on_needed_list).
func (l *link) wants(x *Library) bool {
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

// fetch takes the members of a static library that are asked for: a shared library's reference is
// enough for GNU ld.
func (l *link) fetch(a archive) {
	for i := range l.open {
		if r := &l.open[i]; r.hidden == "" && r.Version == "" && a.has(l.platform, r.Name) {
			r.hidden = a.name
		}
	}
}

// follow reads what the libraries need, and what those need.
func (l *link) follow() {
	of := len(l.read)
	for n := 0; n < len(l.read); n++ {
		by := l.read[n]
		number := l.number[by]
		for k, name := range l.entries[number].needs {
			if l.answered[name] {
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
		case r.Kind == "tls" && !l.served(r):
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
		open := l.unserved(l.number[lib], linking, l.has)
		if n < of {
			l.leave(lib, append(open, closer[lib]...), hidden)
		} else {
			l.refer(lib, open)
		}
	}
}

// judge sums up what is still open of some libraries.
func (l *link) judge(of []*Library) {
	unknown := slices.ContainsFunc(l.read, func(x *Library) bool { return !x.Known })
	absent := slices.ContainsFunc(
		l.result.Missing,
		func(m Missing) bool { return bringable(m.Name) },
	)
	for _, r := range l.open {
		switch {
		case !slices.Contains(of, r.by):
		case r.hidden != "":
			// Any definition of a shared library spares it, were it for old programs only:
			// pthread_atfork of glibc 2.34 and later.
			if !l.line.Shared &&
				!slices.ContainsFunc(
					l.of(l.names.Question(r.question).Name),
					func(d symindex.Row) bool { return l.has[d.Table] },
				) {
				l.report(Problem{Kind: Hidden, Import: r.Import, By: r.by, In: r.hidden})
			}
		case (unknown || absent) && l.undecided(r.Import, unknown):
			l.result.Undecided = append(l.result.Undecided, r.Import)
		case !l.line.Shared && !l.line.AllowUndefined && !l.line.IgnoreInShared:
			l.report(
				Problem{Kind: Undefined, Import: r.Import, By: r.by, Missing: l.missing(r.Import)},
			)
		}
	}
}

// report adds a problem. A table may hold a name twice.
func (l *link) report(p Problem) {
	for x := p.By; x != nil && len(p.Chain) < len(l.read); x = l.from[x] {
		p.Chain = slices.Insert(p.Chain, 0, x)
	}
	if last := len(l.result.Problems) - 1; last < 0 || l.result.Problems[last].Import != p.Import ||
		l.result.Problems[last].By != p.By {
		l.result.Problems = append(l.result.Problems, p)
	}
}

// undecided tells whether a library of which only the name is known may define the reference. A
// version is its own library's, and that may be known. A library that is not even there (unknown is
// false) is not thought to define what the platform's own ones do: dlopen is libdl's.
func (l *link) undecided(i elfobj.Import, unknown bool) bool {
	if i.Library == "" {
		return unknown ||
			!slices.ContainsFunc(
				l.platform.Libraries(),
				func(p *platform.Library) bool { _, ok := p.Default(i.Name); return ok },
			)
	}
	for _, x := range l.read {
		if x.AnswersTo(i.Library) {
			return !x.Known
		}
	}
	return bringable(i.Library)
}

// missing names the library that should define the reference and was not found.
func (l *link) missing(i elfobj.Import) string {
	for _, m := range l.result.Missing {
		if i.Library == "" || i.Library == m.Name {
			return m.Name
		}
	}
	return ""
}

// bringable tells whether a driver or a system package is known to bring a library, so that a
// machine that links may have it.
func bringable(name string) bool {
	_, ok := platform.Known(name)
	return ok
}
