package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkUndefinedReference = &analyzer.Rule{
	ID:        "link-undefined-reference",
	Title:     "Linking a program against the library fails with an undefined reference",
	Severity:  analyzer.Error,
	Packaging: true,
	Doc: `When GNU ld links a program, every strong undefined symbol of a shared library has to be
defined by the DT_NEEDED closure of that library or by the rest of the link line: "libcufile.so:
undefined reference to ` + "`dlopen'" + `". A library that imports dlopen and does not list
libdl.so.2 fails on glibc before 2.34, where dlopen is in libdl.so.2, and links without a flag
since 2.34, where it is in libc.so.6.

A plain -ldl before the objects does not help: with --as-needed, the default of gcc on Debian and
Ubuntu, the linker drops a library that nothing before it needs.

A reference with a version (dlopen@GLIBC_2.34) needs exactly that version. One without a version
needs a default definition; a symbol that a library keeps only for old programs (sys_errlist of
glibc 2.36) is used by the loader, but by no linker.

Fix for users: LDFLAGS="-Wl,--no-as-needed -ldl". Fix for the library: link it with -ldl, so that
libdl.so.2 is in its DT_NEEDED.

Checked are loose shared libraries, public libraries (lib*.so with a SONAME) of an archive, and
everything with --link all. In a wheel it is a warning unless a platform was given, since Python
has already loaded libdl. gold and lld check a library only when all of its dependencies are on
the link line, and mold before 2.38 checks none; the program that they link then fails at start.
The message lists them.

Not detected: symbols that the program itself defines, symbols of libraries of which only the name
is known, and protected data that a program copies.`,
	Cause: cause.Rule{
		Lacks: cause.LacksSymbol, Linker: true,
		Warns: "only programs that are linked with it are affected",
	},
	References: []string{
		"ld(1), --no-allow-shlib-undefined and --as-needed",
		"glibc 2.34 NEWS: libdl, libpthread, librt and libutil are part of libc",
	},
	Check: checkLinkReference,
}

func checkLinkReference(p *analyzer.Pass) {
	plans := linkPlans{}
	for _, q := range linkProblems(p, staticlink.Undefined) {
		if ofMissing(p, q) {
			continue // link-library-not-found reports it
		}
		plan := plans.of(p, q.view)
		f := linkFinding(p, q)
		name := analyzer.Versioned(q.Import.Name, q.Import.Version)
		f.Headline = fmt.Sprintf(
			"With GNU ld, linking a program against %s fails on %s (glibc %s): undefined "+
				"reference to %s%s",
			q.view.Path,
			p.Platform.Name,
			p.Platform.LibcVersion,
			name,
			ofIndirect(q),
		)
		f.Message = f.Headline + ". "
		fixes := newerSystem(p, q.Import)
		switch o := ownerOf(p, q.Import); {
		case q.Import.Version != "":
			f.Library = q.Import.Library
			f.Message += q.Import.Library + " does not have that version" + since(q.Import.Version)
			fixes = append(
				append(plan, fixes...),
				fix.Candidate{
					Fix: fix.Fix{
						Kind:  fix.KindRebuild,
						Title: olderBuild(p, q),
					},
				},
			)
		case o.compat != "":
			f.Library = o.soname
			f.Message += fmt.Sprintf(
				"%s exports it only for existing programs (%s), not for new links",
				o.soname,
				analyzer.Versioned(q.Import.Name, o.compat),
			)
			fixes = append(
				plan,
				fix.Candidate{
					Fix: fix.Fix{
						Kind: fix.KindRebuild,
						Title: fix.Titled("Link %s against a %s that still has it",
							q.By.Path, fix.Library(o.soname)),
					},
				},
			)
		case o.soname != "":
			f.Library = o.soname
			f.Message += fmt.Sprintf(
				"It is in %s, which is missing from DT_NEEDED of %s%s",
				o.soname,
				q.By.Path,
				merged(o.soname),
			)
			fixes = append(plan, fixes...)
		default:
			f.Message += "No library that it needs defines it"
			fixes = append(
				fixes,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:  fix.KindSource,
						Title: fix.Titled("Link %s with the library that defines the symbol", q.By.Path),
					},
				},
			)
		}
		f.Message += otherLinkers(p, q) + q.note
		p.Report(f, fixes...)
	}
}

// olderBuild is the title of a fix that builds an object with another library, so that it needs no
// newer version of it than the target has.
func olderBuild(p *analyzer.Pass, q linkProblem) fix.Title {
	if strings.HasPrefix(q.Import.Version, "GLIBC_") && p.Platform.Libc == "glibc" {
		return fix.Titled("Build %s on a system whose glibc is not newer than that of %s (glibc %s)",
			q.By.Path, p.Platform.Name, p.Platform.LibcVersion)
	}
	return fix.Titled("Build %s with the oldest %s that it has to work with",
		q.By.Path, fix.Library(q.Import.Library))
}

// linkFinding returns a finding for the object linked against; in an artifact, for the object with
// the undefined symbol.
func linkFinding(p *analyzer.Pass, q linkProblem) analyzer.Finding {
	f := analyzer.Finding{
		Object:   q.view.Path,
		Symbol:   q.Import.Name,
		Version:  q.Import.Version,
		Severity: q.severity,
	}
	if v := p.LinkView(q.By); v != nil {
		f.Object = v.Path
	}
	for _, l := range q.Chain {
		f.Chain = append(f.Chain, l.Path)
	}
	return f
}

// ofIndirect names the library that refers to a symbol, if it is not the one linked against.
func ofIndirect(q linkProblem) string {
	if q.By.Path == q.view.Path {
		return ""
	}
	return " in its dependency " + q.By.Path
}

// merged describes a library that is part of libc.so.6 since glibc 2.34.
func merged(soname string) string {
	if staticlink.Merged(soname) {
		return ". Since glibc 2.34 it is in libc.so.6 and needs no flag"
	}
	return ""
}
