package dyld

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// File is a Mach-O file at the place where a process finds it.
type File struct {
	Path   string // absolute, cleaned
	Name   string // what reports call it: its path in the artifact
	Slices []machoobj.Slice
	Unread bool         // it could not be read, so nothing is known of its slices
	Kind   dynlink.Kind // FromArtifact or FromPackage
	Origin string       // of a package "NAME==VERSION"; "" for the artifact itself
}

// Image is a file, or a library of the system, that can be loaded.
type Image struct {
	Path   string
	Name   string
	Object *machoobj.Object // nil for a library of the system, and for a file that could not be read
	Kind   dynlink.Kind
	Origin string
}

// Environment is everything that a load can find, for one architecture on one macOS. It is not
// safe for concurrent use.
type Environment struct {
	Arch   string
	OS     machoobj.Version // the oldest macOS that has to do
	Python string           // the release that loads extension modules, as "3.12"; "" if unknown

	// Open returns the slices of a file that is not among those given, by its absolute path; nil where
	// there is none. A nil Open knows no such files.
	Open func(path string) []machoobj.Slice

	// Preloaded lists paths of files that were loaded before an image, by ctypes in the Python
	// sources of its package. A nil Preloaded lists none.
	Preloaded func(root *Image) []string

	opened map[string]bool // paths that Open was called with
	images []*Image        // in the order given
	unread []string        // paths of files that could not be read
	byPath map[string]*Image
	other  map[string][]string // of a path without a slice for Arch: its architectures
	system map[string]*Image
	loads  map[*Image]*Loading
	all    []*Loading            // of LoadAll; nil before it was called
	users  map[*Image][]*Loading // loads that an image is part of
}

// NewEnvironment takes files in the order in which reports list them. Slices that are not
// loadable are left out. One that could not be read is found, and nothing is missing in it.
func NewEnvironment(arch string, os machoobj.Version, files []File) *Environment {
	e := &Environment{Arch: arch, OS: os, opened: map[string]bool{}, byPath: map[string]*Image{},
		other:  map[string][]string{},
		system: map[string]*Image{}, loads: map[*Image]*Loading{}, users: map[*Image][]*Loading{}}
	for _, f := range files {
		e.add(f)
	}
	return e
}

// add makes an image of the slice of a file for the environment's architecture.
func (e *Environment) add(f File) {
	at := slices.IndexFunc(f.Slices, func(s machoobj.Slice) bool { return s.Arch == e.Arch })
	if f.Unread || at >= 0 && f.Slices[at].Err != nil {
		e.unread = append(e.unread, f.Path)
		if e.byPath[f.Path] == nil {
			e.byPath[f.Path] = &Image{Path: f.Path, Name: f.Name, Kind: f.Kind, Origin: f.Origin}
		}
		return
	}
	if at < 0 {
		for _, s := range f.Slices {
			e.other[f.Path] = append(e.other[f.Path], s.Arch)
		}
		return
	}
	o := f.Slices[at].Object
	if o == nil || !o.Type.Loadable() {
		return
	}
	i := &Image{Path: f.Path, Name: f.Name, Object: o, Kind: f.Kind, Origin: f.Origin}
	e.images = append(e.images, i)
	if e.byPath[f.Path] == nil {
		e.byPath[f.Path] = i
	}
}

// at is the image at an absolute path; nil where there is none.
func (e *Environment) at(path string) *Image {
	if i := e.byPath[path]; i != nil || e.Open == nil || e.opened[path] {
		return i
	}
	e.opened[path] = true
	if found := e.Open(path); found != nil {
		e.add(File{Path: path, Name: path, Slices: found, Kind: dynlink.FromFolder})
	}
	return e.byPath[path]
}

// Images are those given, for the architecture of the environment.
func (e *Environment) Images() []*Image { return e.images }

// Named finds images that are not of the system by their file name.
func (e *Environment) Named(base string) []*Image {
	var out []*Image
	for _, i := range e.images {
		if path.Base(i.Path) == base {
			out = append(out, i)
		}
	}
	return out
}

// Unread reports whether a file of a name could not be read.
func (e *Environment) Unread(base string) bool {
	return slices.ContainsFunc(e.unread, func(p string) bool { return path.Base(p) == base })
}

// Lacks lists the architectures of a file that is at a path but has no slice for the
// environment's; nil where there is no such file.
func (e *Environment) Lacks(at string) []string { return e.other[at] }

// systemImage is the library of the system at a path.
func (e *Environment) systemImage(at string) *Image {
	i := e.system[at]
	if i == nil {
		i = &Image{Path: at, Name: at, Kind: dynlink.FromPlatform}
		e.system[at] = i
	}
	return i
}

// Module reports whether an image is a module that Python imports.
func (i *Image) Module() bool {
	return i.Object != nil && (i.Object.Extension() || strings.HasSuffix(i.Path, ".so") &&
		strings.Contains(path.Base(i.Path), ".cpython-"))
}

// PythonLibrary gives the release of CPython whose library a path of a load command is: the
// library of a framework or of a shared build. ok is false for any other library.
func PythonLibrary(library string) (release string, ok bool) {
	m := pythonLibrary.FindStringSubmatch(library)
	if m == nil {
		return "", false
	}
	return m[1] + m[2], true
}

// pythonLibrary matches the library of a framework, and that of a build with --enable-shared.
var pythonLibrary = lazyregexp.New(`Python\.framework/Versions/(\d+\.\d+)t?/PythonT?$|` +
	`(?:^|/)libpython(\d+\.\d+)[dmt]*\.dylib$`)
