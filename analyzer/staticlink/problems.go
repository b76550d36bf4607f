package staticlink

import (
	"iter"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Kind is the kind of a linker error.
type Kind uint8

const (
	// Undefined is an undefined reference.
	Undefined Kind = iota
	// Hidden is a symbol of a static library or a start file, referenced by a shared library.
	Hidden
	// TLSMismatch is a thread-local reference to a definition that is not thread-local.
	TLSMismatch
	// Undecided is no error: a library with unknown exports may define the symbol.
	Undecided
)

func (k Kind) String() string {
	return [...]string{"undefined reference", "hidden symbol", "TLS mismatch", "undecided"}[k]
}

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

// Problems is a list of problems, in which a symbol version can occur several times. It takes 24
// bytes for each, without pointers. The zero value is empty.
type Problems struct {
	lists []*problemList // of different links
}

// problemList contains problems of one link.
type problemList struct {
	of       *Result
	problems []problem
	queries  []int32 // of the problems, sorted; nil until Has is called
}

// problem has the values from which Problem is made.
type problem struct {
	reference
	kind Kind
	in   int32 // for Hidden an index in archives, for TLSMismatch the number of the library
}

func newProblems(of *Result, problems []problem) Problems {
	if len(problems) == 0 {
		return Problems{}
	}
	return Problems{[]*problemList{{of: of, problems: problems}}}
}

// Len returns the number of problems.
func (p Problems) Len() int {
	n := 0
	for _, l := range p.lists {
		n += len(l.problems)
	}
	return n
}

// All iterates over the problems.
func (p Problems) All() iter.Seq[Problem] {
	return func(yield func(Problem) bool) {
		for _, l := range p.lists {
			for _, x := range l.problems {
				if !yield(l.of.problem(x)) {
					return
				}
			}
		}
	}
}

// Has reports whether there is a problem with a symbol version.
func (p Problems) Has(symbol, version string) bool {
	for _, l := range p.lists {
		if query, ok := l.of.system.names.Find(symbol, version); ok && l.has(query) {
			return true
		}
	}
	return false
}

func (l *problemList) has(query int32) bool {
	if l.queries == nil {
		l.queries = make([]int32, len(l.problems))
		for n, x := range l.problems {
			l.queries[n] = x.query
		}
		slices.Sort(l.queries)
	}
	_, ok := slices.BinarySearch(l.queries, query)
	return ok
}

// WithFatal returns these problems and those of a link without flags that remain when the program
// of this link is started. Both links must be of systems with the same names.
func (p Problems) WithFatal(without Problems, start *Start) Problems {
	out := Problems{slices.Clip(p.lists)}
	for _, l := range without.lists {
		var left []problem
		for _, x := range l.problems {
			if start.lacks(x.query) &&
				!slices.ContainsFunc(p.lists, func(o *problemList) bool { return o.has(x.query) }) {
				left = append(left, x)
			}
		}
		out.lists = append(out.lists, newProblems(l.of, left).lists...)
	}
	return out
}

// problem returns a problem of the link.
func (r *Result) problem(x problem) Problem {
	by := r.system.entries[x.by].Library
	p := Problem{Kind: x.kind, Import: r.system.importOf(x.reference), By: by}
	for l := by; l != nil && len(p.Chain) < len(r.read); l = r.from[l] {
		p.Chain = append(p.Chain, l)
	}
	slices.Reverse(p.Chain)
	switch x.kind {
	case Hidden:
		p.In = archives[x.in].name
	case TLSMismatch:
		p.In = r.system.entries[x.in].names()[0]
	case Undefined:
		i := slices.IndexFunc(r.Missing, func(m Missing) bool {
			return p.Import.Library == "" || p.Import.Library == m.Name
		})
		if i >= 0 {
			p.Missing = r.Missing[i].Name
		}
	}
	return p
}
