package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkLibraryNotFound = &analyzer.Rule{
	ID:        "link-library-not-found",
	Title:     "Linking fails: a library that the library needs is not found",
	Severity:  analyzer.Error,
	Packaging: true,
	Doc: `GNU ld also reads the DT_NEEDED entries of the shared libraries that it links. It
searches for them in -rpath-link and -rpath, in the library's RUNPATH or RPATH, and in the
system's folders, but not in -L: "warning: libdep.so.1, needed by libfoo.so, not found (try using
-rpath or -rpath-link)". Symbols that the library imports from it are then undefined references,
and the link fails. Without such symbols there is only the warning of the linker.

Fix for users: LDFLAGS="-Wl,-rpath-link,DIR" with the folder that has the library. Fix for the
library: a RUNPATH of $ORIGIN, which the loader uses as well.

Checked are loose shared libraries, public libraries (lib*.so with a SONAME) of an archive, and
everything with --link all. In an archive it is a warning unless a platform was given, and only
where the artifact or an installed package has the needed library. gold, lld and mold do not
search for such libraries, and link.

Not detected: LD_LIBRARY_PATH and LD_RUN_PATH at link time. Libraries of a known driver or system
package are not reported.`,
	Cause: cause.Rule{
		Lacks: cause.LacksLibrary, Linker: true,
		Warns: "only programs that are linked with it are affected",
	},
	References: []string{"ld(1), -rpath-link", "binutils: ld/ldelf.c, ldelf_after_open"},
	Check:      checkLinkLibrary,
}

func checkLinkLibrary(p *analyzer.Pass) {
	plans := linkPlans{}
	for _, q := range linkProblems(p, staticlink.Undefined) {
		if !ofMissing(p, q) {
			continue
		}
		f := linkFinding(p, q)
		f.Library = q.Missing
		where := "No library has that name"
		if there := p.LinkSystem().FileNamed(q.Missing); there != nil {
			where = "It is at " + there.Path + ", which no search path includes"
		}
		f.Chain = append(f.Chain, q.Missing)
		f.Message = fmt.Sprintf(
			"With GNU ld, linking a program against %s fails on %s: %s, needed by %s, is not found, so %s "+
				"is undefined. %s%s%s",
			q.view.Path,
			p.Platform.Name,
			q.Missing,
			q.By.Path,
			analyzer.Versioned(q.Import.Name, q.Import.Version),
			where,
			otherLinkers(p, q),
			q.note,
		)
		fixes := []fix.Candidate{
			{
				Fix: fix.Fix{
					Kind: fix.KindEnvironment,
					Title: fix.Titled("Install %s, or link with -Wl,-rpath-link and its folder",
						fix.Library(q.Missing)),
				},
			},
		}
		if p.LinkSystem().FileNamed(q.Missing) != nil {
			fixes = plans.of(p, q.view)
		}
		p.Report(f, fixes...)
	}
}
