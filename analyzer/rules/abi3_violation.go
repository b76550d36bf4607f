package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var abi3Violation = &analyzer.Rule{
	ID:       "abi3-violation",
	Title:    "a function of Python outside of the stable ABI that the wheel's tag promises",
	Severity: analyzer.Error,
	Doc: `A wheel tagged cp38-abi3 is installed on Python 3.8 and on every later one, so its modules may use the limited API of 3.8 only. One of them imports a function that came into
the stable ABI later (the import fails on the older Python: "undefined symbol: PyType_GetName"), or one that is not in it at all, which the next Python may change or drop.

To mend it, compile with ` + "`-DPy_LIMITED_API=0x03080000`" + ` (the version of the tag), so that the compiler refuses what is newer; or raise the tag to the version that has the function.

Where the wheel has several such tags, what only the oldest lacks is a warning: the function may have been there before it was made stable. Judged are the symbols that are
imported, without the weak ones, those that another library of the wheel defines, and those that may be of a library that is missing or not known (PySide6 and libshiboken6). A module whose name says one Python version
(x.cpython-311-x86_64-linux-gnu.so) is loaded by that one only and may use all of it. The report's ` + "`abi3`" + ` shows abi3audit's own answer, which counts those too.

Not seen: fields of structures that the limited API hides, macros that were compiled in, and functions that are looked up with dlsym.`,
	References: []string{
		"PEP 384, PEP 652",
		"CPython: Misc/stable_abi.toml, by way of abi3info",
		"Python/C API: C API Stability",
	},
	Check: checkABI3,
}

// ofOnePython matches modules that only one version of Python loads.
var ofOnePython = lazyregexp.New(`\.(cpython|pypy|graalpy)-?[0-9][^/]*\.so$`)

func checkABI3(p *analyzer.Pass) {
	if p.Facts.ABI3 == nil || p.Facts.Wheel == nil {
		return
	}
	tag, minor, _ := abi3.Oldest(p.Facts.Wheel.Tags)
	_, newest, _ := abi3.Baseline(p.Facts.Wheel.Tags)
	for _, v := range p.Views {
		if ofOnePython.MatchString(v.Path) {
			continue
		}
		whole := allKnown(v)
		for b := range v.Bindings().All() {
			name := b.Import.Name
			added, stable := abi3.Added(name)
			if !abi3.Names(name) || b.Import.Weak || strings.HasPrefix(name, "PyInit_") ||
				stable && added <= minor ||
				!stable && !whole ||
				ownOf(p, b) {
				continue
			}
			f := analyzer.Finding{Object: v.Path, Symbol: name, Chain: []string{v.Path}}
			limit := fix.Candidate{
				Fix: fix.Fix{
					Kind: fix.KindSource,
					Title: fmt.Sprintf(
						"Compile for the limited API of Python %s, and replace what the compiler then refuses",
						abi3.Version(minor),
					),
					Command: fmt.Sprintf("-DPy_LIMITED_API=0x03%02x0000", minor),
				},
			}
			if !stable {
				f.Message = fmt.Sprintf(
					"%s imports %s, which is not in Python's stable ABI, and the wheel's tag %s promises that it uses nothing else",
					v.Path,
					name,
					tag,
				)
				p.Report(f, limit)
				continue
			}
			f.Message = fmt.Sprintf(
				"%s imports %s, which is in Python's stable ABI since Python %s, and the wheel's tag %s promises Python %s",
				v.Path,
				name,
				abi3.Version(added),
				tag,
				abi3.Version(minor),
			)
			if added <= newest {
				f.Severity = analyzer.Warning
			}
			raise := fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindPlatformTag,
					Title: fmt.Sprintf("Tag the wheel cp3%d-abi3", added),
					Command: fmt.Sprintf(
						"wheel tags --remove --python-tag cp3%d %s",
						added,
						quoted(p.Facts.Path),
					),
					Cost: []string{
						"pip no longer installs it on Python older than " + abi3.Version(added),
					},
				},
			}
			p.Report(f, limit, raise)
		}
	}
}

// allKnown tells whether the exports of everything that an object loads are known, so that a symbol
// that none of it has can only be Python's.
func allKnown(v *analyzer.View) bool {
	return len(v.Loading.Missing) == 0 &&
		!slices.ContainsFunc(
			v.Loading.Scope(),
			func(l *dynlink.Library) bool { return !l.Known && l.Kind != dynlink.FromPlatform },
		)
}

// ownOf tells whether a library of the wheel defines an import.
func ownOf(p *analyzer.Pass, b dynlink.Binding) bool {
	if b.Outcome == dynlink.Bound {
		return true
	}
	for _, v := range p.Views {
		if v.Library.Defines(b.Import.Name, "") {
			return true
		}
	}
	return false
}
