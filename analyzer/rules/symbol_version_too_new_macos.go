package rules

import (
	"fmt"
	"path"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
)

// checkVersionTooNewMacOS reports symbols of system libraries that were added after the macOS of
// the tag. Symbols have no versions on macOS; the rule uses the first release that exports them.
func checkVersionTooNewMacOS(p *analyzer.Pass) {
	claim := "The wheel claims to run on " + macOSName(p)
	if p.Facts.Wheel == nil || !onTag(p) {
		claim = "It is checked for " + macOSName(p)
	}
	for _, i := range ownImages(p) {
		for _, b := range p.MacOS.Failed(i) {
			if b.Outcome != dyld.TooNew {
				continue
			}
			p.Report(analyzer.Finding{
				Object:   i.Name,
				Symbol:   b.Import.Name,
				Version:  b.Since.String(),
				Library:  b.Library,
				Chain:    append(chainTo(p, i), b.Library),
				Severity: macOSSeverity(p, i, analyzer.Error),
				Message: fmt.Sprintf("%s%s imports %s from %s, which has it from macOS %v on. %s",
					i.Name, inSlice(p, i.Name), b.Import.Name, path.Base(b.Library), b.Since, claim),
			}, append(retagMacOS(p, b.Since), deploymentTarget(p, fix.Object(path.Base(i.Name))))...)
		}
	}
}
