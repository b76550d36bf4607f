// Package historydata is the compact form of the embedded provider history: which release of a package brings which libraries and what
// they export. internal/historygen writes it, package stack reads it; nobody else needs it.
//
// It is gzip text of lines. Exports of a library are written as the difference to the library of the same name in the release
// before, because they are nearly nested from release to release.
package historydata

// Release is one version of a package on one architecture.
type Release struct {
	Name, Version, Arch string
	Wheel               string // file name of the wheel read
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
	Exports  []Export // by name, then version
}

// Export is one exported symbol.
type Export struct {
	Name, Version, Kind  string
	Hidden, Weak, Unique bool
}
