package comment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// view is a report to be shown, with its causes divided into new ones and those that the base
// has.
type view struct {
	report          *analyzer.Report
	fresh, existing []int // indexes into report.Causes
	accepted        []analyzer.Accepted
	unread          []analyzer.Unread
	steps           *causetext.Steps         // of the new causes
	at              map[int]place            // the line that causes each of the new ones; see linesOf
	edits           map[int][]causetext.Edit // changes of that line, each of which makes a fix
}

// newView returns the view of a report. partial are artifacts that could not be downloaded.
func newView(r *analyzer.Report, partial []analyzer.Unread) view {
	v := view{report: r, unread: append(slices.Clone(r.Unread), partial...)}
	for i := range r.Causes {
		if r.Causes[i].New {
			v.fresh = append(v.fresh, i)
		} else {
			v.existing = append(v.existing, i)
		}
	}
	v.steps = causetext.StepsOf(r, append([]int{}, v.fresh...), false)
	seen := map[string]bool{}
	for _, a := range r.Accepted {
		if id := a.Finding.Identity(); !seen[id] {
			seen[id] = true
			v.accepted = append(v.accepted, a)
		}
	}
	return v
}

// cause returns a cause by its index.
func (v view) cause(i int) *analyzer.Cause { return &v.report.Causes[i] }

// finding returns the first finding of a cause, with the fixes of the cause.
func (v view) finding(i int) *analyzer.Finding {
	c := v.cause(i)
	f := v.report.Findings[c.Findings[0]]
	f.Fixes = nil
	for _, x := range c.Fixes {
		f.Fixes = append(f.Fixes, x.Fix)
	}
	return &f
}

// fails reports whether a new cause has at least the severity that fails the check.
func (v view) fails(on string) bool {
	for _, i := range v.fresh {
		if s := v.cause(i).Severity; s == analyzer.Error || s == analyzer.Warning && on == "warning" {
			return true
		}
	}
	return false
}

// count returns the number of causes by severity: "2 errors and 1 warning".
func (v view) count(indexes []int) string { return causetext.CountCauses(v.report, indexes) }

// headline returns a cause with its artifact as plain text: "warp-lang 1.6.2: tagged
// manylinux2014, but needs manylinux_2_31".
func (v view) headline(i int) string {
	c := v.cause(i)
	name := path.Base(c.Artifact)
	for _, a := range v.report.Artifacts {
		if a.Path == c.Artifact && a.Wheel != nil && a.Wheel.Name != "" {
			name = a.Wheel.Name + " " + a.Wheel.Version
		}
	}
	return mdsafe.Plain(name, 80) + ": " + mdsafe.Plain(c.Title, 0)
}

// in says in which of several artifacts of a pull request a cause is, as Markdown; "" if there is
// one.
func (v view) in(i int) string {
	if !v.report.PullRequest || len(v.report.Artifacts) < 2 {
		return ""
	}
	return causetext.In(v.report, v.cause(i),
		func(a string) string { return mdsafe.Code(path.Base(a), maxShown) })
}

// item returns a cause as an item of a list, with its fixes.
func (v view) item(in Input, i int) string {
	source := v.at[i].source(in)
	if x := v.edits[i]; len(x) > 0 && source != nil && x[0].At == source.At {
		source.Text = "" // the change has it
	}
	return causetext.Item(v.report, i, causetext.ItemOptions{In: v.in(i), Source: source,
		Edits: v.edits[i], Steps: v.steps})
}

// line returns a cause in one line of Markdown: what, who has to act, and the first fix.
func (v view) line(i int) string {
	c := v.cause(i)
	source := v.at[i].source(Input{})
	known := append(causetext.Names(v.report, c), source.Names()...)
	s := "**" + string(c.Severity) + "** "
	if in := v.in(i); in != "" {
		s += in + ": "
	}
	s += mdsafe.Prose(c.Title, known...) + ". " +
		mdsafe.Prose(causetext.Task(v.report, c, source), known...)
	if len(c.Fixes) == 0 {
		return s + " " + causetext.NoFix
	}
	x := c.Fixes[0]
	return s + " **Fix** (" + v.by(i) + causetext.FixState(c, x) + "): " +
		mdsafe.Prose(x.Title.String(), known...) + v.inline(i) + v.costs(i) + v.alternative(i)
}

