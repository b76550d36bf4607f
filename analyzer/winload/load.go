package winload

import (
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/platform/windows"
)

// Load is a file with everything that its load brings in, each DLL before those that it imports.
type Load struct {
	Root       *File
	Found      []Found
	Missing    []Missing
	Unresolved []Unresolved
}

// Found is one DLL of a load.
type Found struct {
	Name     string // as the import has it; of the root its path
	File     *File  // nil for what Windows or Python has
	NeededBy *File  // nil for the root
	How      How
}

// Missing is a DLL that is not found.
type Missing struct {
	Name      string // as the import or the forwarder has it
	NeededBy  *File
	Library   windows.Library
	Delay     bool    // it is loaded at the first call
	Forwards  string  // the export of NeededBy that is forwarded to it; "" for an import
	Elsewhere []*File // files of that name in the artifact, where no search leads
}

// Unresolved is an import that the DLL it names does not export.
type Unresolved struct {
	Symbol   peobj.Symbol
	Library  string // as the import has it
	NeededBy *File
	Provider *File    // the DLL; nil for one of Windows or Python
	Through  []string // forwarders that lead from Library to where it is absent: "libb.helper"
}

// Load follows the imports from a file that Python imports or ctypes loads.
func (e *Environment) Load(root *File) *Load {
	l := &Load{Root: root, Found: []Found{{Name: root.Path, File: root, How: ByRoot}}}
	loaded := map[string]bool{root.Name(): true}
	for i := 0; i < len(l.Found); i++ {
		if f := l.Found[i].File; f != nil && !f.Object.Managed {
			e.imports(l, f, loaded)
		}
	}
	return l
}

// pair is a file with one of the DLLs that it imports.
type pair struct {
	by, file *File
	library  string
}

// imports looks for what a file imports, and binds it.
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
		if name := fileName(d.Name); !loaded[name] {
			loaded[name] = true
			l.Found = append(l.Found, Found{Name: d.Name, File: file, NeededBy: f, How: how})
		}
		if file != nil && !file.Object.RunsOn(e.Machine) {
			continue // it can't be loaded, whatever it exports
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

// maxForwarders bounds a chain of forwarders; the longest of Windows have three.
const maxForwarders = 16

// bind looks a symbol up in a DLL, and in those that its forwarders name. file is nil for a DLL of
// Windows or Python. plain: it was found without a forwarder.
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

// lacks reports whether a DLL of Windows or Python is known not to have a symbol.
func (e *Environment) lacks(library string, s peobj.Symbol) bool {
	lib := e.lookup(fileName(library))
	if s.Name == "" {
		return false
	}
	if lib.Kind == windows.Python {
		if lib.Python.Stable() || !strings.HasPrefix(strings.TrimPrefix(s.Name, "_"), "Py") {
			return false // what belongs to the stable ABI is a question of the wheel's tag
		}
		exports, known := cpython.OnWindows(lib.Python.Release, s.Name)
		return known && !exports && !lib.Python.FreeThreaded && !lib.Python.Debug
	}
	p, _ := lib.Exports(s.Name, e.Machine)
	return p == windows.Absent
}
