package winload

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/startup"
)

// File is a PE file of an artifact at its installed path.
type File struct {
	Path    string // relative to site-packages, with slashes; may be "../../Library/bin/x.dll"
	Object  *peobj.Object
	Package packages.ID // that installs it; zero for the artifact itself
	// Imported is set if the artifact may import the package before its modules are loaded.
	Imported bool

	ordinals map[uint32]*peobj.Export // nil before the first lookup of an ordinal
}

// Name returns the file name in lower case, by which imports find the file.
func (f *File) Name() string { return strings.ToLower(path.Base(f.Path)) }

// export returns an export by name or ordinal, or nil.
func (f *File) export(s peobj.Symbol) *peobj.Export {
	if s.Name != "" {
		return f.Object.Export(s.Name)
	}
	if f.ordinals == nil {
		f.ordinals = make(map[uint32]*peobj.Export, len(f.Object.Exports))
		for i := range f.Object.Exports {
			e := &f.Object.Exports[i]
			f.ordinals[e.Ordinal] = e
		}
	}
	return f.ordinals[uint32(s.Ordinal)]
}

// Exports reports whether the file exports a symbol, also by a forwarder.
func (f *File) Exports(s peobj.Symbol) bool { return f.export(s) != nil }

// Python is the interpreter that imports the modules of an artifact.
type Python struct {
	windows.Interpreter
	AnyRelease bool // the artifact is for every release, so any python3XX.dll is accepted
}

// searchesPath reports whether the DLLs of a module are searched in PATH.
func (p Python) searchesPath() bool { return p.Minor < 8 && !p.AnyRelease }

// Environment contains the files that a load can find. It is not safe for concurrent use.
type Environment struct {
	Python  Python
	Machine string // of peobj: "amd64"
	// Folders are searched in every load, relative to site-packages: Library/bin in conda.
	Folders []string
	// Bundled are names of DLLs, in lower case, that every load finds and whose exports are not
	// known.
	Bundled []string

	files   []*File
	startup *startup.Sources
	byName  map[string][]*File // in the order of files
	known   map[string]windows.Library
	bound   map[pair]bool // pairs whose imports are all bound without forwarders

	root     *File // root of the last load
	before   startup.Effects
	preloads map[string]*File // DLLs that ctypes loads before the root, by name
}

// New creates an environment of the files of an artifact. sources are the effects of its Python
// sources; nil means none.
func New(python Python, machine string, files []*File, sources *startup.Sources) *Environment {
	e := &Environment{
		Python:  python,
		Machine: machine,
		files:   files,
		startup: sources,
		byName:  map[string][]*File{},
		known:   map[string]windows.Library{}, bound: map[pair]bool{},
	}
	for _, f := range files {
		e.byName[f.Name()] = append(e.byName[f.Name()], f)
	}
	return e
}

// How is the way in which a DLL was found.
type How string

// Values of How.
const (
	ByRoot How = "root" // the file that is loaded
	// the folder of the imported module, or of the DLL that ctypes loads
	ByModule    How = "folder of module"
	ByDirectory How = "add_dll_directory" // a folder that the artifact adds
	ByPreload   How = "loaded before"     // by ctypes, in the artifact's Python sources
	ByPath      How = "PATH"
	ByPython    How = "Python"  // the folder of python.exe
	ByWindows   How = "Windows" // System32, and names that map to its DLLs
	ByFolder    How = "environment"
	ByBundle    How = "bundled" // Environment.Bundled
	ByImport    How = "import"  // loaded by a package that was imported before
	ByProgram   How = "program" // the program itself exports the symbols: node.exe
)

