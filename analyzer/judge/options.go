package judge

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
)

// Options describe the environment of the artifacts. The zero value is the artifacts with the
// packages that they declare.
type Options struct {
	// On is the interpreter and the libc of the environment; the zero value means those of the
	// wheel's tags. Arch is ignored.
	On packages.Target
	// Requirements to install, PEP 508; they take precedence over declared ones.
	With []string
	// Origins are the places of requirements in With, by their text. A requirement that is missing
	// was given with --with.
	Origins map[string]Origin
	Extras  []string // of the artifacts that are installed (PEP 508)
	// Uses are the normalized names of packages of an Environment that the artifacts use, even if
	// they do not require them.
	Uses []string
	// Newest is that of the Environment.
	Newest bool
	First  []string // packages whose libraries are loaded before everything else
	// LibraryPath are the folders of LD_LIBRARY_PATH.
	LibraryPath []Folder
	// Conda is the conda environment in which the artifact is installed; nil if there is none.
	Conda *Conda

	Source  packages.Source // provides other packages; nil: the embedded history
	NoIndex bool            // no package index was configured
	// do not use the embedded history, not even to guess which package provides a library
	NoHistory bool

	GPU  GPU  // the GPUs that must be supported
	Link bool // report link findings of every library as errors
	// WholeRanges makes failures with the oldest allowed versions only errors too.
	WholeRanges bool
	ABI         ABI // how libraries are compared with earlier builds
}

// Origin is the place of a requirement.
type Origin struct {
	File string // as displayed; "" for the command line
	Line int    // from 1; 0 if unknown
	// HashLine is the line of the first hash of a pin; 0 = Line.
	HashLine int
	Lock     bool // the file is a lock file: other requirements may replace its pins
	// Installed is set if File is the metadata of an installed package: relative to the root of its
	// system, or as displayed.
	Installed bool
	// Implied is set for a package that no file names: another one needs it, and File leads to that.
	Implied bool
}

// String returns FILE:LINE, or "--with" for the zero value.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return "--with"
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// GPU is the GPU stack and architectures that the artifacts must support. The zero value is
// none.
type GPU struct {
	Stack string   // "cuda" or "rocm"; "" if not given
	Archs []string // all must be supported: "sm_86", "gfx90a"
}

// Folder is a folder of the system with libraries that are not part of a platform, such as
// those of a CUDA toolkit.
type Folder struct {
	Path string // absolute, as displayed
	// Open returns a file of the folder, or nil if there is none that can be read.
	Open func(file string) *elfobj.Object
}

// Conda is a conda environment: a folder with Python, its packages and their libraries. Its
// python has a DT_RPATH, which the loader searches for every object without a DT_RUNPATH.
type Conda struct {
	Path string // absolute, as displayed
	// Site is the relative path of site-packages, such as "lib/python3.12/site-packages"; ""
	// without Python.
	Site  string
	RPath []string // relative folders of its python's DT_RPATH, such as "lib"
	// Open returns a file by relative path, or nil if there is none that can be read.
	Open func(path string) *elfobj.Object
	// Types returns the types that a module of Python at a relative path defines; nil without types.
	// It may be nil.
	Types func(path string) []cython.Type
	// DistInfo are the names of the *.dist-info folders in Site. An installed package is used if it
	// satisfies the artifact's requirement.
	DistInfo []string
	// Text returns the content of a file by relative path, or nil if there is none or it is too
	// large.
	Text func(path string) []byte
	// Owner returns the conda package of a file as NAME VERSION, or "" if unknown.
	Owner func(path string) string
}
