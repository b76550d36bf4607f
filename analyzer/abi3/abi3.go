// Package abi3 tells whether objects keep to CPython's stable ABI (PEP 384, PEP 652), which the
// wheel tag cp38-abi3 promises: one build for Python 3.8 and everything after it.
//
//	result := abi3.Audit(abi3.Baseline(name.Tags), symbols)
//
// The answer is abi3audit's, name by name, with what that tool is known to get wrong: a name that
// begins like Python's and that the object defines itself counts, and so does a module of one
// Python version that lies in the wheel. Findings that know better stand in analyzer/rules.
//
// The table of the stable ABI is embedded; internal/gen/abi3 makes it.
package abi3

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

//go:generate go run github.com/compat-app/compat/internal/gen/abi3 -out data/stable.gz

// Result is the audit of a wheel: the union over its objects, as JSON shows it.
type Result struct {
	Tag string `json:"tag"` // "cp38-abi3", the newest such tag of the wheel
	// symbols that look like Python's and are not in the stable ABI, sorted
	Violations []string `json:"violations"`
	// symbols of the stable ABI that came after the tag's version, sorted
	TooNew []string `json:"too_new"`
	// the oldest Python that has all of them, the tag's at least: "3.11"
	Computed string `json:"computed"`
}

// Symbol is one entry of an object's symbol tables.
type Symbol struct {
	Name  string
	Local bool // bound inside of the object: an inlined function of the limited API, say
}

// Names tells whether a symbol looks like one of Python's; only those are audited.
func Names(symbol string) bool {
	return strings.HasPrefix(symbol, "Py") || strings.HasPrefix(symbol, "_Py")
}

// Prefixes are what Names looks for.
var Prefixes = []string{"Py", "_Py"}

// lowest is the version that has the first stable ABI; abi3audit takes it where a tag names none.
const lowest = 2

// Baseline is the version of the newest abi3 tag for CPython, as "cp38-abi3" and its minor 8: what
// abi3audit judges by. ok is false for a wheel without an abi3 tag.
func Baseline(tags []pkgmeta.Tag) (tag string, minor int, ok bool) {
	for _, t := range tags {
		if n := version(t); n > minor {
			tag, minor, ok = strings.ToLower(t.Python)+"-abi3", n, true
		}
	}
	return tag, minor, ok
}

// Oldest is the version of the oldest abi3 tag, where the wheel is installed as well.
func Oldest(tags []pkgmeta.Tag) (tag string, minor int, ok bool) {
	for _, t := range tags {
		if n := version(t); n > 0 && (!ok || n < minor) {
			tag, minor, ok = strings.ToLower(t.Python)+"-abi3", n, true
		}
	}
	return tag, minor, ok
}

// version is the minor version of an abi3 tag, 0 for another tag.
func version(t pkgmeta.Tag) int {
	if !strings.EqualFold(t.ABI, "abi3") {
		return 0
	}
	return max(cpython(strings.ToLower(t.Python)), lowest)
}

// cpython reads "cp311" as 11; 0 is no such tag.
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

// Of gathers what is audited of one object: its dynamic symbols and those of .symtab, which may be
// nil. A symbol that is unique in the process counts as local where GCC made the object.
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

// Audit judges the symbols of all objects of a wheel for Python 3.minor.
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
