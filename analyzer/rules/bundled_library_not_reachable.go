package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

var bundledLibraryNotReachable = &analyzer.Rule{
	ID:       "bundled-library-not-reachable",
	Title:    "A library in the package is not on the search path of the object that needs it",
	Severity: analyzer.Warning,
	Doc: `An object needs a library that is bundled in the wheel, but neither its DT_RUNPATH or
DT_RPATH nor the platform's search path leads to that library. The loader does not search the
folder of an object unless a path names it. The load works only if something has loaded the
library before (the package's __init__, with ctypes or by importing another module). Otherwise it
fails with "cannot open shared object file".

There is no finding where the sources of the package load it by its path with RTLD_GLOBAL, or import
a module that finds it, in each way to import the object. It is an error if nothing can have loaded
it, and if a source that the package imports loads the object by its path before the library,
outside of functions, and does not handle OSError. The Python sources of the wheel are read for
calls that load libraries: ctypes, cffi, numpy.ctypeslib.load_library, torch.ops.load_library and
functions with similar names. It is a warning if such a call names the library or computes a name,
if another object of the wheel finds the library or may load libraries itself, if the wheel has
code without its source, if another project may have the __init__.py of the package, and if a
declared dependency has the library or is not known.

A RUNPATH applies only to the object that has it, not to the libraries that this object loads. An
RPATH applies to those as well; auditwheel treats both like an RPATH. A path of the build machine
(/opt/build/lib) does not exist where the wheel is installed.

The loader searches the name in DT_NEEDED, which is the SONAME of the library. A file with another
name is not found, even if a path leads to its folder.

In a conda package, libraries in lib are found: conda's python and other programs have the RPATH
$ORIGIN/../lib, which applies to everything that they load, except to an object that has a RUNPATH.
An absolute path to the prefix of the build counts as one, because conda replaces it. It is an error
for modules like those of a wheel, and for what the package's programs in bin need; a warning for
other programs, and if the package has scripts that run on activation (with LD_LIBRARY_PATH) or
after the installation; a warning for public libraries in lib; and a note for plug-ins. There is no
finding where a dependency is named after the library.

In a deb the loader searches only the folders of the system for what no path leads to. It is an
error for programs that users start by name and for libraries in the folders of the system, and a
warning for other programs, which a script may start, if a package in Depends may have the library,
and if the deb has files that may lead the loader to it: scripts that set LD_LIBRARY_PATH or make
links, and configuration of the loader (/etc/ld.so.conf.d). Plug-ins of a deb are not reported.

On Android only DT_RUNPATH counts, from API level 24 on. In Pyodide the run path of a module counts
since the ABI 2025_0, and a library in site-packages is found.

On iOS the build of an app makes a framework of each module (*.so) and moves it to the folder
Frameworks (PEP 730), so a module does not find another file of its wheel. A dynamic library
(*.dylib) stays where it is, and the App Store refuses the app: a warning, if no module needs it.
Fix: link libraries statically.

Fix: give the object a RUNPATH that starts with $ORIGIN, with ` + "`patchelf --set-rpath`" + ` or
` + "`auditwheel repair`" + `; in a conda package an RPATH, as conda-build does. Rename a file of a wheel
that does not have the name of its SONAME.

Severity: a note where no module of the wheel loads the object and no library of the wheel has its
name in a constant, to open it, and for one of several variants.
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

A DLL that is linked with /DEPENDENTLOADFLAG:0x800 has its own DLLs searched in System32 only, also
if they are in its folder.

Not detected: on Windows folders that a package computes in another way than from its own path.`,
	Cause: cause.Rule{
		Kind: cause.Unreachable, Loader: cause.ReportsLibrary,
		Warns: "it works where something else has already loaded the library",
	},
	Explains:   []string{"macos-library-not-loaded", "windows-dll-not-found"},
	References: []string{"glibc: elf/dl-load.c", "gABI, DT_RUNPATH", "auditwheel: repair"},
	Check:      checkReachable,
	Windows:    checkReachableDLLs,
	MacOS:      checkReachableMacOS,
	Android:    checkReachableAndroid,
	IOS:        checkReachableIOS,
	Pyodide:    checkReachablePyodide,
}

