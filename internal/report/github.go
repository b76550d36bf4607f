package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// GitHub writes the report as workflow commands, from which GitHub Actions makes annotations: one
// for each new cause, on the line that causes it, one for all causes that the base has too, and one
// for each file that could not be read (docs.github.com, "Workflow commands for GitHub Actions").
// Nothing of an artifact can begin a command, because line feeds are encoded. A report without any
// of them is one command with its summary, an error if nothing could be checked.
func GitHub(w io.Writer, r *analyzer.Report, lines Lines) error {
	out, written := bufio.NewWriter(w), false
	add := func(level, properties, message string) {
		command(out, level, properties, message)
		written = true
	}
	var existing []string
	for i := range r.Causes {
		c := &r.Causes[i]
		if !c.New {
			existing = append(existing, mdsafe.Visible(c.Title))
			continue
		}
		level := "notice"
		switch c.Severity {
		case analyzer.Error:
			level = "error"
		case analyzer.Warning:
			level = "warning"
		}
		place := ""
		if file, line, ok := lines.place(r, i); ok {
			place = fmt.Sprintf("file=%s,line=%d,", property(file), line)
		}
		add(level, place+"title="+property(mdsafe.Visible(c.Title)),
			"Found "+causetext.In(r, c, mdsafe.Visible)+".\n"+advice(r, i, lines.edits(r, i)))
	}
	if len(existing) > 0 {
		add("notice", "title="+property(analyzer.Count(len(existing), "cause")+
			", not new: the base has the same"), strings.Join(existing, "\n"))
	}
	for i := range r.Findings { // other notes are not about a difference to the base
		f := &r.Findings[i]
		if f.Rule == analyzer.RuleSupportRemoved && f.Severity == analyzer.Note {
			add("notice", "title="+property(mdsafe.Visible(f.Object+" has no wheel for "+f.Version)),
				mdsafe.Visible(f.Message))
		}
	}
	for _, u := range r.Unread {
		add("error", "title=Not checked",
			mdsafe.Visible(u.Path)+": "+mdsafe.Visible(u.Reason))
	}
	if !written {
		level := "notice"
		if r.Outcome == analyzer.OutcomeError {
			level = "error"
		}
		command(out, level, "title=compat", Summary(r))
	}
	return out.Flush()
}

func command(out *bufio.Writer, name, properties, message string) {
	// a failed write is reported by Flush
	_, _ = out.WriteString("::" + name + " " + properties + "::" + data.Replace(message) + "\n")
}

// data encodes a message and property a property as the runner decodes them.
var (
	data       = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	properties = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func property(s string) string { return properties.Replace(s) }
