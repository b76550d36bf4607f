package winload

import (
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/platform/windows"
)

// Load is a root file with its dependencies, each DLL before those that it imports.
type Load struct {
	Root       *File
	Found      []Found
	Missing    []Missing
	Unresolved []Unresolved
	TooNew     []TooNew
}

// Found is a DLL of a load.
type Found struct {
	Name     string // as in the import; for the root its path
	File     *File  // nil for DLLs of Windows and Python
	NeededBy *File  // nil for the root
	How      How
}

// Missing is a DLL that is not found.
type Missing struct {
	Name      string // as in the import or the forwarder
	NeededBy  *File
	Library   windows.Library
	Delay     bool    // delay-loaded: loaded at the first call
	Forwards  string  // the export of NeededBy that is forwarded to the DLL; "" for an import
	Elsewhere []*File // files of artifacts with that name in folders that are not searched
	// SystemOnly is set if it is not found only because NeededBy lets Windows search its imports in
	// System32 only.
	SystemOnly bool
}

// Unresolved is an import that its DLL does not export.
type Unresolved struct {
	Symbol   peobj.Symbol
	Library  string // as in the import
	NeededBy *File
	Provider *File    // the DLL; nil for DLLs of Windows and Python
	Through  []string // forwarders from Library to the DLL that lacks the symbol: "libb.helper"
}

// TooNew is an import that the oldest Windows of the interpreter does not export yet.
type TooNew struct {
	Symbol   peobj.Symbol
	Library  string // as in the import or the forwarder
	NeededBy *File
	Since    string // the first version of Windows that exports it
}

// Load follows the imports of a file that Python imports or ctypes loads. Those of DLLs that were
// loaded with another package are not followed.
func (e *Environment) Load(root *File) *Load {
	l := &Load{Root: root, Found: []Found{{Name: root.Path, File: root, How: ByRoot}}}
	loaded := map[string]bool{root.Name(): true}
	for i := 0; i < len(l.Found); i++ {
		if f := l.Found[i].File; f != nil && !f.Object.Managed && l.Found[i].How != ByImport {
			e.imports(l, f, loaded)
		}
	}
	return l
}

// pair is a file and a DLL that it imports.
type pair struct {
	by, file *File
	library  string
}

// imports finds the DLLs that a file imports, and binds its symbols.
func (e *Environment) imports(l *Load, f *File, loaded map[string]bool) {
	for _, d := range f.Object.Imports {
		file, how, ok := e.find(d.Name, l.Root)
		if !ok {
			l.Missing = append(l.Missing, e.missing(d.Name, f, d.Delay, ""))
			continue
		}
		if d.Delay {
			continue
		}
		if f.Object.SystemOnly() && !loaded[fileName(d.Name)] && file != nil &&
			how != ByPreload && how != ByImport {
			// a Visual C++ runtime may be in System32 too
			if m := e.missing(d.Name, f, false, ""); m.Library.Kind != windows.Runtime {
				m.SystemOnly = true
				l.Missing = append(l.Missing, m)
			}
			continue
		}
		if name := fileName(d.Name); !loaded[name] {
			loaded[name] = true
			l.Found = append(l.Found, Found{Name: d.Name, File: file, NeededBy: f, How: how})
		}
		if file != nil && !file.Object.RunsOn(e.Machine) {
			continue // it can't be loaded, so its exports do not matter
		}
		p := pair{f, file, fileName(d.Name)}
		if e.bound[p] {
			continue
		}
		plain := true
		for _, s := range d.Symbols {
			plain = e.bind(l, f, file, d.Name, s, loaded) && plain
		}
		e.bound[p] = plain
	}
}

func (e *Environment) missing(name string, by *File, delay bool, forwards string) Missing {
	return Missing{
		Name: name, NeededBy: by, Library: e.lookup(fileName(name)),
		Delay: delay, Forwards: forwards, Elsewhere: e.elsewhere(name),
	}
}

// maxForwarders limits a chain of forwarders; those of Windows have at most three.
const maxForwarders = 16

// bind looks a symbol up in a DLL, following forwarders. file is nil for a DLL of Windows or
// Python. plain reports that it was found without a forwarder.
func (e *Environment) bind(
	l *Load,
	by, file *File,
	library string,
	s peobj.Symbol,
	loaded map[string]bool,
) (plain bool) {
	u := Unresolved{Symbol: s, Library: library, NeededBy: by}
	for range maxForwarders {
		if file == nil {
			if e.lacks(library, s) {
				l.Unresolved = append(l.Unresolved, u)
				return false
			}
			_, since := e.lookup(fileName(library)).Exports(s.Name, e.Machine)
			if since != "" && windows.Older(e.Python.Windows(e.Machine), since) {
				l.TooNew = append(l.TooNew, TooNew{s, library, by, since})
				return false
			}
			return len(u.Through) == 0
		}
		x := file.export(s)
		if x == nil {
			u.Provider = file
			l.Unresolved = append(l.Unresolved, u)
			return false
		}
		if x.Forward == "" {
			return len(u.Through) == 0
		}
		dll, target, ok := x.Target()
		if !ok {
			u.Provider = file
			l.Unresolved = append(l.Unresolved, u)
			return false
		}
		u.Through = append(u.Through, x.Forward)
		next, how, ok := e.find(dll, l.Root)
		if !ok {
			l.Missing = append(l.Missing, e.missing(dll, file, false, s.String()))
			return false
		}
		if name := fileName(dll); !loaded[name] {
			loaded[name] = true
			l.Found = append(l.Found, Found{Name: dll, File: next, NeededBy: file, How: how})
		}
		file, library, s = next, dll, target
	}
	l.Unresolved = append(l.Unresolved, u)
	return false
}

// Knows reports whether it is known what a DLL that a load finds exports, for a symbol. The stable
// ABI of Python is known by name.
func (e *Environment) Knows(library string, s peobj.Symbol, root *File) bool {
	if file, _, ok := e.find(library, root); ok && file != nil {
		return true
	}
	lib := e.lookup(fileName(library))
	if lib.Kind == windows.Python {
		_, known := cpython.OnWindows(lib.Python.Release, s.Name)
		return known || lib.Python.Stable()
	}
	p, _ := lib.Exports(s.Name, e.Machine)
	return s.Name != "" && p == windows.Present
}

// lacks reports whether a DLL of Windows or Python is known not to export a symbol.
func (e *Environment) lacks(library string, s peobj.Symbol) bool {
	lib := e.lookup(fileName(library))
	if s.Name == "" {
		return false
	}
	if lib.Kind == windows.Python {
		if lib.Python.Stable() || !strings.HasPrefix(strings.TrimPrefix(s.Name, "_"), "Py") {
			return false // the abi3 rules check the stable ABI
		}
		exports, known := cpython.OnWindows(lib.Python.Release, s.Name)
		return known && !exports && !lib.Python.FreeThreaded && !lib.Python.Debug
	}
	p, _ := lib.Exports(s.Name, e.Machine)
	return p == windows.Absent
}
