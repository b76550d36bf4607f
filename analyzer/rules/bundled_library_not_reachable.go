package rules

import (
	"fmt"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

var bundledLibraryNotReachable = &analyzer.Rule{
	ID:       "bundled-library-not-reachable",
	Title:    "a library of the wheel that no path of its user leads to",
	Severity: analyzer.Warning,
	Doc: `An object needs a library that lies in the wheel, and neither its DT_RUNPATH or DT_RPATH nor the platform leads there. The loader does not look beside an object by itself: the load works only when
something loaded the library before (the package's __init__, by ctypes or by importing another module), and fails otherwise with "cannot open shared object file".

A RUNPATH serves only the object that has it, not the libraries that this one loads (an RPATH does, and auditwheel takes both for that). A path of the build machine (/opt/build/lib) leads nowhere.

Give the object a RUNPATH that starts at $ORIGIN: patchelf --set-rpath, or auditwheel repair, which does it.

It is a note where no module of the wheel loads the object (something else opens it), and for one of several alternatives. There is no finding where an object of the wheel loads both, the needed one by its own path.

Not seen: what a package does before it imports the module.`,
	References: []string{"glibc: elf/dl-load.c", "gABI, DT_RUNPATH", "auditwheel: repair"},
	Check:      checkReachable,
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
				broughtWith(p, v, l) {
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
			f.Message = fmt.Sprintf(
				"%s needs %s, which is at %s, and %s: it loads only after something else loaded that library",
				v.Path,
				name,
				l.Path,
				pathsOf(v),
			)
			if v.Alternative || !imported(p, v) {
				f.Severity = analyzer.Note
			}
			var fixes []fix.Candidate
			if to := runPath(v, path.Dir(l.Path)); to != "" {
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:  fix.KindPatchelf,
							Title: "Give it a path to the library",
							Command: "patchelf --set-rpath " + shellword.Quote(
								to,
							) + " " + quoted(
								v.Path,
							),
						},
						Change: fix.SetRunPath{Object: v.Path, RunPath: to},
					},
				)
			}
			p.Report(f, fixes...)
		}
	}
}

func pathsOf(v *analyzer.View) string {
	switch {
	case v.RunPath != "":
		return "its RUNPATH " + v.RunPath + " does not lead there"
	case v.RPath != "":
		return "its RPATH " + v.RPath + " does not lead there"
	}
	return "it has no RUNPATH"
}

// imported tells whether an object is a module, or part of a module's load.
func imported(p *analyzer.Pass, v *analyzer.View) bool {
	return v.Extension() ||
		slices.ContainsFunc(
			p.Views,
			func(u *analyzer.View) bool { return u.Extension() && u.Loading.Chain(v.Library) != nil },
		)
}

// broughtWith tells whether another object of the artifact loads v, and the library too: by a path
// of its own, so that it is there when v asks for it, or because the paths of those who load v
// count for v. glibc hands down a DT_RPATH that way, to objects without a DT_RUNPATH; musl hands
// down both.
func broughtWith(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) bool {
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
