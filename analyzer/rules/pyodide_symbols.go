package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/emscripten"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/wasmobj"
)

// checkUndefinedSymbolPyodide reports imports that neither Pyodide nor a module of the load has.
func checkUndefinedSymbolPyodide(p *analyzer.Pass) {
	for _, o := range p.Pyodide.Objects {
		seen := map[string]bool{} // an address, and then the function
		for _, atCall := range []bool{false, true} {
			for _, b := range o.Bindings {
				if b.Outcome != emscripten.NotFound && b.Outcome != emscripten.NotLinked ||
					b.AtCall != atCall || seen[b.Name] ||
					p.Facts.ABI3 != nil && abi3.Names(b.Name) { // abi3-violation reports it
					continue
				}
				seen[b.Name] = true
				f := analyzer.Finding{
					Object: o.Path, Symbol: b.Name, Chain: []string{o.Path},
					Severity: severityPyodide(p, o, analyzer.Error),
				}
				fixes := undefinedPyodide(p, o, b, &f)
				p.Report(f, fixes...)
			}
		}
	}
}

// undefinedPyodide describes what an import lacks, and returns the fixes.
func undefinedPyodide(
	p *analyzer.Pass, o *analyzer.PyodideObject, b emscripten.Binding, f *analyzer.Finding,
) []fix.Candidate {
	switch {
	case b.Module != "env" && !strings.HasPrefix(b.Module, "GOT.") && b.Kind != wasmobj.Tag:
		f.Message = fmt.Sprintf("%s imports %s from %s, which Pyodide does not provide", o.Path, b.Name,
			b.Module)
		return []fix.Candidate{relink(fix.Titled("Build it with Emscripten (target " +
			"wasm32-unknown-emscripten)"))}
	case p.Pyodide.ABI.JSExceptions && b.Kind == wasmobj.Tag:
		f.Message = fmt.Sprintf("%s is built with WebAssembly exceptions (it imports %s), which %s "+
			"does not have", o.Path, b.Name, pyodideName(p))
		return append(forPyodide(p), fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild, Title: fix.Titled("Compile and link with -fexceptions"),
			Command: "-fexceptions",
		}})
	case ofJSExceptions(b.Name):
		f.Message = fmt.Sprintf("%s is built with JavaScript exceptions (it imports %s), which %s "+
			"does not have", o.Path, b.Name, pyodideName(p))
		return append(forPyodide(p), fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild, Title: fix.Titled("Compile and link with -fwasm-exceptions"),
			Command: "-fwasm-exceptions -sSUPPORT_LONGJMP=wasm",
		}})
	case b.AtCall:
		f.Message = fmt.Sprintf("%s imports %s, which neither %s nor a library that it loads has. A "+
			"call of the function fails: Dynamic linking error: cannot resolve symbol %[2]s", o.Path,
			b.Name, pyodideName(p))
	default:
		f.Message = fmt.Sprintf("%s imports %s, which neither %s nor a library that it loads has", o.Path,
			b.Name, pyodideName(p))
	}
	if b.File != nil {
		f.Library, f.Chain = b.File.Path, append(f.Chain, b.File.Path)
		f.Message += ". " + b.File.Path + " has it, but is not loaded first"
		if !b.AtCall && !o.Load.Has(b.File) { // it has the address if it is imported first
			f.Severity = analyzer.Warning
		}
		return []fix.Candidate{relink(fix.Titled("Link %s", fix.Library(b.File.Path)))}
	}
	var fixes []fix.Candidate
	if p.Pyodide.ABI.Elsewhere(b.Name, "") {
		fixes = forPyodide(p)
	}
	return append(fixes,
		relink(fix.Titled("Link the library that has %s, or remove the call", b.Name)))
}

// ofJSExceptions reports whether a function is one of those with which Emscripten makes exceptions
// and longjmp in JavaScript.
func ofJSExceptions(name string) bool {
	return strings.HasPrefix(name, "invoke_") ||
		strings.HasPrefix(name, "__cxa_find_matching_catch_") ||
		name == "_emscripten_throw_longjmp" || name == "emscripten_longjmp"
}
