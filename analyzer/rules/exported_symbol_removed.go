package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
)

var exportedSymbolRemoved = &analyzer.Rule{
	ID:       "exported-symbol-removed",
	Title:    "a library lost exported symbols and kept its SONAME",
	Severity: analyzer.Warning,
	Doc: `The base has a shared library that exports a symbol, and the head has the library under the same SONAME without it. A program or library that was linked against the old one finds the new
one by that name, and fails: "undefined symbol". The SONAME is the promise that this does not happen.

It is judged where a base is given, for public libraries (lib*.so with a SONAME). In a wheel, whose libraries are rarely linked against from outside, it is a note. Weak definitions, which
are mostly instantiations of templates, and what only moved to another version under the same name are left out.

To mend it, bring the symbols back, as stubs if need be, or give the library a new SONAME.

Not seen: changes of types and layouts, and symbols that nobody was meant to use.`,
	References: []string{
		"GNU Gnulib, libtool: versioning",
		"Debian Policy, 8.6: shared library symbols",
	},
	Check: checkExports,
}

func checkExports(p *analyzer.Pass) {
	for _, v := range p.Views {
		if !v.Public() {
			continue
		}
		old := inBase(p, v)
		if old == nil {
			continue
		}
		lost := lostExports(old, v.Object)
		if len(lost) == 0 {
			continue
		}
		const shown = 10
		names := lost
		if len(names) > shown {
			names = append(slices.Clone(names[:shown]), "…")
		}
		f := analyzer.Finding{
			Object:  v.Path,
			Symbol:  lost[0],
			Library: v.SONAME,
			Chain:   []string{v.Path},
			Message: fmt.Sprintf(
				"%s lost %s that the base exports and is still called %s: %s; what was linked against the old one fails with an undefined symbol",
				v.Path,
				analyzer.Count(len(lost), "symbol"),
				v.SONAME,
				strings.Join(names, ", "),
			),
		}
		if p.Facts.Kind == analyzer.KindWheel {
			f.Severity = analyzer.Note
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindSource,
					Title: "Bring the symbols back, as stubs if need be, or export them again: __attribute__((visibility(\"default\")))",
				},
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindLinkFlag,
					Title:   "Give the library a new SONAME",
					Command: "-Wl,-soname," + nextSONAME(v.SONAME),
				},
			},
		)
	}
}

// inBase finds the library of the same SONAME and architecture.
func inBase(p *analyzer.Pass, v *analyzer.View) *analyzer.Object {
	for _, f := range p.Base {
		for _, o := range f.Objects {
			if o.SONAME == v.SONAME && o.Arch() == v.Arch() {
				return o
			}
		}
	}
	return nil
}

// lostExports lists the names that one object exports and the other does not, in the order of the
// first.
func lostExports(old, head *analyzer.Object) []string {
	has := map[string]bool{}
	for _, e := range head.Exports.All() {
		has[e.Name] = true
	}
	var lost []string
	for _, e := range old.Exports.All() {
		if !has[e.Name] && !e.Weak && !slices.Contains(linkerNames, e.Name) {
			has[e.Name] = true
			lost = append(lost, e.Name)
		}
	}
	return slices.DeleteFunc(lost, func(n string) bool {
		return strings.HasPrefix(n, "_") &&
			slices.ContainsFunc(
				old.Exports.Named(n),
				func(at int32) bool { return old.Exports.At(int(at)).Kind == elfobj.NoType },
			)
	})
}

// linkerNames are what linkers define in every object (dpkg leaves the same out).
var linkerNames = []string{
	"_init",
	"_fini",
	"_edata",
	"_end",
	"__bss_start",
	"_DYNAMIC",
	"_GLOBAL_OFFSET_TABLE_",
	"__gmon_start__",
}

// nextSONAME counts the version of a SONAME up: libfoo.so.3 after libfoo.so.2.
func nextSONAME(soname string) string {
	name, version, _ := strings.Cut(soname, ".so.")
	major, _, _ := strings.Cut(version, ".")
	n := 0
	if _, err := fmt.Sscanf(major, "%d", &n); err != nil {
		return name + ".so.N"
	}
	return fmt.Sprintf("%s.so.%d", strings.TrimSuffix(name, ".so"), n+1)
}
