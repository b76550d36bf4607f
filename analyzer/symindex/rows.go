package symindex

import (
	"iter"
	"slices"
)

// Row is an export of a table.
type Row struct{ Table, Export int32 }

// Rows are the exports whose names are imported, sorted by number of the name and then by
// table.
type Rows struct {
	from []int32 // by number of the name: index of its first row
	rows []Row
}

// Gather collects the exports of several tables, numbered from 0, whose names are imported.
func (n *Names) Gather(tables int, each func(table int32, yield func(name, export int32))) Rows {
	var names []int32
	var found []Row
	r := Rows{from: make([]int32, n.Len()+1)}
	for t := range int32(tables) {
		each(t, func(name, export int32) {
			names, found = append(names, name), append(found, Row{t, export})
			r.from[name]++
		})
	}
	sum := int32(0)
	for name, count := range r.from {
		r.from[name], sum = sum, sum+count
	}
	r.rows = make([]Row, len(found))
	for i, name := range names {
		r.rows[r.from[name]] = found[i]
		r.from[name]++
	}
	copy(r.from[1:], r.from)
	r.from[0] = 0
	return r
}

// Of returns the rows of a name.
func (r *Rows) Of(name int32) []Row { return r.rows[r.from[name]:r.from[name+1]] }

// ByTable splits rows, as returned by Of, by the number of their table.
func ByTable(rows []Row) iter.Seq2[int32, []Row] {
	return func(yield func(int32, []Row) bool) {
		for len(rows) > 0 {
			table := rows[0].Table
			n := slices.IndexFunc(rows, func(r Row) bool { return r.Table != table })
			if n < 0 {
				n = len(rows)
			}
			if !yield(table, rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// TableCache caches the numbers of the tables that satisfy each query. Nearly all queries have
// none or one.
type TableCache struct {
	known []int32   // by number of the query: an index in lists + 1; 0 if not known yet
	lists [][]int32 // the lists without or with one table are shared
	// Index + 1 of these, by number of the table; -1 for the empty list.
	short map[int32]int32
	find  []int32
}

// Of returns the tables that satisfy a query. find appends them to a list at the first call.
func (a *TableCache) Of(query int32, find func([]int32) []int32) []int32 {
	if more := int(query) + 1 - len(a.known); more > 0 {
		a.known = append(a.known, make([]int32, more)...)
	}
	if at := a.known[query]; at > 0 {
		return a.lists[at-1]
	}
	a.find = find(a.find[:0])
	table, at := int32(-1), int32(0)
	if len(a.find) == 1 {
		table = a.find[0]
	}
	if len(a.find) < 2 {
		at = a.short[table]
	}
	if at == 0 {
		a.lists = append(a.lists, slices.Clone(a.find))
		at = int32(len(a.lists))
	}
	if len(a.find) < 2 {
		if a.short == nil {
			a.short = map[int32]int32{}
		}
		a.short[table] = at
	}
	a.known[query] = at
	return a.lists[at-1]
}
