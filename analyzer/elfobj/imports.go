package elfobj

import (
	"encoding/json"
	"iter"
	"slices"
)

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
