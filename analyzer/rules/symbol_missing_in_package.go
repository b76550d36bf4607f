package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
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

A library of a package that the object loads may itself miss a symbol in the library of a third
package. The load of the object fails in the same way, so it is an error too.

Fix: raise the lower bound of the requirement to the first version that has the symbol, or build
against the oldest version that is allowed.

Not detected: packages whose exports are not known; the report lists those that could not be
looked up. What a library of another package needs is known if its wheel was read from an index,
and of most packages of the built-in history: CUDA, Qt, RAPIDS and cmeel, but not torch.`,
	Cause: cause.Rule{
		Lacks: cause.LacksSymbolOfLoaded,
		Warns: "other releases of the package have the symbol",
	},
	References: []string{
		"glibc: elf/dl-load.c, _dl_map_object (a loaded SONAME wins)",
		"glibc: elf/dl-lookup.c",
	},
	Check: checkSymbolInPackage,
}

// missingSymbols lists the symbols that one object misses in one library.
type missingSymbols struct {
	object string // its path
	// The object is this library of another package, and user, an object of the artifact, loads it;
	// nil for an object of the artifact.
	of    *dynlink.Library
	user  string
	chain []string // what loads the library, or else the object
	// A library of a package; the object itself if no library that it links may have the symbols.
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
			lacks = addMissing(lacks, b, b.Provider, func() *missingSymbols {
				chain := analyzer.Chain(v.Loading.Chain(b.Provider)...)
				return &missingSymbols{object: v.Path, chain: chain}
			})
		}
		for _, l := range lacks {
			reportMissingSymbols(p, l)
		}
	}
	later := newLaterSymbols(p.Platform)
	for _, d := range p.Dependencies {
		for _, l := range missedByDependency(p, d, later) {
			reportMissingSymbols(p, l)
		}
	}
}

// addMissing adds a symbol that an object misses in a library. They come in the order of the
// object's table, where those of one library are often consecutive.
func addMissing(
	lacks []*missingSymbols, b dynlink.Binding, in *dynlink.Library, first func() *missingSymbols,
) []*missingSymbols {
	i := slices.IndexFunc(lacks, func(l *missingSymbols) bool { return l.library == in })
	if i < 0 {
		i, lacks = len(lacks), append(lacks, first())
		lacks[i].library = in
	}
	lacks[i].names = append(lacks[i].names, b)
	return lacks
}

// missedByDependency returns the symbols that a library of another package misses, so that what
// loads it in the artifact cannot be loaded either. The symbols of the platform and of the
// interpreter are left out: the package has a wheel for that platform. If another library is
// missing too, or the program is not known that loads the artifact, only those symbols are certain
// whose version names the library that lacks them.
func missedByDependency(
	p *analyzer.Pass, d *analyzer.Dependency, later *laterSymbols,
) (lacks []*missingSymbols) {
	users := slices.DeleteFunc(slices.Clone(d.Users), func(v *analyzer.View) bool {
		return v.Alternative
	})
	if len(users) == 0 {
		return nil
	}
	i := slices.IndexFunc(users, func(v *analyzer.View) bool {
		return v.Host == analyzer.HostPython && len(v.Loading.Missing) == 0
	})
	v := users[max(i, 0)]
	for b := range d.Bindings().Failed() {
		name := b.Import.Name
		if i < 0 && b.Provider == nil {
			continue
		}
		if b.Outcome != dynlink.NoSymbol && b.Outcome != dynlink.NoVersion || v.Host.Exports(name) ||
			later.node(b.Import) != (node{}) ||
			len(platform.Providers(p.Platform, name)) > 0 {
			continue
		}
		in := b.Provider
		if in == nil {
			in = lacking(v, d, name)
		}
		if in.Kind != dynlink.FromPackage {
			continue
		}
		lacks = addMissing(lacks, b, in, func() *missingSymbols {
			return &missingSymbols{object: d.Path, of: d.Library, user: v.Path,
				chain: analyzer.Chain(v.Loading.Chain(in)...)}
		})
	}
	return lacks
}

// lacking returns the library of another package that a dependency links and that most likely
// should have a symbol: the only one, or the one with the most similar names. It is the dependency
// itself if there is none.
func lacking(v *analyzer.View, d *analyzer.Dependency, symbol string) *dynlink.Library {
	var linked []*dynlink.Library
	for _, f := range v.Loading.Found {
		l := f.Library
		if l.Kind == dynlink.FromPackage && l.Package != d.Package && l.Known &&
			slices.ContainsFunc(l.Names(), func(n string) bool { return slices.Contains(d.Needed, n) }) {
			linked = append(linked, l)
		}
	}
	switch len(linked) {
	case 0:
		return d.Library
	case 1:
		return linked[0]
	}
	return slices.MaxFunc(linked, func(a, b *dynlink.Library) int {
		return cmp.Compare(a.Similar(symbol), b.Similar(symbol))
	})
}

func reportMissingSymbols(p *analyzer.Pass, l *missingSymbols) {
	name, version := l.library.Package.Name, l.library.Package.Version
	from := " from " + l.library.Names()[0] + ", but " + l.library.Origin + " does not have it"
	has := func(r *packages.Release) bool { return hasAll(r, l) }
	when, since := "The newest known version lacks it too", "The first version that has it is "
	if l.library == l.of {
		from = ", which no library that it loads has"
		has = func(r *packages.Release) bool { return needsNone(r, l) }
		when, since = "The newest known version needs it too", "The first version without it is "
	}
	if first, _, ok := p.Releases.First(name, version, has); ok {
		when = since + first
	}
	var fixes []fix.Candidate
	if r := p.Packages.Release(name); r != nil {
		fixes = append(fixes, p.Releases.OtherVersion(r, has))
	}
	subject := l.object
	if l.of != nil {
		subject = fmt.Sprintf("%s of %s, which %s loads,", l.of.Names()[0], l.of.Origin, l.user)
	} else {
		fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
			Kind:  fix.KindRebuild,
			Title: fix.Titled("Build against %s %s", name, version),
		}})
	}
	if l.of != nil && l.of != l.library {
		if r := p.Packages.Release(l.of.Package.Name); r != nil {
			fixes = append(fixes, p.Releases.OtherVersion(r, func(r *packages.Release) bool {
				return needsNone(r, l)
			}))
		}
	}
	for _, b := range l.names {
		i := b.Import
		headline := fmt.Sprintf("%s imports the symbol %s%s%s", subject, i.Name, from,
			pinnedBy(p, name))
		p.Report(analyzer.Finding{
			Object: l.object, Symbol: i.Name, Version: i.Version, Library: l.library.Names()[0],
			NoVersion: b.Outcome == dynlink.NoVersion,
			Chain:     l.chain, Package: name,
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

// needsNone reports whether the object, a library of a package, needs none of the symbols in
// another release. It is false if the release has no such library, or its imports are not known.
func needsNone(r *packages.Release, l *missingSymbols) bool {
	for i := range r.Libraries {
		have := dynlink.OfPackage(r, &r.Libraries[i])
		if have.Names()[0] == l.of.Names()[0] {
			return have.Imports != nil && !have.Imports.Any(func(name string) bool {
				return slices.ContainsFunc(l.names, func(b dynlink.Binding) bool {
					return b.Import.Name == name
				})
			})
		}
	}
	return false
}

// pinnedBy names the package that pins this one.
func pinnedBy(p *analyzer.Pass, name string) string {
	for r := range p.Packages.All() {
		for _, q := range r.Requires {
			if q.Name == name && strings.Contains(q.Spec, "==") {
				return fmt.Sprintf(" (%s==%s pins %s%s)", r.Name, r.Version, q.Name, q.Spec)
			}
		}
	}
	return ""
}
