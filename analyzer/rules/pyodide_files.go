package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/pyodide"
)

// pyodideName returns the release of Pyodide with the ABI of the platform: "Pyodide 0.29".
func pyodideName(p *analyzer.Pass) string { return "Pyodide " + p.Pyodide.ABI.Release }

// forPyodide returns the fixes of a file that does not fit the ABI: the tag of another ABI that it
// fits, or a build for this one.
func forPyodide(p *analyzer.Pass) (out []fix.Candidate) {
	for _, abi := range pyodide.All() {
		if p.Facts.Wheel == nil || abi == p.Pyodide.ABI || !onTag(p) || !forPython(p, abi) ||
			!p.Pyodide.Fits(abi) {
			continue
		}
		to := platform.ParseTag(abi.Tag()).Pyodide()
		out = append(out, fix.Candidate{
			Fix: retagged(p, pkgmeta.Tag{Platform: to.Name}, fix.Fix{
				Kind: fix.KindPlatformTag, Title: fix.Tagging(to.Name),
				Cost: []string{"it is then installed in Pyodide " + abi.Release + ", and no longer in " +
					pyodideName(p)},
			}),
			Change: fix.Retag{Platform: to.Name + "/" + to.Arch},
		})
	}
	return append(out, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Build it for %s, with Emscripten %s (pyodide build)", p.Platform.Name,
			p.Pyodide.ABI.Emscripten),
		Command: "pyodide build",
	}})
}

// forPython reports whether the Python of an ABI is one of the wheel's tags.
func forPython(p *analyzer.Pass, abi pyodide.ABI) bool {
	python := "cp" + strings.ReplaceAll(abi.Python, ".", "")
	return slices.ContainsFunc(p.Facts.Wheel.Tags, func(t pkgmeta.Tag) bool {
		return t.Python == python || t.ABI == "none" || t.ABI == "abi3" && t.Python <= python
	})
}

// severityPyodide returns Warning for a file that no module of a wheel with modules loads, and else
// a severity.
func severityPyodide(
	p *analyzer.Pass, o *analyzer.PyodideObject, s analyzer.Severity,
) analyzer.Severity {
	root := p.Pyodide.Of(o.Load.Root)
	if root == nil || root.Extension() ||
		!slices.ContainsFunc(p.Pyodide.Objects, (*analyzer.PyodideObject).Extension) {
		return s
	}
	return analyzer.Warning
}

// checkArchitecturePyodide reports files that Pyodide cannot load as a library: those of other
// systems, and WebAssembly that is not linked for dynamic loading.
func checkArchitecturePyodide(p *analyzer.Pass) {
	report := func(s analyzer.Severity, file, what string, fixes ...fix.Candidate) {
		f := builtForOther(file, what)
		f.Severity = s
		p.Report(f, fixes...)
	}
	for _, o := range p.Pyodide.Objects {
		if !o.Dynamic {
			report(analyzer.Error, o.Path, "a WebAssembly program, which cannot be loaded as a library "+
				"(it has no section dylink.0)", fix.Candidate{Fix: fix.Fix{
				Kind: fix.KindLinkFlag, Title: fix.Titled("Link it as a side module"),
				Command: "-sSIDE_MODULE=1",
			}})
		}
	}
	other := func(file, system string) {
		_, module := parseModule(file)
		switch built := "built for " + system + ", but the wheel's tag is for " + p.Platform.Name; {
		case path.Ext(file) != ".so":
		case module, p.Pyodide.ABI.RunPaths: // it loads all of these when the wheel is installed
			report(analyzer.Error, file, built, forPyodide(p)...)
		default: // earlier releases leave out what they cannot load
			report(analyzer.Warning, file, built, forPyodide(p)...)
		}
	}
	for _, o := range p.Facts.Objects {
		other(o.Path, "Linux on "+o.BuiltFor())
	}
	for _, o := range p.Facts.MachO {
		other(o.Path, "macOS")
	}
	for _, o := range p.Facts.PE {
		other(o.Path, "Windows")
	}
}

// checkSuffixesPyodide is extension-suffix in Pyodide.
func checkSuffixesPyodide(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Requested {
		return
	}
	if !forPython(p, p.Pyodide.ABI) {
		p.Report(analyzer.Finding{Message: fmt.Sprintf("Nothing installs the wheel %s: %s has Python "+
			"%s only", p.Facts.Wheel.Tags[0], pyodideName(p), p.Pyodide.ABI.Python)}, forPyodide(p)...)
		return
	}
	var files []moduleFile
	for _, o := range p.Pyodide.Objects {
		if o.Load == nil || !o.Extension() {
			continue
		}
		f := moduleFile{path: o.Path}
		for _, e := range o.Exports {
			f.add(e.Name)
		}
		if files = append(files, f); len(f.hooks) == 0 {
			reportNoHook(p, o.Path)
		}
	}
	checkSuffixes(p, files, parseModule)
}

// reportNoHook reports a file with the name of a module that exports no init function: it was not
// kept by the linker, which exports nothing that is hidden.
func reportNoHook(p *analyzer.Pass, file string) {
	m, ok := parseModule(file)
	name := path.Base(m.stem)
	if !ok || !identifier.MatchString(name) {
		return
	}
	f := analyzer.Finding{
		Object: file, Chain: []string{file},
		Headline: file + " exports no init function (PyInit_" + name + ")",
		Reason:   "exports no init function",
		Message: fmt.Sprintf("%s has the name of a module and exports no init function. The import "+
			"fails: dynamic module does not define module export function (PyInit_%s)", file, name),
	}
	if l := p.Facts.Loads; l == nil || l.May(file) {
		f.Severity = analyzer.Warning
		f.Message += ", unless the package loads the file in another way"
	}
	p.Report(f, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindLinkFlag, Title: fix.Titled("Export the init function of the module"),
		Command: "-sSIDE_MODULE=2 -sEXPORTED_FUNCTIONS=_PyInit_" + quoted(name),
	}})
}

// checkABI3Pyodide reports functions of Python that a module for the stable ABI imports and that
// its tag does not guarantee.
func checkABI3Pyodide(p *analyzer.Pass) {
	if p.Facts.ABI3 == nil || p.Facts.Wheel == nil {
		return
	}
	for _, o := range p.Pyodide.Objects {
		if o.Load == nil || !o.Extension() || ofOnePython.MatchString(o.Path) {
			continue
		}
		seen := map[string]bool{}
		for _, b := range o.Bindings {
			if !b.Weak && b.File == nil && !seen[b.Name] {
				seen[b.Name] = true
				checkStableSymbol(p, o.Path, b.Name)
			}
		}
	}
}