func checkReachable(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel && !p.Facts.Conda() && !ofDebian(p) {
		return
	}
	for _, x := range unreachedLibraries(p) {
		l := x.library
		name := l.SONAME
		if name == "" {
			name = path.Base(l.Path)
		}
		f := analyzer.Finding{
			Object:  x.by.Path,
			Library: name,
			Chain:   analyzer.Chain(x.by.Library, l),
		}
		first := ""
		modules := importers(p, x.by)
		if alwaysLoaded(p, l, modules) {
			continue
		}
		switch {
		case x.by.Alternative:
			f.Severity = analyzer.Note
		case ofDebian(p) && (p.Facts.SetsUp || x.elsewhere(p) ||
			x.program != nil && !onPath(x.program)):
		case ofDebian(p):
			f.Severity = analyzer.Error
			first = ", and nothing in the package loads it first"
		case x.program != nil && onPath(x.program) && !p.Facts.SetsUp,
			len(modules) > 0 && !mayBeLoaded(p, x.by, l, modules):
			f.Severity = analyzer.Error
			first = ", and nothing in the " + packageWord(p) + " loads it first"
		case len(modules) == 0 && openedWithout(p, x.by, l):
			f.Severity = analyzer.Error
			first = ", and the Python code loads it only later or not at all"
		case x.program == nil && len(modules) == 0 && !x.linked(p):
			if p.Facts.Conda() && x.found(p) {
				continue // the host of a plug-in loads it
			}
			if !opensBefore(p, x.by, name) {
				f.Severity = analyzer.Note
			}
		}
		why := x.paths(p)
		if !hasName(p, x.by, l) {
			why = "the loader searches for a file named " + name
			if !leads(x.by, l) {
				why += ", and " + x.paths(p)
			}
		}
		f.Message = fmt.Sprintf(
			"%s needs %s, which is bundled at %s, but %s. %s loads only if %s is already loaded%s",
			x.by.Path,
			name,
			l.Path,
			why,
			path.Base(x.by.Path),
			name,
			first,
		)
		p.Report(f, reaching(p, x.by, l)...)
	}
}

// hasName reports whether the file of a library has the name that an object needs. In a package
// with symbolic links, one of them has it.
func hasName(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) bool {
	return p.Facts.Kind != analyzer.KindWheel || slices.Contains(v.Needed, path.Base(l.Path))
}

// leads reports whether the search path of an object leads to the folder of a library.
func leads(v *analyzer.View, l *dynlink.Library) bool {
	return leadsTo(v.Library, path.Dir(l.Path))
}

// pathTag returns what the fixes for an artifact call the search path of an object.
func pathTag(p *analyzer.Pass) string {
	if p.Facts.Conda() {
		return "an RPATH"
	}
	return "a RUNPATH"
}

// searching returns the fix that sets the search path of an object.
func searching(p *analyzer.Pass, v *analyzer.View, to string) fix.Candidate {
	return fix.Candidate{
		Fix: fix.Fix{
			Kind:    fix.KindPatchelf,
			Title:   fix.Titled("Set %s that leads to the library", pathTag(p)),
			Command: edit(p, v.Path, setRunPath(p, to)),
		},
		Change: fix.SetRunPath{Object: v.Path, RunPath: to},
	}
}

// reaching returns the fixes with which an object finds a library of the artifact: a path to its
// folder, and the name that the object needs for a file with another one.
func reaching(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) []fix.Candidate {
	to := runPath(p, v, path.Dir(l.Path))
	if to == "" {
		return nil
	}
	if hasName(p, v, l) {
		return []fix.Candidate{searching(p, v, to)}
	}
	at := path.Join(path.Dir(l.Path), l.SONAME)
	if p.Facts.Wheel == nil || path.Dir(at) != path.Dir(l.Path) ||
		slices.ContainsFunc(p.Views, func(u *analyzer.View) bool { return u.Path == at }) {
		return nil
	}
	change := fix.All{fix.Rename{File: l.Path, To: at}}
	title := fix.Titled("Rename %s to its SONAME %s", l.Path, fix.Library(l.SONAME))
	var programs []shellword.Line
	if !leads(v, l) {
		title = title.Append(", and set %s that leads to it", pathTag(p))
		programs = []shellword.Line{setRunPath(p, to)}
		change = append(change, fix.SetRunPath{Object: v.Path, RunPath: to})
	}
	return []fix.Candidate{{
		Fix: fix.Fix{
			Kind:    fix.KindPatchelf,
			Title:   title,
			Command: renaming(p, v.Path, l.Path, at, programs...),
		},
		Change: change,
	}}
}

