// Package packages resolves requirements to releases, and describes which shared libraries a
// release installs and what they export.
//
// It reads releases through Source, which is implemented by the embedded provider history
// (History), by a package index (internal/index) and by tests. Resolve selects one release per
// package for the requirements of a wheel and of the user, at the lowest or the highest end of the
// declared ranges.
//
// The package itself makes no network connection; a Source may.
package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/macos"
	"github.com/compat-app/compat/analyzer/platform/windows"
)

// ErrUnknown is returned if a source has no such package, or no such version of it.
var ErrUnknown = errors.New("not known")

// ErrSource is ErrUnknown for a version that has a source archive and no wheel: what a build of it
// contains is not known.
var ErrSource = fmt.Errorf("%w", ErrUnknown)

// ErrUnavailable is returned if a source could not answer, so that nothing can be concluded.
var ErrUnavailable = errors.New("could not be reached")

// ErrUnreachable is ErrUnavailable for a source that does not respond at all (no network).
var ErrUnreachable = fmt.Errorf("%w", ErrUnavailable)

// ErrRefused is ErrUnavailable for a source that refuses the credentials.
var ErrRefused = fmt.Errorf("%w", ErrUnavailable)

// NoAnswer reports whether the error of a source says nothing about a package, so that what is
// known of a published release may stand in: the source does not respond, or refuses.
func NoAnswer(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrRefused)
}

// Source provides the versions of packages and the contents of releases. It must be safe for
// concurrent use.
type Source interface {
	// Versions lists the versions of a package (normalised name) that can be installed on the
	// target, in any order; all versions for the zero Target. Errors wrap ErrUnknown or
	// ErrUnavailable.
	Versions(ctx context.Context, name string, on Target) ([]string, error)
	// Release describes one version as installed on the given target. Errors wrap ErrUnknown or
	// ErrUnavailable.
	Release(ctx context.Context, name, version string, on Target) (*Release, error)
}

// Reader is a Source that downloads libraries on request: Release returns libraries with Unread
// set, and Read reads them. Other sources return complete libraries from Release.
type Reader interface {
	Source
	// Read returns a copy of the release in which those Unread libraries were read for which worth
	// is positive. worth returns how many bytes may be transferred for the library at a path; a
	// larger one stays Unread. Errors wrap ErrUnavailable.
	Read(ctx context.Context, r *Release, on Target, worth func(path string) int64) (*Release, error)
}

// Texts is a Source that has the Python sources of releases.
type Texts interface {
	Source
	// Texts returns the sources of a top-level package or module of a release: for "pkg" those of
	// "pkg/__init__.py", "pkg/sub.py" and "pkg.py". If there are too many to read all of them, it
	// returns their paths, and files selects those to read; nil = all. Errors wrap ErrUnknown or
	// ErrUnavailable.
	Texts(ctx context.Context, r *Release, on Target, top string, files []string) (Sources, error)
}

// Sources are the Python sources of a package, by their path in site-packages.
type Sources struct {
	Texts map[string]string `json:",omitempty"` // empty if the package has none
	// Others are the paths of all if there are too many to read all of them.
	Others []string `json:",omitempty"`
}

// Target is the interpreter and machine that a release is installed for: "3.12", or "3.13t" without
// the global interpreter lock, and "x86_64".
type Target struct {
	Python string
	Arch   string
	System string // as in platform.Platform.OS; "" = Linux
	// Libc is "glibc" or "musl", and LibcVersion its version, "2.36". If both are empty, it is a
	// glibc that is new enough for every wheel. On other systems, LibcVersion is their version.
	Libc, LibcVersion string
	// Pythons are the interpreters that the artifact runs on, as in Requires-Python, if they are
	// several: Versions lists the versions that one of them can install. "" = Python only.
	Pythons string
	// Modules asks Release for the modules of Python too, which a release of the history has not.
	Modules bool
	// Fresh asks Versions for what the source has now, not for what it had some minutes ago.
	Fresh bool
}

// On returns the target of an interpreter on a platform.
func On(p *platform.Platform, python string) Target {
	return Target{
		Python: python, Arch: p.Arch, System: p.OS, Libc: p.Libc, LibcVersion: p.LibcVersion,
	}
}

// Place returns the system and the machine for messages: "glibc 2.17 x86_64", "macOS 11.0 arm64".
func (t Target) Place() string {
	system := t.Libc
	if t.System != platform.Linux {
		system = tagSystem(t).Name()
	}
	return strings.Join(strings.Fields(system+" "+t.LibcVersion+" "+t.Arch), " ")
}

// Interpreter returns the interpreter for messages: "Python 3.12", or "Python 3" if it is not
// known.
func (t Target) Interpreter() string { return "Python " + cmp.Or(t.Python, "3") }

// Markers returns the marker variables of the interpreter.
func (t Target) Markers() pkgmeta.MarkerEnv {
	return pkgmeta.MarkerEnvOn(t.System, t.Python, t.Arch)
}

// ID identifies one version of a package. The zero value identifies none.
type ID struct {
	Name    string // normalised as in PEP 503
	Version string
}

// String returns NAME==VERSION, as pip writes it; "" for the zero value.
func (i ID) String() string {
	if i == (ID{}) {
		return ""
	}
	return i.Name + "==" + i.Version
}

// Key returns an ID that is the same for all spellings of a version, of which SameVersion is true:
// that of 1.0 and 1.0.0 is 1. It is for maps and comparisons; people know the version as it is
// written. A text that is no version stays.
func (i ID) Key() ID {
	if v, err := pkgmeta.ParseVersion(i.Version); err == nil {
		i.Version = v.Key()
	}
	return i
}

