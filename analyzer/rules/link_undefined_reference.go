package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/staticlink"
)

var linkUndefinedReference = &analyzer.Rule{
	ID:       "link-undefined-reference",
	Title:    "a program can't be linked against the library",
	Severity: analyzer.Error,
	Doc: `GNU ld checks, when it links a program, that every strong undefined symbol of a shared library on its line is defined by that library's own DT_NEEDED closure or by the rest
of the line: "libcufile.so: undefined reference to ` + "`dlopen'" + `". A library that imports dlopen and does not list libdl.so.2 fails so on glibc before 2.34, where dlopen is in libdl.so.2, and
links without a flag from 2.34 on, where it is in libc.so.6.

A plain -ldl before the objects does not help: with --as-needed, which Debian's and Ubuntu's gcc pass by default, the linker drops a library that nothing before it needed.

A reference with a version (dlopen@GLIBC_2.34) needs that very version; one without needs a default definition: what a library keeps for old programs only (sys_errlist of glibc 2.36)
serves the loader and no linker.

To mend it for users: LDFLAGS="-Wl,--no-as-needed -ldl". To mend it for good: link the library itself with -ldl, so that DT_NEEDED says it.

Judged are loose shared libraries, public ones (lib*.so with a SONAME) of an archive, and with --link all. In a wheel it is a warning unless a platform was asked for: Python has libdl loaded already.

gold and lld judge a library only when all that it needs is on the line, and mold judges none before 2.38; a program that they link then fails when it starts. The message says which.

Not seen: what the program itself defines, symbols of libraries of which only the name is known, and protected data that a program copies.`,
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
			continue // link-library-not-found says more
		}
		plan := plans.of(p, q.view)
		f := linkFinding(p, q)
		name := analyzer.Versioned(q.Import.Name, q.Import.Version)
		f.Message = fmt.Sprintf(
			"a program that links against %s fails on %s (glibc %s) with an undefined reference to %s%s; ",
			q.view.Path,
			p.Platform.Name,
			p.Platform.LibcVersion,
			name,
			ofIndirect(q),
		)
		fixes := newerSystem(p, q.Import)
		switch o := ownerOf(p, q.Import); {
		case q.Import.Version != "":
			f.Library = q.Import.Library
			f.Message += q.Import.Library + " there does not have that version" + since(
				q.Import.Version,
			)
			fixes = append(
				append(plan, fixes...),
				fix.Candidate{
					Fix: fix.Fix{
						Kind:  fix.KindRebuild,
						Title: "Build " + q.By.Path + " against the " + q.Import.Library + " that programs are linked with",
					},
				},
			)
		case o.compat != "":
			f.Library = o.soname
			f.Message += fmt.Sprintf(
				"%s there has it for old programs only (%s), to which no linker binds",
				o.soname,
				analyzer.Versioned(q.Import.Name, o.compat),
			)
			fixes = append(
				plan,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:  fix.KindRebuild,
						Title: "Link " + q.By.Path + " itself against a " + o.soname + " that still offers it, so that the reference has a version",
					},
				},
			)
		case o.soname != "":
			f.Library = o.soname
			f.Message += fmt.Sprintf(
				"there it is in %s, which %s does not list in DT_NEEDED%s",
				o.soname,
				q.By.Path,
				merged(o.soname),
			)
			fixes = append(plan, fixes...)
		default:
			f.Message += "nothing that it needs defines it there"
			fixes = append(
				fixes,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:  fix.KindSource,
						Title: "Define " + q.Import.Name + " in the program, or make the library's reference to it weak",
					},
				},
			)
		}
		f.Message += otherLinkers(p, q) + q.told
		p.Report(f, fixes...)
	}
}

// linkFinding is a finding on the object linked against, or in an artifact on the object that it needs and that is at fault.
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

// ofIndirect names the library that refers to a symbol where it is not the one linked against.
func ofIndirect(q linkProblem) string {
	if q.By.Path == q.view.Path {
		return ""
	}
	return " of " + q.By.Path + ", which it needs"
}

// merged says what became of a library in glibc 2.34.
func merged(soname string) string {
	if staticlink.Merged(soname) {
		return "; from glibc 2.34 on it is in libc.so.6 and needs no flag"
	}
	return ""
}
