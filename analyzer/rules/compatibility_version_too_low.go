package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
)

var compatibilityVersionTooLow = &analyzer.Rule{
	ID:       "compatibility-version-too-low",
	Title:    "A bundled library has a lower compatibility version than its user needs",
	Severity: analyzer.Warning,
	Doc: `A Mach-O file records the compatibility version of each library that it was linked with.
The library that is bundled has a lower one, so it is an older build. dyld of macOS before 12
compares the versions and fails: "Incompatible library version: X requires version 5.0.0 or later,
but Y provides version 3.0.0". Later releases do not compare them.

Fix: bundle the library that the file was linked with.

Severity: a warning where the wheel's tag includes macOS before 12; there is no finding otherwise.`,
	Explains:   []string{"macos-library-too-old"},
	References: []string{"mach-o/loader.h, struct dylib", "dyld 2: src/ImageLoader.cpp"},
	Cause:      cause.Rule{Warns: "only macOS before 12 compares these versions"},
	MacOS:      checkCompatibilityVersion,
}

// firstWithoutComparison is the first macOS whose dyld is taken not to compare compatibility
// versions. dyld 2 does (src/ImageLoader.cpp), and dyld of the newest macOS does not; for the
// releases between them the comparison is assumed to have ended with dyld 4, which came with macOS
// 12.
var firstWithoutComparison = machoobj.Make(12, 0)

func checkCompatibilityVersion(p *analyzer.Pass) {
	if p.MacOS.OS >= firstWithoutComparison {
		return
	}
	for _, i := range ownImages(p) {
		for n, needed := range i.Object.Needed {
			for _, l := range p.MacOS.Loads {
				found := l.Dependent(i, n)
				if found == nil || found.Kind != dynlink.FromArtifact || found.Object == nil ||
					found.Object.Compatibility >= needed.Compatibility {
					continue
				}
				p.Report(analyzer.Finding{
					Object:  i.Name,
					Library: needed.Path,
					Version: needed.Compatibility.String(),
					Chain:   append(chainTo(p, i), found.Name),
					Message: fmt.Sprintf("%s%s needs %s with compatibility version %v or later, but "+
						"%s has %v", i.Name, inSlice(p, i.Name), needed.Path, needed.Compatibility,
						found.Name, found.Object.Compatibility),
				}, delocate(p, fix.Titled("Bundle the library that the file was linked with")),
					fix.Candidate{Fix: fix.Fix{Kind: fix.KindRebuild,
						Title: fix.Titled("Build against the bundled library")}})
				break
			}
		}
	}
}
