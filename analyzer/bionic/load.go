package bionic

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/android"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// File is an ELF file of an artifact.
type File struct {
	Path   string // where it is installed, relative to site-packages
	Object *elfobj.Object
}

// name returns the name by which other files need the file.
func (f *File) name() string {
	if f.Object.SONAME != "" {
		return f.Object.SONAME
	}
	return path.Base(f.Path)
}

// Environment contains the files that a load can find. It is not safe for concurrent use.
type Environment struct {
	Arch  string
	Level int // of the API

	files []*File
}

// New creates an environment of the files for an architecture.
func New(arch string, level int, files []*File) *Environment {
	return &Environment{Arch: arch, Level: level, files: slices.DeleteFunc(slices.Clone(files),
		func(f *File) bool { return f.Object.Arch() != arch })}
}

// Load is a root file with its dependencies, breadth first.
type Load struct {
	Root    *File
	Found   []Found
	Missing []Missing

	env    *Environment
	unread string // a library whose exports are not known; "" without one
}

// Unread returns a library of the load whose exports are not known; "" if they all are.
func (l *Load) Unread() string { return l.unread }

// Found is a library of a load.
type Found struct {
	Name     string // as in DT_NEEDED; for the root its path
	File     *File  // nil for the libraries of Android and Python
	System   *android.Library
	Python   string // the release of a libpython: "3.13", "3.13t"; "3" of libpython3.so
	NeededBy *File  // nil for the root
}

// Missing is a library that is not found.
type Missing struct {
	Name     string
	NeededBy *File
	// Since is the API level that adds it, if the library is one of Android; else 0.
	Since int
	// Elsewhere are files of the artifact with that name in folders that are not searched.
	Elsewhere []*File
}

// libPython matches the libraries of Python for Android: libpython, and those that its modules use.
var libPython = lazyregexp.New(`^libpython(3(?:\.\d+)?t?)\.so$|^lib(?:crypto|ssl|sqlite3)_python\.so$`)

// needsOfPython are what libpython needs (the build of CPython for Android).
var needsOfPython = []string{"libdl.so", "liblog.so", "libm.so", "libc.so"}

// Load follows the needed libraries of a file that Python imports or another one opens.
func (e *Environment) Load(root *File) *Load {
	l := &Load{Root: root, Found: []Found{{Name: root.Path, File: root}}, env: e}
	for i := 0; i < len(l.Found); i++ {
		needed := needsOfPython
		if f := l.Found[i]; f.File != nil {
			needed = f.File.Object.Needed
		} else if f.Python == "" {
			continue
		}
		for _, name := range needed {
			l.need(name, l.Found[i].File)
		}
	}
	return l
}

// need adds a library that a file needs; by is nil for libpython.
func (l *Load) need(name string, by *File) {
	if slices.ContainsFunc(l.Found, func(f Found) bool {
		return f.Name == name || f.File != nil && f.File.name() == name
	}) || by == nil && slices.ContainsFunc(l.Missing, func(m Missing) bool { return m.Name == name }) {
		return
	}
	system, ok := android.Lookup(name)
	python := libPython.FindStringSubmatch(name)
	switch f := l.env.find(name, by); {
	case f != nil:
		l.Found = append(l.Found, Found{Name: name, File: f, NeededBy: by})
	case ok && system.Since <= l.env.Level:
		l.Found = append(l.Found, Found{Name: name, System: &system, NeededBy: by})
		if l.env.Level > system.Until {
			l.unread = name
		}
	case python != nil:
		l.Found = append(l.Found, Found{Name: name, Python: python[1], NeededBy: by})
		if !cpython.Known(python[1]) {
			l.unread = name
		}
	default:
		l.Missing = append(l.Missing, Missing{
			Name: name, NeededBy: by, Since: system.Since, Elsewhere: l.env.named(name),
		})
	}
}

// firstRunPath is the first API level whose linker uses DT_RUNPATH.
const firstRunPath = 24

// find returns the file of a name in the folders of DT_RUNPATH of a file, or nil.
func (e *Environment) find(name string, by *File) *File {
	if by == nil || e.Level < firstRunPath || strings.Contains(name, "/") {
		return nil
	}
	for dir := range strings.SplitSeq(by.Object.RunPath, ":") {
		rest, ok := strings.CutPrefix(strings.Replace(dir, "${ORIGIN}", "$ORIGIN", 1), "$ORIGIN")
		if !ok {
			continue // the path of another machine
		}
		at := path.Join(path.Dir(by.Path), rest, name)
		for _, f := range e.files {
			if f.Path == at {
				return f
			}
		}
	}
	return nil
}

// named returns the files with a name.
func (e *Environment) named(name string) (out []*File) {
	for _, f := range e.files {
		if f.name() == name || path.Base(f.Path) == path.Base(name) {
			out = append(out, f)
		}
	}
	return out
}
