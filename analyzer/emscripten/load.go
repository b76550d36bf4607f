package emscripten

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/pyodide"
	"github.com/compat-app/compat/analyzer/wasmobj"
)

// File is a module of an artifact.
type File struct {
	Path   string // where it is installed, relative to site-packages
	Object *wasmobj.Object

	exports map[string]*wasmobj.Export
}

// export returns what the file exports under a name, or nil.
func (f *File) export(name string) *wasmobj.Export {
	if f.exports == nil {
		f.exports = make(map[string]*wasmobj.Export, len(f.Object.Exports))
		for i := range f.Object.Exports {
			e := &f.Object.Exports[i]
			f.exports[e.Name] = e
		}
	}
	return f.exports[name]
}

// Environment contains the files that a load can find. It is not safe for concurrent use.
type Environment struct {
	ABI pyodide.ABI

	files []*File
}

// New creates an environment. Files that are no side modules are not found.
func New(abi pyodide.ABI, files []*File) *Environment {
	return &Environment{ABI: abi, files: slices.DeleteFunc(slices.Clone(files),
		func(f *File) bool { return !f.Object.Dynamic })}
}

// Load is a root file with its dependencies.
type Load struct {
	Root    *File
	Found   []Found // in the order in which their code is linked: a library before its users
	Missing []Missing

	env    *Environment
	seen   map[string]bool
	unread string
}

// Found is a file of a load.
type Found struct {
	Name     string // as in the list of needed libraries; for the root its path
	File     *File  // nil for a library of Pyodide's distribution
	NeededBy *File  // nil for the root
}

// Missing is a library that is not found.
type Missing struct {
	Name      string
	NeededBy  *File
	Elsewhere []*File // files of the artifact with that name in folders that are not searched
}

// Unread returns a library of the load whose exports are not known; "" if they all are.
func (l *Load) Unread() string { return l.unread }

// Has reports whether a file is part of the load.
func (l *Load) Has(f *File) bool { return l.seen[f.Path] }

// Load follows the needed libraries of a file that Python imports or another one opens.
func (e *Environment) Load(root *File) *Load {
	l := &Load{Root: root, env: e, seen: map[string]bool{}}
	l.add(Found{Name: root.Path, File: root})
	return l
}

// add adds a file after the libraries that it needs.
func (l *Load) add(f Found) {
	if f.File != nil {
		l.seen[f.File.Path] = true
		for _, name := range f.File.Object.Needed {
			l.need(name, f.File)
		}
	}
	l.Found = append(l.Found, f)
}

func (l *Load) need(name string, by *File) {
	f := l.env.find(name, by)
	at := name
	if f != nil {
		at = f.Path
	}
	switch {
	case l.seen[at]:
	case f != nil:
		l.add(Found{Name: name, File: f, NeededBy: by})
	case pyodide.Package(name) != "":
		l.seen[at] = true
		l.unread = name
		l.add(Found{Name: name, NeededBy: by})
	default:
		l.Missing = append(l.Missing, Missing{name, by, l.env.named(name)})
	}
}

// find returns the library of a name that a file needs, or nil.
func (e *Environment) find(name string, by *File) *File {
	if strings.Contains(name, "/") {
		return nil
	}
	if !e.ABI.RunPaths {
		if all := e.named(name); len(all) > 0 {
			return all[0]
		}
		return nil
	}
	dirs := []string{}
	for _, dir := range by.Object.RunPaths {
		if rest, ok := strings.CutPrefix(dir, "$ORIGIN"); ok { // else a path of another machine
			dirs = append(dirs, path.Join(path.Dir(by.Path), rest))
		}
	}
	for _, dir := range append(dirs, "") {
		at := path.Join(dir, name)
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
		if path.Base(f.Path) == path.Base(name) {
			out = append(out, f)
		}
	}
	return out
}
