package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

const ofNode = ". It belongs to the C++ API of Node.js, whose symbols change with each " +
	"NODE_MODULE_VERSION"

// Fixes of a plug-in that imports a symbol of the program that loads it.
var (
	rebuildForNode = fix.Candidate{Fix: fix.Fix{
		Kind:    fix.KindRebuild,
		Title:   fix.Titled("Build for each release line of Node.js, or use Node-API, which is stable"),
		Command: "npm rebuild",
	}}
	rebuildForHost = fix.Candidate{Fix: fix.Fix{
		Kind:  fix.KindRebuild,
		Title: fix.Titled("Build against the headers and libraries of the program that loads it"),
	}}
)

// moduleVersion returns the NODE_MODULE_VERSION that an addon was built for, or "" if its exports
// do not contain it (node.h, NODE_MODULE_INITIALIZER_BASE).
func moduleVersion(v *analyzer.View) string {
	for _, e := range v.Exports.All() {
		if n, ok := strings.CutPrefix(e.Name, "node_register_module_v"); ok && n != "" {
			return fmt.Sprintf(" (NODE_MODULE_VERSION %s)", n)
		}
	}
	return ""
}

// export says how a library exports a symbol.
const export = `: with __attribute__((visibility("default"))) where it is compiled with ` +
	"-fvisibility=hidden (CXX_VISIBILITY_PRESET of CMake), or with global: in the version script"

// asRequired returns the fix for a package in a version that the wheel excludes: the one that it
// requires. It is nil if the wheel allows the version.
func asRequired(p *analyzer.Pass, of packages.ID) []fix.Candidate {
	if p.Facts.Metadata == nil {
		return nil
	}
	for _, q := range p.Facts.Metadata.Requires {
		given, err := pkgmeta.ParseVersion(of.Version)
		if q.Name == of.Name && err == nil && !q.Admits(given) {
			return []fix.Candidate{{Fix: fix.Fix{
				Kind:     fix.KindEnvironment,
				Title:    fix.Titled("Use the version that it requires: %s%s", q.Name, q.Spec),
				Command:  "pip install " + shellword.Quote(q.Name+q.Spec),
				Required: true,
			}}}
		}
	}
	return nil
}

// otherRelease returns the fixes for a library of another package that lacks symbols: a version
// that has them.
func otherRelease(
	p *analyzer.Pass,
	v *analyzer.View,
	l *dynlink.Library,
	of packages.ID,
) []fix.Candidate {
	lost := &missingSymbols{object: v.Path, library: l}
	for b := range v.Bindings().Failed() {
		if b.Outcome == dynlink.NoSymbol && b.Provider == nil {
			lost.names = append(lost.names, b)
		}
	}
	build := fix.Candidate{Fix: fix.Fix{
		Kind:  fix.KindRebuild,
		Title: fix.Titled("Build against %s %s", of.Name, of.Version),
	}}
	first, _, ok := p.Releases.First(of.Name, of.Version, func(r *packages.Release) bool {
		return hasAll(r, lost)
	})
	if !ok {
		return []fix.Candidate{build}
	}
	return []fix.Candidate{{Fix: fix.Fix{
		Kind: fix.KindPin, Title: fix.Titled("Pin %s", fix.Requirement(of.Name+">="+first)),
		Requirement: of.Name + ">=" + first,
	}}, build}
}

// linkWith returns the fixes that add a library to DT_NEEDED, by the linker and by patchelf.
func linkWith(p *analyzer.Pass, v *analyzer.View, soname string) []fix.Candidate {
	change := fix.AddNeeded{Object: v.Path, Libraries: []string{soname}}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindLinkFlag,
				Title:   fix.Titled("Link %s with %s", fix.Object(v.Path), fix.Library(soname)),
				Command: linkFlags([]string{soname}),
			},
			Change: change,
		},
		{
			Fix: fix.Fix{
				Kind:    fix.KindPatchelf,
				Title:   fix.Titled("Add the DT_NEEDED entry to the finished file"),
				Command: edit(p, v.Path, addNeeded([]string{soname})),
			},
			Change: change,
		},
	}
}

// needed returns the fixes that add a library of the artifact to DT_NEEDED, with a path to it if
// the object has none, by the linker and by patchelf.
func needed(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) []fix.Candidate {
	soname := l.Names()[0]
	link := fix.Titled("Link %s with %s (CMake: target_link_libraries",
		fix.Object(v.Path), fix.Library(soname))
	c := fix.Candidate{
		Fix: fix.Fix{
			Kind: fix.KindPatchelf,
			Title: fix.Titled("In %s, add a DT_NEEDED entry for %s",
				fix.Object(v.Path), fix.Library(soname)),
			Command: edit(p, v.Path, addNeeded([]string{soname})),
		},
		Change: fix.AddNeeded{Object: v.Path, Libraries: []string{soname}},
	}
	if to := runPath(p, v, path.Dir(l.Path)); p.Facts.Kind == analyzer.KindWheel && to != "" &&
		!leadsTo(v.Library, path.Dir(l.Path)) { // patchelf 0.12 loses one of two edits
		c.Fix.Title = c.Fix.Title.Append(" and a RUNPATH to its folder")
		link = link.Append(", and INSTALL_RPATH for the path %s", to)
		c.Fix.Command = edit(p, v.Path, addNeeded([]string{soname}), setRunPath(p, to))
		c.Change = fix.All{c.Change, fix.SetRunPath{Object: v.Path, RunPath: to}}
	}
	return []fix.Candidate{{
		Fix: fix.Fix{Kind: fix.KindLinkFlag, Title: link.Append(")")}, Change: c.Change,
	}, c}
}

// ownPaths returns the search path of a library: DT_RUNPATH, or DT_RPATH without it.
func ownPaths(l *dynlink.Library) string {
	if l.RunPath != "" {
		return l.RunPath
	}
	return l.RPath
}

// leadsTo reports whether the search path of a library leads to a folder of the artifact.
func leadsTo(l *dynlink.Library, dir string) bool {
	return elfobj.LeadsTo(ownPaths(l), path.Dir(l.Path), dir)
}
