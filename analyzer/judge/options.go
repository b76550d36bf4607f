package judge

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
)

// Options describe the environment of the artifacts, as far as the user gave it. The zero value is
// the artifacts alone, with the packages that they declare.
type Options struct {
	// On is the interpreter and the libc of the environment; the zero value: those of the wheel's
	// tags. Arch is ignored.
	On   packages.Target
	With []string // requirements in the same environment, PEP 508; they win over declared ones
	// Origins are the places where requirements of With were written, by their text; a requirement
	// that is not in it was given by itself, as with --with.
	Origins map[string]Origin
	First   []string // packages whose libraries are loaded before everything else
	// LibraryPath are the folders of LD_LIBRARY_PATH where the artifact is loaded.
	LibraryPath []Folder
	// Conda is the conda environment that the artifact is installed into; nil: none.
	Conda *Conda

	Source  packages.Source // what is known of other packages; nil: the embedded history
	NoIndex bool            // no package index was configured
	// the embedded history is not used, not even to guess who provides a library
	NoHistory bool

	GPU  GPU  // what the artifact is for
	Link bool // link findings of every library are errors
	ABI  ABI  // how libraries are compared with earlier builds
}

// Origin is the place where a requirement was written.
type Origin struct {
	File string // as it is shown; "" for the command line
	Line int    // from 1; 0 unknown
	Lock bool   // the file is a lock file: requirements from elsewhere may replace its pins
}

// String is FILE:LINE; "--with" for the zero value.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return "--with"
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// GPU names the accelerators that the artifacts are for. The zero value names none.
type GPU struct {
	Stack string   // "cuda" or "rocm"; "" where it was not given
	Archs []string // each has to run: "sm_86", "gfx90a"
}

// Folder is a folder of the system with libraries that no platform table has, such as a CUDA
// toolkit's.
type Folder struct {
	Path string // absolute, as it is shown
	// Open returns one of its files; nil where there is none that can be read.
	Open func(file string) *elfobj.Object
}

// Conda is a conda environment: a folder with Python, its packages and their libraries. Its python
// was linked with a DT_RPATH, which is searched for everything that is loaded and has no
// DT_RUNPATH.
type Conda struct {
	Path string // absolute, as it is shown
	// Site is site-packages below it, such as "lib/python3.12/site-packages"; "" without Python.
	Site  string
	RPath []string // folders of its python's DT_RPATH below it, such as "lib"
	// Open returns a file below it; nil where there is none that can be read.
	Open func(path string) *elfobj.Object
	// DistInfo are the names of the *.dist-info folders in Site. A package that the artifact
	// requires is used in its installed version where that satisfies the requirement.
	DistInfo []string
	// Text returns a file below it; nil where there is none, or one of more than some megabytes.
	Text func(path string) []byte
	// Owner returns the conda package that a file belongs to, as NAME VERSION; "" where unknown.
	Owner func(path string) string
}
