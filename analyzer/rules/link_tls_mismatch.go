package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkTLSMismatch = &analyzer.Rule{
	ID:        "link-tls-mismatch",
	Title:     "Linking fails: one library has a thread-local variable where the other has none",
	Severity:  analyzer.Error,
	Packaging: true,
	Doc: `A library refers to a variable as thread-local (extern __thread), but the library that
defines it has an ordinary variable or a function. No program can be linked against the first:
"TLS reference in libfoo.so mismatches non-TLS definition in libbar.so". The cause is two headers,
or two versions of one header, with different declarations.

Fix: build both libraries with the same headers.

The same objects are checked as by link-undefined-reference. gold, lld and mold do not compare the
types, and link; at run time the variable then has a wrong address.

Not detected: an ordinary reference to a thread-local definition, since an undefined symbol then
has no type.`,
	Cause: cause.Rule{
		Linker: true,
		Warns:  "only programs that are linked with it are affected",
	},
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
			"With GNU ld, linking a program against %s fails on %s: %s%s is a thread-local reference, but "+
				"%s defines an ordinary symbol%s",
			q.view.Path,
			p.Platform.Name,
			analyzer.Versioned(q.Import.Name, q.Import.Version),
			ofIndirect(q),
			q.In,
			q.note,
		)
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind: fix.KindSource,
					Title: fix.Titled("Declare %s without __thread or thread_local, as in %s, "+
						"and rebuild %s", q.Import.Name, fix.Library(q.In), q.By.Path),
				},
			},
		)
	}
}
