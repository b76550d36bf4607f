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

// Limits of the causes in the summary comment, and of those that are shown with all that can be
// done about them; the check run has the others.
const (
	stickyCauses = 8
	stickyItems  = 3
)

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
	if advice := advice(in, v); len(v.fresh) > 0 && advice != "" {
		known := ""
		if in.BaseName != "" {
			known = "New: " + mdsafe.Code(base(in), 60) + " does not have " +
				analyzer.Plural(len(v.fresh), "it", "them") + "."
		}
		head += "\n" + strings.Join(causetext.NonEmpty(
			append([]string{"**" + mdsafe.Prose(advice) + "**", known}, asked(in)...)...), " ") + "\n"
	}
	for _, s := range in.Report.Refused {
		head += "\n" + mdsafe.Prose(s) + ".\n"
	}
	if len(v.fresh) == 0 && !unchecked(in, v) {
		head += "\n" + noCauses(v) + "\n"
	}
	body := causetext.RunsMarkdown(v.steps) + causeList(in, v)
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
		"\ncompat checks again after each push. Commands: %s, %s, %s.\n",
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

// causeList lists the new causes: what is wrong, where it fails, who has to act, and the fixes.
func causeList(in Input, v view) string {
	var b strings.Builder
	shown := min(len(v.fresh), stickyCauses)
	for n, i := range v.fresh[:shown] {
		if n < stickyItems {
			b.WriteString("\n" + v.item(in, i))
		} else {
			fmt.Fprintf(&b, "\n%d. %s\n", i+1, v.line(i))
		}
	}
	return b.String() + leftOut(in, len(v.fresh)-shown)
}
