package platform

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
)

// Library is one shared library that a platform provides.
type Library struct {
	SONAME string
	// Known: the exports are known. Where it is false the platform promises the library by name
	// only (libX11.so.6 of a policy), and nothing may be concluded from an absent symbol.
	Known  bool
	Needed []string // DT_NEEDED; nil where Known is false
	// Versions are the version nodes it defines, oldest first within a family, without the base one
	// (its own name). For a library that a policy promises by name only: the nodes of its family
	// that the policy allows. Empty: it has no versions.
	Versions []string
	// Package is the distribution's package that brings it, "" for a library of a policy or of a
	// distribution that was not read.
	Package string
	// Installed: true where a target has it without being asked: all of a policy's, and of a
	// distribution what a small image with python has. libgomp.so.1 of a distribution is one
	// install away, so false.
	Installed bool

	table  *table.Library // nil where Known is false
	column uint           // the bit of this platform in the rows
	policy *rowFilter     // nil: everything in the column
}

// rowFilter is what a policy leaves of a library.
type rowFilter struct {
	allowed   map[string]bool // version nodes; "" for symbols without one
	forbidden map[string]bool // symbol names; nil: none
}

// Symbol is one export of a library.
type Symbol struct {
	Name    string
	Version string      // "" where it has none
	Hidden  bool        // name@V and not name@@V: old programs find it, a linker does not
	Kind    elfobj.Kind // "func", "object", "tls", "ifunc", …
}

func newLibrary(t *table.Library, column int, f *rowFilter) *Library {
	l := &Library{
		SONAME:    t.SONAME,
		Known:     true,
		Needed:    t.In[column].Needed,
		Package:   t.Package,
		Installed: t.Base,
		table:     t,
		column:    uint(column),
		policy:    f,
	}
	for _, v := range t.In[column].Nodes {
		if f == nil || f.allowed[v] {
			l.Versions = append(l.Versions, v)
		}
	}
	slices.SortStableFunc(l.Versions, table.CompareNodes)
	return l
}

// Has reports whether the library exports the symbol at exactly that version. version "" asks for
// the symbol at any version or none. False where Known is false.
func (l *Library) Has(symbol, version string) bool {
	for r := range l.named(symbol) {
		if version == "" || r.Node == version {
			return true
		}
	}
	return false
}

// Binds reports whether the loader binds a reference here; version "" is one without, which takes
// the default or an oldest version. False where Known is false.
func (l *Library) Binds(symbol, version string) bool {
	newest, isDefault := l.Default(symbol)
	return elfobj.Binds(func(yield func(elfobj.Offer) bool) {
		for r := range l.named(symbol) {
			o := elfobj.Offer{
				SameVersion: r.Node == version,
				Unversioned: r.Node == "",
				Oldest:      l.oldest(r.Node),
				Hidden:      !isDefault || r.Node != newest,
				Versioned:   version != "",
			}
			if !yield(o) {
				return
			}
		}
	})
}

// oldest tells whether a node is the first of its family: which family has index 2 is not told.
func (l *Library) oldest(node string) bool {
	i := slices.Index(l.Versions, node)
	return i == 0 || i > 0 && !table.SameFamily(l.Versions[i-1], node)
}

// HasVersion reports whether the library defines the version node; its own SONAME, the base node,
// counts as the loader's check of versions counts it.
func (l *Library) HasVersion(version string) bool {
	return slices.Contains(l.Versions, version) || version == l.SONAME && len(l.Versions) > 0
}

// SymbolVersions lists the versions at which the library exports the symbol, oldest first; ""
// stands for none. It is nil when it lacks the symbol.
func (l *Library) SymbolVersions(symbol string) []string {
	var versions []string
	for r := range l.named(symbol) {
		versions = append(versions, r.Node)
	}
	return slices.Compact(versions)
}

// Default is the version that a linker gives a new reference to the symbol ("name@@V"), "" for a
// symbol without versions. It is false for a symbol that is absent or is kept for old programs
// only.
//
// Under a policy it is the newest version that the policy has: the newer default of the table read
// is not there yet.
func (l *Library) Default(symbol string) (version string, ok bool) {
	newestHidden := false // in the table, before the policy's cut
	for _, r := range l.search(symbol) {
		if r.Present>>l.column&1 == 0 {
			continue
		}
		if l.admits(r) {
			if r.Hidden>>l.column&1 == 0 {
				return r.Node, true
			}
			version, newestHidden = r.Node, true
		} else if newestHidden && r.Hidden>>l.column&1 == 0 {
			return version, true
		}
	}
	return "", false
}

// Symbols iterates over all exports as (symbol, version) pairs, by name and within a name oldest
// first.
func (l *Library) Symbols() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for s := range l.All() {
			if !yield(s.Name, s.Version) {
				return
			}
		}
	}
}

// All iterates over all exports, by name and within a name oldest first. Under a policy Hidden is
// what the table read says: ask Default for what a linker would take.
func (l *Library) All() iter.Seq[Symbol] {
	return func(yield func(Symbol) bool) {
		for _, r := range l.rows() {
			if r.Present>>l.column&1 == 0 || !l.admits(r) {
				continue
			}
			if !yield(
				Symbol{
					Name:    r.Name,
					Version: r.Node,
					Hidden:  r.Hidden>>l.column&1 == 1,
					Kind:    elfobj.Kind(r.Kind),
				},
			) {
				return
			}
		}
	}
}

// Symbol lists the exports of that name, oldest first.
func (l *Library) Symbol(name string) []Symbol {
	var found []Symbol
	for r := range l.named(name) {
		found = append(
			found,
			Symbol{
				Name:    r.Name,
				Version: r.Node,
				Hidden:  r.Hidden>>l.column&1 == 1,
				Kind:    elfobj.Kind(r.Kind),
			},
		)
	}
	return found
}

// named iterates over the rows of a symbol that are there.
func (l *Library) named(symbol string) iter.Seq[table.Row] {
	return func(yield func(table.Row) bool) {
		for _, r := range l.search(symbol) {
			if r.Present>>l.column&1 == 1 && l.admits(r) && !yield(r) {
				return
			}
		}
	}
}

func (l *Library) search(symbol string) []table.Row {
	rows := l.rows()
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Name >= symbol })
	j := i
	for j < len(rows) && rows[j].Name == symbol {
		j++
	}
	return rows[i:j]
}

// rows are by name; nil where Known is false.
func (l *Library) rows() []table.Row {
	if l.table == nil {
		return nil
	}
	return must(l.table.Read())
}

func (l *Library) admits(r table.Row) bool {
	return l.policy == nil || l.policy.allowed[r.Node] && !l.policy.forbidden[r.Name]
}

// isLoader tells the dynamic loader's SONAME from a library's.
func isLoader(soname string) bool {
	return strings.HasPrefix(soname, "ld-linux") || strings.HasPrefix(soname, "ld64.so") ||
		soname == "ld.so.1"
}

func compareSONAME(a, b string) int { return strings.Compare(a, b) }
