package dynlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Providers caches which libraries provide the symbols that objects import. Libraries with the
// same exports but other dependencies or paths count as one. It is not safe for concurrent use.
type Providers struct {
	names    *symindex.Names
	tables   []symbols
	number   map[symbols]int32
	rows     symindex.Rows
	known    symindex.TableCache // the tables that satisfy each query
	gathered int                 // number of names that rows includes; -1: rebuild rows
	node     map[node]bool
	musl     bool // versions are ignored, and hidden definitions too

	// for the scope set last
	at     []int32 // by table: its first index in the scope, if mark equals marked
	mark   []int32
	marked int32
}

type node struct {
	table   int32
	version string
}

// NewProviders indexes the exports of libraries. Names that are added to names later are
// indexed at their first use.
func NewProviders(names *symindex.Names, libraries []*Library) *Providers {
	p := &Providers{names: names, number: map[symbols]int32{}, node: map[node]bool{}}
	for _, l := range libraries {
		if l.binds() {
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
	p.gathered, p.known = p.names.Len(), symindex.TableCache{}
	p.rows = p.names.Gather(
		len(p.tables),
		func(table int32, yield func(name, export int32)) { p.tables[table].each(p.names, yield) },
	)
}

// of returns the tables that satisfy a query.
func (p *Providers) of(query int32) []int32 {
	return p.known.Of(query, func(out []int32) []int32 {
		q := p.names.Query(query)
		for n, own := range symindex.ByTable(p.rows.Of(q.Name)) {
			if t := p.tables[n]; p.musl && t.satisfiesMusl(q.Symbol, own) ||
				!p.musl && t.satisfies(q.Symbol, q.Version, own) {
				out = append(out, n)
			}
		}
		return out
	})
}

// setScope sets, by table, the index of its first library in the scope.
func (p *Providers) setScope(scope []*Library) {
	for _, l := range scope {
		if l.binds() {
			p.table(l.symbols)
		}
	}
	p.gather()
	p.marked++
	for k, l := range scope {
		if !l.binds() {
			continue
		}
		if n := p.number[l.symbols]; p.mark[n] != p.marked {
			p.mark[n], p.at[n] = p.marked, int32(k)
		}
	}
}

// first returns the index in the scope of the first library that satisfies a query, or -1.
func (p *Providers) first(query int32) int {
	best := int32(-1)
	for _, n := range p.of(query) {
		if p.mark[n] == p.marked && (best < 0 || p.at[n] < best) {
			best = p.at[n]
		}
	}
	return int(best)
}

// hasVersion caches Library.HasVersion.
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

func (t *table) satisfies(_, version string, rows []symindex.Row) bool {
	return elfobj.Binds(func(yield func(elfobj.Offer) bool) {
		for _, r := range rows {
			if !yield(t.exports.Offer(int(r.Export), version, t.oldest)) {
				return
			}
		}
	})
}

func (t *table) satisfiesMusl(_ string, rows []symindex.Row) bool {
	return slices.ContainsFunc(
		rows,
		func(r symindex.Row) bool { return !t.exports.At(int(r.Export)).Hidden },
	)
}

func (p provided) each(names *symindex.Names, yield func(name, export int32)) {
	for _, name := range symindex.Defined(names, p.l) {
		yield(name, 0)
	}
}

func (p provided) satisfies(symbol, version string, _ []symindex.Row) bool {
	return p.l.Binds(symbol, version)
}

func (p provided) satisfiesMusl(symbol string, _ []symindex.Row) bool {
	_, ok := p.l.Default(symbol)
	return ok
}
