package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
)

// checkDependencyReachableMacOS reports libraries that a package of the environment installs, but
// not at a path where dyld searches for them, unless the package of the module imports the other
// one before.
func checkDependencyReachableMacOS(p *analyzer.Pass) {
	eachMissing(p, func(m dyld.Missing) {
		holder, at := installing(p, path.Base(m.Needed.Path))
		if holder == nil || m.Lacks != nil {
			return
		}
		if m.Imported != nil && p.Facts.Startup.Imports(m.Chain[0].Name, importName(at)) {
			return
		}
		by := m.NeededBy
		f := analyzer.Finding{
			Severity: analyzer.Warning,
			Object:   by.Name,
			Library:  m.Needed.Path,
			Chain:    imageChain(m.Chain, at),
			Message: fmt.Sprintf("%s%s needs %s of %s (%s), but %s. It works only where the library was "+
				"loaded first, for example by an import of %s", by.Name, inSlice(p, by.Name),
				m.Needed.Path, holder.ID(), at, whyNotFound(m), holder.Name),
		}
		var fixes []fix.Candidate
		if strings.HasPrefix(m.Needed.Path, "@rpath/") {
			fixes = append(fixes, addRunPath(p, by.Name, loaderPath(by.Name, at)))
		}
		p.Report(f, fixes...)
	})
}

// importName returns the name of the top-level package that a file belongs to.
func importName(file string) string {
	name, _, _ := strings.Cut(file, "/")
	return name
}
