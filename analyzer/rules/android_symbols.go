package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/bionic"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
)

// checkUndefinedSymbolAndroid reports imports that no library of the load exports.
func checkUndefinedSymbolAndroid(p *analyzer.Pass) {
	for _, o := range p.Android.Objects {
		for _, b := range o.Bindings {
			if b.Outcome != bionic.NoSymbol && b.Outcome != bionic.NotLinked ||
				p.Facts.ABI3 != nil && abi3.Names(b.Symbol) && o.Load.LinksPython() {
				continue // abi3-violation reports functions of Python
			}
			f := analyzer.Finding{
				Object: o.Path, Symbol: b.Symbol, Library: b.Library, Chain: []string{o.Path},
				Severity: severityAndroid(p, o, analyzer.Error),
				Message: fmt.Sprintf("%s imports %s, which no library that it loads on Android exports", o.Path,
					b.Symbol),
			}
			fixes := undefinedAndroid(p, o, b, &f)
			p.Report(f, fixes...)
		}
	}
}

// undefinedAndroid describes why a symbol is not found, and returns the fixes.
func undefinedAndroid(
	p *analyzer.Pass, o *analyzer.AndroidObject, b bionic.Binding, f *analyzer.Finding,
) []fix.Candidate {
	if abi3.Names(b.Symbol) && len(cpython.Releases(b.Symbol)) > 0 {
		if !o.Load.LinksPython() {
			f.Message = fmt.Sprintf("%s imports %s but is not linked with libpython. "+
				"On Android, a library sees only symbols of the libraries that it is linked with",
				o.Path, b.Symbol)
			return []fix.Candidate{{Fix: fix.Fix{
				Kind: fix.KindLinkFlag, Title: fix.Titled("Link the module with libpython"),
				Command: "-lpython" + quoted(strings.Join(androidPythons(p)[:1], "")),
			}}}
		}
		f.Message += exportedBy(b.Symbol)
		if strings.HasPrefix(b.Symbol, "_Py") && f.Severity == analyzer.Error {
			f.Severity = analyzer.Warning
			f.Message += privateSymbol
		}
		return []fix.Candidate{relink(fix.Titled("Build the module with the Python of the tag"))}
	}
	if b.Library == "" {
		return []fix.Candidate{relink(fix.Titled("Link the library that has %s, or remove the call",
			b.Symbol))}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(b.Library[strings.LastIndexByte(b.Library, '/')+1:],
		"lib"), ".so")
	f.Message += ". " + b.Library + " has it, but " + o.Path + " is not linked with it"
	return []fix.Candidate{{Fix: fix.Fix{
		Kind: fix.KindLinkFlag, Title: fix.Titled("Link %s", fix.Library(b.Library)),
		Command: "-l" + quoted(name),
	}}}
}

// checkVersionTooNewAndroid reports imports that a library of Android exports from a later API
// level on than that of the tag.
func checkVersionTooNewAndroid(p *analyzer.Pass) {
	for _, o := range p.Android.Objects {
		for _, b := range o.Bindings {
			if b.Outcome != bionic.TooNew {
				continue
			}
			p.Report(analyzer.Finding{
				Object: o.Path, Symbol: b.Symbol, Version: strconv.Itoa(b.Since), Library: b.Library,
				Chain: []string{o.Path, b.Library}, Severity: severityAndroid(p, o, analyzer.Error),
				Message: fmt.Sprintf("%s imports %s, which %s has from %s on, but %s %s", o.Path,
					b.Symbol, b.Library, androidName(b.Since), claims(p), androidName(p.Android.Level)),
			}, append(retagAndroid(p, b.Since), forLevel(p))...)
		}
	}
}

// checkABI3Android reports functions of Python that a module for the stable ABI imports and that
// its tag does not guarantee.
func checkABI3Android(p *analyzer.Pass) {
	if p.Facts.ABI3 == nil || p.Facts.Wheel == nil {
		return
	}
	for _, o := range p.Android.Objects {
		if o.Load == nil || !o.Extension() || ofOnePython.MatchString(o.Path) {
			continue
		}
		for name := range requiredSymbols(o.Imports) {
			if !p.Android.Exports(name) {
				checkStableSymbol(p, o.Path, name)
			}
		}
	}
}
