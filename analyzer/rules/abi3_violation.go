package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

var abi3Violation = &analyzer.Rule{
	ID:        "abi3-violation",
	Title:     "An abi3 module imports a function outside the stable ABI of its tag",
	Severity:  analyzer.Error,
	Packaging: true,
	Doc: `A wheel tagged cp38-abi3 is installed on Python 3.8 and on every later release, so its
modules may only use the limited API of 3.8. A module of this wheel imports a function that joined
the stable ABI later, and the import fails on the older Python: "undefined symbol:
PyType_GetName". Or it imports a function that is not in the stable ABI at all, which the next
Python may change or remove.

Fix: compile with ` + "`-DPy_LIMITED_API=0x03080000`" + ` (the version of the tag), so that the
compiler rejects newer functions. Or raise the tag to the version that has the function.

Severity: a warning where the wheel has several abi3 tags and only the oldest Python lacks the
function, and where Requires-Python excludes all that lack it; the function may have existed before
it joined the stable ABI. A module for one Python version (x.cpython-311-x86_64-linux-gnu.so) is not
checked: only that version loads it. Neither are libraries of which the wheel has one for each
version (libshim_3.9.so, libshim_3.10.so). The report's ` + "`abi3`" + ` field gives abi3audit's own
result, which counts those modules too.

Not detected: fields of structures that the limited API hides, macros, and functions that are
looked up with dlsym.`,
	Cause: cause.Rule{
		Kind: notStable, Loader: cause.ReportsSymbol,
		Warns: "only the oldest Python that its tags name lacks the function",
	},
	Explains: []string{"macos-symbol-not-found", "windows-procedure-not-found", "platform-tag"},
	References: []string{
		"PEP 384, PEP 652",
		"CPython: Misc/stable_abi.toml, by way of abi3info",
		"Python/C API: C API Stability",
	},
	Check:   checkABI3,
	Windows: checkStableImports,
	MacOS:   checkABI3MacOS,
	Android: checkABI3Android,
	IOS:     checkABI3IOS,
	Pyodide: checkABI3Pyodide,
}

// ofOnePython matches modules that only one version of Python loads.
var ofOnePython = lazyregexp.New(`\.(cpython|pypy|graalpy)-?[0-9][^/]*\.so$`)

// ofRelease matches the end of a library's path that names a release of Python 3.
var ofRelease = lazyregexp.New(`[-_.]3\.[0-9]+\.so$`)

func checkABI3(p *analyzer.Pass) {
	if p.Facts.ABI3 == nil || p.Facts.Wheel == nil {
		return
	}
	tag, minor, newest := stableRange(p)
	releases := shims(p)
	for _, v := range p.Views {
		if ofOnePython.MatchString(v.Path) || releases[v.Path] {
			continue
		}
		whole := allKnown(v)
		for b := range v.Bindings().All() {
			name := b.Import.Name
			if !abi3.Names(name) || b.Import.Weak || strings.HasPrefix(name, "PyInit_") {
				continue
			}
			added, stable := abi3.Added(name)
			if stable && added <= minor ||
				!stable && !whole ||
				ownOf(p, b) {
				continue
			}
			f := analyzer.Finding{Object: v.Path, Symbol: name, Chain: []string{v.Path}}
			if !stable {
				f.Message = outsideStableABI(v.Path, name, tag)
				p.Report(f, limitedAPI(minor))
				continue
			}
			f.Message = joinedStableABI(v.Path, name, tag, added, minor)
			if added <= newest {
				f.Severity = analyzer.Warning
			}
			p.Report(f, limitedAPI(minor), raiseABI3(p, added))
		}
	}
}

// shims returns the libraries of which the wheel has one for each version of Python, named for it:
// libshim_3.9.so, libshim_3.10.so. Their program opens the one for the Python that runs. They are
// no modules, since no import statement can name one with a dot, and a single one is not enough:
// its number may be that of the library itself.
func shims(p *analyzer.Pass) map[string]bool {
	families := map[string][]string{}
	for _, v := range p.Views {
		if at := ofRelease.FindStringIndex(v.Path); at != nil {
			families[v.Path[:at[0]]] = append(families[v.Path[:at[0]]], v.Path)
		}
	}
	found := map[string]bool{}
	for _, paths := range families {
		for _, path := range paths {
			found[path] = len(paths) > 1
		}
	}
	return found
}

// stableRange returns the oldest tag of a wheel for the stable ABI and its minor version, and the
// minor version that no Python lacks for which pip selects the wheel by its newest tag: that of the
// tag, or the oldest one that Requires-Python allows.
func stableRange(p *analyzer.Pass) (tag string, minor, newest int) {
	tag, minor, _ = abi3.Oldest(p.Facts.Wheel.Tags)
	_, newest, _ = abi3.Baseline(p.Facts.Wheel.Tags)
	if m := p.Facts.Metadata; m != nil {
		oldest := strings.TrimPrefix(packages.Interpreters(m.RequiresPython)[0], "3.")
		if n, err := strconv.Atoi(oldest); err == nil {
			newest = max(newest, n)
		}
	}
	return tag, minor, newest
}

