package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// maxMarkdown keeps a report within what a job may write to its step summary: 1 MiB
// (docs.github.com, "Workflow commands", limits).
const maxMarkdown = 1<<20 - 4<<10

// maxListed is how many names are shown of a list.
const maxListed = 200

// Markdown writes the report for a job summary or a comment. Names are code spans; a report over
// one mebibyte is cut between two findings, and says how many are missing.
func Markdown(w io.Writer, r *analyzer.Report) error {
	fresh, existing := groups(r)
	blocks := []string{
		fmt.Sprintf("## compat: %s\n\n%s\n", r.Verdict, mdsafe.Prose(Summary(r)+".")),
	}
	if len(r.Targets) > 0 {
		b := "\n"
		for _, t := range r.Targets {
			b += "- " + mdsafe.Code(t.Name, 200) + ": " + string(t.Verdict)
			if len(t.With) > 0 {
				b += ", beside " + mdsafe.Codes(t.With, 20, 100)
			}
			b += "\n"
		}
		blocks = append(blocks, b)
	}
	for _, g := range fresh {
		blocks = append(blocks, markdownGroup(g))
	}
	if len(existing) > 0 {
		blocks = append(blocks, "\n### Existing, in the base too\n")
		for _, g := range existing {
			blocks = append(blocks, markdownGroup(g))
		}
	}
	line := func(heading string, n int, each func(i int) string) {
		if n == 0 {
			return
		}
		blocks = append(blocks, "\n### "+heading+"\n\n")
		for i := range n {
			blocks = append(blocks, "- "+each(i)+"\n")
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
	unread := func(us []analyzer.Unread) func(int) string {
		return func(i int) string {
			return mdsafe.Code(us[i].Path, 300) + ": " + mdsafe.Prose(us[i].Reason, us[i].Path)
		}
	}
	line("Could not be read", len(r.Unread), unread(r.Unread))
	line("Not judged", len(r.Skipped), unread(r.Skipped))
	line("Notes", len(r.Notes), func(i int) string { return mdsafe.Prose(r.Notes[i]) })
	_, err := io.WriteString(w, mdsafe.Join(blocks, maxMarkdown, func(left int) string {
		return fmt.Sprintf(
			"\nThe report is too long for a page of Markdown; %s of it are left out. The JSON report has all.\n",
			plural(left, "part"),
		)
	}))
	return err
}

func markdownGroup(g *group) string {
	var b bytes.Buffer
	known := append(
		[]string{
			g.Object,
			g.Symbol,
			g.Demangled,
			g.Version,
			g.Library,
			g.Artifact,
			g.Target,
			g.Package,
		},
		g.Chain...)
	if g.ProvidedBy != nil {
		known = append(known, *g.ProvidedBy)
	}
	fmt.Fprintf(
		&b,
		"\n### %s: %s in %s\n\n%s\n\n",
		g.Severity,
		mdsafe.Code(g.Rule, 100),
		mdsafe.Code(g.Object, 300),
		mdsafe.Prose(g.Message, known...),
	)
	field := func(name string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", name, mdsafe.Codes(values, maxListed, 300))
		}
	}
	field("symbols", g.symbols)
	field("version", one(g.Version))
	field("library", one(g.Library))
	field("target", g.targets)
	field("in", g.artifacts)
	if len(g.Chain) > 1 {
		field("chain", g.Chain)
	}
	for _, x := range g.fixes {
		mark := "not verified"
		if x.Verified {
			mark = "verified"
		}
		fmt.Fprintf(
			&b,
			"\n**Fix** (%s): %s\n",
			mark,
			mdsafe.Prose(x.Title, append(known, x.Requirement)...),
		)
		if x.Command != "" {
			b.WriteString("\n" + mdsafe.Fence("", mdsafe.Cut(x.Command, 2000)))
		}
		if len(x.Cost) > 0 {
			b.WriteString("\n")
		}
		for _, c := range x.Cost {
			fmt.Fprintf(&b, "- costs: %s\n", mdsafe.Prose(c, append(known, x.Requirement)...))
		}
	}
	return b.String()
}

func one(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
