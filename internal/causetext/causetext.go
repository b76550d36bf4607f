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
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/shellword"
)

// Key explains the words of a report, under it.
const Key = keyCause + keyTried + " An object is a binary file: a library, module or program. " +
	keyImports

// Parts of Key.
const (
	keyCause = "An error or a warning is one cause: one thing that somebody has to change. "
	keyTried = "“Tried”: compat changed a copy of the artifact and checked it again; the problem " +
		"was gone, without a new one. It runs no code of the artifact, and no build."
	keyImports = "The imports of a file are the symbols that it needs from others; one is undecided " +
		"if the library that should have it was not read."
)

// KeyOf is Key for the Markdown of a report, which has no counts of objects, of imports only if it
// is not known where many are, and numbers causes if there are several.
func KeyOf(r *analyzer.Report) string {
	key := keyTried
	if len(r.Causes) > 1 {
		key = keyCause + key
	}
	if r.Unsure() == "" {
		return key
	}
	return key + " " + keyImports
}

// NoBase is said if a report was compared with nothing.
const NoBase = "Nothing was given to compare it with, so it is not known whether a change " +
	"caused this."

// ReadURL is the address of the page that explains a report.
const ReadURL = "https://github.com/compat-app/compat/blob/main/docs/read.md"

// NoFix is said of a cause without a fix.
const NoFix = "No ready-made fix: compat knows no release, setting or edit that removes this cause."

// maxShown is the length in characters to which a name is truncated.
const maxShown = 300

// SectionOptions are how Section shows a cause.
type SectionOptions struct {
	Heading string                 // "###"
	Rules   func(id string) string // address of the page of a rule; nil = none is linked
	Base    string                 // Markdown, what the report was compared with; "" = nothing
	Steps   *Steps                 // of the causes that are shown
	Edits   func(cause int) []Edit // see ItemOptions; nil = none are known
	// Why is set for why a cause fails and its evidence only: Item has what to do.
	Why bool
	// Untitled is set if the title is not to be repeated, because there is one cause.
	Untitled bool
}

// Section returns the Markdown of cause i under a heading: title, who has to act, what users see,
// fixes, evidence and platforms.
func Section(r *analyzer.Report, i int, o SectionOptions) string {
	c := &r.Causes[i]
	known := Names(r, c)
	var b strings.Builder
	if o.Untitled {
		b.WriteString(o.Heading + " Details\n\n")
	} else {
		fmt.Fprintf(&b, "%s %d. %s%s: %s\n\n", o.Heading, i+1, c.Severity, o.Steps.name(c),
			mdsafe.Prose(c.Title, known...))
	}
	var about []string
	if !o.Why {
		about = append(about, mdsafe.Prose(Task(r, c, nil), known...))
	}
	if why := Why(c); why != "" && c.Severity != analyzer.Warning {
		about = append(about, mdsafe.Prose(why, known...)+".")
	}
	switch {
	case !c.New:
		about = append(about, "Not new: "+cmp.Or(o.Base, "the base")+" has it too.")
	case o.Base != "" && !o.Why:
		about = append(about, "New: "+o.Base+" does not have it.")
	}
	if len(about) > 0 {
		b.WriteString(sentences(about...) + "\n")
	}
	if label, message := Seen(r, i); message != "" && !o.Why {
		fmt.Fprintf(&b, "\n%s: %s\n", label, mdsafe.Code(message, maxShown))
	}
	if !o.Why {
		var edits []Edit
		if o.Edits != nil {
			edits = o.Edits(i)
		}
		b.WriteString(markdownFixes(r, i, o.Steps, edits))
	}
	if table := evidenceTable(c); table != "" {
		b.WriteString("\n" + table)
	}
	var systems []string
	if len(c.Fails) > 0 && !o.Why {
		systems = append(systems, "Fails on "+strings.Join(c.Fails, ", ")+".")
	}
	if len(c.Fails) > 0 && len(c.Works) > 0 {
		systems = append(systems, "Works on "+strings.Join(c.Works, ", ")+".")
	}
	if systems != nil {
		b.WriteString("\n" + sentences(systems...) + "\n")
	}
	for _, x := range Also(r, c) {
		fmt.Fprintf(&b, "\nAlso part of this %s: %s (%s).\n", c.Severity,
			mdsafe.Prose(x.Text, x.names...), ruleLinks([]string{x.Rule}, o.Rules))
	}
	fmt.Fprintf(&b, "\nRule: %s.\n", ruleLinks([]string{MainRule(r, c)}, o.Rules))
	return b.String()
}

