package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

var noSectionHeaders = &analyzer.Rule{
	ID:       "no-section-headers",
	Title:    "an object that most tools can't look into",
	Severity: analyzer.Note,
	Doc: `The object has no section headers (strip --strip-section-headers, sstrip, some packers and protectors). The loader does not need them, and compat reads such an object by its program headers like any other. But
auditwheel, ldd-like scripts, debuggers and Go's debug/elf go by section headers: they see an object that needs nothing, and auditwheel calls it portable whatever it imports.

So a verdict of another tool about this wheel says nothing. Strip with ` + "`strip --strip-unneeded`" + `, which keeps the headers, where the choice is yours.

Not seen: section headers that are there and lie.`,
	References: []string{"gABI, e_shoff", "binutils: strip --strip-section-headers"},
	Check: func(p *analyzer.Pass) {
		for _, v := range p.Views {
			if v.NoSections {
				p.Report(
					analyzer.Finding{Object: v.Path, Chain: []string{v.Path},
						Message: fmt.Sprintf(
							"%s has no section headers: the loader does not need them, but auditwheel and other tools see nothing of what it needs",
							v.Path,
						)},
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindRebuild,
							Title:   "Strip the object in a way that keeps them",
							Command: "strip --strip-unneeded " + quoted(v.Path),
						},
					},
				)
			}
		}
	},
}
