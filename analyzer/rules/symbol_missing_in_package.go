package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
)

var symbolMissingInPackage = &analyzer.Rule{
	ID:       "symbol-missing-in-package",
	Title:    "An allowed version of a dependency lacks a symbol",
	Severity: analyzer.Error,
	Doc: `An object imports a symbol from a library of another package, but the version of that
package that the requirements or pins allow does not export it. The SONAME is the same, and often
the version node too, so the load fails only when the symbol is looked up: "undefined symbol:
__nvJitLinkGetErrorLogSize_12_9, version libnvJitLink.so.12".

The first library that is loaded with a SONAME is used by the whole process. A RUNPATH to a newer
copy does not help if another package has loaded the older one.

Fix: raise the lower bound of the requirement to the first version that has the symbol, or build
against the oldest version that is allowed.

Not detected: packages whose exports are not known; the report lists those that could not be
looked up.`,
	Cause: cause.Rule{Lacks: cause.LacksSymbolOfLoaded},
	References: []string{
		"glibc: elf/dl-load.c, _dl_map_object (a loaded SONAME wins)",
		"glibc: elf/dl-lookup.c",
	},
	Check: checkSymbolInPackage,
}

// missingSymbols lists the symbols that one object misses in one library.
type missingSymbols struct {
	view    *analyzer.View
	library *dynlink.Library
	names   []dynlink.Binding
}

func checkSymbolInPackage(p *analyzer.Pass) {
	for _, v := range p.Views {
		var lacks []*missingSymbols
		for b := range v.Bindings().Failed() {
			if b.Provider == nil || b.Provider.Kind != dynlink.FromPackage ||
				b.Outcome != dynlink.NoSymbol && b.Outcome != dynlink.NoVersion {
				continue
			}
			if len(lacks) == 0 || lacks[len(lacks)-1].library != b.Provider {
				lacks = append(lacks, &missingSymbols{view: v, library: b.Provider})
			}
			l := lacks[len(lacks)-1]
			l.names = append(l.names, b)
		}
		for _, l := range lacks {
			reportMissingSymbols(p, l)
		}
	}
}

func reportMissingSymbols(p *analyzer.Pass, l *missingSymbols) {
	name, version := l.library.Package.Name, l.library.Package.Version
	when := "The newest known version lacks it too"
	has := func(r *packages.Release) bool { return hasAll(r, l) }
	if first, _, ok := p.Releases.First(name, version, has); ok {
		when = "The first version that has it is " + first
	}
	var fixes []fix.Candidate
	if r := p.Packages.Release(name); r != nil {
		fixes = append(fixes, p.Releases.OtherVersion(r, has))
	}
	fixes = append(
		fixes,
		fix.Candidate{
			Fix: fix.Fix{
				Kind:  fix.KindRebuild,
				Title: fix.Titled("Build against %s %s", name, version),
			},
		},
	)
	for _, b := range l.names {
		i := b.Import
		headline := fmt.Sprintf("%s imports the symbol %s from %s, but %s does not have it%s",
			l.view.Path, i.Name, l.library.Names()[0], l.library.Origin, pinnedBy(p, name))
		p.Report(analyzer.Finding{
			Object: l.view.Path, Symbol: i.Name, Version: i.Version, Library: l.library.Names()[0],
			Chain: analyzer.Chain(l.view.Loading.Chain(l.library)...), Package: name,
			Headline: headline, Message: headline + ". " + when,
		}, fixes...)
	}
}

// hasAll reports whether the library of the same name in a release has every symbol.
func hasAll(r *packages.Release, l *missingSymbols) bool {
	for i := range r.Libraries {
		have := dynlink.OfPackage(r, &r.Libraries[i])
		if have.Names()[0] != l.library.Names()[0] || !have.Known {
			continue
		}
		for _, b := range l.names {
			if !have.Defines(b.Import.Name, b.Import.Version) {
				return false
			}
		}
		return true
	}
	return false
}

// pinnedBy names the package that pins this one.
func pinnedBy(p *analyzer.Pass, name string) string {
	for _, r := range p.Packages.Releases {
		for _, q := range r.Requires {
			if q.Name == name && strings.Contains(q.Spec, "==") {
				return fmt.Sprintf(" (%s==%s pins %s%s)", r.Name, r.Version, q.Name, q.Spec)
			}
		}
	}
	return ""
}
