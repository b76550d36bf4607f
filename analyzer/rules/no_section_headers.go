package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

var noSectionHeaders = &analyzer.Rule{
	ID:        "no-section-headers",
	Title:     "An object has no section headers, so most tools cannot read it",
	Severity:  analyzer.Note,
	Packaging: true,
	Doc: `The object has no section headers (strip --strip-section-headers, sstrip, some packers).
The loader does not need them, and compat reads the object by its program headers. But auditwheel,
scripts around readelf, debuggers and Go's debug/elf read section headers. For them the object
needs nothing, and auditwheel accepts it whatever it imports.

Fix: strip with ` + "`strip --strip-unneeded`" + `, which keeps the section headers. Do not rely
on other tools for this object.

Not detected: section headers that exist and are wrong.`,
	References: []string{"gABI, e_shoff", "binutils: strip --strip-section-headers"},
	Check: func(p *analyzer.Pass) {
		for _, v := range p.Views {
			if v.NoSections {
				p.Report(
					analyzer.Finding{Object: v.Path, Chain: []string{v.Path},
						Message: fmt.Sprintf(
							"%s has no section headers. The loader does not need them, but "+
								"auditwheel and other tools cannot read the object",
							v.Path,
						)},
					fix.Candidate{
						Fix: fix.Fix{
							Kind: fix.KindRebuild,
							Title: fix.Titled("Build it again and strip it with --strip-unneeded, which keeps " +
								"the section headers"),
						},
					},
				)
			}
		}
	},
}
