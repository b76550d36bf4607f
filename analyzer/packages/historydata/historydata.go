// Package historydata is the compact form of the embedded provider history: which release of a
// package brings which libraries and what they export. internal/gen/history writes it, package
// stack reads it; nobody else needs it.
//
// A package is one file: a catalog, which is text of lines, and a table of symbols for each library
// that was read. A symbol stands in its table once, with the set of the releases that export it,
// since exports hardly change from release to release. The catalog is decoded by Open, a table when
// its symbols are first asked for.
package historydata

// Release is one version of a package on one architecture.
type Release struct {
	Name, Version, Arch string
	Wheel               string // file name of the wheel read
	SHA256              string // of that wheel, in hex
	Yanked              bool
	Requires            []string // Requires-Dist as written
	Libraries           []Library
}

// Library is one shared library of a wheel.
type Library struct {
	Path     string
	SONAME   string
	Known    bool // false: Exports and Versions are not known
	Needed   []string
	RunPath  string
	Versions []string
	Exports  []Export // by name, then version. Open leaves it empty: ask File.Exports

	table, column int // where its symbols are, of a file that was opened
}

// Export is one exported symbol.
type Export struct {
	Name, Version, Kind  string
	Hidden, Weak, Unique bool
}

// magic begins a file; the digit is the version of the format.
const magic = "compat history 2\n"
