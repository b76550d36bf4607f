package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// checkReachableMacOS reports libraries that are in the artifact but not at a path where dyld
// searches for them.
func checkReachableMacOS(p *analyzer.Pass) {
	eachMissing(p, func(m dyld.Missing) {
		base := path.Base(m.Needed.Path)
		at := slices.IndexFunc(p.MacOS.Named(base), func(i *dyld.Image) bool {
			return i.Kind == dynlink.FromArtifact
		})
		if m.Lacks != nil || at < 0 {
			return
		}
		bundled, by := p.MacOS.Named(base)[at], m.NeededBy
		if inPluginFolder(by.Name) && !by.Module() && bundled.Object.InstallName == m.Needed.Path {
			return // the program that loads the plug-in has loaded the library
		}
		f := analyzer.Finding{
			Object:   by.Name,
			Library:  m.Needed.Path,
			Chain:    imageChain(m.Chain, bundled.Name),
			Severity: macOSSeverity(p, by, analyzer.Error),
		}
		f.Message = fmt.Sprintf("%s%s needs %s, which is bundled at %s, but %s", by.Name,
			inSlice(p, by.Name), m.Needed.Path, bundled.Name, whyNotFound(m))
		if loadedElsewhere(p, m, bundled) {
			f.Severity = analyzer.Warning
			f.Message += ". " + path.Base(by.Name) + " loads only if another module has loaded " +
				base + " before"
		}
		to := loaderPath(by.Name, bundled.Name)
		fixes := []fix.Candidate{changePath(p, by.Name, m.Needed.Path, to+"/"+base)}
		if m.Needed.Path == "@rpath/"+base {
			fixes = append([]fix.Candidate{{Fix: fix.Fix{Kind: fix.KindLinkFlag,
				Title:   fix.Titled("Link with a run path that leads to the library"),
				Command: shellword.Quote("-Wl,-rpath," + to)},
				Change: fix.SetRunPath{Object: by.Name, RunPath: to}},
				addRunPath(p, by.Name, to)}, fixes...)
		}
		p.Report(f, append(fixes, delocate(p,
			fix.Titled("Let delocate bundle the library and set its path")))...)
	})
}

// whyNotFound describes why dyld does not find a library at its path.
func whyNotFound(m dyld.Missing) string {
	switch library := m.Needed.Path; {
	case m.NoPath:
		return "the file has no run path (LC_RPATH)"
	case strings.HasPrefix(library, "@rpath/"):
		return "no run path (LC_RPATH) leads to it"
	case strings.HasPrefix(library, "/"):
		return "the path is of the machine that built it"
	case strings.HasPrefix(library, "@executable_path/"):
		return "@executable_path is the folder of python"
	case strings.HasPrefix(library, "@loader_path/"):
		return "@loader_path is the folder of " + m.NeededBy.Name + ", so dyld looks for " +
			path.Join(path.Dir(m.NeededBy.Name), strings.TrimPrefix(library, "@loader_path/"))
	}
	return "the path starts in the working folder"
}

// loadedElsewhere reports whether another load of the artifact contains a library under the needed
// name, so that it may be loaded already.
func loadedElsewhere(p *analyzer.Pass, m dyld.Missing, bundled *dyld.Image) bool {
	if bundled.Object.InstallName != m.Needed.Path {
		return false
	}
	return slices.ContainsFunc(p.MacOS.Loads, func(l *dyld.Loading) bool {
		return l.Root != bundled && !l.Has(m.NeededBy) && l.Has(bundled)
	})
}
