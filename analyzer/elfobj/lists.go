package elfobj

import (
	"cmp"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
)

// Exports is the list of the symbols that an object defines, in table order, with 20 bytes per
// symbol. nil is an empty list. A list is immutable.
type Exports struct {
	names    *Names   `compact:"names"`
	versions []string // of rows; the first is none
	rows     []exportRow

	sort sync.Once `compact:"-"`
	// Indexes of rows, sorted by number of the name and index; built at the first call of Named.
	byName []int32 `compact:"-"`
}

type exportRow struct {
	name                 uint32 `compact:"name"`
	version              uint32
	size                 [2]uint32 // low and high 32 bits
	relocs               Relocs
	kind                 uint8
	hidden, weak, unique bool
}

// Valid implements compact.Checked.
func (l *Exports) Valid() error {
	if slices.ContainsFunc(l.rows, func(r exportRow) bool {
		return int(r.version) >= len(l.versions) || int(r.kind) >= len(kinds)
	}) || len(l.versions) == 0 {
		return errors.New("an exported symbol has no such version or type")
	}
	return nil
}

// NewExports returns a list. An unknown Kind becomes "".
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

// Len returns the number of symbols.
func (l *Exports) Len() int {
	if l == nil {
		return 0
	}
	return len(l.rows)
}

// At returns symbol n, counted from 0.
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

// Any reports whether is returns true for a name in the list.
func (l *Exports) Any(is func(name string) bool) bool {
	return l != nil &&
		slices.ContainsFunc(l.rows, func(r exportRow) bool { return is(l.names.Name(r.name)) })
}

// Name returns the name of symbol n.
func (l *Exports) Name(n int) string { return l.names.Name(l.rows[n].name) }

// Version returns the version of symbol n.
func (l *Exports) Version(n int) string { return l.versions[l.rows[n].version] }

// All iterates over the symbols with their index.
func (l *Exports) All() iter.Seq2[int, Export] {
	return func(yield func(int, Export) bool) {
		for n := range l.Len() {
			if !yield(n, l.At(n)) {
				return
			}
		}
	}
}

// List returns a new slice of the symbols.
func (l *Exports) List() []Export {
	out := make([]Export, 0, l.Len())
	for _, e := range l.All() {
		out = append(out, e)
	}
	return out
}

// Versions returns the distinct versions of the symbols, without "".
func (l *Exports) Versions() []string {
	if l == nil {
		return nil
	}
	return l.versions[1:]
}

// Named returns the indexes of the symbols with a name, in ascending order.
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

// Equal reports whether both lists have the same symbols in the same order.
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

// Names returns the table that contains their names.
func (l *Exports) Names() *Names { return l.names }

// Number returns the number of the name of symbol n in Names.
func (l *Exports) Number(n int) uint32 { return l.rows[n].name }

// MarshalJSON returns an array of Export.
func (l *Exports) MarshalJSON() ([]byte, error) { return json.Marshal(l.List()) }

// UnmarshalJSON parses what MarshalJSON returns.
func (l *Exports) UnmarshalJSON(b []byte) error {
	var list []Export
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	made := NewExports(list...)
	l.names, l.versions, l.rows = made.names, made.versions, made.rows
	return nil
}

// JSONItem returns an element of the array that MarshalJSON returns, for the JSON schema.
func (*Exports) JSONItem() any { return Export{} }

// Imports is the list of the undefined symbols of an object, in table order. Objects of C++
// projects have tens of thousands, so a row has 12 bytes and no pointers. nil is an empty list.
// A list is immutable.
type Imports struct {
	names    *Names    `compact:"names"`
	versions []version // of rows; the first is none
	rows     []importRow
}

type importRow struct {
	name    uint32 `compact:"name"`
	version uint32
	relocs  Relocs
	kind    uint8
	weak    bool
}

// Valid implements compact.Checked.
func (l *Imports) Valid() error {
	if slices.ContainsFunc(l.rows, func(r importRow) bool {
		return int(r.version) >= len(l.versions) || int(r.kind) >= len(kinds)
	}) || len(l.versions) == 0 {
		return errors.New("an imported symbol has no such version or type")
	}
	return nil
}

// NewImports returns a list. An unknown Kind becomes "".
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

// Len returns the number of symbols.
func (l *Imports) Len() int {
	if l == nil {
		return 0
	}
	return len(l.rows)
}

// At returns symbol n, counted from 0.
func (l *Imports) At(n int) Import {
	r := &l.rows[n]
	v := &l.versions[r.version]
	return Import{l.names.Name(r.name), v.name, v.library, r.weak, r.relocs, kinds[r.kind]}
}

// All iterates over the symbols with their index.
func (l *Imports) All() iter.Seq2[int, Import] {
	return func(yield func(int, Import) bool) {
		for n := range l.Len() {
			if !yield(n, l.At(n)) {
				return
			}
		}
	}
}

// List returns a new slice of the symbols.
func (l *Imports) List() []Import {
	out := make([]Import, 0, l.Len())
	for _, i := range l.All() {
		out = append(out, i)
	}
	return out
}

// Any reports whether is returns true for a name in the list.
func (l *Imports) Any(is func(name string) bool) bool {
	return l != nil &&
		slices.ContainsFunc(l.rows, func(r importRow) bool { return is(l.names.Name(r.name)) })
}

// Names returns the table that contains their names.
func (l *Imports) Names() *Names { return l.names }

// NameAndVersion returns the number of the name of symbol n in Names, and its version.
func (l *Imports) NameAndVersion(n int) (name uint32, version string) {
	r := &l.rows[n]
	return r.name, l.versions[r.version].name
}

// MarshalJSON returns an array of Import.
func (l *Imports) MarshalJSON() ([]byte, error) { return json.Marshal(l.List()) }

// UnmarshalJSON parses what MarshalJSON returns.
func (l *Imports) UnmarshalJSON(b []byte) error {
	var list []Import
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	made := NewImports(list...)
	l.names, l.versions, l.rows = made.names, made.versions, made.rows
	return nil
}

// JSONItem returns an element of the array that MarshalJSON returns, for the JSON schema.
func (*Imports) JSONItem() any { return Import{} }
