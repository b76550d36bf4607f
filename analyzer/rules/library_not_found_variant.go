package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// checkUndeclared checks one of several variants. The package whose library it needs decides which
// variant is loaded, so the wheel has to declare that package itself. As a dependency of a
// dependency it may have any version, or be missing, unless the wheel requires one release of that.
func checkUndeclared(p *analyzer.Pass, v *analyzer.View) {
	if !v.Alternative || p.Facts.Metadata == nil {
		return
	}
	for _, found := range v.Loading.Found {
		l := found.Library
		if found.NeededBy != v.Library || found.By != dynlink.ByPackage ||
			l.Kind != dynlink.FromPackage {
			continue
		}
		name := l.Package.Name
		of := func(q pkgmeta.Requirement) bool { return q.Name == name }
		if p.Given(name) || slices.ContainsFunc(p.Facts.Metadata.Requires, of) ||
			p.Scenario.Declares(name) || ofOneRelease(p, name) {
			continue
		}
		needed := l.Names()[0]
		p.Report(
			analyzer.Finding{
				Object:   v.Path,
				Library:  needed,
				Severity: analyzer.Warning,
				Chain:    []string{v.Path, needed},
				Message: fmt.Sprintf(
					"%s needs %s of %s, but the wheel does not declare %s. Only a dependency "+
						"of a dependency requires it",
					v.Path,
					needed,
					l.Origin,
					name,
				),
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:        fix.KindDependency,
					Title:       fix.Titled("Declare the dependency %s", fix.Requirement(name)),
					Requirement: name,
				},
				Change: fix.Pin{Requirement: name, Direct: true},
			},
		)
	}
}

// ofOneRelease reports whether the wheel requires one release of a package that requires another
// package, given by its normalized name.
func ofOneRelease(p *analyzer.Pass, name string) bool {
	return slices.ContainsFunc(p.Facts.Metadata.Requires, func(q pkgmeta.Requirement) bool {
		_, one := q.Pin()
		r := p.Packages.Release(q.Name)
		return one && r != nil && slices.ContainsFunc(r.Requires, func(of pkgmeta.Requirement) bool {
			return of.Name == name
		})
	})
}
