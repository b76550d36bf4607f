package comment

import (
	"fmt"
	neturl "net/url"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Logs are the errors in the logs of a head's failed jobs; nil = no workflow run has failed.
type Logs struct {
	Lines []LogLine // in the order of the logs, each error once
	Jobs  []LogJob  // failed jobs whose logs were read
	More  int       // number of other failed jobs
}

// LogLine is a diagnosis with its line of the log.
type LogLine struct {
	buildlog.Diagnosis
	Job  string // name of the job
	URL  string // address of the line, or of the job if the line has none; "" = unknown
	Also int    // number of other jobs with the same error
}

// LogJob is a failed job.
type LogJob struct {
	Name, URL string
	Gone      bool   // GitHub has no log
	Limit     string // why the log was not read completely; "" = it was
}

// Limits of the section about logs; the rest is counted.
const (
	logGroups  = 20
	logSymbols = 12
	logFixes   = 3
	logBytes   = maxOutput / 4
	logJobs    = 10
)

// logSection returns the section about the logs of failed jobs; "" if none failed.
func logSection(l *Logs) string {
	if l == nil {
		return ""
	}
	head := "\n### The failed build\n"
	if len(l.Lines) == 0 {
		head += "\nThe workflow failed, and its log contains no linker, loader or runtime error that " +
			"compat recognizes.\n"
	}
	groups := l.Groups()
	var blocks []string
	for _, g := range groups[:min(len(groups), logGroups)] {
		blocks = append(blocks, logBlock(g))
	}
	body := mdsafe.Join(blocks, logBytes, func(left int) string {
		if left += len(groups) - len(blocks); left == 0 {
			return ""
		}
		return fmt.Sprintf("\nand %s more in the log.\n", analyzer.Count(left, "failure"))
	})
	if rest := len(groups) - len(blocks); rest > 0 && !strings.Contains(body, " more in the log.") {
		body += fmt.Sprintf("\nand %s more in the log.\n", analyzer.Count(rest, "failure"))
	}
	return head + body + logNotes(l)
}

// LogNote is a fact about the log of a failed job. Without Job it is about several.
type LogNote struct {
	Job, URL string
	Text     string // one line
}

// Notes returns notes about failed jobs without a recognized error.
func (l *Logs) Notes() (notes []LogNote) {
	for _, j := range l.Jobs {
		said := slices.ContainsFunc(l.Lines, func(x LogLine) bool { return x.Job == j.Name })
		note := LogNote{Job: j.Name, URL: j.URL}
		switch {
		case j.Gone:
			note.Text = "its log has expired on GitHub"
		case j.Limit != "":
			note.Text = j.Limit
		case !said && len(l.Lines) == 0:
			note.Text = "failed"
		default:
			continue
		}
		notes = append(notes, note)
	}
	if n := len(notes) - logJobs; n > 0 {
		notes = append(notes[:logJobs], LogNote{Text: "and " + analyzer.Count(n, "job") + " more"})
	}
	if l.More > 0 {
		notes = append(notes,
			LogNote{Text: analyzer.Count(l.More, "job") + " more failed; their logs were not read"})
	}
	return notes
}

// logNotes returns the notes as a list.
func logNotes(l *Logs) string {
	text := ""
	for _, n := range l.Notes() {
		text += "- "
		if n.Job != "" {
			text += toLog(mdsafe.Code(n.Job, 100), n.URL) + ": "
		}
		text += mdsafe.Prose(n.Text) + "\n"
	}
	if text == "" {
		return ""
	}
	return "\n" + text
}

// Groups returns the errors in groups with the same class, object, library and result of the
// analysis, in the order of the logs.
func (l *Logs) Groups() (out [][]LogLine) {
	at := map[string]int{}
	for _, l := range l.Lines {
		key := strings.Join(
			[]string{l.Class, baseName(l.Object), baseName(l.Library), l.Job, verdictOf(l)},
			"\x00",
		)
		if l.Symbol == "" {
			key += "\x00" + l.Version
		}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key], out = i, append(out, nil)
		}
		out[i] = append(out[i], l)
	}
	return out
}

func verdictOf(l LogLine) string {
	if l.Analysis == nil {
		return ""
	}
	return l.Analysis.Verdict
}

