package elfobj

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"sync"
)

// Exports are the defined symbols of an object, in table order, in rows of 20 bytes. nil is an
// empty list. A list does not change.
type Exports struct {
	names    *Names
	versions []string // of rows; the first is none
	rows     []exportRow

	sort sync.Once
	// places in rows by number of the name, then place; made when a single name is asked for
	byName []int32
}

type exportRow struct {
	name, version        uint32
	size                 [2]uint32 // low and high half
	relocs               Relocs
	kind                 uint8
	hidden, weak, unique bool
}

// NewExports makes a list. A Kind that is none of a symbol's becomes "".
func NewExports(list ...Export) *Exports {
	l := &Exports{names: NewNames(), rows: make([]exportRow, 0, len(list))}
	versions := newNumbered[string]()
	l.names.fill(func(add func(string, bool) uint32) {
		for _, e := range list {
			l.rows = append(
				l.rows,
				exportRow{
					add(e.Name, false),
					versions.of(e.Version),
					halves(e.Size),
					e.Relocs,
					KindNumber(e.Kind),
					e.Hidden,
					e.Weak,
					e.Unique,
				},
			)
		}
	})
	l.versions = versions.list
	return l
}

func halves(size uint64) [2]uint32 { return [2]uint32{uint32(size), uint32(size >> 32)} }

// Len is how many there are.
func (l *Exports) Len() int {
	if l == nil {
		return 0
	}
	return len(l.rows)
}

// At is one of them, by its place from 0.
func (l *Exports) At(n int) Export {
	r := &l.rows[n]
	return Export{
		l.names.Name(r.name),
		l.versions[r.version],
		r.hidden,
		r.weak,
		r.unique,
		r.relocs,
		kinds[r.kind],
		uint64(r.size[0]) | uint64(r.size[1])<<32,
	}
}

// Any tells whether one of their names is as asked.
func (l *Exports) Any(is func(name string) bool) bool {
	return l != nil &&
		slices.ContainsFunc(l.rows, func(r exportRow) bool { return is(l.names.Name(r.name)) })
}

// Name is At without the rest.
func (l *Exports) Name(n int) string { return l.names.Name(l.rows[n].name) }

// Version is At without the rest.
func (l *Exports) Version(n int) string { return l.versions[l.rows[n].version] }

// All gives each with its place.
func (l *Exports) All() iter.Seq2[int, Export] {
	return func(yield func(int, Export) bool) {
		for n := range l.Len() {
			if !yield(n, l.At(n)) {
				return
			}
		}
	}
}

// List gives them as a slice of their own.
func (l *Exports) List() []Export {
	out := make([]Export, 0, l.Len())
	for _, e := range l.All() {
		out = append(out, e)
	}
	return out
}

// Versions lists the versions that they have, each once, without "".
func (l *Exports) Versions() []string {
	if l == nil {
		return nil
	}
	return l.versions[1:]
}

// Named gives the places of those that have a name, in their order.
func (l *Exports) Named(name string) []int32 {
	if l == nil {
		return nil
	}
	number, ok := l.names.Find(name)
	if !ok {
		return nil
	}
	l.sort.Do(func() {
		l.byName = make([]int32, len(l.rows))
		for n := range l.byName {
			l.byName[n] = int32(n)
		}
		slices.SortFunc(l.byName, func(a, b int32) int {
			return cmp.Or(cmp.Compare(l.rows[a].name, l.rows[b].name), cmp.Compare(a, b))
		})
	})
	compare := func(place int32, number uint32) int { return cmp.Compare(l.rows[place].name, number) }
	from, _ := slices.BinarySearchFunc(l.byName, number, compare)
	to, _ := slices.BinarySearchFunc(l.byName, number+1, compare)
	return l.byName[from:to]
}

// Equal tells whether two lists say the same in the same order.
func (l *Exports) Equal(other *Exports) bool {
	if l.Len() != other.Len() {
		return false
	}
	for n, e := range l.All() {
		if e != other.At(n) {
			return false
		}
	}
	return true
}

// Names is the set in which their names are numbered.
func (l *Exports) Names() *Names { return l.names }

// Number is the number of an export's name, by its place.
func (l *Exports) Number(n int) uint32 { return l.rows[n].name }

// MarshalJSON makes an array of Export.
func (l *Exports) MarshalJSON() ([]byte, error) { return json.Marshal(l.List()) }

// UnmarshalJSON takes what MarshalJSON makes.
func (l *Exports) UnmarshalJSON(b []byte) error {
	var list []Export
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	made := NewExports(list...)
	l.names, l.versions, l.rows = made.names, made.versions, made.rows
	return nil
}

// JSONItem is what MarshalJSON makes an array of.
func (*Exports) JSONItem() any { return Export{} }

// Imports are the undefined symbols of an object, in table order. An object of a C++ project has
// tens of thousands, so they lie in rows of 12 bytes and without pointers. nil is an empty list. A
// list does not change.
type Imports struct {
	names    *Names
	versions []version // of rows; the first is none
	rows     []importRow
}

type importRow struct {
	name, version uint32
	relocs        Relocs
	kind          uint8
	weak          bool
}

// NewImports makes a list. A Kind that is none of a symbol's becomes "".
func NewImports(list ...Import) *Imports {
	l := &Imports{names: NewNames(), rows: make([]importRow, 0, len(list))}
	versions := newNumbered[version]()
	l.names.fill(func(add func(string, bool) uint32) {
		for _, i := range list {
			l.rows = append(
				l.rows,
				importRow{
					add(i.Name, false),
					versions.of(version{i.Version, i.Library}),
					i.Relocs,
					KindNumber(i.Kind),
					i.Weak,
				},
			)
		}
	})
	l.versions = versions.list
	return l
}

// Len is how many there are.
func (l *Imports) Len() int {
	if l == nil {
		return 0
	}
	return len(l.rows)
}

// At is one of them, by its place from 0.
func (l *Imports) At(n int) Import {
	r := &l.rows[n]
	v := &l.versions[r.version]
	return Import{l.names.Name(r.name), v.name, v.library, r.weak, r.relocs, kinds[r.kind]}
}

// All gives each with its place.
func (l *Imports) All() iter.Seq2[int, Import] {
	return func(yield func(int, Import) bool) {
		for n := range l.Len() {
			if !yield(n, l.At(n)) {
				return
			}
		}
	}
}

// List gives them as a slice of their own.
func (l *Imports) List() []Import {
	out := make([]Import, 0, l.Len())
	for _, i := range l.All() {
		out = append(out, i)
	}
	return out
}

// Any tells whether one of their names is as asked.
func (l *Imports) Any(is func(name string) bool) bool {
	return l != nil &&
		slices.ContainsFunc(l.rows, func(r importRow) bool { return is(l.names.Name(r.name)) })
}

// Names is the set in which their names are numbered.
func (l *Imports) Names() *Names { return l.names }

// Asks gives the number of an import's name, and its version, by its place.
func (l *Imports) Asks(n int) (name uint32, version string) {
	r := &l.rows[n]
	return r.name, l.versions[r.version].name
}

// MarshalJSON makes an array of Import.
func (l *Imports) MarshalJSON() ([]byte, error) { return json.Marshal(l.List()) }

// UnmarshalJSON takes what MarshalJSON makes.
func (l *Imports) UnmarshalJSON(b []byte) error {
	var list []Import
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	made := NewImports(list...)
	l.names, l.versions, l.rows = made.names, made.versions, made.rows
	return nil
}

// JSONItem is what MarshalJSON makes an array of.
func (*Imports) JSONItem() any { return Import{} }
