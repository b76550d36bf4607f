package dynlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Providers remembers which of some libraries provides what objects ask for. Libraries that are
// copies of each other, with other needs or paths, count as one. It is for one goroutine.
type Providers struct {
	names    *symindex.Names
	tables   []symbols
	number   map[symbols]int32
	rows     symindex.Rows
	known    symindex.Answers // the tables that provide what a question asks for
	gathered int              // names that rows were gathered for; -1: gather anew
	node     map[node]bool
	musl     bool // versions do not matter, and hidden definitions are none

	// of the scope under look
	at     []int32 // by table: its first place in the scope, if mark says so
	mark   []int32
	marked int32
}

type node struct {
	table   int32
	version string
}

// NewProviders gathers who exports what names asks for. What it asks for later is gathered then.
func NewProviders(names *symindex.Names, libraries []*Library) *Providers {
	p := &Providers{names: names, number: map[symbols]int32{}, node: map[node]bool{}}
	for _, l := range libraries {
		if l.Known {
			p.table(l.symbols)
		}
	}
	return p
}

func (p *Providers) table(s symbols) int32 {
	n, ok := p.number[s]
	if !ok {
		n = int32(len(p.tables))
		p.number[s] = n
		p.tables = append(p.tables, s)
		p.at, p.mark = append(p.at, 0), append(p.mark, 0)
		p.gathered = -1
	}
	return n
}

func (p *Providers) gather() {
	if p.gathered == p.names.Len() {
		return
	}
	p.gathered, p.known = p.names.Len(), symindex.Answers{}
	p.rows = p.names.Gather(
		len(p.tables),
		func(table int32, yield func(name, export int32)) { p.tables[table].each(p.names, yield) },
	)
}

// of lists the tables that provide what a question asks for.
func (p *Providers) of(question int32) []int32 {
	return p.known.Of(question, func(out []int32) []int32 {
		q := p.names.Question(question)
		for n, own := range symindex.ByTable(p.rows.Of(q.Name)) {
			if t := p.tables[n]; p.musl && t.seen(q.Symbol, own) ||
				!p.musl && t.serves(q.Symbol, q.Version, own) {
				out = append(out, n)
			}
		}
		return out
	})
}

// enter takes in a scope: of, by a table's number, the first place that it has there.
func (p *Providers) enter(scope []*Library) {
	for _, l := range scope {
		if l.Known {
			p.table(l.symbols)
		}
	}
	p.gather()
	p.marked++
	for k, l := range scope {
		if !l.Known {
			continue
		}
		if n := p.number[l.symbols]; p.mark[n] != p.marked {
			p.mark[n], p.at[n] = p.marked, int32(k)
		}
	}
}

// first is the place in the scope of the library that provides what a question asks for, -1 where
// none does.
func (p *Providers) first(question int32) int {
	best := int32(-1)
	for _, n := range p.of(question) {
		if p.mark[n] == p.marked && (best < 0 || p.at[n] < best) {
			best = p.at[n]
		}
	}
	return int(best)
}

// hasVersion remembers Library.HasVersion.
func (p *Providers) hasVersion(l *Library, version string) bool {
	key := node{p.table(l.symbols), version}
	has, ok := p.node[key]
	if !ok {
		has = l.HasVersion(version)
		p.node[key] = has
	}
	return has
}

func (t *table) each(names *symindex.Names, yield func(name, export int32)) {
	for _, h := range names.In(t.exports) {
		yield(h.Name, h.Export)
	}
}

func (t *table) serves(_, version string, rows []symindex.Row) bool {
	return elfobj.Binds(func(yield func(elfobj.Offer) bool) {
		for _, r := range rows {
			if !yield(t.exports.Offer(int(r.Export), version, t.oldest)) {
				return
			}
		}
	})
}

func (t *table) seen(_ string, rows []symindex.Row) bool {
	return slices.ContainsFunc(
		rows,
		func(r symindex.Row) bool { return !t.exports.At(int(r.Export)).Hidden },
	)
}

func (p provided) each(names *symindex.Names, yield func(name, export int32)) {
	names.Each(p.l.Symbols(), func(name int32) { yield(name, 0) })
}

func (p provided) serves(symbol, version string, _ []symindex.Row) bool {
	return p.l.Binds(symbol, version)
}

func (p provided) seen(symbol string, _ []symindex.Row) bool {
	_, ok := p.l.Default(symbol)
	return ok
}
