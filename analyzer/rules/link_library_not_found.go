package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkLibraryNotFound = &analyzer.Rule{
	ID:       "link-library-not-found",
	Title:    "a library that the library needs is not found when a program is linked",
	Severity: analyzer.Error,
	Doc: `GNU ld reads what a shared library on its line lists in DT_NEEDED, too. It looks for it along -rpath-link and -rpath, the library's own RUNPATH or RPATH, and in the system's
directories, and not along -L: "warning: libdep.so.1, needed by libfoo.so, not found (try using -rpath or -rpath-link)". What the library imports from it is then an undefined reference,
and the link fails. A library from which nothing is imported is a warning of the linker only.

To mend it for users: LDFLAGS="-Wl,-rpath-link,DIR" with the directory that has the library. To mend it for good: give the library a RUNPATH of $ORIGIN, which the loader follows as well.

Judged are loose shared libraries, public ones (lib*.so with a SONAME) of an archive, and with --link all. In an artifact that was not asked about it is a warning, and only
where the needed library is in the artifact or in a package beside it.

gold, lld and mold do not look for such libraries, and link.

Not seen: LD_LIBRARY_PATH and LD_RUN_PATH of the one who links, and libraries that a driver or a system package is known to bring.`,
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
		where := "nothing of that name is there"
		if there := p.LinkSystem().Elsewhere(q.Missing); there != nil {
			where = there.Path + " is where neither its RUNPATH nor the system's directories lead"
		}
		f.Chain = append(f.Chain, q.Missing)
		f.Message = fmt.Sprintf(
			"a program that links against %s fails on %s: %s, needed by %s, is not found (try using -rpath or -rpath-link), and %s stays undefined; %s%s%s",
			q.view.Path,
			p.Platform.Name,
			q.Missing,
			q.By.Path,
			analyzer.Versioned(q.Import.Name, q.Import.Version),
			where,
			otherLinkers(p, q),
			q.told,
		)
		fixes := []fix.Candidate{
			{
				Fix: fix.Fix{
					Kind:  fix.KindEnvironment,
					Title: "Install what brings " + q.Missing + ", or name the directory that has it with -Wl,-rpath-link",
				},
			},
		}
		if p.LinkSystem().Elsewhere(q.Missing) != nil {
			fixes = plans.of(p, q.view)
		}
		p.Report(f, fixes...)
	}
}

// ofMissing tells whether a reference is undefined because a needed library was not found, and not
// because one of the platform is not listed.
func ofMissing(p *analyzer.Pass, q linkProblem) bool {
	if q.Missing == "" {
		return false
	}
	if there := p.LinkSystem().Elsewhere(q.Missing); there != nil {
		return there.Links(q.Import.Name, q.Import.Version)
	}
	return q.Import.Version != "" || ownerOf(p, q.Import).soname == ""
}
