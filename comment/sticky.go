package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/internal/mdsafe"
)

// Marker finds the summary comment again. It is looked for only in comments that the App itself
// wrote.
const Marker = "<!-- compat:report -->"

// stickyGroups is how many groups the summary comment tells whole; the check run has the others.
const stickyGroups = 8

const nothingFound = "nothing found"

func stickyHead(in Input, heading string) string {
	s := Marker + "\n### compat: " + heading + "\n"
	if in.SHA != "" &&
		heading != nothingFound { // which says the same of every commit, and is not said again

		s += "\nCommit " + mdsafe.Code(in.SHA[:min(len(in.SHA), 12)], 0) + ".\n"
	}
	return s
}

// sticky is the body of the summary comment, as it should now be.
func sticky(in Input, s sorted, groups []*group) string {
	heading := nothingFound
	switch {
	case len(s.fresh) > 0:
		heading = counts(s.fresh)
	case unchecked(in, s):
		heading = "not everything could be checked"
	case len(s.existing) > 0:
		heading = "nothing new"
	}
	head := stickyHead(in, heading)
	if len(groups) == 0 && !unchecked(in, s) {
		head += "\nThe findings that were reported here are fixed.\n"
	}
	var blocks []string
	said := map[string]bool{}
	for _, g := range groups[:min(len(groups), stickyGroups)] {
		blocks = append(blocks, block(in, g, 1500, said))
	}
	rest := len(groups) - len(blocks)
	body := mdsafe.Join(
		blocks,
		maxBody/2,
		func(left int) string { return leftOut(in, groups, left+rest) },
	)
	if len(blocks) > 0 && rest > 0 && !strings.Contains(body[max(0, len(body)-200):], "more") {
		body += leftOut(in, groups, rest)
	}
	tail := unreadList(
		s.unread,
	) + existingList(
		in,
		s,
		maxBody/16,
	) + acceptedList(
		s.accepted,
	) + noteList(
		in.Report.Notes,
	)
	if heading == nothingFound { // the check has the link, and this text stays as it is
		in.DetailsURL = ""
	}
	foot := link(
		in,
		"\n",
		"The full report",
	) + fmt.Sprintf(
		"\nCommands: %s, %s, %s.\n",
		mdsafe.Code("/compat recheck", 0),
		mdsafe.Code("/compat explain SYMBOL", 0),
		mdsafe.Code("/compat help", 0),
	)
	return mdsafe.Join([]string{head + body, tail, foot}, maxBody, nil)
}
