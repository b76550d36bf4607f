// Package causetext formats the causes of a report as sentences and Markdown, for the packages
// report and comment.
//
// Every name comes from an artifact and is shown in a code span (internal/mdsafe).
package causetext

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/shellword"
)

// Tried explains the state of a fix that FixState returns.
const Tried = "“Tried” means that compat applied the fix to a copy, repeated the analysis, and " +
	"the finding was gone with no new ones."

// maxShown is the length in characters to which a name is truncated.
const maxShown = 300

// Section returns the Markdown of cause i under a heading of the given level ("###"): title, who
// has to act, evidence, platforms and fixes. Commands are for the folder of the artifact, or, if
// local is set, for that in which compat was started. rules is the address of the folder with the
// pages of the rules, "" = they are not linked.
func Section(r *analyzer.Report, i int, heading, rules string, local bool) string {
	c := &r.Causes[i]
	known := Names(r, c)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d. %s: %s\n\n", heading, i+1, c.Severity, mdsafe.Prose(c.Title, known...))
	b.WriteString(mdsafe.Prose(c.Action, known...))
	if !c.New {
		b.WriteString(" It is not new: the base has it too.")
	}
	b.WriteString("\n")
	if table := evidenceTable(c); table != "" {
		b.WriteString("\n" + table)
	}
	if len(c.Fails) > 0 {
		fmt.Fprintf(&b, "\nFails on %s.", strings.Join(c.Fails, ", "))
		if len(c.Works) > 0 {
			fmt.Fprintf(&b, " Works on %s.", strings.Join(c.Works, ", "))
		}
		b.WriteString("\n")
	}
	for j, x := range c.Fixes {
		if n := ShownBefore(r, i, x); n > 0 {
			too, state := "", FixState(c, x)
			if !x.Verified { // it may have been tried for the other
				too, state = ", which changes this too", state+" for this cause"
			}
			fmt.Fprintf(&b, "\n**%s**: that of cause %d%s (%s).\n", Label(c, j), n, too, state)
			continue
		}
		b.WriteString("\n" + markdownFix(c, j, x, known, local))
	}
	if len(c.Fixes) == 0 {
		b.WriteString("\nNo ready-made fix.\n")
	}
	fmt.Fprintf(&b, "\nRule: %s. %s in %s.\n", ruleLinks(c.Rules, rules),
		analyzer.Count(len(c.Findings), "finding"), analyzer.Count(c.Objects, "object"))
	return b.String()
}

// ruleLinks returns the names of rules, as links to their pages if their address is given. A link
// has no code span, which is hard to read in the color of links.
func ruleLinks(rules []string, address string) string {
	if address == "" {
		return mdsafe.Codes(rules, 0, 100)
	}
	links := make([]string, len(rules))
	for i, id := range rules {
		links[i] = mdsafe.Code(id, 100)
		if ruleID.MatchString(id) {
			links[i] = "[" + id + "](" + strings.TrimSuffix(address, "/") + "/" + id + ")"
		}
	}
	return strings.Join(links, ", ")
}

// ruleID matches the names of rules, which can be written without escapes.
var ruleID = lazyregexp.New(`^[a-z0-9-]{1,60}$`)

// evidenceTable returns the evidence of a cause as a table without empty columns.
func evidenceTable(c *analyzer.Cause) string {
	if len(c.Evidence) == 0 {
		return ""
	}
	columns := []struct {
		title string
		cell  func(e analyzer.Evidence) string
		used  bool
	}{
		{title: "needs", cell: func(e analyzer.Evidence) string {
			return mdsafe.Codes(NonEmpty(e.Version), 0, maxShown)
		}},
		{title: "library", cell: func(e analyzer.Evidence) string {
			return mdsafe.Codes(NonEmpty(e.Library), 0, maxShown)
		}},
		{title: "symbols", cell: func(e analyzer.Evidence) string {
			return more(mdsafe.Codes(e.Symbols, 0, maxShown), e.MoreSymbols, "symbol")
		}},
		{title: "in", cell: func(e analyzer.Evidence) string {
			return more(mdsafe.Codes(e.Objects, 0, maxShown), e.MoreObjects, "object")
		}},
	}
	const shown = 12
	rows := c.Evidence[:min(len(c.Evidence), shown)]
	for i := range columns {
		for _, e := range rows {
			columns[i].used = columns[i].used || columns[i].cell(e) != ""
		}
	}
	var b strings.Builder
	line := func(cell func(i int) string) {
		for i, column := range columns {
			if column.used {
				b.WriteString("| " + strings.ReplaceAll(cell(i), "|", `\|`) + " ")
			}
		}
		b.WriteString("|\n")
	}
	line(func(i int) string { return columns[i].title })
	line(func(int) string { return "---" })
	for _, e := range rows {
		line(func(i int) string { return columns[i].cell(e) })
	}
	if n := len(c.Evidence) - len(rows); n > 0 {
		fmt.Fprintf(&b, "\nand %s.\n", analyzer.Count(n, "more row"))
	}
	return b.String()
}

