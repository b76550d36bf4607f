package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// maxMarkdown keeps a report within what a job may write to its step summary: 1 MiB
// (docs.github.com, "Workflow commands", limits).
const maxMarkdown = 1<<20 - 4<<10

// maxListed is how many entries of a list are shown.
const maxListed = 200

// Markdown writes the report for a job summary or a comment: a section for each cause. Names are code
// spans. What does not fit one mebibyte is counted.
func Markdown(w io.Writer, r *analyzer.Report) error {
	blocks := []string{"## compat: " + string(r.Verdict) + "\n\n" + mdsafe.Prose(Summary(r)) + "\n"}
	for i := range r.Causes {
		blocks = append(blocks, "\n"+MarkdownCause(r, i, "###"))
	}
	blocks = append(blocks, markdownTargets(r))
	line := func(heading string, n int, each func(i int) string) {
		if n == 0 {
			return
		}
		blocks = append(blocks, "\n### "+heading+"\n\n")
		for i := range min(n, maxListed) {
			blocks = append(blocks, "- "+each(i)+"\n")
		}
		if n > maxListed {
			blocks = append(blocks, fmt.Sprintf("- and %d more\n", n-maxListed))
		}
	}
	line("Accepted", len(r.Accepted), func(i int) string {
		a := r.Accepted[i]
		return fmt.Sprintf(
			"%s in %s because %s",
			mdsafe.Code(subject(&a.Finding), 200),
			mdsafe.Code(a.Finding.Object, 200),
			mdsafe.Code(a.Because, 400),
		)
	})
	file := func(us []analyzer.Unread) func(int) string {
		return func(i int) string {
			return mdsafe.Code(us[i].Path, 300) + ": " + mdsafe.Prose(us[i].Reason, us[i].Path)
		}
	}
	line("Could not be read", len(r.Unread), file(r.Unread))
	line("Not checked", len(r.Skipped), file(r.Skipped))
	line("Notes", len(r.Notes), func(i int) string { return mdsafe.Prose(r.Notes[i]) })
	_, err := io.WriteString(w, mdsafe.Join(blocks, maxMarkdown, func(left int) string {
		return fmt.Sprintf(
			"\nThe report is too long for a page of Markdown: %s left out. The JSON report has all.\n",
			plural(left, "section"),
		)
	}))
	return err
}

func markdownTargets(r *analyzer.Report) string {
	if len(r.Targets) == 0 {
		return ""
	}
	b := "\n### Checked on\n\n"
	for i, t := range r.Targets {
		if i == maxListed {
			return b + fmt.Sprintf("- and %d more\n", len(r.Targets)-i)
		}
		b += "- " + mdsafe.Code(t.Name, 200) + ": " + string(t.Verdict)
		if len(t.With) > 0 {
			b += ", with " + mdsafe.Codes(t.With, 20, 100)
		}
		b += "\n"
	}
	return b
}

// maxShown bounds one name, in characters.
const maxShown = 300

// MarkdownCause is the section of a cause under a heading of some level ("###"): its title, who has
// to act, the evidence as a table, the platforms and the fixes.
func MarkdownCause(r *analyzer.Report, i int, heading string) string {
	c := &r.Causes[i]
	known := CauseNames(r, c)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d. %s: %s\n\n", heading, i+1, c.Severity, mdsafe.Prose(c.Title, known...))
	b.WriteString(mdsafe.Prose(c.Action, known...))
	if !c.New {
		b.WriteString(" It is already in the base.")
	}
	b.WriteString("\n\n" + evidenceTable(c))
	if len(c.Fails) > 0 {
		fmt.Fprintf(&b, "\nFails on %s.", strings.Join(c.Fails, ", "))
		if len(c.Works) > 0 {
			fmt.Fprintf(&b, " Works on %s.", strings.Join(c.Works, ", "))
		}
		b.WriteString("\n")
	}
	for j, x := range c.Fixes {
		b.WriteString("\n" + markdownFix(c, j, x, known))
	}
	if len(c.Fixes) == 0 {
		b.WriteString("\nNo fix is known.\n")
	}
	fmt.Fprintf(&b, "\nRule: %s. %s in %s.\n", mdsafe.Codes(c.Rules, 0, 100),
		plural(len(c.Findings), "finding"), plural(c.Objects, "object"))
	return b.String()
}