// unreached is a library of the artifact that the loader does not find for an object.
type unreached struct {
	by      *analyzer.View
	library *dynlink.Library
	program *analyzer.View // of a conda package or deb, that loads by; nil if there is none
}

// ofDebian reports whether the artifact is a deb.
func ofDebian(p *analyzer.Pass) bool { return p.Facts.Format == unpack.FormatDeb }

// elsewhere reports whether a package that a deb depends on may have the library too.
func (x unreached) elsewhere(p *analyzer.Pass) bool {
	_, perhaps := p.Facts.DependencyProvides(x.library.Names()[0])
	return perhaps
}

// unreachedLibraries returns the libraries that no search path leads to: those that an object needs
// itself, and in a conda package or deb those that one of its programs needs indirectly. A program
// has loaded nothing before. Of a deb, what no loader searches is a plug-in of a program.
func unreachedLibraries(p *analyzer.Pass) (out []unreached) {
	own := map[*dynlink.Library]*analyzer.View{}
	for _, v := range p.Views {
		own[v.Library] = v
	}
	for _, v := range p.Views {
		if v.Program() && (p.Facts.Conda() || ofDebian(p)) || ofDebian(p) && !v.Searched() {
			continue
		}
		for _, found := range v.Loading.Found {
			if l := found.Library; found.NeededBy == v.Library && own[l] != nil &&
				unreachedIn(p, own, found) && !loadedWith(p, v, l) {
				out = append(out, unreached{by: v, library: l})
			}
		}
	}
	if !p.Facts.Conda() && !ofDebian(p) {
		return out
	}
	for _, v := range p.Views {
		if !v.Program() {
			continue
		}
		for _, found := range v.Loading.Found {
			by := own[found.NeededBy]
			if by == nil || !unreachedIn(p, own, found) {
				continue
			}
			i := slices.IndexFunc(out, func(x unreached) bool {
				return x.by == by && x.library == found.Library
			})
			if i < 0 {
				i = len(out)
				out = append(out, unreached{by: by, library: found.Library})
			}
			if out[i].program == nil || !onPath(out[i].program) {
				out[i].program = v
			}
		}
	}
	return out
}

// unreachedIn reports whether a load takes a library of the artifact that no search path leads to.
// In a conda environment it may instead be that of a package with the same library. own are the
// views of the artifact.
func unreachedIn(
	p *analyzer.Pass,
	own map[*dynlink.Library]*analyzer.View,
	found dynlink.Found,
) bool {
	l := found.Library
	return found.By == dynlink.ByPackage && l.Kind == dynlink.FromArtifact &&
		!(ofDebian(p) && own[l] != nil && own[l].Searched()) &&
		!(p.Facts.Conda() && slices.ContainsFunc(l.Names(), func(name string) bool {
			certain, perhaps := p.Facts.DependencyProvides(name)
			_, known := platform.ProviderOf(name)
			return certain || perhaps && (known || p.Platform.Library(name) != nil)
		}))
}

// onPath reports whether users start a program by its name.
func onPath(v *analyzer.View) bool { return programFolder.MatchString(v.Path) }

var programFolder = lazyregexp.New(`^(usr/(local/)?)?(bin|sbin|games)/[^/]+$`)

// linked reports whether programs of other packages link with the object of a conda package.
func (x unreached) linked(p *analyzer.Pass) bool {
	return p.Facts.Conda() && x.by.Public() && path.Dir(x.by.Path) == "lib"
}

