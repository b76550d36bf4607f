package platform

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
)

// Library is a shared library that a platform provides.
type Library struct {
	SONAME string
	// Known reports whether the exports are known. If it is false, only the name is known
	// (libGL.so.1 of a policy), or which symbols the library has in the releases that were read
	// (libglib-2.0.so.0): then Has is true for those that each system of the policy has, and a symbol
	// that is missing may still be there, unless Releases names one without it.
	Known  bool
	Needed []string // DT_NEEDED; nil if Known is false
	// Versions are the version nodes that it defines, without the base version, oldest first within
	// a family. If Known is false, they are the nodes of its family that the policy allows. Empty
	// if it has no versions.
	Versions []string
	// Package is the distribution's package that contains it; "" for a library of a policy or of a
	// distribution whose packages were not read.
	Package string
	// Path is the file of an unpacked system that it is, "" for other platforms.
	Path string
	// Installed reports whether systems have the library by default: every library of a policy, and
	// for a distribution those of a small image with Python. libgomp.so.1 of a distribution has to
	// be installed, so it is false. Debian's small image is debootstrap --variant=minbase
	// --include=python3.
	Installed bool

	table  *table.Library // nil if only the name is known
	column uint           // bit of this platform in the rows
	policy *rowFilter     // nil: no restriction
	read   *releases      // nil for a library with symbol versions
}

// releases are the releases that were read of a library without symbol versions, such as
// libglib-2.0.so.0. Its symbols do not say how old they are.
type releases struct {
	columns []table.Column
	in      uint16 // bits of those that the platform includes; each of them has the symbols
	// uncertain is set if the platform includes older releases that were not read, so that it is not
	// known of any symbol whether they have it.
	uncertain bool
}

// rowFilter restricts a library to what a policy allows.
type rowFilter struct {
	allowed   map[string]bool // version nodes; "" for symbols without a version
	forbidden map[string]bool // symbol names; may be nil
}

// Symbol is an export of a library.
type Symbol struct {
	Name    string
	Version string      // "" without one
	Hidden  bool        // name@V, not name@@V: available to existing programs, not to the linker
	Kind    elfobj.Kind // "func", "object", "tls", "ifunc", …
}

func newLibrary(t *table.Library, column int, f *rowFilter) *Library {
	l := &Library{
		SONAME:    t.SONAME,
		Known:     true,
		Needed:    t.In[column].Needed,
		Package:   t.Package,
		Installed: t.In[column].Base,
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

// Has reports whether the library exports the symbol at exactly that version; an empty version
// matches all. It is false if only the name is known.
func (l *Library) Has(symbol, version string) bool {
	for r := range l.named(symbol) {
		if version == "" || r.Node == version {
			return true
		}
	}
	return false
}

// Binds reports whether the loader resolves a reference in this library. A reference with version
// "" has none, and matches the default or the oldest version. It is false if only the name is
// known.
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

// oldest reports whether a node is the first of its family. The loader accepts the version with
// index 2 for unversioned references; the tables do not have the indexes, so it is true for each
// family.
func (l *Library) oldest(node string) bool {
	i := slices.Index(l.Versions, node)
	return i == 0 || i > 0 && !table.SameFamily(l.Versions[i-1], node)
}

// HasVersion reports whether the library defines the version node. Its own SONAME, the base
// version, counts too, as in the loader's version check.
func (l *Library) HasVersion(version string) bool {
	return slices.Contains(l.Versions, version) || version == l.SONAME && len(l.Versions) > 0
}

// SymbolVersions lists the versions of a symbol, oldest first; "" is an export without a version.
// It is nil if the library does not export the symbol.
func (l *Library) SymbolVersions(symbol string) []string {
	var versions []string
	for r := range l.named(symbol) {
		versions = append(versions, r.Node)
	}
	return slices.Compact(versions)
}

// Releases lists the releases that were read whose library has a symbol, and those that the
// platform includes whose library does not have it, both oldest first: "debian13", and
// "ubuntu22.04", "debian12". Both are nil for a library with symbol versions and for one of which
// only the name is known.
func (l *Library) Releases(symbol string) (with, without []string) {
	if l.read == nil {
		return nil, nil
	}
	var present uint16
	for _, r := range l.search(symbol) {
		present |= r.Present
	}
	for i, c := range l.read.columns {
		switch bit := uint16(1) << i; {
		case present&bit != 0 && c.Name != rolling:
			with = append(with, c.Name)
		case l.read.in&bit != 0 && present&bit == 0:
			without = append(without, c.Name)
		}
	}
	return with, without
}

// Default returns the version that the linker uses for the symbol ("name@@V"), "" for a symbol
// without versions. ok is false if there is no such symbol, or none that the linker may use.
//
// For a policy it is the newest version that the policy allows: the table may be of a later release
// with a newer default.
func (l *Library) Default(symbol string) (version string, ok bool) {
	newestHidden := false // in the table, regardless of the policy
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

// Symbols iterates over the (symbol, version) pairs of all exports, sorted by name and, within a
// name, oldest first.
func (l *Library) Symbols() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for s := range l.All() {
			if !yield(s.Name, s.Version) {
				return
			}
		}
	}
}

// All iterates over all exports, sorted by name and, within a name, oldest first. For a policy,
// Hidden is that of the table; use Default for the version that the linker uses.
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

// Symbol lists the exports with that name, oldest first.
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

// Defines reports whether it exports a symbol with that name, in any version.
func (l *Library) Defines(symbol string) bool {
	for range l.named(symbol) {
		return true
	}
	return false
}

// named iterates over the rows of a symbol that apply to the platform.
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

// rows returns all rows sorted by name; nil if only the name is known.
func (l *Library) rows() []table.Row {
	if l.table == nil {
		return nil
	}
	return must(l.table.Read())
}

func (l *Library) admits(r table.Row) bool {
	if l.read != nil && (l.read.uncertain || r.Present&l.read.in != l.read.in) {
		return false
	}
	return l.policy == nil || l.policy.allowed[r.Node] && !l.policy.forbidden[r.Name]
}

// isLoader reports whether a SONAME is that of a dynamic loader.
func isLoader(soname string) bool {
	return strings.HasPrefix(soname, "ld-linux") || strings.HasPrefix(soname, "ld64.so") ||
		soname == "ld.so.1"
}

func compareSONAME(a, b string) int { return strings.Compare(a, b) }
