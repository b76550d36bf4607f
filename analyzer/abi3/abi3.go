// Package abi3 checks objects against CPython's stable ABI (PEP 384, PEP 652), which the wheel tag
// cp38-abi3 promises: one build for Python 3.8 and every later release.
//
//	result := abi3.Audit(abi3.Baseline(name.Tags), symbols)
//
// The result is that of abi3audit, including its known errors: it reports a symbol with a Python
// prefix that the object defines itself, and modules in the wheel that are for one Python version.
// The rules in analyzer/rules correct these.
//
// The table of the stable ABI is embedded; internal/gen/abi3 writes it.
package abi3

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

//go:generate go run github.com/compat-app/compat/internal/gen/abi3 -out data/stable.txt

// Result is the audit of a wheel, with the fields of its JSON form: the union over its objects.
type Result struct {
	Tag string `json:"tag"` // "cp38-abi3", the newest abi3 tag of the wheel
	// symbols with a Python prefix that are not in the stable ABI, sorted
	Violations []string `json:"violations"`
	// symbols of the stable ABI that were added after the tag's version, sorted
	TooNew []string `json:"too_new"`
	// the oldest Python with all used symbols, at least the tag's version: "3.11"
	Computed string `json:"computed"`
}

// Symbol is an entry of an object's symbol tables.
type Symbol struct {
	Name  string
	Local bool // resolved in the object, such as an inlined function of the limited API
}

// Names reports whether a symbol has a Python prefix; only such symbols are audited.
func Names(symbol string) bool {
	return strings.HasPrefix(symbol, "Py") || strings.HasPrefix(symbol, "_Py")
}

// Prefixes are the prefixes of Python's symbols.
var Prefixes = []string{"Py", "_Py"}

// lowest is the minor version with the first stable ABI, abi3audit's default for tags without one.
const lowest = 2

// Baseline returns the newest tag for CPython's stable ABI, such as "cp38-abi3" or "cp315-abi3t",
// and its minor version, 8. abi3audit checks against this version, and knows no abi3t. ok is false
// for a wheel without such a tag.
func Baseline(tags []pkgmeta.Tag) (tag string, minor int, ok bool) {
	for _, t := range tags {
		if n := version(t); n > minor {
			tag, minor, ok = strings.ToLower(t.Python+"-"+t.ABI), n, true
		}
	}
	return tag, minor, ok
}

// Oldest returns the oldest such tag and its minor version; the wheel can be installed there too.
func Oldest(tags []pkgmeta.Tag) (tag string, minor int, ok bool) {
	for _, t := range tags {
		if n := version(t); n > 0 && (!ok || n < minor) {
			tag, minor, ok = strings.ToLower(t.Python+"-"+t.ABI), n, true
		}
	}
	return tag, minor, ok
}

// version returns the minor version of an abi3 or abi3t tag, 0 for other tags.
func version(t pkgmeta.Tag) int {
	if !strings.EqualFold(t.ABI, "abi3") && !strings.EqualFold(t.ABI, "abi3t") {
		return 0
	}
	return max(cpython(strings.ToLower(t.Python)), lowest)
}

// cpython parses "cp311" as 11; 0 for other tags.
func cpython(tag string) int {
	digits, ok := strings.CutPrefix(tag, "cp3")
	if !ok || digits == "" || len(digits) > 3 {
		return 0
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// Of returns the symbols of an object to audit, from its dynamic symbol table and from .symtab
// (static, may be nil). Unique symbols (STB_GNU_UNIQUE) count as local in objects that GCC
// compiled.
func Of(o *elfobj.Object, static []elfobj.StaticSymbol) []Symbol {
	gcc := slices.ContainsFunc(o.Comment, func(c string) bool { return strings.Contains(c, "GCC") })
	var out []Symbol
	for _, i := range o.Imports.All() {
		if Names(i.Name) {
			out = append(out, Symbol{i.Name, false})
		}
	}
	for _, e := range o.Exports.All() {
		if Names(e.Name) {
			out = append(out, Symbol{e.Name, e.Unique && gcc})
		}
	}
	for _, s := range static {
		if Names(s.Name) {
			out = append(out, Symbol{s.Name, s.Local || s.Unique && gcc})
		}
	}
	return out
}

// Audit checks the symbols of all objects of a wheel against the stable ABI of Python 3.minor.
func Audit(tag string, minor int, symbols []Symbol) *Result {
	r := &Result{Tag: tag, Violations: []string{}, TooNew: []string{}}
	computed := minor
	for _, s := range symbols {
		added, stable := Added(s.Name)
		switch {
		case s.Local || !Names(s.Name):
		case stable:
			computed = max(computed, added)
			if added > minor {
				r.TooNew = append(r.TooNew, s.Name)
			}
		case !strings.HasPrefix(s.Name, "PyInit_"):
			r.Violations = append(r.Violations, s.Name)
		}
	}
	r.Violations, r.TooNew = sorted(r.Violations), sorted(r.TooNew)
	r.Computed = Version(computed)
	return r
}

func sorted(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