// checkStableSymbol reports a symbol that a module for the stable ABI imports, if it is one of
// Python and the wheel's tag does not guarantee it.
func checkStableSymbol(p *analyzer.Pass, object, name string) {
	tag, minor, newest := stableRange(p)
	added, stable := abi3.Added(name)
	if !abi3.Names(name) || stable && added <= minor {
		return
	}
	f := analyzer.Finding{Object: object, Symbol: name, Chain: []string{object}}
	if !stable {
		f.Message = outsideStableABI(object, name, tag)
		p.Report(f, limitedAPI(minor))
		return
	}
	f.Message = joinedStableABI(object, name, tag, added, minor)
	if added <= newest {
		f.Severity = analyzer.Warning
	}
	p.Report(f, limitedAPI(minor), raiseABI3(p, added))
}

func outsideStableABI(object, name, tag string) string {
	return fmt.Sprintf(
		"%s imports %s, which is not in Python's stable ABI. The wheel's tag %s "+
			"allows only the stable ABI",
		object,
		name,
		tag,
	)
}

func joinedStableABI(object, name, tag string, added, minor int) string {
	return fmt.Sprintf(
		"%s imports %s, which is in the stable ABI only since Python %s. The wheel's tag %s includes "+
			"Python %s",
		object,
		name,
		abi3.Version(added),
		tag,
		abi3.Version(minor),
	)
}

// limitedAPI is the advice to compile for the limited API of Python 3.minor.
func limitedAPI(minor int) fix.Candidate {
	return fix.Candidate{
		Fix: fix.Fix{
			Kind: fix.KindSource,
			Title: fix.Titled(
				"Compile for the limited API of Python %s and replace the functions that the compiler rejects",
				abi3.Version(minor),
			),
			Command: shellword.Quote(fmt.Sprintf("-DPy_LIMITED_API=0x03%02x0000", minor)),
		},
	}
}

// raiseABI3 is the advice to tag the wheel for the stable ABI of Python 3.added.
func raiseABI3(p *analyzer.Pass, added int) fix.Candidate {
	return fix.Candidate{
		Fix: retagged(p, pkgmeta.Tag{Python: fmt.Sprintf("cp3%d", added)}, fix.Fix{
			Kind:  fix.KindPlatformTag,
			Title: fix.Tagging(fmt.Sprintf("cp3%d-abi3", added)),
			Cost:  []string{"pip no longer installs it on Python before " + abi3.Version(added)},
		}),
	}
}

// allKnown reports whether the exports of all libraries that an object loads are known. Then a
// symbol that none of them has must come from Python.
func allKnown(v *analyzer.View) bool {
	return len(v.Loading.Missing) == 0 &&
		!slices.ContainsFunc(
			v.Loading.Scope(),
			func(l *dynlink.Library) bool { return !l.Known && l.Kind != dynlink.FromPlatform },
		)
}

// ownOf reports whether a library of the wheel defines an import.
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

// notStable is the kind of causes of functions that are not in the stable ABI.
var notStable = &cause.Kind{
	Title: func(t *cause.Text) string {
		which := "are"
		if t.SymbolCount() == 1 {
			which = "is"
		}
		return fmt.Sprintf("uses %s, which %s not in the stable ABI of %s", t.Symbols(), which,
			stableSince(t.Wheel()))
	},
	Task: func(t *cause.Text) cause.Task {
		task := cause.Task{
			Actor: result.Builder, Do: "avoid the function or tag the wheel for a newer Python",
		}
		for _, x := range t.Fixes() {
			for _, r := range x.Retags {
				if minor, ok := strings.CutPrefix(r.To.Python, "cp3"); ok {
					task.Affected = "Python before 3." + minor
				}
			}
		}
		return task
	},
}

// stableSince returns the oldest Python in the tags of a wheel for the stable ABI.
func stableSince(w *analyzer.Wheel) string {
	oldest := 0
	if w != nil {
		for _, tag := range w.Tags {
			t := pkgmeta.SplitTag(tag)
			version, ok := strings.CutPrefix(t.Python, "cp3")
			minor, err := strconv.Atoi(version)
			if ok && err == nil && cpython.StableABI(t.ABI) && (oldest == 0 || minor < oldest) {
				oldest = minor
			}
		}
	}
	if oldest == 0 {
		return "the tagged Python"
	}
	return fmt.Sprintf("Python 3.%d", oldest)
}
