package buildlog

import (
	"strings"
	"time"
)

// Place is the position of a line in a GitHub log. The log of a job is one text, but links
// count the lines of each step, and Place has what is needed to convert.
type Place struct {
	Time time.Time // time stamp; zero if there is none
	Ends int       // number of "##[endgroup]" lines before it, which GitHub does not show
}

// Section is the start of a step's output: "##[group]Run make". A step that runs other steps
// has several.
type Section struct {
	Place
	Line  int
	Title string // "Run make"
}

// maxSections limits the sections of one log.
const maxSections = 2000

// place returns the position of the current line.
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

// job returns the job of the current line: "gh run view --log" writes it, the step and the time,
// with tabs between them. It is "" in other logs.
func (s *reader) job() string {
	job, rest, ok := strings.Cut(string(s.stamp), "\t")
	if !ok || !strings.Contains(rest, "\t") {
		return ""
	}
	return bound(clean([]byte(job)))
}

// section adds a section.
func (s *reader) section(n int, text string) {
	if len(s.sections) < maxSections {
		s.sections = append(
			s.sections,
			Section{Place: s.place(), Line: n, Title: bound(strings.TrimPrefix(text, "##[group]"))},
		)
	}
}
