package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkHiddenSymbol = &analyzer.Rule{
	ID:       "link-hidden-symbol",
	Title:    "the library refers to a symbol that only a static helper library has",
	Severity: analyzer.Error,
	Doc: `Some functions are in no shared library: each program and each library gets its own hidden copy from libc_nonshared.a (atexit, at_quick_exit, pthread_atfork; stat and its like before
glibc 2.33) or from libgcc.a (__udivti3 and other arithmetic of the compiler). A library that was linked without them, with -nostdlib or ld directly, imports them, and then GNU ld takes the copy
into the program and refuses: "hidden symbol ` + "`atexit' in libc_nonshared.a(atexit.oS) is referenced by DSO" + `". It names one symbol and stops; --allow-shlib-undefined does not help.

To mend it, link the library itself with the compiler driver and without -nostdlib, so that it has its own copy. For what libgcc_s.so.1 has too (__udivti3) users can link with
LDFLAGS="-Wl,--no-as-needed -lgcc_s".

Judged are the objects that link-undefined-reference judges.

gold, lld and mold link, and the program fails when it starts.

Not seen: static libraries of other compilers (compiler-rt).`,
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
			"a program that links against %s fails on %s (glibc %s): %s%s is a hidden symbol of %s, which a shared library may not refer to%s%s",
			q.view.Path,
			p.Platform.Name,
			p.Platform.LibcVersion,
			q.Import.Name,
			ofIndirect(q),
			q.In,
			otherLinkers(p, q),
			q.told,
		)
		fixes := plans.of(p, q.view)
		fixes = append(fixes, newerSystem(p, q.Import)...)
		fixes = append(
			fixes,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: "Link " + q.By.Path + " itself with gcc -shared and without -nostdlib, so that it has its own copy",
				},
			},
		)
		p.Report(f, fixes...)
	}
}