// Pinned returns the release that a requirement pins: NAME==VERSION, with the version in its normal
// form, or NAME===TEXT, which need not be a version. ok is false for one that pins none.
func Pinned(requirement string) (id ID, ok bool) {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		return id, false
	}
	if v, ok := q.Pin(); ok {
		return ID{Name: q.Name, Version: v.String()}, true
	}
	text, ok := strings.CutPrefix(q.Spec, "===")
	return ID{Name: q.Name, Version: strings.TrimSpace(text)}, ok
}

// ID returns the name and version of the release.
func (r *Release) ID() ID { return ID{r.Name, r.Version} }

// Release is one version of a package.
type Release struct {
	Name      string // normalised as in PEP 503
	Version   string
	Requires  []pkgmeta.Requirement
	Libraries []Library
	Known     bool // false: only the requirements are known, not the libraries
	// RequiresPython is that of its METADATA, which an index may leave out of its list; "" = any, or
	// it is a release of the history, whose list has it.
	RequiresPython string `json:",omitempty"`
	// Abridged is set for a release of the history, which lists one of several files with a SONAME.
	Abridged bool
	// Refused is set if the lock files have hashes of the version, but not that of its wheel.
	Refused *HashError
}

// HashError reports that a version has a compatible wheel, but that a lock file has other hashes.
// It wraps ErrUnknown.
type HashError struct {
	Name, Version string
	File, SHA256  string // the wheel, and its digest on the index
	// Listed are the files of the version that have one of the hashes; nil = there is none
	Listed []string
	Source bool   // one of Listed is a source archive
	Misfit Misfit // of the wheels among Listed
}

func (e *HashError) Error() string {
	return fmt.Sprintf("%s of %s==%s has none of the hashes of the lock file", e.File, e.Name,
		e.Version)
}

func (e *HashError) Unwrap() error { return ErrUnknown }

// Library is a shared library that a release installs.
type Library struct {
	Path     string // inside site-packages: "nvidia/nvjitlink/lib/libnvJitLink.so.12"
	SONAME   string // "" without one: it is found by its file name
	Needed   []string
	RunPath  string
	Versions []string        // version nodes it defines
	Exports  *elfobj.Exports // empty where Known is false
	// What it needs of other libraries; nil if that is not known. The history has what it needs of
	// libraries of other packages.
	Imports *elfobj.Imports `json:",omitempty"`
	// The types that a module defines for others; nil in the history, which has no modules.
	Types []cython.Type `json:",omitempty"`
	// The release of libxml2 that it contains and exports, 20914 for 2.9.14; 0 without one, and in the
	// history.
	Libxml2 int `json:",omitempty"`
	// false: the exports are not known, so a missing symbol proves nothing
	Known bool
	// if Known is false: the exports in the nearest releases for which they are known; may be nil
	NearestExports *elfobj.Exports
	Unread         bool // only Path is known; Reader.Read reads the rest
	// What it is on macOS and on Windows; nil on other systems, or if it was not read. Needed are
	// then the file names of libraries that are not part of the system, and the other fields are
	// empty.
	MachO []machoobj.Slice `json:",omitempty"`
	PE    *peobj.Object    `json:",omitempty"`
}

// Type returns a type that a module of the release defines, by its tp_name; nil if none of those
// that were read does.
func (r *Release) Type(name string) *cython.Type {
	for i := range r.Libraries {
		types := r.Libraries[i].Types
		at, found := slices.BinarySearchFunc(types, name, func(t cython.Type, name string) int {
			return strings.Compare(t.Name, name)
		})
		if found {
			return &types[at]
		}
	}
	return nil
}

// Libxml2 returns the release of libxml2 that a module of the release contains; 0 if the module was
// not read or contains none.
func (r *Release) Libxml2(module string) int {
	file := strings.ReplaceAll(module, ".", "/") + "."
	for i := range r.Libraries {
		if l := &r.Libraries[i]; l.Libxml2 != 0 && strings.HasPrefix(l.Path, file) {
			return l.Libxml2
		}
	}
	return 0
}

// NewLibrary returns the description of a shared object at a path inside site-packages. If o is nil
// or has no dynamic section, only the path is set. types are those that it defines, if it is a
// module of Python.
func NewLibrary(path string, o *elfobj.Object, types []cython.Type) Library {
	l := Library{Path: path}
	if o == nil || !o.Dynamic {
		return l
	}
	l.SONAME, l.Needed, l.RunPath, l.Known = o.SONAME, o.Needed, o.RunPath, true
	l.Exports, l.Imports, l.Types, l.Libxml2 = o.Exports, o.Imports, types, o.Libxml2
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

// NewMachO returns the description of a Mach-O file.
func NewMachO(path string, f *machoobj.File) Library {
	l := Library{Path: path, MachO: f.Slices}
	for _, s := range f.Slices {
		if s.Err != nil { // it is as if nothing of the file was read
			return Library{Path: path}
		}
		for _, n := range s.Object.Needed {
			if name := n.Path[strings.LastIndexByte(n.Path, '/')+1:]; !macos.System(n.Path) &&
				!slices.Contains(l.Needed, name) {
				l.Needed = append(l.Needed, name)
			}
		}
	}
	return l
}

// NewPE returns the description of a PE file.
func NewPE(path string, o *peobj.Object) Library {
	l := Library{Path: path, PE: o}
	for _, d := range o.Imports {
		if known := windows.Lookup(d.Name, o.Machine); known.Kind == windows.Other {
			l.Needed = append(l.Needed, d.Name)
		}
	}
	return l
}

// OldestVersion returns the first version node after the base version, "" without one.
func (l *Library) OldestVersion() string {
	if len(l.Versions) > 1 {
		return l.Versions[1]
	}
	return ""
}
