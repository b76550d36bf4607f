package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

var textRelocations = &analyzer.Rule{
	ID:       "text-relocations",
	Title:    "code that the loader has to rewrite",
	Severity: analyzer.Warning,
	Doc: `A shared library has relocations in its code (DT_TEXTREL, DF_TEXTREL). To apply them the loader makes the code writable for a moment. Where a security policy forbids that (SELinux for confined
services, hardened kernels), the load fails: "cannot make segment writable for relocation: Permission denied" or "cannot restore segment prot after reloc". Android refuses such libraries altogether.
Elsewhere it loads, but no two processes share its code.

The cause is code that was compiled without -fPIC, often assembler or an archive of another project. Compile it with -fPIC, and let ` + "`-Wl,-z,text`" + ` fail the build where some is left.

Not seen: whether the policy of a system would forbid it.`,
	References: []string{"gABI, DT_TEXTREL", "glibc: elf/dl-reloc.c", "ld: -z text"},
	Check:      checkTextRelocations,
}

func checkTextRelocations(p *analyzer.Pass) {
	for _, v := range p.Views {
		if v.TextRel {
			p.Report(
				analyzer.Finding{Object: v.Path, Chain: []string{v.Path},
					Message: fmt.Sprintf(
						"%s has relocations in its code (DT_TEXTREL), which systems with SELinux may refuse: not all of it was compiled with -fPIC",
						v.Path,
					)},
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindRebuild,
						Title:   "Compile all of it with -fPIC, and let the linker refuse the rest",
						Command: "-fPIC -Wl,-z,text",
					},
				},
			)
		}
	}
}
