// Package packages knows the packages beside an artifact: which release brings which libraries, and
// what those export.
//
// It asks through Source, which it owns: the embedded provider history (History), a package index
// (internal/index) and tests implement it. Resolve turns the requirements of a wheel and those a
// user gave into one release per package, for both ends of the declared ranges.
//
// Nothing here opens a socket; a Source may.
package packages

import (
	"context"
	"errors"
	"fmt"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// ErrUnknown is the error for what does not exist: the source has no such package, or no such
// version of it.
var ErrUnknown = errors.New("not known")

// ErrUnavailable is the error of a source that could not answer, so nothing may be concluded.
var ErrUnavailable = errors.New("could not be reached")

// ErrUnreachable is ErrUnavailable of a source that does not answer at all, as without a network.
var ErrUnreachable = fmt.Errorf("%w", ErrUnavailable)

// Source answers what analysis needs to know of packages that are not at hand. It must be safe for
// concurrent use.
type Source interface {
	// Versions lists the versions of a package (normalised name), in any order. Errors wrap
	// ErrUnknown or ErrUnavailable.
	Versions(ctx context.Context, name string) ([]string, error)
	// Release describes one version as installed on the given target. Errors wrap ErrUnknown or
	// ErrUnavailable.
	Release(ctx context.Context, name, version string, on On) (*Release, error)
}

// Reader is a Source that costs: it describes a release by the names of its libraries at first, and
// reads those that are asked for. A Source that is no Reader tells everything at once.
type Reader interface {
	Source
	// Read gives the release with those Unread libraries read for which worth is positive: worth
	// tells how many bytes of transfer a library, named by its path, is worth. What is larger stays
	// Unread. The release given is not changed. Errors wrap ErrUnavailable.
	Read(ctx context.Context, r *Release, on On, worth func(path string) int64) (*Release, error)
}

// On is the interpreter and machine for which a release is asked: "3.12", "x86_64".
type On struct {
	Python string
	Arch   string
	// Libc is "glibc" or "musl", and LibcVersion its version, "2.36". Both empty: a glibc that is
	// new enough for every wheel.
	Libc, LibcVersion string
}

// ID names one version of a package. The zero value names none.
type ID struct {
	Name    string // normalised as in PEP 503
	Version string
}

// String is NAME==VERSION, as pip writes it; "" for the zero value.
func (i ID) String() string {
	if i == (ID{}) {
		return ""
	}
	return i.Name + "==" + i.Version
}

// ID names the release.
func (r *Release) ID() ID { return ID{r.Name, r.Version} }

// Release is one version of a package.
type Release struct {
	Name      string // normalised as in PEP 503
	Version   string
	Requires  []pkgmeta.Requirement
	Libraries []Library
	Known     bool // false: only the requirements are known, not which libraries it brings
}

// Library is a shared library that a release brings.
type Library struct {
	Path     string // inside site-packages: "nvidia/nvjitlink/lib/libnvJitLink.so.12"
	SONAME   string // "" where it has none: found by its file name
	Needed   []string
	RunPath  string
	Versions []string        // version nodes it defines
	Exports  *elfobj.Exports // empty where Known is false
	// false: what it exports is not known, so nothing may be concluded from an absence
	Known bool
	// where Known is false: what it exports in the nearest releases of which that is known
	Like   *elfobj.Exports
	Unread bool // only its path is known so far, and a Reader would tell more
}

// Described is a library as its file is, by where it lies inside site-packages. Of nil, and of an
// object that no loader loads, only the path is known.
func Described(path string, o *elfobj.Object) Library {
	l := Library{Path: path}
	if o == nil || !o.Dynamic {
		return l
	}
	l.SONAME, l.Needed, l.RunPath, l.Exports, l.Known = o.SONAME, o.Needed, o.RunPath, o.Exports, true
	if l.RunPath == "" {
		l.RunPath = o.RPath
	}
	for _, d := range o.VersionDefs {
		if !d.Base {
			l.Versions = append(l.Versions, d.Name)
		}
	}
	return l
}

// OldestVersion is the first version node after the library's own name, "" where it has none.
func (l *Library) OldestVersion() string {
	if len(l.Versions) > 1 {
		return l.Versions[1]
	}
	return ""
}
