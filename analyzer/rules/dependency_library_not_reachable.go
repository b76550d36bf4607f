package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var dependencyLibraryNotReachable = &analyzer.Rule{
	ID:       "dependency-library-not-reachable",
	Title:    "No search path leads to a library of another package",
	Severity: analyzer.Error,
	Doc: `An object of a wheel needs a library that another package installs, but neither its
DT_RUNPATH or DT_RPATH nor the platform's search path leads to that library. To declare the
package is not enough: the loader does not search site-packages. The load works only if the
library is already loaded. Otherwise the import fails with "cannot open shared object file". The
same applies to a library of another package that needs a third one.

It is an error if nothing loads the library before the module is imported. The Python sources of
the wheel and of the packages that are given or installed with it are read in the order in which
they are executed: calls of ctypes.CDLL and functions with similar names, and imports of modules
that need the library and find it by their own path. What is imported after the module is too
late. If the package does not import the module in any case, each source that imports it counts.
It is an error too if a source that the package imports loads another object by its path, outside
of functions and before anything loads what that needs, and does not handle OSError. Of a package
that is only in the index, the sources are read if it is imported before, and has the library or
requires the package that has it; of more than 400, those that are imported.

It is a note if a package is imported before that has the library, or requires the package that has
it, and its sources were not read; and if the package of an object loads the library, and who loads
the object is not known. It is a warning if it is not decided for another reason: the name
of a library or module is computed, a condition decides, an imported module may import others, or no
module of the wheel needs the object; for one of several variants; and for a library that
` + "`import torch`" + ` loads, if the package imports the module in any case and does not import
torch first. torch loads its libraries and those of its dependencies, and programs import it before
extensions of it.

Fix: give the object a RUNPATH that starts with $ORIGIN, with ` + "`patchelf --set-rpath`" + `, or
load the library in the __init__.py of the package, before the module is imported.

Of conda packages that are given together, it is an error for a module or program, and for a library
in lib with which programs link. The RPATH of conda's programs leads to lib, but does not apply to
an object with a RUNPATH. It is a warning for plug-ins, and if something may load the library
before.

On macOS it is a warning: no run path (LC_RPATH) leads to a library that a required package
installs, and the sources that may load it before are not read.

Not detected: modules of wheels without any Python source, which a program imports itself, unless
they are in the folder of another package (PyQt5/QtChart.abi3.so), which Python imports before; and
what runs before the package is imported, such as an earlier import of another package.`,
	Cause: cause.Rule{
		Kind: cause.UnreachableDependency, Loader: cause.ReportsLibrary,
		Warns: "it works where something else has already loaded the library",
	},
	References: []string{"glibc: elf/dl-load.c", "gABI, DT_RUNPATH"},
	Check:      checkDependencyReachable,
	MacOS:      checkDependencyReachableMacOS,
	Quick:      true,
}

// preloader is a package that users know to import before those that need its libraries.
const preloader = "torch"

func checkDependencyReachable(p *analyzer.Pass) {
	if p.Facts.Conda() {
		checkCondaReachable(p)
		return
	}
	if p.Facts.Kind != analyzer.KindWheel {
		return
	}
	own := map[*dynlink.Library]*analyzer.View{}
	for _, v := range p.Views {
		own[v.Library] = v
	}
	reported := map[[2]string]bool{}
	check := func(v *analyzer.View, loaded bool) {
		module := imported(v)
		if !p.Facts.Sources && !(module && p.OfOther(v)) {
			return // a program loads it, and may load anything before
		}
		if module && !loaded {
			return // an import loads every module
		}
		// What a module loads is checked with the module.
		ofModule := slices.ContainsFunc(v.Users, func(u *analyzer.View) bool {
			return imported(u) && fitting(p, u)
		})
		for _, f := range v.Loading.Found {
			l, by := f.Library, f.NeededBy
			if f.By != dynlink.ByPackage || by == nil || own[l] != nil && own[by] != nil ||
				l.Kind != dynlink.FromPackage && l.Kind != dynlink.FromArtifact {
				continue
			}
			if l.Abridged && leadsTo(by, path.Dir(l.Path)) {
				continue // by the other name
			}
			key := [2]string{by.Path, l.Path}
			if reported[key] || module && !fitting(p, v) {
				continue
			}
			before := p.LoadedBefore(v, l)
			known := module || before.Opened
			if known != loaded || !known && (ofModule || by != v.Library) ||
				known && before.Loaded || ofPreloader(p, l) && !before.Always {
				continue
			}
			reported[key] = true
			reportUnreachable(p, v, own[by], f, before)
		}
	}
	for _, v := range modulesFirst(p.Views) {
		check(v, true)
	}
	for _, v := range modulesFirst(p.Views) {
		check(v, false)
	}
}

