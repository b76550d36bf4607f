package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var textRelocations = &analyzer.Rule{
	ID:       "text-relocations",
	Title:    "A shared library has relocations in its code",
	Severity: analyzer.Warning,
	Doc: `A shared library has relocations in its code (DT_TEXTREL, DF_TEXTREL). To apply them, the
loader makes the code writable. Where a security policy forbids that (SELinux for confined
services, hardened kernels), the load fails: "cannot make segment writable for relocation:
Permission denied" or "cannot restore segment prot after reloc". Android does not load such
libraries. On other systems the library loads, but processes cannot share its code.

The cause is code that was compiled without -fPIC, often assembler or a static library of another
project.

Fix: compile it with -fPIC, and link with ` + "`-Wl,-z,text`" + `, which fails the build if such
relocations are left.

Not detected: whether the policy of a particular system forbids it.`,
	Cause: cause.Rule{
		Kind:  cause.Build("compile it with -fPIC"),
		Warns: "it loads on most systems; those that forbid writable code refuse it",
	},
	References: []string{"gABI, DT_TEXTREL", "glibc: elf/dl-reloc.c", "ld: -z text"},
	Check:      checkTextRelocations,
	Android:    checkTextRelocationsAndroid,
}

func checkTextRelocations(p *analyzer.Pass) {
	for _, v := range p.Views {
		if v.TextRel {
			p.Report(
				analyzer.Finding{Object: v.Path, Chain: []string{v.Path},
					Message: fmt.Sprintf(
						"%s has text relocations (DT_TEXTREL): part of it was compiled "+
							"without -fPIC. Systems with SELinux may not load it",
						v.Path,
					)},
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindRebuild,
						Title:   fix.Titled("Compile all of it with -fPIC"),
						Command: "-fPIC -Wl,-z,text",
					},
				},
			)
		}
	}
}
