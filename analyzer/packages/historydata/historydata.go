// Package historydata is the file format of the embedded provider history: which libraries each
// release of a package contains, and what they export. internal/gen/history writes it, package
// packages reads it.
//
// A file describes one package. It has a text catalog and, for the libraries whose paths differ
// only in versions, a table of symbols. Exports hardly change between releases, so a table stores
// each symbol once with the set of libraries that export it. Open decodes the catalog; a table is
// decoded when one of its libraries is first passed to File.Exports. Imports are stored likewise.
package historydata

// Release is one version of a package on one architecture.
type Release struct {
	Name, Version, Arch string
	Wheel               string // file name of the wheel
	SHA256              string // of that wheel, in hex
	Yanked              bool
	Requires            []string // Requires-Dist as written
	RequiresPython      string   // as written; "" = any
	// Tags are the Python and ABI tags of all wheels of the version for Arch, separated by spaces:
	// "cp311-cp311 cp312-cp312".
	Tags string
	// Own is set if the libraries are those for the interpreters in Tags only; the version may have
	// other releases for Arch, with other Tags.
	Own       bool
	Libraries []Library
}

// Library is one shared library of a wheel.
type Library struct {
	Path     string
	SONAME   string
	Known    bool // false: Exports and Versions are not known
	Needed   []string
	RunPath  string
	Versions []string
	Exports  []Export // sorted by name and version; empty after Open, see File.Exports
	// Imports are the symbols that it takes from libraries of other packages, sorted by name and
	// version; empty after Open, see File.Imports. Linked is false if they are not known.
	Imports []Import
	Linked  bool

	exports, imports place // of its symbols in an opened File
}

// place is a column of a table.
type place struct{ table, column int }

// Export is one exported symbol.
type Export struct {
	Name, Version, Kind  string
	Hidden, Weak, Unique bool
}

// Import is one symbol that a library takes from another one.
type Import struct {
	Name    string
	Version string // "" without one; otherwise Library is its vn_file in DT_VERNEED
	Library string
}

// magic is the start of a file; the digit is the version of the format.
const magic = "compat history 2\n"