// evidenceTable is the evidence of a cause; what every row leaves empty has no column.
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
			return mdsafe.Codes(nonEmpty(e.Version), 0, maxShown)
		}},
		{title: "library", cell: func(e analyzer.Evidence) string {
			return mdsafe.Codes(nonEmpty(e.Library), 0, maxShown)
		}},
		{title: "symbols", cell: func(e analyzer.Evidence) string {
			return more(mdsafe.Codes(e.Symbols, 0, maxShown), e.MoreSymbols)
		}},
		{title: "in", cell: func(e analyzer.Evidence) string {
			return more(mdsafe.Codes(e.Objects, 0, maxShown), e.MoreObjects)
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
		fmt.Fprintf(&b, "\nand %s.\n", plural(n, "more row"))
	}
	return b.String()
}

func more(s string, n int) string {
	if n == 0 {
		return s
	}
	return fmt.Sprintf("%s +%d", s, n)
}

func nonEmpty(ss ...string) (out []string) {
	for _, s := range ss {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func markdownFix(c *analyzer.Cause, i int, x analyzer.CauseFix, known []string) string {
	label := "Fix"
	switch {
	case i > 0 && c.Together:
		label = "And"
	case i > 0:
		label = "Or"
	}
	b := fmt.Sprintf("**%s** (%s): %s\n", label, FixState(c, x), mdsafe.Prose(x.Title, known...))
	if x.Command != "" {
		b += "\n" + mdsafe.Fence("", mdsafe.Cut(x.Command, 2000))
	}
	if len(x.Cost) > 0 {
		b += "\nCosts: " + mdsafe.Prose(strings.Join(x.Cost, "; "), known...) + "\n"
	}
	return b
}

// FixState says whether a fix was tried, and what it clears where that is not all.
func FixState(c *analyzer.Cause, x analyzer.CauseFix) string {
	s := "not tried"
	if x.Verified {
		s = "tried"
	}
	if x.Clears < len(c.Findings) {
		return fmt.Sprintf("%s, clears %d of %s", s, x.Clears, plural(len(c.Findings), "finding"))
	}
	if x.Verified {
		s += ", clears all of it"
	}
	return s
}

// CauseNames are the names from outside that the sentences of a cause contain.
func CauseNames(r *analyzer.Report, c *analyzer.Cause) []string {
	f := &r.Findings[c.Findings[0]]
	ns := nonEmpty(f.Object, f.Symbol, f.Demangled, f.Version, f.Library, f.Package, f.Target)
	for _, e := range c.Evidence {
		ns = append(append(ns, nonEmpty(e.Version, e.Library)...), e.Symbols...)
	}
	for _, x := range c.Fixes {
		ns = append(ns, nonEmpty(x.Requirement)...)
	}
	return ns
}

// Summary is the report in one or two sentences.
func Summary(r *analyzer.Report) string {
	var parts []string
	if len(r.Causes) > 0 {
		parts = append(parts, causeCounts(r), planSentence(r))
	}
	if n := analyzer.Files(r.Unread); n > 0 {
		parts = append(parts, plural(n, "file")+" could not be read.")
	}
	if n := len(r.Accepted); n > 0 {
		parts = append(parts, plural(n, "finding")+" accepted.")
	}
	switch names := platformNames(r); {
	case len(parts) > 0:
	case objects(r) == 0:
		parts = append(parts, "Nothing in it can be checked.")
	case len(names) == 0:
		parts = append(parts, "Every import of "+plural(objects(r), "object")+" resolves.")
	default:
		parts = append(parts, fmt.Sprintf("Every import of %s resolves on %s.",
			plural(objects(r), "object"), list(names, 3)))
	}
	return strings.Join(nonEmpty(parts...), " ")
}
