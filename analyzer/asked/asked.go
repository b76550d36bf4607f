// Package asked numbers what a set of objects imports, so that who defines a symbol is found once, and not again in each load, each link and each
// trial of a fix: with hundreds of libraries, as in vtk's wheel, that is billions of questions.
//
//	names := asked.New()
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

// Names numbers names and questions. Lists are known by where they lie and must not change. It is for one goroutine.
type Names struct {
	Questions []Question

	names   map[string]int32
	numbers map[question]int32
	lists   map[list][]int32
	hits    map[*elfobj.Export][]Hit
}

type question struct {
	name    int32
	version string
}

type list struct {
	first *elfobj.Import
	bare  bool
}

// New makes an empty numbering.
func New() *Names {
	return &Names{names: map[string]int32{}, numbers: map[question]int32{}, lists: map[list][]int32{}, hits: map[*elfobj.Export][]Hit{}}
}

// Of gives the number of the question that each import asks; bare: without its version.
func (n *Names) Of(imports []elfobj.Import, bare bool) []int32 {
	if len(imports) == 0 {
		return nil
	}
	key := list{&imports[0], bare}
	if known := n.lists[key]; len(known) >= len(imports) {
		return known[:len(imports)]
	}
	out := make([]int32, len(imports))
	for i := range imports {
		version := imports[i].Version
		if bare {
			version = ""
		}
		out[i] = n.ask(imports[i].Name, version)
	}
	n.lists[key] = out
	return out
}

func (n *Names) ask(symbol, version string) int32 {
	name, ok := n.names[symbol]
	if !ok {
		name = int32(len(n.names))
		n.names[symbol] = name
		clear(n.hits) // a name that nobody asked for before
	}
	key := question{name, version}
	q, ok := n.numbers[key]
	if !ok {
		q = int32(len(n.Questions))
		n.numbers[key] = q
		n.Questions = append(n.Questions, Question{name, symbol, version})
	}
	return q
}

// In lists the exports that are asked for so far, in their order.
func (n *Names) In(exports []elfobj.Export) []Hit {
	if len(exports) == 0 {
		return nil
	}
	known, ok := n.hits[&exports[0]]
	if !ok {
		for i := range exports {
			if name, asked := n.names[exports[i].Name]; asked {
				known = append(known, Hit{name, int32(i)})
			}
		}
		n.hits[&exports[0]] = known
	}
	return known
}

// Name is the number of a name, -1 for one that nobody asks for.
func (n *Names) Name(symbol string) int32 {
	if name, ok := n.names[symbol]; ok {
		return name
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
		if number, ok := n.names[name]; ok {
			yield(number)
		}
	}
}

// Len is how many names there are.
func (n *Names) Len() int { return len(n.names) }
