// Package symindex numbers what a set of objects imports, so that who defines a symbol is found
// once, and not again in each load, each link and each trial of a fix: with hundreds of libraries,
// as in vtk's wheel, that is billions of questions.
//
//	names := symindex.New(elfobj.NewNames())
//	for n, q := range names.Of(object.Imports, false) { … }  // q is the question that import n asks
//	for _, hit := range names.In(other.Exports) { … }         // the exports that somebody asks for
//
// It knows names and versions only; what answers them is up to the linker that asks.
package symindex

import (
	"iter"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Question is a reference to a symbol; Version is "" for one without.
type Question struct {
	Name    int32 // number of the symbol's name
	Symbol  string
	Version string
}

// Hit is an export whose name is asked for.
type Hit struct {
	Name   int32
	Export int32 // its place in the list
}

// Names numbers names and questions. Lists are known by where they lie. It is for one goroutine.
type Names struct {
	kept      *elfobj.Names
	numbers   []int32 // by number in kept, +1; 0: nobody asks for it
	questions []question
	first     []int32 // by number of the name: the first question about it
	more      map[nameVersion]int32
	versions  []string // of questions
	version   map[string]int32
	lists     map[list][]int32
	hits      map[*elfobj.Exports][]Hit
}

type question struct {
	kept uint32
	nameVersion
}

type nameVersion struct{ name, version int32 }

type list struct {
	imports *elfobj.Imports
	bare    bool
}

// New makes an empty numbering on top of a set of names, best the one that the objects were read
// among.
func New(kept *elfobj.Names) *Names {
	return &Names{
		kept:    kept,
		more:    map[nameVersion]int32{},
		version: map[string]int32{},
		lists:   map[list][]int32{},
		hits:    map[*elfobj.Exports][]Hit{},
	}
}

// Len is how many names are asked for; their numbers are below it.
func (n *Names) Len() int { return len(n.first) }

// Question is what a number asks.
func (n *Names) Question(number int32) Question {
	q := &n.questions[number]
	return Question{q.name, n.kept.Name(q.kept), n.versions[q.version]}
}

// Of gives the number of the question that each import asks; bare: without its version.
func (n *Names) Of(imports *elfobj.Imports, bare bool) []int32 {
	if imports.Len() == 0 {
		return nil
	}
	key := list{imports, bare}
	if known, ok := n.lists[key]; ok {
		return known
	}
	out := make([]int32, imports.Len())
	foreign := imports.Names() != n.kept
	for i := range out {
		name, version := imports.NameAndVersion(i)
		if foreign {
			name = n.kept.Add(imports.Names().Name(name))
		}
		if bare {
			version = ""
		}
		out[i] = n.ask(name, version)
	}
	n.lists[key] = out
	return out
}

func (n *Names) ask(kept uint32, version string) int32 {
	if len(n.numbers) < n.kept.Len() {
		n.numbers = append(n.numbers, make([]int32, n.kept.Len()-len(n.numbers))...)
	}
	v, ok := n.version[version]
	if !ok {
		v = int32(len(n.versions))
		n.version[version], n.versions = v, append(n.versions, version)
	}
	if name := n.numbers[kept] - 1; name >= 0 && n.questions[n.first[name]].version == v {
		return n.first[name]
	}
	number := int32(len(n.questions))
	if n.numbers[kept] == 0 {
		n.first = append(n.first, number)
		n.numbers[kept] = int32(len(n.first))
		clear(n.hits) // a name that nobody asked for before
	}
	key := nameVersion{n.numbers[kept] - 1, v}
	if number != n.first[key.name] {
		if known, ok := n.more[key]; ok {
			return known
		}
		n.more[key] = number
	}
	n.questions = append(n.questions, question{kept, key})
	return number
}

// In lists the exports that are asked for so far, in their order.
func (n *Names) In(exports *elfobj.Exports) []Hit {
	if exports.Len() == 0 {
		return nil
	}
	known, ok := n.hits[exports]
	if !ok {
		foreign := exports.Names() != n.kept
		for i := range exports.Len() {
			number := int32(-1)
			if foreign {
				number = n.Name(exports.Name(i))
			} else if kept := exports.Number(i); int(kept) < len(n.numbers) {
				number = n.numbers[kept] - 1
			}
			if number >= 0 {
				known = append(known, Hit{number, int32(i)})
			}
		}
		n.hits[exports] = known
	}
	return known
}

// Name is the number of a name, -1 for one that nobody asks for.
func (n *Names) Name(symbol string) int32 {
	if kept, ok := n.kept.Find(symbol); ok && int(kept) < len(n.numbers) {
		return n.numbers[kept] - 1
	}
	return -1
}

// Each calls yield with the number of each name of a library that is asked for. symbols gives names
// with versions, those of one name after each other.
func (n *Names) Each(symbols iter.Seq2[string, string], yield func(name int32)) {
	last := ""
	for name := range symbols {
		if name == last {
			continue
		}
		last = name
		if number := n.Name(name); number >= 0 {
			yield(number)
		}
	}
}
