package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// maxMarkdown is just below the limit of a job's step summary, 1 MiB (docs.github.com, "Workflow
// commands", limits).
const maxMarkdown = 1<<20 - 4<<10

// maxListed limits the entries of a list.
const maxListed = 200

// Markdown writes the report for a job summary or a comment, with a section for each cause and
// names in code spans. lines may be nil. Sections beyond 1 MiB are counted.
func Markdown(w io.Writer, r *analyzer.Report, lines Lines) error {
	blocks := []string{"## compat: " + string(r.Verdict) + "\n\n" + mdsafe.Prose(Summary(r)) + "\n" +
		causetext.RowsTable(causetext.Rows(r))}
	quote := func(p string) string { return mdsafe.Code(p, 300) }
	o := causetext.SectionOptions{
		Heading: "###", Rules: func(id string) string { return ruleURL + id + ".md" },
		Base: r.Base, Steps: causetext.StepsOf(r, nil, true),
		Edits: func(cause int) []causetext.Edit { return lines.edits(r, cause) },
	}
	if o.Base != "" {
		o.Base = mdsafe.Prose(o.Base)
	} else if len(r.Causes) > 0 {
		blocks = append(blocks, "\n"+causetext.NoBase+"\n")
	}
	blocks = append(blocks, causetext.RunsMarkdown(o.Steps))
	for i := range r.Causes {
		blocks = append(blocks, "\n"+causetext.Section(r, i, o)+
			"\nFound "+causetext.In(r, &r.Causes[i], quote)+".\n")
	}
	if lines := o.Steps.Rest(); len(lines) > 0 {
		blocks = append(blocks, "\nThis command applies the fixes that change files:\n\n"+
			mdsafe.Fence("", strings.Join(lines, "\n")))
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
		s := mdsafe.Code(subject(&a.Finding), 200) + " in " + mdsafe.Code(a.Finding.Object, 200) + " (" +
			mdsafe.Code(a.Finding.Rule, 100) + "), accepted"
		if a.By != "" {
			s += " by " + mdsafe.Code(a.By, 100)
		}
		if a.Until != "" {
			s += " until " + mdsafe.Code(a.Until, 20)
		}
		return s + ", because " + mdsafe.Code(a.Because, 400)
	})
	file := func(us []analyzer.Unread) func(int) string {
		return func(i int) string {
			return mdsafe.Code(us[i].Path, 300) + ": " + mdsafe.Prose(us[i].Reason, us[i].Path)
		}
	}
	line("Could not be checked", len(r.Unread), file(r.Unread))
	line("Not checked", len(r.Skipped), file(r.Skipped))
	notes := r.OtherNotes() // the summary has the others
	line("Notes", len(notes), func(i int) string { return mdsafe.Prose(notes[i]) })
	if len(r.Causes) > 0 {
		blocks = append(blocks,
			"\n"+causetext.KeyOf(r)+" [How to read a report]("+causetext.ReadURL+").\n")
	}
	_, err := io.WriteString(w, mdsafe.Join(blocks, maxMarkdown, func(left int) string {
		return fmt.Sprintf(
			"\nThe report is too long for Markdown: %s left out. The JSON report is complete.\n",
			analyzer.Count(left, "section"),
		)
	}))
	return err
}

func markdownTargets(r *analyzer.Report) string {
	if len(r.Targets) == 0 {
		return ""
	}
	b := "\n### Checked on\n\n"
	lines := causetext.CheckedOn(r)
	for i, x := range lines {
		if i == maxListed {
			return b + fmt.Sprintf("- and %d more\n", len(lines)-i)
		}
		b += "- " + x.Markdown(20) + "\n"
	}
	return b
}

// Summary returns a summary of the report in one or two sentences.
func Summary(r *analyzer.Report) string {
	var parts []string
	if len(r.Causes) > 0 {
		parts = append(parts, causetext.Ship(r), causetext.Counts(r), causetext.PlanSentence(r))
	}
	parts = causetext.NonEmpty(append(parts, refused(r))...)
	if n := analyzer.Files(r.Unread); n > 0 && len(r.Artifacts) == 0 {
		parts = append(parts, "Nothing could be checked.")
	} else if n > 0 {
		parts = append(parts, "Not everything could be checked.")
	}
	if except := ignored(r); except != "" {
		parts = append(parts, strings.ToUpper(except[:1])+except[1:]+".")
	}
	judged, ok := r.Judged()
	switch names := platformNames(r); {
	case len(parts) > 0:
	case objects(r) == 0:
		parts = append(parts, "It contains nothing that compat can check.")
	case !ok:
		parts = append(parts, "Not everything could be checked.")
	default:
		found := judged.FoundFor()
		if len(names) > 0 {
			found += " on " + analyzer.List(names, 3, len(names), "platform")
		}
		unsure := mdsafe.Visible(r.Unsure())
		if except := judged.Except(); except != "" && unsure == "" {
			found += "; " + mdsafe.Visible(except)
		}
		parts = append(parts, found+".", unsure)
	}
	return strings.Join(causetext.NonEmpty(parts...), " ")
}
