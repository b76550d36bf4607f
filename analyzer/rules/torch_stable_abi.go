package rules

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/torchabi"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var torchStableABI = &analyzer.Rule{
	ID:       "torch-stable-abi",
	Title:    "An extension uses the stable ABI of torch",
	Severity: analyzer.Note,
	Doc: `The C++ interface of torch changes with each release, so an extension works only with the
torch that it was built with. The headers of torch/csrc/stable and torch/headeronly call C functions
instead (aoti_torch_…, torch_…), which later releases keep. An extension that imports nothing else
of torch works with each release that has these functions. The note names the oldest one; wheels
can require it: ` + "`torch>=2.10`" + `. If an object also imports other symbols of torch, the note
names some of them: the object may fail with another torch than the one it was built with.

Which release has which function was read from the libraries in the wheels for Linux. If the oldest
release that was read has all of them, older ones may have them too.

Not detected: operators that are called by name and that older releases do not have; what the Python
sources of the package require; files for macOS and Windows. If the wheel requires an older torch,
undefined-symbol reports the functions that it lacks.`,
	References: []string{
		"torch: docs/source/notes/libtorch_stable_abi.md",
		"torch: torch/csrc/stable/c/shim.h, torch/csrc/inductor/aoti_torch/c/shim.h",
	},
	Check: checkTorchABI,
}

// unstable matches the mangled names of torch's own functions and data, but not those of its stable
// headers, which each library compiles for itself.
var (
	unstable = lazyregexp.New(`^_Z(?:(?:T[VIS]|GV)?N[rVK]*(?:2at|3c10|5torch|6caffe2)|[0-9]+THP)`)
	headers  = lazyregexp.New(`^_Z(?:T[VIS]|GV)?N[rVK]*5torch(?:6stable|10headeronly)`)
)

// checkTorchABI reports the objects that use nothing else of torch together, and each other one
// that uses the stable ABI.
func checkTorchABI(p *analyzer.Pass) {
	var all torchabi.Use
	var objects []string
	at := "" // the object that decides about the oldest release
	for _, v := range p.Views {
		use := torchabi.Audit(requiredSymbols(v.Imports))
		if use.Functions == 0 {
			continue
		}
		if outside := outsideOfTorchABI(v.Imports); outside != nil {
			p.Report(analyzer.Finding{
				Object: v.Path, Package: "torch", Symbol: outside[0], Shown: true,
				Message: fmt.Sprintf("%s uses the stable ABI of torch, but also %s, so it depends on the "+
					"C++ interface of torch, which changes with each release", v.Path,
					otherSymbols(outside)),
			})
			continue
		}
		objects = append(objects, v.Path)
		if joined := all.With(use); joined.Last != all.Last {
			all, at = joined, v.Path
		} else {
			all = joined
		}
	}
	if objects == nil {
		return
	}
	p.Report(analyzer.Finding{
		Object: at, Package: "torch", Symbol: all.Last, Shown: true,
		Message: stableOnly(objects, at, all),
	})
}

// requiredSymbols returns the names of imports that are not weak.
func requiredSymbols(imports *elfobj.Imports) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, i := range imports.All() {
			if !i.Weak && !yield(i.Name) {
				return
			}
		}
	}
}

// outsideOfTorchABI returns the imports of torch that are not part of its stable ABI.
func outsideOfTorchABI(imports *elfobj.Imports) (out []string) {
	for name := range requiredSymbols(imports) {
		if unstable.MatchString(name) && !headers.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}

// otherSymbols names some symbols outside of the stable ABI.
func otherSymbols(symbols []string) string {
	const shown = 2
	var list []string
	for _, s := range symbols[:min(shown, len(symbols))] {
		list = append(list, cmp.Or(analyzer.Demangle(s), s))
	}
	if more := len(symbols) - len(list); more > 0 {
		list = append(list, analyzer.Count(more, "other symbol"))
	}
	return analyzer.And(list) + " outside of it"
}

// stableOnly returns the message about objects that use only the stable ABI; at is the one that
// decides about the oldest release.
func stableOnly(objects []string, at string, use torchabi.Use) string {
	subject, works := objects[0]+" uses", "works"
	if len(objects) > 1 {
		subject, works = fmt.Sprintf("%d files use", len(objects)), "work"
	}
	text := subject + " only the stable ABI of torch"
	if use.Oldest == "" {
		return text + ", but no known release of torch has " + use.Last +
			" and the other functions of it that are needed"
	}
	text += fmt.Sprintf(" and %s with torch >=%s", works, strings.TrimSuffix(use.Oldest, ".0"))
	if use.Newest != "" {
		text += ",<=" + use.Newest
	}
	if use.Oldest == torchabi.First() {
		return text + "; older releases were not read"
	}
	if text += "; older releases lack " + use.Last; len(objects) > 1 {
		text += ", which " + at + " needs"
	}
	return text
}
