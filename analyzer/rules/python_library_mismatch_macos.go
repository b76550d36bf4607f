package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
)

// checkPythonLibraryMacOS reports modules that need the library of another Python release than that
// of their tag.
func checkPythonLibraryMacOS(p *analyzer.Pass) {
	eachMissing(p, func(m dyld.Missing) {
		release, ok := dyld.PythonLibrary(m.Needed.Path)
		if !ok || p.MacOS.Python == "" || release == p.MacOS.Python {
			return
		}
		p.Report(analyzer.Finding{
			Object:   m.NeededBy.Name,
			Library:  m.Needed.Path,
			Chain:    imageChain(m.Chain, m.Needed.Path),
			Severity: macOSSeverity(p, m.NeededBy, analyzer.Error),
			Message: fmt.Sprintf("%s%s needs %s, the library of Python %s, but the wheel's tag is "+
				"for Python %s", m.NeededBy.Name, inSlice(p, m.NeededBy.Name), m.Needed.Path,
				release, p.MacOS.Python),
		}, fix.Candidate{Fix: fix.Fix{Kind: fix.KindRebuild,
			Title:   fix.Titled("Build the module with Python %s, without its library", p.MacOS.Python),
			Command: "-undefined dynamic_lookup"}})
	})
}
