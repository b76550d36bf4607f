package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var linkUndefinedReference = &analyzer.Rule{
	ID:       "link-undefined-reference",
	Title:    "a program can't be linked against the library",
	Severity: analyzer.Error,
	Doc: `GNU ld checks, when it links a program, that every strong undefined symbol of a shared library on its line is defined by that library's own DT_NEEDED closure or by the rest
of the line: "libcufile.so: undefined reference to ` + "`dlopen'" + `". A library that imports dlopen and does not list libdl.so.2 fails so on glibc before 2.34, where dlopen is in libdl.so.2, and
links without a flag from 2.34 on, where it is in libc.so.6.

A plain -ldl before the objects does not help: with --as-needed, which Debian's and Ubuntu's gcc pass by default, the linker drops a library that nothing before it needed.

To mend it for users: LDFLAGS="-Wl,--no-as-needed -ldl". To mend it for good: link the library itself with -ldl, so that DT_NEEDED says it.

Judged are loose shared libraries, public ones (lib*.so with a SONAME) of an archive, and with --link all. In a wheel it is a warning unless a platform was asked for: Python has libdl loaded already.

Not seen: what gold, lld and mold do differently (they check less).`,
	References: []string{"ld(1), --no-allow-shlib-undefined and --as-needed", "glibc 2.34 NEWS: libdl, libpthread, librt and libutil are part of libc"},
	Check:      checkLinkReference,
}

func checkLinkReference(p *analyzer.Pass) {
	if p.Platform.Libc != "glibc" {
		return
	}
	for _, v := range p.Views {
		if !p.Link && !v.Public() && p.Facts.Kind != "object" || v.SONAME == "" && p.Facts.Kind != "object" {
			continue
		}
		undefined := linkUndefined(p, v)
		if len(undefined) == 0 {
			continue
		}
		var owners []string
		for _, u := range undefined {
			if !slices.Contains(owners, u.owner) {
				owners = append(owners, u.owner)
			}
		}
		slices.Sort(owners)
		flags := linkFlags(owners)
		fixes := []fix.Candidate{
			{Fix: fix.Fix{Kind: fix.KindLinkFlag, Title: "Link programs that use it with these flags; --no-as-needed keeps the linker from dropping them", Command: `LDFLAGS="` + flags + `"`}, Change: fix.LinkWith{Libraries: owners}},
			{Fix: fix.Fix{Kind: fix.KindPatchelf, Title: "Add the DT_NEEDED entries to the library, so that its users need no flag", Command: addNeeded(owners, v.Path)}, Change: fix.AddNeeded{Object: v.Path, Libraries: owners}},
		}
		for _, u := range undefined {
			f := analyzer.Finding{Object: v.Path, Symbol: u.symbol, Library: u.owner, Chain: []string{v.Path}}
			if p.Facts.Kind == "wheel" && !p.Asked && !p.Link {
				f.Severity = analyzer.Warning
			}
			f.Message = fmt.Sprintf("a program that links against %s fails on %s (glibc %s) with an undefined reference to %s; there it is in %s, which %s does not list in DT_NEEDED%s",
				v.Path, p.Platform.Name, p.Platform.LibcVersion, u.symbol, u.owner, v.Path, merged(u.owner))
			p.Report(f, fixes...)
		}
	}
}

type unlinked struct{ symbol, owner string }

// linkUndefined lists the strong undefined symbols of a library that neither its own closure nor the link line defines and that some library of the platform has.
func linkUndefined(p *analyzer.Pass, v *analyzer.View) []unlinked {
	var line []*dynlink.Library
	for _, f := range v.Loading.Found {
		line = append(line, f.Library)
	}
	for _, soname := range append([]string{"libc.so.6"}, p.Scenario.Link...) {
		if l := p.Platform.Library(soname); l != nil {
			line = append(line, dynlink.OfPlatform(p.Platform, l))
		}
	}
	var out []unlinked
	for _, i := range v.Imports {
		if i.Weak || i.Version != "" || slices.ContainsFunc(line, func(l *dynlink.Library) bool { return !l.Known || l.Defines(i.Name, "") }) {
			continue
		}
		if owners := platform.Providers(p.Platform, i.Name); len(owners) > 0 {
			out = append(out, unlinked{i.Name, owners[0].SONAME})
		}
	}
	return out
}

// linkFlags writes the link line for libraries given by SONAME: "-Wl,--no-as-needed -ldl -lrt".
func linkFlags(sonames []string) string {
	flags := "-Wl,--no-as-needed"
	for _, s := range sonames {
		name, _, _ := strings.Cut(strings.TrimPrefix(s, "lib"), ".so")
		flags += " -l" + name
	}
	return flags
}

func addNeeded(sonames []string, object string) string {
	cmd := "patchelf"
	for _, s := range sonames {
		cmd += " --add-needed " + s
	}
	return cmd + " " + quoted(object)
}

// merged says what became of a library in glibc 2.34.
func merged(soname string) string {
	switch soname {
	case "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1":
		return "; from glibc 2.34 on it is in libc.so.6 and needs no flag"
	}
	return ""
}
