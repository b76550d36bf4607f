package rules

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
)

// checkABI3MacOS reports functions of Python that a module for the stable ABI imports and that its
// tag does not guarantee.
func checkABI3MacOS(p *analyzer.Pass) {
	if p.Facts.ABI3 == nil || p.Facts.Wheel == nil {
		return
	}
	tag, minor, newest := stableRange(p)
	images := ownImages(p)
	for _, i := range images {
		if !i.Module() || ofOnePython.MatchString(i.Path) {
			continue
		}
		for _, imp := range i.Object.Imports {
			name := strings.TrimPrefix(imp.Name, "_")
			added, stable := abi3.Added(name)
			if !abi3.Names(name) || imp.Weak || stable && added <= minor || !ofPython(i, imp) ||
				slices.ContainsFunc(images, func(x *dyld.Image) bool {
					_, own := x.Object.Export(imp.Name)
					return own
				}) {
				continue
			}
			f := analyzer.Finding{Object: i.Name, Symbol: imp.Name, Chain: []string{i.Name}}
			fixes := []fix.Candidate{limitedAPI(minor)}
			if stable {
				f.Message = joinedStableABI(i.Name, name, tag, added, minor)
				if added <= newest {
					f.Severity = analyzer.Warning
				}
				fixes = append(fixes, raiseABI3(p, added))
			} else {
				f.Message = outsideStableABI(i.Name, name, tag)
			}
			p.Report(f, fixes...)
		}
	}
}

// ofPython reports whether an import is looked up in Python: it names no library, or Python's.
func ofPython(i *dyld.Image, imp machoobj.Import) bool {
	if imp.Ordinal < 1 {
		return imp.Ordinal != machoobj.Self
	}
	_, ok := dyld.PythonLibrary(i.Object.Needed[imp.Ordinal-1].Path)
	return ok
}
