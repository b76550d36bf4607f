package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/emscripten"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform/pyodide"
)

var functionTypeMismatch = &analyzer.Rule{
	ID:       "function-type-mismatch",
	Title:    "An imported function has another type than in the program",
	Severity: analyzer.Error,
	Doc: `A WebAssembly module imports a function with the types of its parameters and results, and
the program has a function with that name and other types. The load fails: "LinkError: imported
function does not match the expected type". The same applies to what is no function, and to the
memory of a module that is built for threads (-pthread), which Pyodide does not share.

The usual reason is a declaration that differs from the definition, which other systems do not
notice: a function without a prototype, or an int for a Py_ssize_t. Or the module is built for
another version of Pyodide's ABI.

Fix: include the header that declares the function, or build for the ABI of the tag.

Severity: a warning for a function of a library of the wheel, which is called by way of JavaScript,
unless only one of the types is a number of 64 bits: others are converted.

Not detected: functions that Pyodide implements in JavaScript, which take any arguments, and calls
by a pointer of another type, which fail when they are executed ("function signature mismatch").`,
	References: []string{
		"WebAssembly JavaScript Interface: Read the imports",
		"Emscripten: Dynamic Linking",
	},
	Explains: []string{"wasm-symbol"},
	Cause:    cause.Rule{Warns: "it fails only when the function is called"},
	Pyodide:  checkFunctionTypes,
}

func checkFunctionTypes(p *analyzer.Pass) {
	for _, o := range p.Pyodide.Objects {
		for _, b := range o.Bindings {
			if b.Outcome != emscripten.OtherType {
				continue
			}
			f := analyzer.Finding{
				Object: o.Path, Symbol: b.Name, Chain: []string{o.Path},
				Severity: severityPyodide(p, o, analyzer.Error),
			}
			has, fixes := typeText(b.Has), []fix.Candidate(nil)
			if p.Pyodide.ABI.Elsewhere(b.Name, b.Type) {
				fixes = forPyodide(p)
			}
			switch {
			case b.Shared:
				f.Reason = "built for threads (-pthread), which " + pyodideName(p) + " does not have"
				f.Headline = o.Path + " is " + f.Reason
				f.Message = f.Headline + ". The load fails: the memory is not shared"
				fixes = []fix.Candidate{relink(fix.Titled("Build it without -pthread"))}
			case b.AtCall:
				f.Library, f.Chain = b.File.Path, append(f.Chain, b.File.Path)
				f.Message = fmt.Sprintf("%s imports %s as %s, but in %s it is %s. JavaScript converts the "+
					"values of each call", o.Path, b.Name, typeText(b.Type), b.File.Path, has)
				if convertible(b.Type, b.Has) {
					f.Severity = analyzer.Warning
				} else {
					f.Message += ", which fails for a 64-bit integer"
				}
				fixes = []fix.Candidate{relink(fix.Titled("Build the files of the wheel together"))}
			default:
				f.Headline = fmt.Sprintf("%s imports %s as %s, but in %s it is %s", o.Path, b.Name,
					typeText(b.Type), pyodideName(p), has)
				f.Reason = "imports " + b.Name + " with another type than in " + pyodideName(p)
				f.Message = f.Headline + ". The load fails: imported function does not match the expected type"
				fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
					Kind: fix.KindSource,
					Title: fix.Titled("Include the header that declares %s, instead of another declaration",
						b.Name),
				}})
			}
			p.Report(f, fixes...)
		}
	}
}

// convertible reports whether a call by way of JavaScript, of a function with one type as another,
// succeeds: it converts all numbers but those of 64 bits, and missing ones are 0.
func convertible(as, has string) bool {
	params, results, _ := strings.Cut(as, ">")
	hasParams, hasResults, _ := strings.Cut(has, ">")
	for _, pair := range [][2]string{{params, hasParams}, {hasResults, results}} {
		for i := range pair[1] {
			if given := i < len(pair[0]); (given && pair[0][i] == 'j') != (pair[1][i] == 'j') {
				return false
			}
		}
	}
	return true
}

// typeText writes a type of wasmobj, or a kind of package pyodide: "(i32, i64) -> i32".
func typeText(t string) string {
	switch {
	case t == pyodide.Data:
		return "data"
	case t == pyodide.JavaScript:
		return "a function"
	case strings.HasPrefix(t, pyodide.Tag):
		return "an exception"
	}
	params, results, ok := strings.Cut(t, ">")
	if !ok {
		return "another kind of symbol"
	}
	text := "(" + valueTypes(params) + ")"
	if results != "" {
		text += " -> " + valueTypes(results)
	}
	return text
}

var valueTypeNames = map[rune]string{
	'i': "i32", 'j': "i64", 'f': "f32", 'd': "f64", 'v': "v128", 'r': "ref",
}

func valueTypes(list string) string {
	var out []string
	for _, t := range list {
		out = append(out, valueTypeNames[t])
	}
	return strings.Join(out, ", ")
}
