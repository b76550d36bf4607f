// Package table is the compact form of "which library exports which symbol at which version, and
// where": the embedded data of package platform. Its generator writes it, platform reads it; nobody
// else needs it.
//
// One Set holds one architecture, or one architecture with musl ("x86_64-musl"). It has columns (a
// column is one system that was read: debian11, debian12 …), libraries, and for each library rows:
// symbol, version node, and in which columns it is there and hidden. Symbol names lie in one list
// that all architectures share, because names are most of the bytes and nearly the same everywhere.
package table

import "sync"

// Set is one architecture.
type Set struct {
	Arch      string
	Columns   []Column // at most 16
	Libraries []*Library
}

// Column is one system that was read.
type Column struct {
	Name  string   // "debian11"; a derived column says how: "glibc2.30"
	Glibc string   // "2.31"; of a musl set musl's own, "1.2.5"
	From  []string // packages read: "libc6=2.31-13+deb11u11"
}

// Library is one shared library in all columns.
type Library struct {
	SONAME  string
	Package string // the distribution's package that brings it, in the newest column that has it
	Base    bool   // part of a small image with python
	In      []Facts
	// by name, then by version node, oldest first; of a decoded library not before Read
	Rows []Row

	once sync.Once
	read func() ([]Row, error) // nil: Rows are there
	err  error
}

// Read gives the rows. Those of a decoded library are decoded with the first call: of hundreds of
// libraries a check asks a few.
func (l *Library) Read() ([]Row, error) {
	l.once.Do(func() {
		if l.read != nil {
			l.Rows, l.err = l.read()
			l.read = nil
		}
	})
	return l.Rows, l.err
}

// Facts is what a library says of itself in one column. Absent: Present is false.
type Facts struct {
	Present bool
	Needed  []string
	Nodes   []string // version definitions in file order, without the base one
}

// Row is one exported symbol. Present and Hidden hold a bit per column.
type Row struct {
	Name    string
	Node    string // "" for a symbol without a version
	Kind    string // as elfobj.Kind
	Present uint16
	Hidden  uint16
}
