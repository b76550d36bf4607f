// Package asked numbers what a set of objects imports, so that who defines a symbol is found once, and not again in each load, each link and each
// trial of a fix: with hundreds of libraries, as in vtk's wheel, that is billions of questions.
//
//	names := asked.New(elfobj.NewNames())
//	for n, q := range names.Of(object.Imports, false) { … }  // q is the question that import n asks
//	for _, hit := range names.In(other.Exports) { … }         // the exports that somebody asks for
//
// It knows names and versions only; what answers them is up to the linker that asks.
package asked

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
	Questions []Question

	kept    *elfobj.Names
	numbers []int32 // by number in kept, +1; 0: nobody asks for it
	count   int     // of the names that are asked for
	known   map[question]int32
	lists   map[list][]int32
	hits    map[*elfobj.Exports][]Hit
}

type question struct {
	name    int32
	version string
}

type list struct {
	imports *elfobj.Imports
	bare    bool
}

// New makes an empty numbering on top of a set of names, best the one that the objects were read among.
func New(kept *elfobj.Names) *Names {
	return &Names{kept: kept, known: map[question]int32{}, lists: map[list][]int32{}, hits: map[*elfobj.Exports][]Hit{}}
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
		name, version := imports.Asks(i)
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
	if more := int(kept) + 1 - len(n.numbers); more > 0 {
		n.numbers = append(n.numbers, make([]int32, n.kept.Len()-len(n.numbers))...)
	}
	if n.numbers[kept] == 0 {
		n.count++
		n.numbers[kept] = int32(n.count)
		clear(n.hits) // a name that nobody asked for before
	}
	key := question{n.numbers[kept] - 1, version}
	q, ok := n.known[key]
	if !ok {
		q = int32(len(n.Questions))
		n.known[key] = q
		n.Questions = append(n.Questions, Question{key.name, n.kept.Name(kept), version})
	}
	return q
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

// Each calls yield with the number of each name of a library that is asked for. symbols gives names with versions, those of one name after each other.
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

// Len is how many names are asked for.
func (n *Names) Len() int { return n.count }
