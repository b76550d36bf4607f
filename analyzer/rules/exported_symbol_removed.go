package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

var exportedSymbolRemoved = &analyzer.Rule{
	ID:       "exported-symbol-removed",
	Title:    "A library no longer exports a symbol, but keeps its SONAME",
	Severity: analyzer.Warning,
	Doc: `In the base, a shared library exports a symbol. In the head, the library has the same
SONAME, but does not export it. Programs and libraries that were linked against the old version
load the new one, and fail: "undefined symbol". An unchanged SONAME means that this does not
happen.

Fix: export the symbols again, as stubs if necessary, or change the SONAME.

Severity: a note in a wheel, whose libraries are rarely linked against from outside. The rule
needs a base and checks public libraries (lib*.so with a SONAME). Weak C++ symbols, which are mostly
copies of inline functions and templates, symbols of private versions, and symbols that linkers
define are not reported. A symbol that still exists under another version is reported by
symbol-version-removed or symbol-version-moved.

Not detected: changes of types and layouts ("compat diff" detects them where there is debug
information). Private symbols are not distinguished from public ones.`,
	References: []string{
		"GNU Gnulib, libtool: versioning",
		"Debian Policy, 8.6: shared library symbols",
	},
	Check: func(p *analyzer.Pass) {
		for _, v := range p.Views {
			lost := changesFromBase(p, v, abi.RuleRemoved)
			if len(lost) == 0 {
				continue
			}
			reportABI(p, v, lost, fmt.Sprintf(
				"%s no longer exports %s, but keeps the SONAME %s: %s. Programs that use them "+
					"fail with an undefined symbol",
				v.Path, analyzer.Count(len(lost), "symbol"), v.SONAME, firstSymbols(lost),
			), "Export the symbols again, as stubs if necessary")
		}
	},
}

// changesFromBase compares a public library with that of the base, which has the same SONAME and
// architecture, and gives the changes of one rule that break programs. Without a base there are
// none.
func changesFromBase(p *analyzer.Pass, v *analyzer.View, rule string) []abi.Change {
	if !v.Public() {
		return nil
	}
	old := inBase(p, v)
	if old == nil {
		return nil
	}
	r := abi.Compare(
		abi.FromObject(
			old.Path,
			old.Object,
		),
		abi.FromObject(v.Path, v.Object.Object),
		abi.Options{},
	)
	weak := map[string]bool{}
	for _, e := range old.Exports.All() {
		weak[e.Name] = (e.Weak || e.Unique) && strings.HasPrefix(e.Name, "_Z")
	}
	return slices.DeleteFunc(r.Changes, func(c abi.Change) bool {
		name, _, _ := strings.Cut(c.Symbol, "@")
		return c.Rule != rule || c.Severity != abi.Error || weak[name]
	})
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

// sameSONAME is the message about changes that each have a sentence: the first one, and how many
// others there are.
func sameSONAME(v *analyzer.View, changes []abi.Change) string {
	detail := strings.TrimSuffix(changes[0].Detail, ".")
	if rest, ok := strings.CutPrefix(detail, "The "); ok {
		detail = "the " + rest
	}
	if n := len(changes) - 1; n > 0 {
		detail += fmt.Sprintf(", and %s changed too", analyzer.Count(n, "other symbol"))
	}
	return fmt.Sprintf(
		"%s: %s. The SONAME %s is unchanged, so programs that were linked against the old library "+
			"load the new one and fail",
		v.Path, detail, v.SONAME,
	)
}

// firstSymbols lists the symbols of changes for a message.
func firstSymbols(changes []abi.Change) string {
	const shown = 10
	var names []string
	for _, c := range changes[:min(len(changes), shown)] {
		name, _, _ := strings.Cut(c.Symbol, "@")
		names = append(names, abi.Readable(name))
	}
	if len(changes) > shown {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// reportABI reports the changes of one rule in one library as one finding: they have one repair.
func reportABI(
	p *analyzer.Pass, v *analyzer.View, changes []abi.Change, message, repair string,
) {
	name, version, _ := strings.Cut(changes[0].Symbol, "@")
	f := analyzer.Finding{
		Object:  v.Path,
		Symbol:  name,
		Version: strings.TrimPrefix(version, "@"),
		Library: v.SONAME,
		Chain:   []string{v.Path},
		Message: message,
	}
	if p.Facts.Kind == analyzer.KindWheel {
		f.Severity = analyzer.Note
	}
	p.Report(
		f,
		fix.Candidate{Fix: fix.Fix{Kind: fix.KindSource, Title: repair}},
		fix.Candidate{Fix: fix.Fix{
			Kind:    fix.KindLinkFlag,
			Title:   "Change the SONAME of the library",
			Command: shellword.Quote("-Wl,-soname," + nextSONAME(v.SONAME)),
		}},
	)
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
