// Package table is the file format of package platform's embedded data: which library exports which
// symbol at which version, on which system. Its generator writes it, platform reads it.
//
// A Set holds one architecture, or one architecture with musl ("x86_64-musl"). It has columns (the
// systems that were read: debian11, debian12 …), libraries, and for each library rows: a symbol,
// its version node, and the columns in which it is present and hidden. All architectures share one
// list of symbol names, because the names are most of the data and almost the same everywhere.
package table

import (
	"slices"
	"sync"
)

// Set is the table of one architecture.
type Set struct {
	Arch      string
	Columns   []Column // at most 16
	Libraries []*Library
}

// Column is a system whose packages were read.
type Column struct {
	Name  string   // "debian11"; a derived column has a name such as "glibc2.30"
	Glibc string   // "2.31"; in a set for musl, the version of musl, "1.2.5"
	From  []string // packages read: "libc6=2.31-13+deb11u11"
}

// Library is a shared library in all columns.
type Library struct {
	SONAME  string
	Package string // the distribution's package, in the newest column that has the library
	In      []Facts
	// sorted by name, then by version node, oldest first; nil in a decoded library before Read
	Rows []Row

	once sync.Once
	read func() ([]Row, error) // nil: Rows is set
	err  error
}

// Read returns the rows. In a decoded library, the first call decodes them: a check needs few of
// the hundreds of libraries.
func (l *Library) Read() ([]Row, error) {
	l.once.Do(func() {
		if l.read != nil {
			l.Rows, l.err = l.read()
			l.read = nil
		}
	})
	return l.Rows, l.err
}

// Versioned reports whether the library defines version nodes in a column.
func (l *Library) Versioned() bool {
	return slices.ContainsFunc(l.In, func(f Facts) bool { return len(f.Nodes) > 0 })
}

// Facts describes a library in one column. Present is false if the column does not have it.
type Facts struct {
	Present bool
	Base    bool // part of a small image with Python
	Needed  []string
	Nodes   []string // version definitions in file order, without the base version
}

// Row is an exported symbol. Present and Hidden have one bit per column.
type Row struct {
	Name    string
	Node    string // "" for a symbol without a version
	Kind    string // an elfobj.Kind
	Present uint16
	Hidden  uint16
}
