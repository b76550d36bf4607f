package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
)

var symbolsNotChecked = &analyzer.Rule{
	ID:       "symbols-not-checked",
	Title:    "A library of another package was not read, so symbols of it were not checked",
	Severity: analyzer.Warning,
	Doc: `An object imports symbols that a library of another package should have, but the exports of
that library are not known: the built-in history has only its name, or it was too large to be read
from the index. If it lacks one of the symbols, the load fails with "undefined symbol". Nothing is
known to be wrong.

Fix: name a package index (--index-url or PIP_INDEX_URL), so that the library is read, or give the
version of the package that is installed (--with).

Severity: a warning, and the artifact is unchecked, not compatible, unless it is a package of an
environment. It is a note if the nearest releases of the package that are known have all of the
symbols, and for one of several variants of an object.

Not reported: libraries of the system whose exports are not known, symbols of the program that opens
an object, symbols that a library may have that was not found, which is a finding of its own, and
those of an object that lacks others with the newest releases only. They are counted as undecided.
If only the oldest release that a requirement allows was not read, nothing is said: it often has no
wheel for the platform.`,
	Cause: cause.Rule{
		Subject: ofPackage, Kind: cause.Choose(
			"name a package index, or with --venv an environment that has it, so that it is checked", ""),
		Warns: "the library may have all symbols; nothing is known to be missing",
	},
	References: []string{"gABI, symbol table"},
	Check:      checkUnread,
}

func checkUnread(p *analyzer.Pass) {
	for _, v := range p.Views {
		var unread []*missingSymbols
		for b := range v.Bindings().Failed() {
			if b.Outcome != dynlink.Undecided || b.Provider == nil && len(v.Loading.Missing) > 0 ||
				v.Host.Exports(b.Import.Name) {
				continue
			}
			may := v.Unread(b)
			if len(may) == 0 || slices.ContainsFunc(may, func(l *dynlink.Library) bool {
				return l.Kind != dynlink.FromPackage
			}) {
				continue
			}
			unread = addMissing(unread, b, may[0], func() *missingSymbols {
				return &missingSymbols{chain: analyzer.Chain(v.Loading.Chain(may[0])...)}
			})
		}
		for _, l := range unread {
			reportUnread(p, v, l)
		}
	}
}

func reportUnread(p *analyzer.Pass, v *analyzer.View, of *missingSymbols) {
	var names []string
	near := true
	for _, b := range of.names {
		names = append(names, b.Import.Name)
		near = near && of.library.Defines(b.Import.Name, b.Import.Version)
	}
	const shown = 3
	f := analyzer.Finding{
		Object: v.Path, Library: of.library.Names()[0], Package: of.library.Package.Name,
		Chain: of.chain, Unknown: true,
		Reason: fmt.Sprintf("%s of %s was not read, so its symbols were not checked",
			of.library.Names()[0], of.library.Package.Name),
		Headline: fmt.Sprintf("%s of %s was not read, so %s that %s imports from it could not be checked",
			of.library.Names()[0], of.library.Origin, analyzer.Count(len(names), "symbol"), v.Path),
	}
	f.Message = f.Headline + ": " + strings.Join(names[:min(len(names), shown)], ", ")
	if len(names) > shown {
		f.Message += ", …"
	}
	if near || v.Alternative {
		f.Severity = analyzer.Note
	}
	p.Report(f)
}
