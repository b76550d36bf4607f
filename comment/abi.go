package comment

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// maxCompared limits the libraries in a section.
const maxCompared = 30

// abiSections returns the comparisons of libraries with earlier builds, with a section per build.
func abiSections(r *analyzer.Report) string {
	var names []string
	rows := map[string][]*result.ABI{}
	for i := range r.ABI {
		a := &r.ABI[i]
		if rows[a.Against] == nil {
			names = append(names, a.Against)
		}
		rows[a.Against] = append(rows[a.Against], a)
	}
	var b strings.Builder
	for _, name := range names {
		title := "ABI against"
		if rows[name][0].Release {
			title = "ABI since"
		}
		fmt.Fprintf(&b, "\n#### %s %s\n\n| library | effect on existing programs | compared |\n"+
			"|---|---|---|\n", title, mdsafe.Code(name, 60))
		list := rows[name]
		slices.SortStableFunc(list, func(a, b *result.ABI) int { return b.Broken - a.Broken })
		for _, a := range list[:min(len(list), maxCompared)] {
			fmt.Fprintf(&b, "| %s | %s | %s |\n",
				mdsafe.Code(a.Library, 60), mdsafe.Prose(abiVerdict(a)), mdsafe.Prose(evidence(a)))
		}
		if n := len(list) - maxCompared; n > 0 {
			fmt.Fprintf(&b, "\nand %s.\n", analyzer.Count(n, "more pair"))
		}
	}
	return b.String()
}

// abiVerdict describes what a comparison means for programs that were built earlier.
func abiVerdict(a *result.ABI) string {
	hidden := ""
	if a.Suppressed > 0 {
		hidden = fmt.Sprintf("; %s suppressed", analyzer.Count(a.Suppressed, "change"))
	}
	switch {
	case a.Verdict == abi.Breaking && a.Broken > 0:
		return fmt.Sprintf("breaks %d of %d interfaces", a.Broken, a.Interfaces) + hidden
	case a.Verdict == abi.Breaking:
		return "breaks programs" + hidden
	case a.NewSONAME != "":
		return "they keep using the old library: the SONAME is now " + a.NewSONAME + hidden
	case a.Verdict == abi.Compatible && a.Warnings > 0:
		return "may break some programs: " + warned(a) + hidden
	case a.Verdict == abi.Compatible:
		return "they keep working; " + analyzer.Count(a.Changes, "compatible change") + hidden
	}
	if len(a.Blind) > 0 {
		return "no change in what was compared" + hidden
	}
	return "no change" + hidden
}

// warned says which changes may break programs.
func warned(a *result.ABI) string {
	var all []string
	for _, s := range a.Warned {
		all = append(all, strings.TrimSuffix(s, "."))
	}
	if n := a.Warnings - len(all); n > 0 { // a report of an earlier version names none
		all = append(all, analyzer.Count(n, "warning"))
	}
	return strings.Join(all, "; ")
}

// evidence describes what information a comparison used.
func evidence(a *result.ABI) string {
	if a.Types() {
		if a.PrivateTypes > 0 {
			return "symbols and types; " + analyzer.Count(a.PrivateTypes, "type") + " treated as private"
		}
		return "symbols and types"
	}
	missing := func(s result.ABISide) bool { return s.Evidence == abi.EvidenceSymbols }
	which := "neither build has"
	switch {
	case !missing(a.Old):
		which = "the new build lacks"
	case !missing(a.New):
		which = "the earlier build lacks"
	}
	text := "symbols only: " + which + " debug information, so changes of types are not found"
	if len(a.Problems) > 0 {
		text += " (" + a.Problems[0] + ")"
	}
	return text
}

// abiEdit finds a line of the diff that a fix for an ABI change can edit.
func abiEdit(f *analyzer.Finding, in Input) (file string, line int, ok bool) {
	for _, p := range inOrder(in.Files, []fileKind{native, versionScript, debianSymbols}) {
		all := lines(in.Files[p])
		for n, text := range all {
			if !in.Diff.Has(p, n+1) {
				continue
			}
			for _, x := range f.Fixes {
				if kindOf(p) == versionScript && !inNode(all, n, x) {
					continue
				}
				if _, ok := Edit(p, strings.TrimSuffix(text, "\r"), x); ok {
					return p, n + 1, true
				}
			}
		}
	}
	return "", 0, false
}

var (
	soVersion  = lazyregexp.New(`(?i)(\bSOVERSION\s+|\bsoversion\s*:\s*'?)([0-9]+)\b`)
	linkSoname = lazyregexp.New(`-Wl,-soname,(lib[A-Za-z0-9_+.-]+\.so\.[0-9]+)$`)
	// line of a version script that is followed by the symbols of a node
	scriptGlobal = lazyregexp.New(`^\s*(?:([A-Za-z_][A-Za-z0-9_.]*)\s*\{\s*)?global\s*:\s*$`)
	scriptNode   = lazyregexp.New(`^\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\{\s*(?:global\s*:\s*)?$`)
)

// inNode reports whether a line of a version script is in the node that a fix names.
func inNode(all []string, n int, x fix.Fix) bool {
	node, _, _ := strings.Cut(string(x.Command), " {\n")
	for ; n >= 0; n-- {
		if m := scriptNode.FindStringSubmatch(all[n]); m != nil {
			return m[1] == node
		}
	}
	return false
}

// bump changes the version of a SONAME in a line of CMakeLists.txt, meson.build or a Makefile.
func bump(text, command string) (string, bool) {
	m := linkSoname.FindStringSubmatch(command)
	if m == nil {
		return "", false
	}
	stem, version := m[1][:strings.LastIndexByte(m[1], '.')], m[1][strings.LastIndexByte(m[1], '.')+1:]
	if at := soVersion.FindStringSubmatchIndex(text); at != nil {
		return text[:at[4]] + version + text[at[5]:], true
	}
	if !strings.Contains(text, "-soname") {
		return "", false
	}
	old := regexp.MustCompile(regexp.QuoteMeta(stem) + `\.[0-9]+`)
	return old.ReplaceAllLiteralString(text, m[1]), old.MatchString(text)
}

// export adds lines to a node of a version script, or to a debian/*.symbols file. The command of
// the fix has the node in its first line, followed by the symbols.
func export(p, text string, x fix.Fix) (string, bool) {
	node, rest, ok := strings.Cut(string(x.Command), "\n")
	switch {
	case !ok:
	case kindOf(p) == versionScript:
		if scriptGlobal.MatchString(text) && strings.HasSuffix(node, " {") {
			_, symbols, _ := strings.Cut(rest, "global:\n")
			return text + "\n" + strings.TrimSuffix(symbols, "\n};"), true
		}
	case kindOf(p) == debianSymbols:
		if fields := strings.Fields(text); len(fields) == 3 && fields[2] == "#MINVER#" &&
			text == node {
			return text + "\n" + rest, true
		}
	}
	return "", false
}
