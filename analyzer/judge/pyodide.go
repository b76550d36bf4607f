package judge

import (
	"slices"

	"github.com/compat-app/compat/analyzer/emscripten"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/pyodide"
	"github.com/compat-app/compat/analyzer/result"
)

// PyodideLoad is a wheel as the linker of Emscripten sees it.
type PyodideLoad struct {
	ABI     pyodide.ABI
	Objects []*PyodideObject

	byFile map[*emscripten.File]*PyodideObject
	files  []*emscripten.File // also those of other artifacts
}

// PyodideObject is a WebAssembly module with its load.
type PyodideObject struct {
	*facts.WasmObject
	File *emscripten.File
	// Load is the first load that contains it: its own, if it is a module of Python or a library that
	// none of these needs. It is nil for a file that is no side module.
	Load *emscripten.Load
	// Bindings are its imports in that load.
	Bindings []emscripten.Binding
}

// Of returns the object of a file, or nil if it does not belong to the artifact.
func (l *PyodideLoad) Of(f *emscripten.File) *PyodideObject { return l.byFile[f] }

// loadPyodide loads every module, and then the libraries that none of them needs.
func (s *Session) loadPyodide(c Case, with *packages.Set) *PyodideLoad {
	l := &PyodideLoad{ABI: c.Target.Platform.Pyodide(), byFile: map[*emscripten.File]*PyodideObject{}}
	for _, o := range c.Artifact.Wasm {
		f := &emscripten.File{Path: facts.Installed(o.Path), Object: o.Object}
		l.files = append(l.files, f)
		l.byFile[f] = &PyodideObject{WasmObject: o, File: f}
		l.Objects = append(l.Objects, l.byFile[f])
	}
	for _, other := range s.alongside(c.Artifact, c.Target.Platform, with) {
		for _, o := range other.Wasm {
			l.files = append(l.files, &emscripten.File{Path: facts.Installed(o.Path), Object: o.Object})
		}
	}
	for _, load := range l.loads(l.ABI) {
		for _, f := range load.Found {
			if x := l.byFile[f.File]; x != nil && x.Load == nil {
				x.Load, x.Bindings = load, load.Bind(f.File)
			}
		}
	}
	return l
}

// loads returns the loads of every module, and those of the libraries that none of them needs.
func (l *PyodideLoad) loads(abi pyodide.ABI) (out []*emscripten.Load) {
	env, loaded := emscripten.New(abi, l.files), map[*emscripten.File]bool{}
	for _, first := range []bool{true, false} {
		for _, o := range l.Objects {
			if loaded[o.File] || first != o.Extension() || !o.Dynamic {
				continue
			}
			load := env.Load(o.File)
			for _, f := range load.Found {
				loaded[f.File] = true
			}
			out = append(out, load)
		}
	}
	return out
}

// Fits reports whether an ABI has all that the wheel needs and does not contain.
func (l *PyodideLoad) Fits(abi pyodide.ABI) bool {
	for _, load := range l.loads(abi) {
		if len(load.Missing) > 0 || load.Unread() != "" {
			return false
		}
		for _, f := range load.Found {
			if slices.ContainsFunc(load.Bind(f.File), emscripten.Binding.Fails) {
				return false
			}
		}
	}
	return true
}

// pyodideTargets returns the platforms of Pyodide on which a wheel is checked: those that the user
// named, otherwise those of its tags. skip is called with what is not checked, and why.
func pyodideTargets(
	f *facts.Artifact,
	o Platforms,
	skip func(format string, args ...any),
) (out []Target) {
	if len(f.Wasm) == 0 {
		return nil
	}
	named := false
	for _, name := range slices.Concat(o.Instead, o.Also) {
		if platform.SystemOf(name) != platform.Emscripten {
			continue
		}
		named = true
		p, err := platform.Lookup(name, "")
		if err != nil {
			skip("its modules on %s, because compat does not know it", name)
			continue
		}
		out = o.request(f, p, out, skip)
	}
	if len(o.Instead) > 0 {
		if !named {
			skip("%s", o.ofOthers("WebAssembly", "Pyodide", []string{"wasm32"},
				"pyemscripten_2026_0_wasm32"))
		}
		return out
	}
	for _, p := range claimedPyodide(f) {
		out = append(out, Target{Platform: p})
	}
	return out
}

// claimedPyodide returns the platforms of a wheel's tags for Pyodide, one for each ABI.
func claimedPyodide(f *facts.Artifact) (out []*platform.Platform) {
	if f.Wheel == nil || len(f.Wasm) == 0 {
		return nil
	}
	for _, t := range f.Wheel.Tags {
		p := platform.ParseTag(t.Platform).Pyodide()
		if p != nil && !slices.ContainsFunc(out, func(q *platform.Platform) bool {
			return q.LibcVersion == p.LibcVersion
		}) {
			out = append(out, p)
		}
	}
	return out
}

// account accounts for the imports of the modules.
func (l *PyodideLoad) account(missing lost) (out result.Accounting) {
	for _, o := range l.Objects {
		for _, b := range o.Bindings {
			out.Imports++
			switch {
			case missing[[2]string{o.Path, b.Name}]:
				out.Missing++
			case b.Outcome == emscripten.Bound, b.Outcome == emscripten.Weak:
				out.Found++
			case len(o.Load.Missing) > 0:
				out.Undecide(result.NotFound, o.Load.Missing[0].Name, 1)
			default:
				out.Undecide(result.NotRead, o.Load.Unread(), 1)
			}
		}
	}
	return out
}
