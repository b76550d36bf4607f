package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/internal/mdsafe"
)

// Standing is what `/compat status` tells of a pull request.
type Standing struct {
	SHA        string // the head of the last verdict; "" when there is none yet
	Conclusion string
	Title      string
	DetailsURL string
	Doing      string // what is under way or waited for, a clause; "" nothing
	Accepted   []Taken
}

// Taken is something that was accepted by a command.
type Taken struct {
	What, Because, By, On string
	Until                 string // YYYY-MM-DD; "" for ever
}

// Status tells the verdict, what is under way, and what was accepted.
func Status(s Standing) string {
	var b strings.Builder
	if s.SHA == "" {
		b.WriteString("This pull request has not been checked yet.\n")
	} else {
		fmt.Fprintf(&b, "The result for %s is **%s**: %s\n", mdsafe.Code(s.SHA[:min(len(s.SHA), 12)], 0),
			mdsafe.Prose(s.Conclusion), mdsafe.Prose(s.Title))
		b.WriteString(link(Input{DetailsURL: s.DetailsURL}, "\n", "The full report"))
	}
	if s.Doing != "" {
		fmt.Fprintf(&b, "\nIn progress: %s.\n", mdsafe.Prose(strings.TrimRight(s.Doing, ".")))
	}
	if len(s.Accepted) > 0 {
		b.WriteString("\nAccepted here:\n\n")
	}
	for _, a := range s.Accepted {
		until := ""
		if a.Until != "" {
			until = ", until " + mdsafe.Prose(a.Until)
		}
		fmt.Fprintf(
			&b,
			"- %s because %s (%s, %s%s)\n",
			mdsafe.Code(a.What, 200),
			mdsafe.Prose(a.Because),
			mdsafe.Code(a.By, 60),
			mdsafe.Prose(a.On),
			until,
		)
	}
	return b.String()
}
