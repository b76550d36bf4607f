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
	ID:        "exported-symbol-removed",
	Title:     "A library no longer exports a symbol, but keeps its SONAME",
	Severity:  analyzer.Warning,
	Packaging: true,
	Doc: `In the base, a shared library exports a symbol. In the head, the library has the same
SONAME, but does not export it. Programs and libraries that were linked against the old version
load the new one, and fail: "undefined symbol". An unchanged SONAME means that this does not
happen.

Fix: export the symbols again, as stubs if necessary, or change the SONAME.

Severity: a note in a wheel, whose libraries are rarely linked against from outside. The rule
needs a base and checks public libraries (lib*.so with a SONAME). Weak definitions, which are
mostly instantiations of templates, and symbols that only moved to another version under the same
name are not reported.

Not detected: changes of types and layouts. Private symbols are not distinguished from public
ones.`,
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
				"%s no longer exports %s, but keeps the SONAME %s: %s. Programs that use them "+
					"fail with an undefined symbol",
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
					Title: "Export the symbols again, as stubs if necessary",
				},
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindLinkFlag,
					Title:   "Change the SONAME of the library",
					Command: "-Wl,-soname," + nextSONAME(v.SONAME),
				},
			},
		)
	}
}

// inBase returns the library of the base with the same SONAME and architecture, or nil.
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

// lostExports lists the names that old exports and head does not, in the order of old.
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

// linkerNames are the symbols that linkers define in every object (dpkg ignores the same ones).
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

// nextSONAME increments the version of a SONAME: libfoo.so.3 after libfoo.so.2.
func nextSONAME(soname string) string {
	name, version, _ := strings.Cut(soname, ".so.")
	major, _, _ := strings.Cut(version, ".")
	n := 0
	if _, err := fmt.Sscanf(major, "%d", &n); err != nil {
		return name + ".so.N"
	}
	return fmt.Sprintf("%s.so.%d", strings.TrimSuffix(name, ".so"), n+1)
}