// found reports whether another object of the artifact finds the library.
func (x unreached) found(p *analyzer.Pass) bool {
	return slices.ContainsFunc(p.Views, func(v *analyzer.View) bool {
		return v != x.by && slices.ContainsFunc(v.Loading.Found, func(f dynlink.Found) bool {
			return f.Library == x.library && f.NeededBy != nil && f.By != dynlink.ByPackage
		})
	})
}

// opensBefore reports whether code of the artifact may open an object by its name, and does not
// name the library that the object needs, so that it does not load that first.
func opensBefore(p *analyzer.Pass, v *analyzer.View, needed string) bool {
	return slices.ContainsFunc(p.Views, func(by *analyzer.View) bool {
		return by.NamesAny(v.Library.Names()...) && !by.NamesAny(needed)
	})
}

// packageWord returns "wheel" or "package".
func packageWord(p *analyzer.Pass) string {
	if p.Facts.Kind == analyzer.KindWheel {
		return "wheel"
	}
	return "package"
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
	if otherMayHave(p, names) {
		return true
	}
	return slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
		return u != v && (u.Library == l && u.Extension() ||
			u.Loads && !u.Loading.Has(v.Library) ||
			slices.ContainsFunc(u.Loading.Found, func(f dynlink.Found) bool {
				return f.Library == l && f.NeededBy != nil && f.By != dynlink.ByPackage
			}))
	})
}

// alwaysLoaded reports whether the Python sources of a wheel load a library for the modules that
// need it, in each way to import these, before they import them.
func alwaysLoaded(p *analyzer.Pass, l *dynlink.Library, modules []*analyzer.View) bool {
	return p.Facts.Kind == analyzer.KindWheel && len(modules) > 0 &&
		!slices.ContainsFunc(modules, func(m *analyzer.View) bool {
			return !p.LoadedBefore(m, l).ForOthers
		})
}

// openedWithout reports whether the import of a package of a wheel loads an object by its path
// before anything loads a library, so that it fails.
func openedWithout(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) bool {
	if p.Facts.Kind != analyzer.KindWheel || otherMayHave(p, l.Names()) {
		return false
	}
	before := p.LoadedBefore(v, l)
	return before.Opened && !before.Loaded && before.Undecided == ""
}

// otherMayHave reports whether a package that the artifact depends on may have a library. If one is
// not known, it may.
func otherMayHave(p *analyzer.Pass, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return notLookedUp(p, name) != "" || otherVersion(p, name) != nil
	})
}

// shownPath shortens a search path of many folders.
func shownPath(list string) string {
	const most = 3
	folders := strings.Split(list, ":")
	if len(folders) <= most+1 {
		return list
	}
	return fmt.Sprintf("%s and %d more folders", strings.Join(folders[:most], ":"), len(folders)-most)
}

// paths says why no path leads to the library.
func (x unreached) paths(p *analyzer.Pass) string {
	v := x.by
	switch {
	case v.RunPath != "":
		return "its RUNPATH " + shownPath(v.RunPath) + " does not lead to it"
	case v.RPath != "":
		return "its RPATH " + shownPath(v.RPath) + " does not lead to it"
	case x.program != nil && x.program != v && x.program.RunPath != "":
		return "it has no RUNPATH, and that of " + x.program.Path + " does not apply to it"
	case x.program != nil && x.program != v:
		return "it has no RUNPATH, and " + x.program.Path + " has no RPATH that leads to it"
	case p.Facts.Conda() && !v.Program():
		return "it has no RUNPATH, and the RPATH of conda's programs leads to lib"
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

// fitting reports whether a Python of the wheel's tags imports a module by its file name. A conda
// package has no tags.
func fitting(p *analyzer.Pass, v *analyzer.View) bool {
	m, ok := parseModule(v.Path)
	return !ok || p.Facts.Conda() || p.Facts.Wheel != nil && slices.ContainsFunc(p.Facts.Wheel.Tags,
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
			if elfobj.LeadsTo(paths, path.Dir(by.Path), path.Dir(l.Path)) {
				return true
			}
		}
	}
	return false
}