// find looks for a DLL. file is nil for DLLs of Windows and Python.
func (e *Environment) find(name string, root *File) (file *File, how How, ok bool) {
	name = fileName(name)
	lib := e.lookup(name)
	if lib.Kind == windows.APISet {
		return nil, ByWindows, lib.Presence == windows.Present
	}
	switch {
	case slices.Contains(e.Bundled, name):
		return nil, ByBundle, true
	case strings.HasSuffix(name, ".exe"):
		return nil, ByProgram, true
	case e.Python.Installs(name, e.Machine) == windows.Present, strings.HasPrefix(name, "libpypy"),
		name == "python-native.dll", // of GraalPy
		lib.Kind == windows.Python && e.Python.AnyRelease && !lib.Python.Debug:
		return nil, ByPython, true
	case lib.KnownDLL():
		return nil, ByWindows, true
	}
	scope := e.scope(root)
	if f := e.preloads[name]; f != nil {
		return f, ByPreload, true
	}
	if f := e.in(name, path.Dir(root.Path)); f != nil {
		return f, ByModule, true
	}
	for _, d := range scope.Directories {
		if f := e.in(name, d); f != nil {
			return f, ByDirectory, true
		}
	}
	if lib.Presence == windows.Present {
		return nil, ByWindows, true
	}
	if e.Python.searchesPath() {
		for _, d := range scope.Path {
			if f := e.in(name, d); f != nil {
				return f, ByPath, true
			}
		}
	}
	for _, d := range e.Folders {
		if f := e.in(name, d); f != nil {
			return f, ByFolder, true
		}
	}
	for _, f := range e.byName[name] {
		if scope.Mentions(path.Dir(f.Path)) {
			return f, ByDirectory, true
		}
	}
	if f, ok := e.imported(name); ok {
		return f, ByImport, true
	}
	return nil, "", false
}

// imported returns a DLL that a package which was imported before may have loaded. file is nil if
// several packages have one with that name, because any of them may be loaded.
func (e *Environment) imported(name string) (file *File, ok bool) {
	for _, f := range e.byName[name] {
		if !f.Imported || !f.Object.RunsOn(e.Machine) {
			continue
		}
		if ok {
			return nil, true
		}
		file, ok = f, true
	}
	return file, ok
}

// lookup returns the facts about a DLL by its file name.
func (e *Environment) lookup(name string) windows.Library {
	l, ok := e.known[name]
	if !ok {
		l = windows.Lookup(name, e.Machine)
		e.known[name] = l
	}
	return l
}

// scope returns the effects of Python sources on a load.
func (e *Environment) scope(root *File) startup.Effects {
	if e.root != root {
		e.root, e.before, e.preloads = root, e.startup.Of(root.Path), map[string]*File{}
		for _, p := range e.before.Preloaded {
			e.preload(path.Dir(p), strings.ToLower(path.Base(p)))
		}
	}
	return e.before
}

// preload adds a DLL that ctypes loads, and its imports from the same folder; the name "*" means
// all DLLs of the folder.
func (e *Environment) preload(folder, name string) {
	if name == "*" {
		for _, f := range e.files {
			if strings.EqualFold(path.Dir(f.Path), folder) {
				e.preload(folder, f.Name())
			}
		}
		return
	}
	name = fileName(name)
	f := e.in(name, folder)
	if f == nil || e.preloads[name] != nil || !e.complete(f, map[*File]bool{}) {
		return
	}
	e.preloads[name] = f
	for _, d := range f.Object.Imports {
		e.preload(folder, fileName(d.Name))
	}
}

// complete reports whether ctypes can load a DLL by its path: all its imports are in its own
// folder, in added folders, or part of Windows or Python. Visual C++ runtimes are assumed to be
// installed.
func (e *Environment) complete(f *File, seen map[*File]bool) bool {
	if seen[f] {
		return true
	}
	seen[f] = true
	for _, d := range f.Object.Imports {
		name := fileName(d.Name)
		lib := e.lookup(name)
		if d.Delay || e.preloads[name] != nil || lib.Presence == windows.Present ||
			lib.Kind == windows.Runtime || lib.Kind == windows.Python ||
			e.Python.Installs(name, e.Machine) == windows.Present {
			continue
		}
		found := e.in(name, path.Dir(f.Path))
		for _, folder := range e.before.Directories {
			if found == nil {
				found = e.in(name, folder)
			}
		}
		if found == nil || !e.complete(found, seen) {
			return false
		}
	}
	return true
}

// in returns a file in a folder, preferably one for the environment's machine.
func (e *Environment) in(name, folder string) *File {
	var other *File
	for _, f := range e.byName[name] {
		if !strings.EqualFold(path.Dir(f.Path), folder) {
			continue
		}
		if f.Object.RunsOn(e.Machine) {
			return f
		}
		other = f
	}
	return other
}

// elsewhere returns all files of artifacts with a name for the machine, in any folder.
func (e *Environment) elsewhere(name string) []*File {
	return slices.DeleteFunc(slices.Clone(e.byName[fileName(name)]), func(f *File) bool {
		return !f.Object.RunsOn(e.Machine) || f.Package != packages.ID{}
	})
}

// fileName normalises the name of an import as the loader does: lower case, with .dll if it has no
// extension.
func fileName(name string) string {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if !strings.Contains(name, ".") {
		name += ".dll"
	}
	return name
}
