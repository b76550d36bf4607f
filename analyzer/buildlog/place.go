package buildlog

import (
	"strings"
	"time"
)

// Place is where a line stands in a log of GitHub's, as far as its address needs it: a job's log is
// one text, and a link counts the lines of a step.
type Place struct {
	Time time.Time // its time stamp; zero: it has none
	Ends int       // "##[endgroup]" lines before it, which GitHub shows no line for
}

// Section is the head of what a step printed: "##[group]Run make". Steps that run steps of their
// own have several.
type Section struct {
	Place
	Line  int
	Title string // "Run make"
}

// maxSections bounds what is kept of a log that is made of nothing else.
const maxSections = 2000

// place is that of the line at hand.
func (s *reader) place() Place {
	p := Place{Ends: s.ends}
	if text, _, ok := strings.Cut(string(s.stamp), "Z"); ok {
		text = text[strings.LastIndexAny(text, "\t\ufeff")+1:]
		if i := strings.Index(text, "T"); i >= 10 {
			if at, err := time.Parse("2006-01-02T15:04:05", text[i-10:]); err == nil {
				p.Time = at
			}
		}
	}
	return p
}

// section notes a head.
func (s *reader) section(n int, text string) {
	if len(s.sections) < maxSections {
		s.sections = append(
			s.sections,
			Section{Place: s.place(), Line: n, Title: bound(strings.TrimPrefix(text, "##[group]"))},
		)
	}
}
