// Package symindex numbers the symbols that a set of objects imports, so that the definitions
// of a symbol are looked up once instead of in each load, link and trial of a fix. With
// hundreds of libraries, as in vtk's wheel, these would be billions of lookups.
//
//	names := symindex.New(elfobj.NewNames())
//	for n, q := range names.Of(object.Imports, false) { … }  // import n is query q
//	for _, hit := range names.In(other.Exports) { … }         // exports whose names are imported
//
// It only handles names and versions. The caller decides which definition satisfies a query.
package symindex

import (
	"iter"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Query is a reference to a symbol; Version is "" if it has none.
type Query struct {
	Name    int32 // number of the symbol's name
	Symbol  string
	Version string
}

// Hit is an export whose name is imported.
type Hit struct {
	Name   int32
	Export int32 // index in the list
}

// Names numbers names and queries. Lists are identified by their address. It is not safe for
// concurrent use.
type Names struct {
	kept     *elfobj.Names
	numbers  []*page // by number in kept; nil where none of a page is imported
	queries  []query
	first    []int32 // by number of the name: the first query for it
	more     map[nameVersion]int32
	versions []string // versions of queries
	version  map[string]int32
	lists    map[list][]int32
	hits     map[*elfobj.Exports][]Hit
	defined  map[any]defined // by library
}

// page has the numbers of consecutive names in Names.kept, plus 1; 0 for those that are not
// imported. The objects of an artifact import few of the names of an environment, most of them
// consecutive.
type page [pageSize]int32

const pageSize = 128

// defined are the names that a library defines, of the first names.
type defined struct {
	of    int
	names []int32
}

type query struct {
	kept uint32
	nameVersion
}

type nameVersion struct{ name, version int32 }

type list struct {
	imports *elfobj.Imports
	bare    bool
}

// New returns an empty numbering for a table of names, preferably the one with which the
// objects were read.
func New(kept *elfobj.Names) *Names {
	return &Names{
		kept:    kept,
		more:    map[nameVersion]int32{},
		version: map[string]int32{},
		lists:   map[list][]int32{},
		hits:    map[*elfobj.Exports][]Hit{},
		defined: map[any]defined{},
	}
}

// Len returns the number of imported names. Numbers are 0 to Len()-1.
func (n *Names) Len() int { return len(n.first) }

// Query returns the query with a number.
func (n *Names) Query(number int32) Query {
	q := &n.queries[number]
	return Query{q.name, n.kept.Name(q.kept), n.versions[q.version]}
}

// Of returns the query number of each import. If bare is set, versions are ignored.
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
		out[i] = n.add(name, version)
	}
	n.lists[key] = out
	return out
}

func (n *Names) add(kept uint32, version string) int32 {
	v, ok := n.version[version]
	if !ok {
		v = int32(len(n.versions))
		n.version[version], n.versions = v, append(n.versions, version)
	}
	name := n.number(kept)
	if name >= 0 && n.queries[n.first[name]].version == v {
		return n.first[name]
	}
	number := int32(len(n.queries))
	if name < 0 {
		name = int32(len(n.first))
		n.first = append(n.first, number)
		n.set(kept, name)
		clear(n.hits) // a new name: what is cached is incomplete
	}
	key := nameVersion{name, v}
	if number != n.first[key.name] {
		if known, ok := n.more[key]; ok {
			return known
		}
		n.more[key] = number
	}
	n.queries = append(n.queries, query{kept, key})
	return number
}

// number returns the number of a name by that in kept, or -1 if it is not imported.
func (n *Names) number(kept uint32) int32 {
	if at := int(kept / pageSize); at < len(n.numbers) && n.numbers[at] != nil {
		return n.numbers[at][kept%pageSize] - 1
	}
	return -1
}

func (n *Names) set(kept uint32, number int32) {
	at := int(kept / pageSize)
	if at >= len(n.numbers) {
		n.numbers = append(n.numbers, make([]*page, at+1-len(n.numbers))...)
	}
	if n.numbers[at] == nil {
		n.numbers[at] = &page{}
	}
	n.numbers[at][kept%pageSize] = number + 1
}

// Find returns the number of the query for a symbol version, if something imports it.
func (n *Names) Find(symbol, version string) (number int32, ok bool) {
	name := n.Name(symbol)
	v, known := n.version[version]
	if name < 0 || !known {
		return 0, false
	}
	if first := n.first[name]; n.queries[first].version == v {
		return first, true
	}
	number, ok = n.more[nameVersion{name, v}]
	return number, ok
}

// In returns the exports whose names are imported so far, in order.
func (n *Names) In(exports *elfobj.Exports) []Hit {
	if exports.Len() == 0 {
		return nil
	}
	known, ok := n.hits[exports]
	if !ok {
		foreign := exports.Names() != n.kept
		for i := range exports.Len() {
			var number int32
			if foreign {
				number = n.Name(exports.Name(i))
			} else {
				number = n.number(exports.Number(i))
			}
			if number >= 0 {
				known = append(known, Hit{number, int32(i)})
			}
		}
		n.hits[exports] = known
	}
	return known
}

// Name returns the number of a name, or -1 if it is not imported.
func (n *Names) Name(symbol string) int32 {
	if kept, ok := n.kept.Find(symbol); ok {
		return n.number(kept)
	}
	return -1
}

// Library is a library whose symbols are not a list of exports. It identifies itself.
type Library interface {
	comparable
	// Symbols iterates over its names with versions; equal names are consecutive.
	Symbols() iter.Seq2[string, string]
	// Defines reports whether it has a symbol with a name.
	Defines(symbol string) bool
}

// fewNames is how many new names are looked up one by one. For more, all symbols of a library are
// read: the C library has 3,000.
const fewNames = 200

// Defined returns the numbers of the imported names that a library defines.
func Defined[L Library](n *Names, library L) []int32 {
	known := n.defined[library]
	switch all := n.Len(); {
	case known.of == all:
		return known.names
	case all-known.of <= fewNames:
		for number := known.of; number < all; number++ {
			if library.Defines(n.Query(n.first[number]).Symbol) {
				known.names = append(known.names, int32(number))
			}
		}
	default:
		known.names = nil
		last := ""
		for name := range library.Symbols() {
			if name == last {
				continue
			}
			last = name
			if number := n.Name(name); number >= 0 {
				known.names = append(known.names, number)
			}
		}
	}
	known.of = n.Len()
	n.defined[library] = known
	return known.names
}
