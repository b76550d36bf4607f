package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkTLSMismatch = &analyzer.Rule{
	ID:       "link-tls-mismatch",
	Title:    "the library takes a variable for thread-local that is not",
	Severity: analyzer.Error,
	Doc: `A library refers to a variable as thread-local (extern __thread), and the library that defines it has an ordinary one, or a function. No program can be linked against the first:
"TLS reference in libfoo.so mismatches non-TLS definition in libbar.so". At run time the loader would hand out an offset of nothing.

It comes from two headers, or two versions of one, that do not agree on a declaration.

To mend it, build both from the same headers. Judged are the objects that link-undefined-reference judges.

gold, lld and mold do not compare, and link.

Not seen: an ordinary reference to a thread-local definition, since an undefined symbol carries no type then.`,
	References: []string{
		"binutils: bfd/elflink.c, _bfd_elf_merge_symbol",
		"ELF Handling For Thread-Local Storage, section 3",
	},
	Check: checkLinkTLS,
}

func checkLinkTLS(p *analyzer.Pass) {
	for _, q := range linkProblems(p, staticlink.TLSMismatch) {
		f := linkFinding(p, q)
		f.Library = q.In
		f.Message = fmt.Sprintf(
			"a program that links against %s fails on %s: %s%s is a thread-local reference, and %s defines it as an ordinary symbol%s",
			q.view.Path,
			p.Platform.Name,
			analyzer.Versioned(q.Import.Name, q.Import.Version),
			ofIndirect(q),
			q.In,
			q.told,
		)
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindSource,
					Title: "Declare " + q.Import.Name + " the same way in both, and build " + q.By.Path + " again",
				},
			},
		)
	}
}
