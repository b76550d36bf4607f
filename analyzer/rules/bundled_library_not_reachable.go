package rules

import (
	"fmt"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var bundledLibraryNotReachable = &analyzer.Rule{
	ID:       "bundled-library-not-reachable",
	Title:    "A library in the wheel is not on the search path of the object that needs it",
	Severity: analyzer.Warning,
	Doc: `An object needs a library that is bundled in the wheel, but neither its DT_RUNPATH or
DT_RPATH nor the platform's search path leads to that library. The loader does not search the
folder of an object unless a path names it. The load works only if something has loaded the
library before (the package's __init__, with ctypes or by importing another module). Otherwise it
fails with "cannot open shared object file".

It is an error if nothing can have loaded it. The Python sources of the wheel are read for calls
that load libraries: ctypes, cffi, numpy.ctypeslib.load_library, torch.ops.load_library and
functions with similar names. It is a warning if such a call names the library or computes a name,
if another object of the wheel finds the library or calls dlopen, if the wheel has code without
its source or no __init__.py of the package, and if a declared dependency has the library or is
not known.

A RUNPATH applies only to the object that has it, not to the libraries that this object loads. An
RPATH applies to those as well; auditwheel treats both like an RPATH. A path of the build machine
(/opt/build/lib) does not exist where the wheel is installed.

Fix: give the object a RUNPATH that starts with $ORIGIN, with ` + "`patchelf --set-rpath`" + ` or
` + "`auditwheel repair`" + `.

Severity: a note where no module of the wheel loads the object, and for one of several variants.
There is no finding where an object of the wheel loads both libraries and finds the needed one by
its own path.

On macOS a path begins with @loader_path/ (the folder of the file with the load command), or with
@rpath/ for each LC_RPATH of the file and of the files that load it. @executable_path/ is the folder
of python and never right in a wheel. The load fails with "Library not loaded", so it is an error,
and a warning where another module of the wheel loads the library under the same name. Fix: a run
path, or ` + "`install_name_tool -change`" + `, and a new signature after the edit.

On Windows from Python 3.8 on, the DLLs of a module are searched in the folder of the module, in
the folders that os.add_dll_directory added, in the folder of python.exe and in System32. PATH
does not count. The package's Python sources are read for calls of os.add_dll_directory and for
DLLs that ctypes loads before. It is an error there, and a warning where another module of the
package loads the DLL.

Not detected: on Windows folders that a package computes in another way than from its own path.`,
	References: []string{"glibc: elf/dl-load.c", "gABI, DT_RUNPATH", "auditwheel: repair"},
	Check:      checkReachable,
	Windows:    checkReachableDLLs,
	MacOS:      checkReachableMacOS,
}

func checkReachable(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel {
		return
	}
	for _, v := range p.Views {
		for _, found := range v.Loading.Found {
			l := found.Library
			if found.NeededBy != v.Library || found.By != dynlink.ByPackage ||
				l.Kind != dynlink.FromArtifact ||
				loadedWith(p, v, l) {
				continue
			}
			name := l.SONAME
			if name == "" {
				name = path.Base(l.Path)
			}
			f := analyzer.Finding{
				Object:  v.Path,
				Library: name,
				Chain:   analyzer.Chain(v.Library, l),
			}
			first := ""
			switch modules := importers(p, v); {
			case v.Alternative || len(modules) == 0:
				f.Severity = analyzer.Note
			case !mayBeLoaded(p, v, l, modules):
				f.Severity = analyzer.Error
				first = ", and nothing in the wheel loads it before"
			}
			f.Message = fmt.Sprintf(
				"%s needs %s, which is bundled at %s, but %s. %s loads only if %s is already loaded%s",
				v.Path,
				name,
				l.Path,
				pathsOf(v),
				path.Base(v.Path),
				name,
				first,
			)
			var fixes []fix.Candidate
			if to := runPath(p, v, path.Dir(l.Path)); to != "" {
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindPatchelf,
							Title:   "Set a RUNPATH that leads to the library",
							Command: edit(p, v.Path, setRunPath(to)),
						},
						Change: fix.SetRunPath{Object: v.Path, RunPath: to},
					},
				)
			}
			p.Report(f, fixes...)
		}
	}
}

// mayBeLoaded reports whether something may have loaded a library before one of the modules that
// need it through v is imported: a Python source, another module or library of the artifact, or a
// package that it depends on. If a package is not known, it may.
func mayBeLoaded(
	p *analyzer.Pass,
	v *analyzer.View,
	l *dynlink.Library,
	modules []*analyzer.View,
) bool {
	names := l.Names()
	if !slices.ContainsFunc(modules, func(m *analyzer.View) bool {
		return !p.Facts.MayPreload(m.Path, names...)
	}) {
		return true
	}
	for _, name := range names {
		if notLookedUp(p, name) != "" || otherVersion(p, name) != nil {
			return true
		}
	}
	opens := func(name string) bool { return name == "dlopen" || name == "dlmopen" }
	return slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
		return u != v && (u.Library == l && u.Extension() ||
			u.Extension() && !u.Loading.Has(v.Library) && u.Imports.Any(opens) ||
			slices.ContainsFunc(u.Loading.Found, func(f dynlink.Found) bool {
				return f.Library == l && f.NeededBy != nil && f.By != dynlink.ByPackage
			}))
	})
}

func pathsOf(v *analyzer.View) string {
	switch {
	case v.RunPath != "":
		return "its RUNPATH " + v.RunPath + " does not lead to it"
	case v.RPath != "":
		return "its RPATH " + v.RPath + " does not lead to it"
	}
	return "it has no RUNPATH"
}

// importers returns the modules that Python imports and that load an object, or are the object.
func importers(p *analyzer.Pass, v *analyzer.View) []*analyzer.View {
	var out []*analyzer.View
	for _, u := range p.Views {
		if u.Extension() && fitting(p, u) && (u == v || u.Loading.Has(v.Library)) {
			out = append(out, u)
		}
	}
	return out
}

// fitting reports whether a Python of the wheel's tags imports a module by its file name.
func fitting(p *analyzer.Pass, v *analyzer.View) bool {
	m, ok := parseModule(v.Path)
	return !ok || p.Facts.Wheel != nil && slices.ContainsFunc(p.Facts.Wheel.Tags,
		func(t pkgmeta.Tag) bool { return m.imports(t, p.Platform.Libc) })
}

// loadedWith reports whether another object of the artifact loads both v and the library. It may
// find the library by its own path, or its path may apply to v: in glibc a DT_RPATH applies to what
// the object loads, unless that has a DT_RUNPATH; in musl both do.
func loadedWith(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) bool {
	for _, u := range p.Views {
		chain := u.Loading.Chain(v.Library)
		if u == v || chain == nil {
			continue
		}
		if slices.ContainsFunc(u.Loading.Found, func(f dynlink.Found) bool {
			return f.Library == l && (f.By == dynlink.ByRunPath || f.By == dynlink.ByRPath)
		}) {
			return true
		}
		for _, by := range chain {
			paths := ownPaths(by)
			if p.Platform.Libc != "musl" && (by.RunPath != "" || v.RunPath != "") {
				paths = ""
			}
			if leadsTo(by, paths, path.Dir(l.Path)) {
				return true
			}
		}
	}
	return false
}