// costs returns what the first fix of a cause costs, to follow its command; "" if nothing is known.
func (v view) costs(i int) string {
	c := v.cause(i)
	x := c.Fixes[0]
	if !v.report.PullRequest || len(x.Cost) == 0 {
		return ""
	}
	return ". Costs: " + mdsafe.Prose(strings.Join(x.Cost, "; "), causetext.Names(v.report, c)...)
}

// alternative returns the best alternative to the first fix of a cause, without the command of a
// tool, to follow it; "" if there is none.
func (v view) alternative(i int) string {
	c := v.cause(i)
	if len(c.Fixes) < 2 || c.Together || c.ForUsers(c.Fixes[1]) {
		return ""
	}
	x := c.Fixes[1]
	s := ". **Or** (" + causetext.FixState(c, x) + "): " +
		mdsafe.Prose(x.Title.String(), causetext.Names(v.report, c)...)
	if causetext.NamesWheel(string(x.Command)) {
		return s
	}
	return s + inlineCommand(x)
}

// by says which command before the causes makes the first fix of a cause: "command 1, "; "" if none
// does.
func (v view) by(i int) string { return v.steps.Of(i, 0).By }

// inline returns the command of the first fix of a cause to follow its title, or which cause has
// it; "" if there is none, or several, which the section of the cause has.
func (v view) inline(i int) string {
	c := v.cause(i)
	if !c.New && len(c.Fixes) > 0 {
		return inlineCommand(c.Fixes[0])
	}
	step := v.steps.Of(i, 0)
	if len(step.Commands) == 0 && step.Remark != "" {
		return ". " + mdsafe.Prose(strings.TrimSuffix(step.Remark, "."), step.Whole)
	}
	if len(step.Commands) != 1 || len(step.Commands[0]) > maxShown {
		return ""
	}
	if step.Before != "" {
		before := strings.Join(causetext.NonEmpty(mdsafe.Prose(step.Build, step.Whole), step.Before), " ")
		return ". " + before + ": " + mdsafe.Code(step.Commands[0], maxShown)
	}
	return ": " + mdsafe.Code(step.Commands[0], maxShown)
}

// maxNames limits the symbols in one line; the others are counted.
const maxNames = 12

// names lists the symbols of some causes as Markdown, or the libraries of causes without symbols.
func (v view) names(indexes []int) string {
	var names []string
	left := 0
	for _, i := range indexes {
		var libraries, symbols []string
		for _, e := range v.cause(i).Evidence {
			libraries = append(libraries, e.Library)
			for _, s := range e.Symbols {
				symbols = append(symbols, analyzer.Versioned(s, e.Version))
			}
			left += e.MoreSymbols
		}
		if len(symbols) == 0 {
			symbols = libraries
		}
		names = append(names, symbols...)
	}
	names = distinct(names)
	left += max(0, len(names)-maxNames)
	s := mdsafe.Codes(names[:min(len(names), maxNames)], 0, maxShown)
	if left > 0 {
		s += fmt.Sprintf(" and %d more", left)
	}
	return s
}

// inlineCommand returns the command of a fix to follow its title; "" if the title contains it or
// it has several lines or is longer than maxShown.
func inlineCommand(x analyzer.CauseFix) string {
	if x.Command == "" || x.ShowsCommand() ||
		strings.Contains(string(x.Command), "\n") ||
		len(x.Command) > maxShown { // a truncated command could not be pasted
		return ""
	}
	return ": " + mdsafe.Code(string(x.Command), maxShown)
}

// distinct removes "" and duplicates, keeping the order.
func distinct(ss []string) []string {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(ss, func(s string) bool {
		old := seen[s]
		seen[s] = true
		return old
	})
}