// ItemOptions are how Item shows a cause.
type ItemOptions struct {
	In     string  // Markdown, where it is found: "in all 3 wheels"; "" = not said
	Source *Source // as in Action
	Edits  []Edit  // changes of the repository, each of which makes one of the fixes
	Steps  *Steps  // of the causes that are shown
}

// Edit is a change of a line of the repository that makes a fix.
type Edit struct {
	Fix      int      // index of the fix in those of the cause
	At       string   // FILE:LINE
	Old, New string   // lines without a newline at the end; New may be several
	Dropped  []string // limits of versions in Old that are not in New
}

// Item returns an item of a numbered list about cause i: what is wrong, who has to act, and the
// fixes.
func Item(r *analyzer.Report, i int, o ItemOptions) string {
	c := &r.Causes[i]
	known := append(Names(r, c), o.Source.Names()...)
	number := fmt.Sprintf("%d. ", i+1)
	title := mdsafe.Prose(c.Title, known...)
	if o.In != "" {
		title = o.In + ": " + title
	}
	fails := ""
	if len(c.Fails) > 0 {
		fails = " Fails on " + strings.Join(c.Fails, ", ") + "."
	}
	if label, message := Seen(r, i); message != "" {
		fails += "\n\n" + label + ": " + mdsafe.Code(message, maxShown)
	}
	item := fmt.Sprintf("**%s**%s %s. %s%s\n%s", c.Severity, o.Steps.name(c), title,
		mdsafe.Prose(Task(r, c, o.Source), known...), fails, markdownFixes(r, i, o.Steps, o.Edits))
	return number + indent(item, len(number)) + "\n"
}

