package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/internal/headers"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// shownRemoved limits the listed removed or added symbols, without --verbose.
const shownRemoved = 10

// writeDiffText writes a comparison as text: the verdict, then each cause with its effect on
// programs and how to fix it.
func writeDiffText(out io.Writer, whole *abi.Result, each []*abi.Result, verbose bool) error {
	w := bufio.NewWriter(out)
	results := each
	if len(each) != 1 || len(whole.Changes) != len(each[0].Changes) {
		fmt.Fprintln(w, verdictLine("", whole))
		results = append([]*abi.Result{{Changes: unpaired(whole)}}, each...)
	}
	for i, r := range results {
		if r.Library != "" {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, verdictLine(r.Library, r))
			fmt.Fprintln(w, "  "+evidence(r))
			if r.Types() { // otherwise the evidence says it
				fmt.Fprintf(w, "  Types treated as private: %d.\n", r.PrivateTypes)
				for _, sentence := range r.Blind {
					fmt.Fprintln(w, "  "+shown(sentence))
				}
			} else if r.Unread != "" {
				fmt.Fprintln(w, "  "+shown(r.Unread))
			}
		}
		writeChanges(w, r, verbose)
	}
	if whole.Suppressed > 0 {
		fmt.Fprintf(w, "\nsuppressed: %d of the changes\n", whole.Suppressed)
	}
	for _, u := range whole.Unapplied {
		fmt.Fprintf(w, "\nerror: %s\n", shown(u))
	}
	for _, p := range whole.Problems {
		fmt.Fprintf(w, "\nnot compared: %s\n", shown(p))
	}
	return w.Flush()
}

// unpaired returns the changes that belong to no pair: removed and added libraries.
func unpaired(r *abi.Result) []abi.Change {
	var out []abi.Change
	for _, c := range r.Changes {
		if c.Rule == abi.RuleLibraryRemoved || c.Rule == abi.RuleLibraryAdded {
			out = append(out, c)
		}
	}
	return out
}

// verdictLine returns the verdict in one line.
func verdictLine(library string, r *abi.Result) string {
	prefix := ""
	if library != "" {
		prefix = shown(library) + ": "
	}
	switch {
	case r.Verdict == abi.Breaking && r.Broken > 0:
		line := fmt.Sprintf("%sbreaks %d of %d interfaces", prefix, r.Broken, r.Interfaces)
		if next := nextSONAME(library); next != "" {
			line += "; needs a new SONAME (" + next + ")"
		}
		return line
	case r.Verdict == abi.Breaking:
		return prefix + "breaks programs that were built against the old one"
	case r.NewSONAME != "":
		return fmt.Sprintf(
			"%sthe SONAME is now %s; old programs keep using the old library",
			prefix,
			shown(r.NewSONAME),
		)
	case r.Verdict == abi.Compatible:
		return prefix + "compatible; no change was found that breaks programs built against the old one"
	}
	if len(r.Blind) > 0 {
		return prefix + "no change found in what was compared"
	}
	return prefix + "no ABI change"
}

var sonameVersion = lazyregexp.New(`^(.*\.so\.)([0-9]+)$`)

// nextSONAME returns the SONAME with its version incremented; "" if it does not end with a
// number.
func nextSONAME(soname string) string {
	m := sonameVersion.FindStringSubmatch(soname)
	if m == nil {
		return ""
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return ""
	}
	return m[1] + strconv.Itoa(n+1)
}

var evidenceNames = map[abi.Evidence]string{
	abi.EvidenceDWARF: "symbols and types (DWARF)", abi.EvidenceBTF: "symbols and types (BTF)",
	abi.EvidenceCTF: "symbols and types (CTF)", abi.EvidenceSymbols: "symbols only",
	abi.EvidenceHeaders: "symbols and types (headers)",
}

// evidence describes what was compared.
func evidence(r *abi.Result) string {
	if r.Evidence.Old == r.Evidence.New && r.Types() {
		return "Compared: " + evidenceNames[r.Evidence.Old] + "."
	}
	if r.Types() {
		return fmt.Sprintf(
			"Compared: %s with %s.",
			evidenceNames[r.Evidence.Old],
			evidenceNames[r.Evidence.New],
		)
	}
	side := "both libraries have"
	switch {
	case r.Evidence.Old != abi.EvidenceSymbols:
		side = "the new library has"
	case r.Evidence.New != abi.EvidenceSymbols:
		side = "the old library has"
	}
	return "Compared: symbols only, because " + side + " no debug information. Changes of " +
		"structures and parameters cannot be seen."
}

// writeChanges lists the changes of one pair. Removed and added symbols without details are
// grouped.
func writeChanges(w io.Writer, r *abi.Result, verbose bool) {
	together := map[string][]string{}
	for i := range r.Changes {
		if key := groupOf(&r.Changes[i]); key != "" {
			name, _, _ := strings.Cut(r.Changes[i].Symbol, "@")
			together[key] = append(together[key], shown(abi.Readable(name)))
		}
	}
	written := map[string]bool{}
	for i := range r.Changes {
		c := &r.Changes[i]
		key := groupOf(c)
		if list := together[key]; key != "" && len(list) > 1 && !verbose {
			if !written[key] {
				written[key] = true
				writeGroup(w, c, list)
			}
			continue
		}
		writeChange(w, c)
	}
}

