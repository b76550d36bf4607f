package symindex

import (
	"iter"
	"slices"
)

// Row is an export of one of some tables.
type Row struct{ Table, Export int32 }

// Rows are the exports that are asked for, by number of the name and in the order of their tables.
type Rows struct {
	from []int32 // by number of the name: the place of its first row
	rows []Row
}

// Gather asks each of some tables, by number from 0, for the exports that are asked for.
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

// Of lists the rows of a name.
func (r *Rows) Of(name int32) []Row { return r.rows[r.from[name]:r.from[name+1]] }

// ByTable gives the rows of each table, by its number, of rows as Of lists them.
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

// Answers remember numbers of tables for each question, of which nearly all have none or one.
type Answers struct {
	known []int32         // by number of the question: a place in lists, +1; 0: nobody asked yet
	lists [][]int32       // those of none and of one table once
	short map[int32]int32 // places in lists, +1, of those, by number of the table; -1: of none
	find  []int32
}

// Of gives what answers a question. What find appends to a list is remembered.
func (a *Answers) Of(question int32, find func([]int32) []int32) []int32 {
	if more := int(question) + 1 - len(a.known); more > 0 {
		a.known = append(a.known, make([]int32, more)...)
	}
	if at := a.known[question]; at > 0 {
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
	a.known[question] = at
	return a.lists[at-1]
}
