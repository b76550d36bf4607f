// Package lockfile reads the versions that a lock file pins.
//
//	lock, err := lockfile.Read("uv.lock", data)
//	chosen, err := lock.Choose(lockfile.Choice{Python: "3.12", Arch: "x86_64"})
//	// chosen.Pins: {"torch==2.7.0" 12} {"triton==3.3.0" 40}
//
// Read reads a file once, for all systems, extras and groups. Choose returns what one environment
// installs of it. Packages that are not releases of an index (editable installs, paths, version
// control) are left out.
//
// The name of the file decides the format, or, of a lock file of Python with another name, such as
// old.lock, its content. The table formats has all of them: their names, their readers, and the
// commands of their tools.
//
// A lock file may come from a pull request. Its size and nesting are checked before it is parsed
// (see bounds.go), and no file or URL that it names is opened.
package lockfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Pin is a pinned version.
type Pin struct {
	Requirement string // NAME==VERSION
	// Marker is the one of the package in the file, "" if it has none. It applies to what was chosen.
	Marker string
	Line   int // 1-based; 0 for formats without line numbers
	// Files are the wheels and source archives of the version that the lock file lists; nil if the
	// format has none.
	Files []File
	// Hashes are those of which a file of the version must have one, as "sha256:ab"; nil if the lock
	// file has none. Those of Files are not repeated.
	Hashes   []string
	HashLine int // line of the first hash, of Hashes or of Files; 0 = Line
	// Indexes are the URLs of the indexes that the version comes from, with "" for one that is not
	// known; nil = the default one.
	Indexes []string
	// Needs are the names of the packages that it depends on, for any system and with any extra; see
	// Lock.Graph.
	Needs []string
}

// SHA256 returns the digests of which a file of the version must have one, in lower case hex. It is
// nil if the lock file has none, or also hashes of another algorithm.
func (p Pin) SHA256() []string {
	var out []string
	for _, h := range p.Hashes {
		sum, _ := strings.CutPrefix(h, "sha256:")
		out = append(out, strings.ToLower(sum))
	}
	for _, f := range p.Files {
		out = append(out, strings.ToLower(f.SHA256))
	}
	if slices.ContainsFunc(out, func(sum string) bool {
		return len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != ""
	}) {
		return nil
	}
	return out
}

// File is a wheel or a source archive that a lock file lists.
type File struct {
	Name   string
	SHA256 string // lower case hex; "" = unknown
	URL    string // "" = the page of the project has it
	Size   int64  // bytes; 0 = unknown
}

// Lock is the content of a lock file, for all systems, extras and groups.
type Lock struct {
	// Names are the packages that it lists, normalized.
	Names []string
	// Versions are the releases that it lists, whatever installs them, as NAME==VERSION with a
	// normalized name. Formats of conda have none.
	Versions []string
	// Extras and Groups are the names that a Choice may have. In a pdm.lock every extra is a group.
	Extras, Groups []string
	// Python are the interpreters that it allows, as a PEP 440 specifier; "" = it names none.
	Python string
	// CompiledFor is the interpreter for which pip-compile or uv wrote a requirements file, as the
	// comment at its beginning has it; "" = it names none.
	CompiledFor string
	// Members are the projects of a workspace of uv, without the one next to the file.
	Members []Member

	complete, graph bool // as in Chosen
	choose          func(c *chooser) error
}

// Read reads a lock file. A file of no known format is read as requirements.txt. An error in a line
// is a *LineError.
func Read(name string, data []byte) (*Lock, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d MiB; no lock file is that large", maxSize>>20)
	}
	l, err := formatOf(name, data).read(data)
	if err != nil && named(name) == nil && otherwise(name) {
		return nil, fmt.Errorf("%w; neither its name nor its content is that of a lock file that compat "+
			"reads, so it was read as a requirements file; give it the name that its tool uses, such "+
			"as uv.lock", err)
	}
	return l, err
}

// LineError is an error in a line of a lock file.
type LineError struct {
	Line int // 1-based
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// inLine returns the error of a line; that of the file if the line is 0.
func inLine(line int, err error) error {
	if line <= 0 || err == nil {
		return err
	}
	return &LineError{line, err}
}

// pin returns a requirement NAME==VERSION; it is an error if that is not a valid requirement.
func pin(name, version string) (string, error) {
	s := name + "==" + version
	if len(s) > maxRequirement {
		return "", fmt.Errorf("the requirement %.60q… is longer than %d bytes", s, maxRequirement)
	}
	if _, err := pkgmeta.ParseRequirement(s); err != nil {
		return "", err
	}
	return s, nil
}

// errNoPackages is the error for a file that is not what its name says.
var errNoPackages = errors.New("it has no packages, so it is not a lock file of this format")

// readNode returns the error for lock files of packages of Node.js.
func readNode([]byte) (*Lock, error) {
	return nil, errors.New("it pins npm packages, which compat does not look up; install them and " +
		"run compat check node_modules")
}
