package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkHiddenSymbol = &analyzer.Rule{
	ID:        "link-hidden-symbol",
	Title:     "Linking fails: the library refers to a hidden symbol of a static library",
	Severity:  analyzer.Error,
	Packaging: true,
	Doc: `Some functions are in no shared library. Each program and each library gets its own
hidden copy from libc_nonshared.a (atexit, at_quick_exit, pthread_atfork; stat and similar
functions before glibc 2.33) or from libgcc.a (__udivti3 and other arithmetic). A library that was
linked without them, with -nostdlib or with ld directly, imports them. GNU ld then fails when a
program is linked against the library: "hidden symbol ` + "`atexit'" + ` in
libc_nonshared.a(atexit.oS) is referenced by DSO". It stops at the first symbol;
--allow-shlib-undefined does not help.

Fix: link the library with the compiler driver and without -nostdlib. For symbols that
libgcc_s.so.1 also has (__udivti3), users can link with LDFLAGS="-Wl,--no-as-needed -lgcc_s".

The same objects are checked as by link-undefined-reference. gold, lld and mold do not fail, but
the program then fails at start.

Not detected: static libraries of other compilers (compiler-rt).`,
	Cause: cause.Rule{
		Linker: true,
		Warns:  "only programs that are linked with it are affected",
	},
	References: []string{
		"binutils: bfd/elflink.c, elf_link_output_extsym",
		"glibc: Makerules, libc_nonshared.a",
		"gcc: libgcc/Makefile.in, libgcc.a",
	},
	Check: checkLinkHidden,
}

func checkLinkHidden(p *analyzer.Pass) {
	plans := linkPlans{}
	for _, q := range linkProblems(p, staticlink.Hidden) {
		f := linkFinding(p, q)
		f.Library = q.In
		f.Message = fmt.Sprintf(
			"With GNU ld, linking a program against %s fails on %s (glibc %s): %s%s is a hidden "+
				"symbol of %s%s%s",
			q.view.Path,
			p.Platform.Name,
			p.Platform.LibcVersion,
			q.Import.Name,
			ofIndirect(q),
			q.In,
			otherLinkers(p, q),
			q.note,
		)
		fixes := plans.of(p, q.view)
		fixes = append(fixes, newerSystem(p, q.Import)...)
		fixes = append(
			fixes,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: fix.Titled("Link %s with gcc -shared and without -nostdlib", q.By.Path),
				},
			},
		)
		p.Report(f, fixes...)
	}
}