// groupOf returns the key of the group of a change; "" = not grouped.
func groupOf(c *abi.Change) string {
	switch c.Rule {
	case abi.RuleRemoved, abi.RuleAdded, abi.RuleAddedReleased, abi.RuleMoved, abi.RuleDebian:
		return c.Rule + " " + string(c.Severity)
	}
	return ""
}

var groupTitles = map[string]string{
	abi.RuleRemoved: "no longer exported", abi.RuleAdded: "newly exported",
	abi.RuleMoved:         "moved to a dependency",
	abi.RuleDebian:        "not in the symbols file",
	abi.RuleAddedReleased: "added to a symbol version that the old library already defines",
}

func writeGroup(w io.Writer, c *abi.Change, names []string) {
	fmt.Fprintf(w, "\n  %s: %d symbols are %s\n", c.Severity, len(names), groupTitles[c.Rule])
	inC := func(name string) bool { return !strings.ContainsAny(name, ":(<") }
	if c.Severity == abi.Note && c.Rule == abi.RuleRemoved && !slices.ContainsFunc(names, inC) {
		fmt.Fprintln(
			w,
			"    They are copies of inline functions and templates; programs have their own "+
				"copies.",
		)
	}
	for i, n := range names {
		if i == shownRemoved {
			fmt.Fprintf(w, "    and %d more (--verbose lists them)\n", len(names)-i)
			break
		}
		fmt.Fprintf(w, "    %s\n", n)
	}
	switch {
	case c.Rule == abi.RuleDebian:
		fmt.Fprintln(w, "    Fix: Add the symbols to the symbols file, each with the package version "+
			"that introduced it.")
	case c.Severity != abi.Note:
		fmt.Fprintf(w, "    Effect: %s\n    Fix: Export them again, or change the SONAME.\n", c.Effect)
	}
}

func writeChange(w io.Writer, c *abi.Change) {
	fmt.Fprintf(w, "\n  %s: %s\n", c.Severity, shown(c.Detail))
	switch {
	case c.Old != "" && c.New != "" && c.Old != c.New:
		fmt.Fprintf(w, "    Declared at: %s (old), %s (new)\n", shown(c.Old), shown(c.New))
	case c.Old != "":
		fmt.Fprintf(w, "    Declared at: %s\n", shown(c.Old))
	case c.New != "":
		fmt.Fprintf(w, "    Declared at: %s\n", shown(c.New))
	}
	if len(c.Path) > 1 {
		fmt.Fprintf(w, "    Used by: %s\n", shown(strings.Join(c.Path, ", ")))
	}
	if c.Affects > 1 {
		fmt.Fprintf(w, "    Affects: %d interfaces (%s)\n", c.Affects, shown(firstNames(c)))
	}
	if c.Effect != "" {
		fmt.Fprintf(w, "    Effect: %s\n", shown(c.Effect))
	}
	if c.Fix != "" {
		fmt.Fprintf(w, "    Fix: %s\n", shown(c.Fix))
	}
}

// firstNames returns the first interfaces that a change affects.
func firstNames(c *abi.Change) string {
	const most = 3
	var names []string
	for _, s := range c.Affected[:min(len(c.Affected), most)] {
		name, _, _ := strings.Cut(s, "@")
		names = append(names, abi.Readable(name))
	}
	if c.Affects > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// shownSource limits the differences of each kind in the headers, without --verbose.
const shownSource = 10

// writeDiffSource lists what programs compile into their own code and is different in the headers.
func writeDiffSource(out io.Writer, all []headers.Difference, verbose bool) error {
	if len(all) == 0 {
		return nil
	}
	w := bufio.NewWriter(out)
	fmt.Fprint(w, "\nIn the headers (programs keep what they were compiled with):\n")
	count := map[string]int{}
	for _, d := range all {
		if count[d.Kind]++; count[d.Kind] > shownSource && !verbose {
			continue
		}
		name := shown(d.Name)
		switch {
		case d.Kind == headers.Inline:
			fmt.Fprintf(w, "  inline function %s has another body\n", name)
		case d.New == "":
			fmt.Fprintf(w, "  macro %s, which was %s, is gone\n", name, shown(d.Old))
		case d.Kind == headers.Macro:
			fmt.Fprintf(w, "  macro %s is %s, was %s\n", name, shown(d.New), shown(d.Old))
		default:
			fmt.Fprintf(w, "  default arguments %s, were %s: %s\n", shown(d.New), shown(d.Old), name)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		if n := count[kind] - shownSource; n > 0 && !verbose {
			fmt.Fprintf(w, "  and %d more of kind %q; --verbose lists them\n", n, kind)
		}
	}
	return w.Flush()
}
