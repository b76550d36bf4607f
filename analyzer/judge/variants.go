package judge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// importing is how the Python sources of a wheel import a module. It is zero for other objects, and
// without sources.
type importing struct {
	name   string
	always bool         // the import of its package imports it, and fails if it does
	use    *startup.Use // nil if no source names it
	kept   *bool        // see Pass.kept; nil if nobody asked
}

// never reports whether the sources import the module only in other versions of Python.
func (i importing) never() bool { return i.use != nil && i.use.Never }

// optional reports whether the sources handle that the import fails.
func (i importing) optional() bool { return i.use != nil && i.use.Optional }

// Unnamed reports whether it is a module in a folder, of a wheel whose sources were read, that none
// of them imports by its name.
func (v *View) Unnamed() bool {
	return strings.Contains(v.imported.name, "/") && v.imported.use == nil && !v.imported.always
}

// findVariants finds the views of which a program loads one.
func (x *packageSet) findVariants(f *facts.Artifact, python string) {
	x.readImports(f, python)
	stems := map[string][]*View{}
	var chosen []*View
	for _, v := range x.views {
		v.stack = ofStack(v.Path) // once, because it is compared with that of many
		stems[v.Stem()] = append(stems[v.Stem()], v)
		if u := v.imported.use; u != nil && u.Chosen && !u.Never {
			chosen = append(chosen, v)
		}
	}
	for _, v := range x.views {
		alternative := func(u *View) bool { return !u.imported.never() && Alternatives(v, u) }
		v.Alternative = v.imported.never() || slices.ContainsFunc(stems[v.Stem()], alternative) ||
			slices.ContainsFunc(chosen, alternative)
	}
	x.loadedTogether()
	x.selected()
}

// readImports finds out how the sources import the modules, with a version of Python, "" for those
// of the wheel's tags.
func (x *packageSet) readImports(f *facts.Artifact, python string) {
	if len(f.Program) == 0 {
		return
	}
	program := f.Program.For(versionsOf(f, python))
	var names []string
	always := map[string]bool{}
	roots := map[string]bool{}
	for _, v := range x.views {
		if !v.Extension() {
			continue
		}
		v.imported.name = facts.ModuleName(v.Path)
		names = append(names, v.imported.name)
		root, _, _ := strings.Cut(v.imported.name, "/")
		if roots[root] {
			continue
		}
		roots[root] = true
		for _, e := range program.Import(root, "").Events {
			always[e.Name] = always[e.Name] || !e.Load && !e.May && !e.Handled
		}
	}
	uses := program.Uses(names)
	for _, v := range x.views {
		v.imported.use, v.imported.always = uses[v.imported.name], always[v.imported.name]
	}
}

// versionsOf returns the versions of Python that import a wheel: the given one, or those of its
// tags.
func versionsOf(f *facts.Artifact, python string) startup.Versions {
	if minor, ok := strings.CutPrefix(strings.TrimSuffix(python, "t"), "3."); ok {
		minor, _, _ = strings.Cut(minor, ".")
		if n, err := strconv.Atoi(minor); err == nil {
			return startup.Versions{From: n, Before: n + 1}
		}
	}
	if f.Wheel == nil {
		return startup.Versions{}
	}
	var out startup.Versions
	for i, t := range f.Wheel.Tags {
		r, ok := cpython.OfTag(t.Python, t.ABI)
		if !ok {
			return startup.Versions{}
		}
		if i == 0 || r.Minor < out.From {
			out.From = r.Minor
		}
		out.Before = max(out.Before, r.Minor+1)
	}
	if !singlePython(f) {
		out.Before = 0
	}
	return out
}

// loadedTogether finds libraries that are named like variants but are not: importing a module loads
// several of them. libtorch.so needs both libtorch_cpu.so and libtorch_cuda.so.
func (x *packageSet) loadedTogether() {
	own := map[*dynlink.Library]*View{}
	for _, v := range x.views {
		if v.Alternative {
			own[v.Library] = v
		}
	}
	var modules []*View
	for _, v := range x.views {
		if v.Extension() && !v.Alternative {
			modules = append(modules, v)
		}
	}
	for _, m := range modules {
		loaded := map[string][]*View{} // by stem
		for _, l := range m.Loading.Found {
			if v := own[l.Library]; v != nil {
				loaded[v.Stem()] = append(loaded[v.Stem()], v)
			}
		}
		for _, variants := range loaded {
			for _, v := range variants {
				v.Alternative = len(variants) == 1 && v.Alternative
			}
		}
	}
}

// selected finds variants that the environment selects: those whose libraries are found, where all
// others lack one, such as that of another CUDA version.
func (x *packageSet) selected() {
	var alone []*View
	for _, v := range x.views {
		if v.Alternative && v.Extension() && len(v.Missing) == 0 &&
			!slices.ContainsFunc(x.views, func(u *View) bool {
				return Alternatives(v, u) && len(u.Missing) == 0
			}) {
			alone = append(alone, v)
		}
	}
	for _, v := range alone {
		v.Alternative = false
	}
}

// Alternatives reports whether a program loads only one of two objects: their names differ only in
// a version or a GPU stack, or a Python source imports one of them under a condition and otherwise
// the other one, or imports one in other versions of Python only. Modules that a source imports in
// any case are none, unless they have one name, so that the interpreter selects one.
func Alternatives(a, b *View) bool {
	m, n := a.imported, b.imported
	if m.use != nil && n.use != nil && m.name != n.name {
		if m.never() || n.never() {
			return true
		}
		if m.always || n.always || slices.ContainsFunc(m.use.By, func(source string) bool {
			return slices.Contains(n.use.By, source)
		}) {
			return false
		}
		if m.use.Chosen && n.use.Chosen && m.use.Instead(n.use) {
			return true
		}
	}
	return a.Stem() == b.Stem() && a.Path != b.Path &&
		(a.SONAME == "" || a.SONAME != b.SONAME || a.stack != b.stack)
}

// stackFolder matches a folder for a release of CUDA or ROCm: "cu12".
var stackFolder = lazyregexp.New(`(?:^|/)((?:cu|cuda|rocm)[-_]?[0-9]+)/`)

// ofStack returns the folder for a release of CUDA or ROCm that a file is in, or "".
func ofStack(file string) string {
	if m := stackFolder.FindStringSubmatch(file); m != nil {
		return m[1]
	}
	return ""
}
