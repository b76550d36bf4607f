package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Marker identifies the summary comment. Only comments of the App itself are searched for it.
const Marker = "<!-- compat:report -->"

// stickyCauses limits the causes in the summary comment; the check run has the others.
const stickyCauses = 8

const nothingFound = "nothing found"

// stickyHead returns the start of a summary comment. What is quiet applies to every commit, so that
// the comment is not updated.
func stickyHead(in Input, heading string, quiet bool) string {
	s := Marker + "\n### compat: " + heading + "\n"
	if in.SHA != "" && !quiet {
		s += "\nCommit " + mdsafe.Code(in.SHA[:min(len(in.SHA), 12)], 0) + ".\n"
	}
	return s
}

// sticky returns the body of the summary comment: the verdict, and a table of the new causes.
func sticky(in Input, v view) string {
	heading, quiet := nothingFound, false
	switch {
	case len(v.fresh) > 0:
		heading = v.count(v.fresh)
		if name := causetext.About(in.Report); name != "" {
			heading += " in " + mdsafe.Code(name, 100)
		}
	case unchecked(in, v):
		heading = "not everything could be checked"
	case len(v.existing) > 0:
		heading = "nothing new"
	case len(v.accepted) > 0:
		heading, quiet = analyzer.Count(len(v.accepted), "finding")+" accepted, nothing else found", true
	default:
		quiet = true
	}
	head := stickyHead(in, heading, quiet)
	if ship := causetext.Ship(in.Report); len(v.fresh) > 0 && ship != "" {
		head += "\n**" + mdsafe.Prose(ship) + "** " + strings.Join(asked(in), " ") + "\n"
	}
	for _, s := range in.Report.Refused {
		head += "\n" + mdsafe.Prose(s) + ".\n"
	}
	if len(v.fresh) == 0 && !unchecked(in, v) {
		head += "\n" + noCauses(v) + "\n"
	}
	body := causetext.RunsMarkdown(v.steps) + causeTable(in, v)
	if !quiet {
		body = causetext.RowsTable(causetext.Rows(in.Report)) + body
	}
	tail := missingList(in.Missing) + unreadList(v.unread) + existingList(in, v, maxBody/16) +
		acceptedList(v.accepted) + acceptedMissingList(in.AcceptedMissing) +
		noteList(in.Report.OtherNotes())
	if quiet { // so that the comment is not updated; the check run has the link
		in.DetailsURL = ""
	}
	foot := link(in, "\n", "The full report") + fmt.Sprintf(
		"\nCommands: %s, %s, %s.\n",
		mdsafe.Code("/compat recheck", 0),
		mdsafe.Code("/compat explain SYMBOL", 0),
		mdsafe.Code("/compat help", 0),
	)
	return mdsafe.Join([]string{head + body, tail, foot}, maxBody, nil)
}

// noCauses returns the sentence for a report without new causes.
func noCauses(v view) string {
	if n := len(v.accepted); n > 0 {
		return "No open findings; " + analyzer.Count(n, "finding") + " accepted."
	}
	return "No open findings."
}

// causeTable returns a table of the new causes: what is wrong, who has to act, and the first fix.
func causeTable(in Input, v view) string {
	if len(v.fresh) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| | what is wrong | fix |\n|---|---|---|\n")
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	shown := min(len(v.fresh), stickyCauses)
	for _, i := range v.fresh[:shown] {
		c := v.cause(i)
		known := causetext.Names(v.report, c)
		fixed := "none known"
		if len(c.Fixes) > 0 {
			x := c.Fixes[0]
			fixed = mdsafe.Prose(x.Title.String(), known...) + v.inline(i) +
				" (" + v.by(i) + causetext.FixState(c, x) + ")"
		}
		fmt.Fprintf(&b, "| **%s** | %s. %s | %s |\n", c.Severity,
			cell(mdsafe.Prose(c.Title, known...)),
			cell(mdsafe.Prose(causetext.Task(v.report, c), known...)),
			cell(fixed))
	}
	return b.String() + leftOut(in, len(v.fresh)-shown)
}