// imported reports whether Python imports an object. A library may have the hook of a module: that
// other objects link it, and no source names it, shows that it is one.
func imported(v *analyzer.View) bool {
	return v.Extension() && !(v.Linked() && v.Unnamed())
}

// reportUnreachable reports a library that no path leads to. user is the object that needs it; nil
// if that is of another package.
func reportUnreachable(
	p *analyzer.Pass,
	v, user *analyzer.View,
	found dynlink.Found,
	before analyzer.Before,
) {
	l, by := found.Library, found.NeededBy
	name := l.Names()[0]
	f := analyzer.Finding{
		Object:  by.Path,
		Library: name,
		Chain:   analyzer.Chain(append(v.Loading.Chain(by), l)...),
	}
	holder := cmp.Or(l.Origin, l.Wheel.Name+" "+l.Wheel.Version)
	subject := by.Path
	if user == nil {
		subject += " of " + cmp.Or(by.Origin, by.Wheel.Name) + ", which " + v.Path + " loads,"
		f.OtherPackage, f.Package = true, cmp.Or(by.Package.Name, by.Wheel.Name)
	}
	why := "no search path leads to it"
	if leadsTo(by, path.Dir(l.Path)) {
		why = "the loader searches for a file with that name"
	}
	f.Message = fmt.Sprintf("%s needs %s of %s (%s), but %s", subject, name, holder, l.Path, why)
	f.Headline = f.Message
	switch {
	case before.Undecided != "":
		if f.Severity = analyzer.Warning; before.Unread {
			f.Severity = analyzer.Note
		}
		f.Message += ". compat could not determine whether something loads it first: " +
			before.Undecided
		f.Unreached = true
	case ofPreloader(p, l):
		f.Severity, f.Why = analyzer.Warning, "it works where "+preloader+" was imported first"
		f.Message += ". It works only where " + preloader + " was imported first"
	case v.Alternative:
		f.Severity = analyzer.Warning
		f.Why = "the file is one of several variants, and only one is loaded"
		f.Message += ". This file is one of several variants, and only one is loaded"
	case before.Loaded && !v.Program(): // by the import of the package that the object is in
		f.Severity, f.Unreached = analyzer.Note, true
		f.Message += ". Its package loads it, but compat could not determine whether that happens " +
			"before " + path.Base(v.Path) + " is loaded"
	case !imported(v) && !before.Opened:
		f.Severity = analyzer.Warning
		f.Message += ". It works only where the program that loads it has already loaded " +
			"the library"
	default:
		done := "imported"
		if before.Opened {
			done = "loaded"
		}
		f.Stops = before.Always && by == v.Library && imported(v)
		f.Message += fmt.Sprintf(", and nothing loads it before %s is %s", path.Base(v.Path), done)
	}
	var fixes []fix.Candidate
	if user != nil {
		if to := runPath(p, user, path.Dir(l.Path)); to != "" {
			fixes = append(fixes, searching(p, user, to))
		}
	}
	p.Report(f, fixes...)
}

// ofPreloader reports whether torch loads a library when it is imported, because it has it or
// requires the package that does.
func ofPreloader(p *analyzer.Pass, l *dynlink.Library) bool {
	r := p.Packages.Release(preloader)
	return r != nil && (l.Package.Name == preloader || strings.HasPrefix(l.Package.Name, "nvidia-") ||
		slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
			return q.Name == l.Package.Name
		}))
}
