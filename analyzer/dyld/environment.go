package dyld

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// File is a Mach-O file at the path where a process finds it.
type File struct {
	Path   string // absolute and clean
	Name   string // the name in reports: its path in the artifact
	Slices []machoobj.Slice
	Unread bool         // it could not be read, so its slices are unknown
	Kind   dynlink.Kind // FromArtifact or FromPackage
	Origin string       // "NAME==VERSION" for a package; "" for the artifact
	// Imported is set if the artifact may import the package before its modules are loaded.
	Imported bool
}

// Image is a loadable file or system library.
type Image struct {
	Path   string
	Name   string
	Object *machoobj.Object // nil for a system library, and for a file that could not be read
	Kind   dynlink.Kind
	Origin string

	imported bool // File.Imported
}

// Environment contains the files that a load can find, for one architecture and one macOS release.
// It is not safe for concurrent use.
type Environment struct {
	Arch   string
	OS     machoobj.Version // the oldest macOS to support
	Python string           // the Python that loads extension modules, as "3.12"; "" if unknown

	// Open returns the slices of a file that NewEnvironment did not receive, by its absolute path;
	// nil if there is none. It may be nil.
	Open func(path string) []machoobj.Slice

	// Preloaded lists paths of files that the Python sources of an image's package load with ctypes
	// before the image. It may be nil.
	Preloaded func(root *Image) []string

	opened map[string]bool // paths that Open was called with
	images []*Image        // in the order given
	unread []string        // paths of files that could not be read
	byPath map[string]*Image
	other  map[string][]string // architectures of files without a slice for Arch, by path
	system map[string]*Image
	loads  map[*Image]*Loading
	all    []*Loading            // result of LoadAll; nil before the first call
	users  map[*Image][]*Loading // loads that contain an image
}

// NewEnvironment creates an environment of files, in the order of reports. Slices that are not
// loadable are ignored. A file that could not be read can be found, and is assumed to have every
// symbol.
func NewEnvironment(arch string, os machoobj.Version, files []File) *Environment {
	e := &Environment{Arch: arch, OS: os, opened: map[string]bool{}, byPath: map[string]*Image{},
		other:  map[string][]string{},
		system: map[string]*Image{}, loads: map[*Image]*Loading{}, users: map[*Image][]*Loading{}}
	for _, f := range files {
		e.add(f)
	}
	return e
}

// add creates an image of a file's slice for the environment's architecture.
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
	i := &Image{
		Path: f.Path, Name: f.Name, Object: o, Kind: f.Kind, Origin: f.Origin, imported: f.Imported,
	}
	e.images = append(e.images, i)
	if e.byPath[f.Path] == nil {
		e.byPath[f.Path] = i
	}
}

// at returns the image at an absolute path, or nil.
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

// Images returns the images of the files, for the environment's architecture.
func (e *Environment) Images() []*Image { return e.images }

// Named returns the images with a file name, without those of the system.
func (e *Environment) Named(base string) []*Image {
	var out []*Image
	for _, i := range e.images {
		if path.Base(i.Path) == base {
			out = append(out, i)
		}
	}
	return out
}

// Unread reports whether a file with that name could not be read.
func (e *Environment) Unread(base string) bool {
	return slices.ContainsFunc(e.unread, func(p string) bool { return path.Base(p) == base })
}

// Lacks lists the architectures of the file at a path if none is the environment's; nil if there is
// no such file.
func (e *Environment) Lacks(at string) []string { return e.other[at] }

// systemImage returns the image of a system library.
func (e *Environment) systemImage(at string) *Image {
	i := e.system[at]
	if i == nil {
		i = &Image{Path: at, Name: at, Kind: dynlink.FromPlatform}
		e.system[at] = i
	}
	return i
}

// Module reports whether an image is a Python extension module.
func (i *Image) Module() bool {
	return i.Object != nil && (i.Object.Extension() || strings.HasSuffix(i.Path, ".so") &&
		strings.Contains(path.Base(i.Path), ".cpython-"))
}

// PythonLibrary returns the CPython release of the framework or shared library that a load command
// names. ok is false for other libraries.
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