// logBlock returns the paragraph of a group.
func logBlock(g []LogLine) string {
	first := g[0]
	known := logNames(first)
	var b strings.Builder
	fmt.Fprintf(&b, "\n#### %s\n\n", mdsafe.Prose(first.Message, known...))
	fmt.Fprintf(&b, "- Source: %s", toLog(fmt.Sprintf("line %d", first.Line), first.URL))
	for _, l := range g[1:min(len(g), logSymbols)] {
		fmt.Fprintf(&b, ", %s", toLog(fmt.Sprint(l.Line), l.URL))
	}
	if n := len(g) - logSymbols; n > 0 {
		fmt.Fprintf(&b, " and %s more", analyzer.Count(n, "line"))
	}
	fmt.Fprintf(&b, " of the log of %s", mdsafe.Code(first.Job, 100))
	if first.Also > 0 {
		fmt.Fprintf(&b, ", and %s more", analyzer.Count(first.Also, "job"))
	}
	b.WriteString("\n")
	if symbols := logSymbolsOf(g); len(symbols) > 0 {
		fmt.Fprintf(
			&b,
			"- %s: %s\n",
			analyzer.Count(len(symbols), "symbol"),
			mdsafe.Codes(symbols, logSymbols, 200),
		)
	}
	if first.Cause != buildlog.CauseUnknown {
		fmt.Fprintf(&b, "- Where to fix: the %s (%s)\n", first.Cause, mdsafe.Code(first.Class, 0))
	}
	if a := first.Analysis; a != nil {
		fmt.Fprintf(
			&b,
			"- Compared with the artifacts: **%s**. %s\n",
			a.Verdict,
			mdsafe.Prose(mdsafe.Cut(a.Why, 600), append(known, a.Object, a.Library)...),
		)
	}
	for _, f := range first.Fixes[:min(len(first.Fixes), logFixes)] {
		mark := ""
		if f.Verified {
			mark = ", verified"
		}
		fmt.Fprintf(
			&b,
			"\n**Fix** (%s%s): %s\n",
			mdsafe.Code(string(f.Kind), 40),
			mark,
			mdsafe.Prose(mdsafe.Cut(f.Title.String(), 400), known...),
		)
		if f.Command != "" {
			b.WriteString("\n" + mdsafe.Fence("", mdsafe.Cut(string(f.Command), 1000)))
		}
	}
	return b.String()
}

func logSymbolsOf(g []LogLine) (out []string) {
	for _, l := range g {
		if l.Symbol == "" {
			continue
		}
		name := l.Symbol
		if l.Version != "" {
			name += "@" + l.Version
		}
		out = append(out, name)
	}
	return out
}

// logNames returns the untrusted names in the sentences of a diagnosis.
func logNames(l LogLine) []string {
	return distinct(
		[]string{l.Object, baseName(l.Object), l.Library, baseName(l.Library), l.Symbol, l.Version},
	)
}

// toLog returns a link with a safe text. An address that is not GitHub's is left out.
func toLog(text, address string) string {
	u, err := neturl.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
		strings.ContainsAny(address, "()<>[]\\` \t\r\n\"'") {
		return text
	}
	return "[" + text + "](" + u.String() + ")"
}

// logTitle returns the first error as a title; "" if there is none.
func logTitle(l *Logs) string {
	if l == nil || len(l.Lines) == 0 {
		return ""
	}
	t := "The build failed: " + mdsafe.Plain(l.Lines[0].Message, 180)
	if n := len(l.Lines) - 1; n > 0 {
		t += fmt.Sprintf(" (and %d more)", n)
	}
	return t
}

// ExplainLogs replies to /compat explain with errors in the logs of failed jobs: all of them, or
// those of one symbol, version, library, object or class. found is false if there are none.
func ExplainLogs(what string, l *Logs) (text string, found bool) {
	if l == nil {
		return "", false
	}
	if what == "" {
		return logSection(l), true
	}
	some := &Logs{}
	for _, x := range l.Lines {
		for _, s := range append(logNames(x), x.Symbol+"@"+x.Version, x.Class) {
			if s == what {
				some.Lines = append(some.Lines, x)
				break
			}
		}
	}
	if len(some.Lines) == 0 {
		return "", false
	}
	return logSection(some), true
}