// indent puts the lines of a block after the first below the text of an item of a list.
func indent(block string, columns int) string {
	lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = strings.Repeat(" ", columns) + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// markdownFixes returns the fixes of a cause, given by its index, each after a blank line. edits
// are those of ItemOptions.
func markdownFixes(r *analyzer.Report, i int, steps *Steps, edits []Edit) string {
	c := &r.Causes[i]
	var b strings.Builder
	for j, x := range c.Fixes {
		first, all := c.Fixes[0], len(c.Findings)
		if r.PullRequest && first.Verified && first.Clears == all && x.Clears < all {
			continue // its author can do better
		}
		step := steps.Of(i, j)
		if n := ShownBefore(r, i, x); n > 0 {
			too, state := "", step.State
			if !x.Verified { // it may have been tried for the other
				too, state = ", which changes this too", state+" for this cause"
			}
			fmt.Fprintf(&b, "\n**%s**: that of cause %d%s (%s).\n", step.Label, n, too, state)
			continue
		}
		made := ""
		if edit := EditOf(edits, j); edit != nil {
			x.Title, step.State = x.Title.Without(fix.InSources), EditState(c, x)
			made = edit.markdown()
			step.Remark = strings.Replace(step.Remark, step.Build, "", 1) // the edit does that
			if !NamesWheel(strings.Join(step.Commands, "\n")) {
				step.Commands = nil // it has these flags or this setting
			}
		}
		b.WriteString("\n" + markdownFix(step.Label, x, step, made, Names(r, c)))
	}
	if len(c.Fixes) == 0 {
		b.WriteString("\n" + NoFix + "\n")
	}
	return b.String()
}

// Task is Action, and of a warning why it is one.
func Task(r *analyzer.Report, c *analyzer.Cause, source *Source) string {
	action := Action(r, c, source)
	if why := Why(c); why != "" && c.Severity == analyzer.Warning {
		return action + " " + why + "."
	}
	return action
}

// Source is the line of the repository that causes something.
type Source struct {
	At    string // FILE:LINE
	Text  string // what the line says; "" = it is not quoted
	About string // what the pull request does to it: "which …"; "" = not known
	Old   string // the line of the base that is not there any more; "" = none, or it is not quoted
	Base  string // the name of the base; "" = not known
}

// Names are the parts of the source that are shown as code; nil for nil.
func (s *Source) Names() []string {
	if s == nil {
		return nil
	}
	return NonEmpty(s.At, s.Text, s.Old, s.Base)
}

// place is where something has to be done: "At FILE:LINE (TEXT), which this pull request changes
// (main has OLD)".
func (s *Source) place() string {
	switch {
	case s == nil:
		return "In this pull request"
	case s.About == "":
		return "In this pull request, at " + s.At + inParentheses(s.Text)
	}
	out := "At " + s.At + inParentheses(s.Text) + ", " + s.About
	if s.Old != "" {
		out += " (" + cmp.Or(s.Base, "the base") + " has " + s.Old + ")"
	}
	return out
}

// Action says who has to do what about a cause, and who is affected. The author of a pull request
// is the one who corrects the build of a wheel, so there it says what to do, and at which line;
// nil = it is not known, or shown already.
func Action(r *analyzer.Report, c *analyzer.Cause, source *Source) string {
	if !r.Corrects(c) || c.Do == "" {
		return c.Action
	}
	s := source.place() + ": " + c.Do + "."
	if c.Affected != "" {
		s += " Affected: " + c.Affected + "."
	}
	return s
}

// Why says why a cause has its severity: "Why an error: no known package provides it"; "" if that
// is not said.
func Why(c *analyzer.Cause) string {
	switch {
	case c.Why == "":
		return ""
	case c.Severity == analyzer.Error:
		return "Why an error: " + c.Why
	}
	return "Why a warning: " + c.Why
}

// Seen returns what users see where a cause fails, as the loader or pip prints it, and the words
// before it; "" if no message shows it.
func Seen(r *analyzer.Report, i int) (label, message string) {
	c := &r.Causes[i]
	if c.Message != "" {
		return "Programs that use it print, at start or at the first call", c.Message
	}
	if c.Reproduce == nil || c.Reproduce.Message == "" {
		return "", ""
	}
	who := "Users see"
	if r.Environment {
		who = "You see"
	}
	sees := strings.ToLower(who[:1]) + who[1:]
	switch {
	case c.Unclaimed: // pip does not install it
		who = "Where it is installed without pip, " + sees
	case c.Excluded:
		who = "Where they are installed together nevertheless, " + sees
	case c.Severity != analyzer.Error:
		who = "Where it fails, " + sees
	}
	return who, strings.Join(strings.Fields(c.Reproduce.Message), " ")
}

// Part is a part of a cause that another rule found than that of its title.
type Part struct {
	Text  string // a clause without a period
	Rule  string
	names []string
}

// Also returns the parts of a cause that its title is not about, one for each rule; nil if they
// follow from it.
func Also(r *analyzer.Report, c *analyzer.Cause) (out []Part) {
	if c.Covers {
		return nil
	}
	seen := map[string]bool{MainRule(r, c): true}
	for _, n := range c.Findings {
		if n >= len(r.Findings) { // a page has only the first
			break
		}
		f := &r.Findings[n]
		if seen[f.Rule] {
			continue
		}
		seen[f.Rule] = true
		text := strings.TrimRight(cmp.Or(f.Headline, f.Message), ". ")
		out = append(out, Part{text, f.Rule, NonEmpty(f.Object, f.Symbol, f.Demangled, f.Version,
			f.Library, f.Package, f.Target)})
	}
	return out
}

// MainRule is the rule of the finding that the title of a cause is about.
func MainRule(r *analyzer.Report, c *analyzer.Cause) string {
	if len(c.Findings) > 0 && c.Findings[0] < len(r.Findings) {
		return r.Findings[c.Findings[0]].Rule
	}
	if len(c.Rules) > 0 {
		return c.Rules[0]
	}
	return ""
}

// ruleLinks returns the names of rules, as links to their pages if their address is given. A link
// has no code span, which is hard to read in the color of links.
func ruleLinks(rules []string, address func(id string) string) string {
	if address == nil {
		return mdsafe.Codes(rules, 0, 100)
	}
	links := make([]string, len(rules))
	for i, id := range rules {
		links[i] = mdsafe.Code(id, 100)
		if ruleID.MatchString(id) {
			links[i] = "[" + id + "](" + address(id) + ")"
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
			if e.Version == e.Library { // ELF names a version by its library if it has only one
				return ""
			}
			return mdsafe.Codes(NonEmpty(e.Version), 0, maxShown)
		}},
		{title: "library", cell: func(e analyzer.Evidence) string {
			return mdsafe.Codes(NonEmpty(e.Library), 0, maxShown)
		}},
		{title: "symbols", cell: func(e analyzer.Evidence) string {
			return more(mdsafe.Codes(e.Symbols, 0, maxShown), e.MoreSymbols, "symbol")
		}},
		{title: "file", cell: func(e analyzer.Evidence) string {
			return more(mdsafe.Codes(e.Objects, 0, maxShown), e.MoreObjects, "file")
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

// Label is what fix i of a cause begins with: "Fix", "And" or "Or". What users can do until the
// builder of an artifact has fixed it is no alternative to that: "For users".
func Label(c *analyzer.Cause, i int) string {
	switch {
	case c.ForUsers(c.Fixes[i]):
		return forUsers
	case i == 0:
		return "Fix"
	case c.Together:
		return "And"
	}
	return "Or"
}

const forUsers = "For users"

// EditOf returns the edit that makes a fix, by its index; nil if there is none.
func EditOf(edits []Edit, fix int) *Edit {
	for i := range edits {
		if edits[i].Fix == fix {
			return &edits[i]
		}
	}
	return nil
}

// EditState is FixState for a fix that is shown as an edit, which was not tried itself.
func EditState(c *analyzer.Cause, x analyzer.CauseFix) string {
	of := "file"
	if c.OfBuilder() {
		of = "wheel"
	}
	return fixState(c, x, tried+" on a copy of the "+of+", not in a build")
}

// markdown returns the change as a diff, after a line that says where it is made.
func (e *Edit) markdown() string {
	do, diff, changed := "Change ", "-"+e.Old, e.New
	if added, ok := e.added(); ok {
		do, diff, changed = "Add after ", " "+e.Old, added
	}
	for line := range strings.SplitSeq(changed, "\n") {
		diff += "\n+" + line
	}
	return "\n" + do + mdsafe.Code(e.At, maxShown) + e.remark() + ":\n\n" + mdsafe.Fence("diff", diff)
}

// added returns the lines that are added after the line, which is not changed then.
func (e *Edit) added() (lines string, ok bool) { return strings.CutPrefix(e.New, e.Old+"\n") }

// remark says which limits go, and why.
func (e *Edit) remark() string {
	if len(e.Dropped) == 0 {
		return ""
	}
	return ", and drop " + mdsafe.Codes(e.Dropped, 0, maxShown) + ", which " +
		analyzer.Plural(len(e.Dropped), "excludes", "exclude") + " the versions that work"
}

// plain returns the change as plain text at the line, to follow the title of the fix.
func (e *Edit) plain() string {
	if added, ok := e.added(); ok {
		return ". Add after this line: " + mdsafe.Lines(strings.TrimSpace(added))
	}
	return ". Change this line to: " + mdsafe.Lines(strings.TrimSpace(e.New))
}

// markdownFix returns a fix. edit is Markdown, the change of the repository that makes it; "" =
// none is known.
func markdownFix(label string, x analyzer.CauseFix, step Step, edit string, known []string) string {
	b := fmt.Sprintf("**%s** (%s%s): %s\n", label, step.By, step.State,
		mdsafe.Prose(x.Title.String(), known...)) + edit
	if step.Remark != "" {
		b += "\n" + mdsafe.Prose(step.Remark, step.Whole) + "\n"
	}
	if len(step.Commands) > 0 {
		if step.Before != "" {
			b += "\n" + step.Before + ":\n"
		}
		b += "\n" + mdsafe.Fence("", mdsafe.Cut(strings.Join(step.Commands, "\n"), 2000))
	}
	if len(x.Cost) > 0 {
		b += "\nCosts: " + mdsafe.Prose(strings.Join(x.Cost, "; "), known...) + "\n"
	}
	return b
}

// RunsMarkdown returns the commands to run as a numbered list; "" without any.
func RunsMarkdown(s *Steps) string {
	if len(s.Runs()) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + mdsafe.Prose(s.RunsTitle()) + "\n\n")
	for i, x := range s.Runs() {
		fence := mdsafe.Fence("", mdsafe.Cut(mdsafe.Lines(strings.Join(x.Commands, "\n")), 2000))
		if about := s.About(i); about != "" {
			number := fmt.Sprintf("%d. ", i+1)
			fence = number + indent(mdsafe.Prose(about)+"\n\n"+fence, len(number)) + "\n"
		}
		b.WriteString(fence)
	}
	if other := s.Other(); other != "" {
		b.WriteString("\n" + other + "\n")
	}
	return b.String()
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
// other, the oldest and the newest that the requirements allow: "numpy==1.19.1 (oldest allowed) or
// ==2.5.5 (newest allowed)".
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
			out = append(out, name+"=="+v[0]+" (oldest allowed) or =="+v[1]+" (newest allowed)")
		default:
			out = append(out, name+"=="+strings.Join(v, " or =="))
		}
	}
	return out
}

// and joins words: "1, 2 and 3".
func and(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
