package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var symbolInterposed = &analyzer.Rule{
	ID:       "symbol-interposed",
	Title:    "A library uses the functions of another package in place of its own",
	Severity: analyzer.Warning,
	Doc: `The import of a package opens a library with RTLD_GLOBAL (ctypes.CDLL with that mode,
sys.setdlopenflags). Its symbols, and those of the libraries that it needs, are then searched before
those of everything that is loaded later. A library of another package that exports a function with
the same name, and calls it through the dynamic linker, then calls the one of the other package
(interposition). If the two are of different versions, or only have the same name, the process
computes wrong values or crashes; which of them happens depends on the order of the imports:
"import tensorflow; import triton" ends with signal 11, because both contain LLVM, and the other
order works.

Fix: in the library, hide what only it uses: -fvisibility=hidden, or a version script with
` + "`local: *`" + `; or bind it to itself with -Wl,-Bsymbolic. In the other package, open libraries
with RTLD_LOCAL. Whoever uses both imports the package that opens nothing globally first.

Severity: a warning, because two copies of one version may work together; a note for two copies of
one library with the same SONAME, apart from what auditwheel adds (libgomp).

Not detected: names of libraries that the sources compute, packages whose sources were not read,
what is opened after the import, and data that only a program defines. Weak symbols of C++ (inline
functions, templates, type information) are meant to be shared and not reported, nor are symbols
of the system's libraries, also of newer systems (functions of a newer libstdc++, which compilers
link into each library), and those that the linker has bound with -Bsymbolic.`,
	Cause: cause.Rule{
		Subject: ofPackage, Kind: &cause.Kind{Advice: firstFix},
		Warns: "it happens only in this order of imports, and both copies may work alike",
	},
	References: []string{
		"dlopen(3), RTLD_GLOBAL",
		"gABI: Shared Object Dependencies, symbol interposition",
		"ld: -Bsymbolic",
	},
	Check: checkInterposed,
}

func checkInterposed(p *analyzer.Pass) {
	globals := p.Globals()
	if len(globals) == 0 {
		return
	}
	later := newLaterSymbols(p.Platform).newest
	for _, v := range p.Views {
		if v.Program() || !v.Extension() && !v.Linked() {
			continue
		}
		for _, g := range globals {
			if v.SONAME != "" && v.SONAME == g.SONAME {
				break // the loader takes the one that is loaded for both
			}
			if taken := interposed(p, v, g, later); len(taken) > 0 {
				reportInterposed(p, v, g, taken)
				break // the first one that has the symbols
			}
		}
	}
}

// boundByLoader are the relocations with which the loader looks up a symbol.
const boundByLoader = elfobj.RelocJumpSlot | elfobj.RelocGlobDat | elfobj.RelocWord

// interposed returns the symbols of an object that it looks up, and that a library in the global
// scope defines too. later is the newest system, nil for musl.
func interposed(
	p *analyzer.Pass, v *analyzer.View, g analyzer.Global, later *platform.Platform,
) (names []string) {
	for _, e := range v.Exports.All() {
		if e.Weak || e.Unique || e.Relocs&boundByLoader == 0 || e.Kind != "func" && e.Kind != "object" ||
			!g.Defines(e.Name, e.Version) || len(platform.Providers(p.Platform, e.Name)) > 0 {
			continue
		}
		// The compilers of the images link what a newer libstdc++ has into each library
		// (libstdc++_nonshared.a). All copies are of one ABI, apart from std::filesystem, which was
		// experimental in GCC 8.
		if later != nil && len(platform.Providers(later, e.Name)) > 0 &&
			!strings.Contains(e.Name, "10filesystem") {
			continue
		}
		names = append(names, e.Name)
	}
	return names
}

// sameProject reports whether two libraries are builds of one library that keep its interface: they
// have the same name and number, apart from the digest that auditwheel adds.
func sameProject(a, b *dynlink.Library) bool {
	return original(a.Names()[0]) == original(b.Names()[0])
}

// original returns the name of a library without the digest that auditwheel adds, and with only
// the first number of its version: "libgomp.so.1" of libgomp-870cb1d0.so.1.0.0.
func original(name string) string {
	stem, version, _ := strings.Cut(name, ".so")
	if whole := grafted(name); whole != "" {
		stem = strings.TrimSuffix(whole, ".so")
	}
	if number := strings.Split(version, "."); len(number) > 1 {
		return stem + ".so." + number[1]
	}
	return stem
}

func reportInterposed(p *analyzer.Pass, v *analyzer.View, g analyzer.Global, taken []string) {
	own := projectName(p)
	f := analyzer.Finding{
		Object: v.Path, Symbol: taken[0], Library: g.Names()[0], Package: g.Wheel.Name,
		Chain: []string{v.Path, g.Path},
	}
	what := taken[0]
	if len(taken) > 1 {
		what = analyzer.Count(len(taken), "symbol")
	}
	f.Headline = fmt.Sprintf("%s uses %s of %s in place of its own if %s is imported before %s",
		v.Path, what, g.Names()[0], g.Import, own)
	f.Message = f.Headline + fmt.Sprintf(". %s is opened with RTLD_GLOBAL, and both "+
		"define %s. If they differ, the process may crash; with the other order of the imports each "+
		"uses its own", g.Names()[0], taken[0])
	if sameProject(v.Library, g.Library) {
		f.Severity = analyzer.Note
	}
	p.Report(f, fix.Candidate{Fix: fix.Fix{
		Kind:  fix.KindEnvironment,
		Title: fix.Titled("Import %s before %s", own, g.Import),
	}}, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindLinkFlag,
		Title: fix.Titled("Hide the symbols that only %s uses, or bind it to itself when it is linked",
			v.Library.Names()[0]),
		Command: "-Wl,-Bsymbolic",
	}})
}