func more(s string, n int, noun string) string {
	if n == 0 {
		return s
	}
	return s + " and " + analyzer.Count(n, "more "+noun)
}

// NonEmpty returns the strings that are not empty.
func NonEmpty(ss ...string) (out []string) {
	for _, s := range ss {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// ShownBefore returns the number of an earlier cause of which the fix is the first one, if both
// causes are shown together; otherwise 0.
func ShownBefore(r *analyzer.Report, cause int, x analyzer.CauseFix) int {
	for i, c := range r.Causes[:cause] {
		first := c.Fixes
		if !c.Together {
			first = first[:min(1, len(first))]
		}
		if c.New == r.Causes[cause].New && slices.ContainsFunc(first, func(y analyzer.CauseFix) bool {
			return y.Same(x.Fix)
		}) {
			return i + 1
		}
	}
	return 0
}

// Label is the word before fix i of a cause: "Fix", "And" or "Or".
func Label(c *analyzer.Cause, i int) string {
	switch {
	case i == 0:
		return "Fix"
	case c.Together:
		return "And"
	}
	return "Or"
}

func markdownFix(
	c *analyzer.Cause,
	i int,
	x analyzer.CauseFix,
	known []string,
	local bool,
) string {
	b := fmt.Sprintf("**%s** (%s): %s\n", Label(c, i), FixState(c, x),
		mdsafe.Prose(x.Title.String(), known...))
	if x.Command != "" {
		command := string(x.Command)
		if local {
			command = strings.Join(Commands(c, x), "\n")
		}
		b += "\n" + mdsafe.Fence("", mdsafe.Cut(command, 2000))
	}
	if len(x.Cost) > 0 {
		b += "\nCosts: " + mdsafe.Prose(strings.Join(x.Cost, "; "), known...) + "\n"
	}
	return b
}

// Commands returns the lines of the command of a fix, for the folder that compat was started in: a
// line with the name of the artifact enters its folder. An artifact in an archive has none, so a
// comment says what has to be unpacked.
func Commands(c *analyzer.Cause, x analyzer.CauseFix) []string {
	if x.Command == "" {
		return nil
	}
	dir, archive := fix.Place(c.Artifact)
	stem := Stem(path.Base(c.Artifact))
	var lines []string
	for _, l := range shellword.Lines(x.Command) {
		named := strings.Contains(string(l), stem) && !fix.Enters(l) &&
			(dir == "" || !strings.Contains(string(l), c.Artifact)) // else it has the whole path
		if named {
			l = fix.Enter(dir, l)
		}
		line := string(l)
		if named && archive != "" {
			line += "  # after unpacking " + mdsafe.Visible(archive)
		}
		lines = append(lines, line)
	}
	return lines
}

// FixState says whether a fix was tried, and which part of the cause it clears.
func FixState(c *analyzer.Cause, x analyzer.CauseFix) string {
	s := "not tried"
	if x.Verified {
		s = "tried"
	}
	if len(c.Findings) == 0 { // read from a log
		return s
	}
	if x.Clears < len(c.Findings) {
		return fmt.Sprintf("%s, clears %d of the %d findings of this cause", s, x.Clears,
			len(c.Findings))
	}
	if x.Verified {
		s += ", clears " + all(len(c.Findings))
	}
	return s
}

func all(findings int) string {
	if findings == 1 {
		return "the finding"
	}
	return "all " + analyzer.Count(findings, "finding")
}

// Names returns the untrusted names that the sentences of a cause contain.
func Names(r *analyzer.Report, c *analyzer.Cause) []string {
	f := &r.Findings[c.Findings[0]]
	ns := NonEmpty(f.Object, f.Symbol, f.Demangled, f.Version, f.Library, f.Package, f.Target)
	for _, e := range c.Evidence {
		ns = append(append(ns, NonEmpty(e.Version, e.Library)...), e.Symbols...)
	}
	for _, x := range c.Fixes {
		ns = append(ns, NonEmpty(x.Requirement)...)
	}
	return ns
}

// Ship says whether the artifacts of a report may be shipped as they are: what the cause says that
// prevents it, or else one for which it is not known, or else the first cause. It is "" if no cause
// is new, or none says it.
func Ship(r *analyzer.Report) string {
	said, not, unknown := "", "", ""
	of := map[string]bool{} // artifacts that may not be shipped
	for _, c := range r.Causes {
		switch {
		case !c.New:
		case c.Severity == analyzer.Error && strings.HasPrefix(c.Ship, "Do not "):
			not = cmp.Or(not, c.Ship)
			of[c.Artifact] = true
			for _, i := range c.Findings {
				if i < len(r.Findings) { // a page has only the first
					of[r.Findings[i].Artifact] = true
				}
			}
		case c.Undecided:
			unknown = cmp.Or(unknown, c.Ship)
		case said == "":
			said = c.Ship
		}
	}
	if len(of) > 1 {
		files := " these wheels"
		for a := range of {
			if !strings.HasSuffix(a, ".whl") {
				files = " these files"
			}
		}
		not = strings.NewReplacer(" this wheel", files, " this file", files).Replace(not)
	}
	return cmp.Or(not, unknown, said)
}

// Counts counts the causes by severity and says who has to act on which: "2 errors and 1 warning.
// Causes 1 and 3 are for the builder, cause 2 for the installer.".
func Counts(r *analyzer.Report) string {
	n := map[analyzer.Severity]int{}
	for _, c := range r.Causes {
		n[c.Severity]++
	}
	var parts []string
	for _, s := range []analyzer.Severity{analyzer.Error, analyzer.Warning} {
		if n[s] > 0 {
			parts = append(parts, analyzer.Count(n[s], string(s)))
		}
	}
	s := strings.Join(parts, " and ")
	if n[analyzer.Error] == 0 && len(parts) > 0 {
		s = "No error, " + s
	}
	if len(r.Causes) > 1 && !r.Environment { // who reads it chooses the versions
		return s + actors(r)
	}
	return s + "."
}

// actors says who has to act on which cause, to follow the number of causes.
func actors(r *analyzer.Report) string {
	var order []result.Actor
	numbers := map[result.Actor][]int{}
	for i, c := range r.Causes {
		if numbers[c.Actor] == nil {
			order = append(order, c.Actor)
		}
		numbers[c.Actor] = append(numbers[c.Actor], i+1)
	}
	who := map[result.Actor]string{
		result.Builder:   "the builder",
		result.Installer: "whoever installs it",
		result.System:    "the maintainer of the platform",
		result.Upstream:  "the author of another package",
	}
	if len(order) == 1 {
		return ", all for " + who[order[0]] + "."
	}
	var parts []string
	for i, actor := range order {
		verb := ""
		if i == 0 {
			verb = " is"
			if len(numbers[actor]) > 1 {
				verb = " are"
			}
		}
		parts = append(parts, ranges(numbers[actor])+verb+" for "+who[actor])
	}
	s := strings.Join(parts, ", ") + "."
	return ". " + strings.ToUpper(s[:1]) + s[1:]
}

// ranges names causes, of which successive ones are shortened: "causes 1, 3 to 7 and 9".
func ranges(causes []int) string {
	var words []string
	for i := 0; i < len(causes); i++ {
		end := i
		for end+1 < len(causes) && causes[end+1] == causes[end]+1 {
			end++
		}
		if end-i < 2 {
			words = append(words, strconv.Itoa(causes[i]))
			continue
		}
		words = append(words, fmt.Sprintf("%d to %d", causes[i], causes[end]))
		i = end
	}
	if len(causes) == 1 {
		return "cause " + words[0]
	}
	return "causes " + and(words)
}

// PlanSentence says which causes remain after following the plan; "" if that is not known.
func PlanSentence(r *analyzer.Report) string {
	numbers := map[string]int{}
	for i, c := range r.Causes {
		numbers[c.ID] = i + 1
	}
	var fixed, left []int
	var distinct []int // of fixes that remove several causes, the first of these
	for i, x := range r.Plan.Fixes {
		fixed = append(fixed, numbers[x.Cause])
		if !slices.ContainsFunc(r.Plan.Fixes[:i], func(y result.PlannedFix) bool {
			return x.Verified && y.Same(x.Fix)
		}) {
			distinct = append(distinct, numbers[x.Cause])
		}
	}
	if r.Plan.Verified || len(distinct) > 1 {
		fixed = distinct
	}
	for _, id := range r.Plan.Leaves {
		left = append(left, numbers[id])
	}
	without := "no error"
	if len(left) > 0 {
		without = "no other error"
	}
	var out []string
	first, other := firstCommands(r)
	var tried []int
	for _, id := range r.Plan.Tried {
		tried = append(tried, numbers[id])
	}
	switch {
	case len(tried) > 1 && !r.Plan.Verified && first > 0:
		out = append(out, fmt.Sprintf("The command of cause %d was tried and clears %s.", first,
			ranges(tried)))
		rest := slices.DeleteFunc(fixed, func(n int) bool { return slices.Contains(tried, n) })
		if len(rest) > 0 {
			out = append(out, "Apply "+toApply(r, rest)+" too, which was not tried.")
		}
	case len(fixed) > 1 && r.Plan.Verified:
		out = append(out, "compat tried the fixes of "+ranges(fixed)+" together: they leave "+
			without+".")
	case len(fixed) > 1:
		out = append(out, "Apply "+toApply(r, fixed)+"; compat "+notTogether(r)+".")
	case len(fixed) == 1 && r.Plan.Verified && len(r.Causes) == 1:
		out = append(out, "The fix was tried and leaves "+without+".")
	case len(fixed) == 1 && r.Plan.Verified:
		out = append(out, "The fix of "+ranges(fixed)+" was tried and leaves "+without+".")
	}
	switch {
	case other > 0:
		out = append(out, fmt.Sprintf("Run the command of cause %d before that of cause %d, because it "+
			"renames the wheel.", first, other))
	case renames(r):
		out = append(out, "Run the commands in the order of the causes, because they rename the wheel.")
	}
	if len(left) > 0 {
		out = append(out, "No ready-made fix for "+ranges(left)+".")
	}
	return strings.Join(out, " ")
}

// notTogether says why the fixes of a plan are not known to work together.
func notTogether(r *analyzer.Report) string {
	for _, x := range r.Plan.Fixes {
		for _, cost := range x.Cost {
			if why, ok := strings.CutPrefix(cost, fix.ConflictsWith); ok && r.Environment {
				return "tried them together, and pip cannot resolve them: " + why
			}
			if strings.HasPrefix(cost, fix.Remain) {
				return "tried them together, and errors remain"
			}
		}
	}
	return "did not try them together"
}

// firstCommands returns the numbers of the first cause with the command of the plan, which is run
// first, and of a cause before it whose command is for the wheel that it writes; 0 if there is
// none.
func firstCommands(r *analyzer.Report) (first, other int) {
	command := r.Plan.Command
	for i, c := range r.Causes {
		switch {
		case command == "" || len(c.Fixes) == 0:
		case c.Fixes[0].Command == command:
			return i + 1, other
		case other == 0 && strings.Contains(string(c.Fixes[0].Command), " "+fix.Fixed+"/"):
			other = i + 1
		}
	}
	return 0, 0
}

// renames reports whether a command that is to be applied is for a wheel with another name or place
// than that of the artifact: an earlier command writes it.
func renames(r *analyzer.Report) bool {
	for _, c := range r.Causes {
		applied := c.Fixes[:min(1, len(c.Fixes))]
		if c.Together {
			applied = c.Fixes
		}
		name := path.Base(c.Artifact)
		for _, x := range applied {
			for word := range strings.FieldsSeq(string(x.Command)) {
				built := strings.Contains(word, "-linux_") // the build wrote it
				if strings.HasSuffix(word, ".whl") && strings.HasPrefix(path.Base(word), Stem(name)) &&
					!built && !slices.ContainsFunc(r.Artifacts, func(a analyzer.Artifact) bool {
					return path.Base(a.Path) == word
				}) {
					return true
				}
			}
		}
	}
	return false
}

// Stem returns what the names of all wheels of a release begin with: "widget-1.0-". Of other files
// it is the whole name.
func Stem(file string) string {
	parts := strings.SplitN(file, "-", 3)
	if len(parts) < 3 || !strings.HasSuffix(file, ".whl") {
		return file
	}
	return parts[0] + "-" + parts[1] + "-"
}

// Installed merges the versions of a package that an artifact was checked with one after the
// other, the oldest and the newest that the requirements allow: "numpy==1.19.1 (oldest) or ==2.5.5
// (newest)".
func Installed(with []string) []string {
	var names []string
	versions := map[string][]string{}
	for _, w := range with {
		name, version, pinned := strings.Cut(w, "==")
		if _, ok := versions[name]; !ok {
			names = append(names, name)
			versions[name] = nil
		}
		if pinned {
			versions[name] = append(versions[name], version)
		}
	}
	var out []string
	for _, name := range names {
		switch v := versions[name]; len(v) {
		case 0:
			out = append(out, name)
		case 2:
			out = append(out, name+"=="+v[0]+" (oldest) or =="+v[1]+" (newest)")
		default:
			out = append(out, name+"=="+strings.Join(v, " or =="))
		}
	}
	return out
}

// toApply names the fixes to apply to causes that are given by number.
func toApply(r *analyzer.Report, numbers []int) string {
	var one, all []int
	for _, n := range numbers {
		if n > 0 && r.Causes[n-1].Together {
			all = append(all, n)
		} else {
			one = append(one, n)
		}
	}
	var out []string
	switch len(one) {
	case 0:
	case 1:
		out = append(out, "the fix of "+ranges(one))
	default:
		out = append(out, "the fix of each of "+ranges(one))
	}
	if len(all) > 0 {
		out = append(out, "all fixes of "+ranges(all))
	}
	return strings.Join(out, " and ")
}

// and joins words: "1, 2 and 3".
func and(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
