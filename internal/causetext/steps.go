package causetext

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// Step is what is said about a fix next to its title.
type Step struct {
	// Label is what the fix begins with: "Fix", "And", "Or"; see Label.
	Label string
	// State says whether the fix was tried. Of the first tried one it says what that means.
	State string
	// Commands are lines, in the order in which they are run; nil if there are none, or another
	// cause has them.
	Commands []string
	// Remark is a sentence about Commands, or says which cause has them; "" = none.
	Remark string
}

// Steps are those of the causes that are shown together. Each command is among them once, where it
// has to be run first, so that they can be run from the first one to the last.
type Steps struct {
	of   map[[2]int]Step
	rest []string
	only bool
}

// Of returns the step of a fix of a cause, given by their indexes.
func (s *Steps) Of(cause, fix int) Step { return s.of[[2]int{cause, fix}] }

// Only reports whether a command names causes by their IDs.
func (s *Steps) Only() bool { return s.only }

// Rest returns the lines of the command of the plan if no step has it; else nil.
func (s *Steps) Rest() []string { return s.rest }

// StepsOf returns the steps of causes of a report, by their indexes in the order in which they are
// shown; nil = all. Commands are for the folder of the artifact, or, if local is set, for that in
// which compat was started.
func StepsOf(r *analyzer.Report, causes []int, local bool) *Steps {
	w := &stepWriter{report: r, local: local, shown: map[shellword.Line]int{},
		said: map[string]bool{}}
	out := &Steps{of: map[[2]int]Step{}}
	if causes == nil {
		for i := range r.Causes {
			causes = append(causes, i)
		}
	}
	w.causes = causes
	for _, i := range causes {
		for j := range r.Causes[i].Fixes {
			out.of[[2]int{i, j}] = w.step(i, j)
		}
	}
	if w.planned == 0 && r.Plan.Command != "" && len(causes) > 0 && !w.useless {
		out.rest = w.plan()
	}
	names := func(line string) bool { return strings.Contains(line, " --only ") }
	out.only = slices.ContainsFunc(out.rest, names)
	for _, x := range out.of {
		out.only = out.only || slices.ContainsFunc(x.Commands, names)
	}
	return out
}

// stepWriter makes the steps, in their order.
type stepWriter struct {
	report *analyzer.Report
	local  bool
	causes []int
	tried  bool            // the meaning of the word was said
	saved  bool            // the command that saves the artifacts was shown
	said   map[string]bool // see once
	// planned is the number of the cause that has the command of the plan, 0 = none yet, and ahead is
	// set if that cause has it only because a command of its own reads what it writes.
	planned int
	ahead   bool
	useless bool                   // a new build makes what the command of the plan does useless
	shown   map[shellword.Line]int // other commands of first fixes: number of the cause
}

func (w *stepWriter) step(i, j int) Step {
	r := w.report
	c := &r.Causes[i]
	x := c.Fixes[j]
	out := Step{Label: Label(c, j), State: w.state(c, x)}
	if ShownBefore(r, i, x) > 0 { // the title refers to that cause
		return out
	}
	applied := j == 0 || c.Together
	command := x.Command
	if x.ShowsCommand() {
		command = ""
	}
	if build := Rebuilt(r, i); build > 0 && applied {
		w.useless = w.useless || w.isPlan(c, x, command)
		out.Label, out.Remark = "Without a new build", forBuild(build, x)
		return out
	}
	switch {
	case applied && w.isPlan(c, x, command):
		if w.planned > 0 {
			which := "command"
			if w.ahead {
				which = "compat fix command"
			}
			out.Remark = sentences(fmt.Sprintf("The %s of cause %d does this too.", which, w.planned),
				w.once(x.NextBuild))
			return out
		}
		w.planned = i + 1
		out.Commands, out.Remark = w.plan(), w.remark(r.Plan.Command, x)
		return out
	case command == "":
		return out
	case applied && w.shown[command] > 0:
		out.Remark = fmt.Sprintf("The command of cause %d does this too.", w.shown[command])
		return out
	}
	if applied {
		w.shown[command] = i + 1
	}
	own := w.lines(c, x)
	if reads(command) && r.Plan.Command != "" && w.planned == 0 {
		switch writer := w.writer(); {
		case applied:
			w.planned, w.ahead = i+1, true
			out.Commands = w.plan()
			out.Remark = "The compat fix command writes the wheel that the last command reads."
			if writer > 0 {
				out.Remark = fmt.Sprintf("The compat fix command makes the change of cause %d and writes the "+
					"wheel that the last command reads.", writer)
			}
		case writer > 0:
			out.Remark = fmt.Sprintf("Run the command of cause %d first: it writes the wheel that this one "+
				"reads.", writer)
		}
	}
	if named(command, c.Artifact) {
		out.Commands = append(out.Commands, w.save()...)
	}
	out.Commands = append(out.Commands, own...)
	out.Remark = cmp.Or(out.Remark, w.remark(command, x))
	return out
}

// Rebuilt returns the number of the cause because of which the wheels of another one have to be
// built again, although its fix changes the present files; 0 if there is none.
func Rebuilt(r *analyzer.Report, cause int) int {
	return 1 + slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool {
		return r.Replaces(&c, &r.Causes[cause])
	})
}

// forBuild says what the new build for a cause needs, so that a fix of the present file is not
// needed.
func forBuild(cause int, x analyzer.CauseFix) string {
	if rest, ok := strings.CutPrefix(x.NextBuild, fix.NextBuild); ok {
		return fmt.Sprintf("For the new build of cause %d, %s", cause, rest)
	}
	return fmt.Sprintf("The new build of cause %d has to do this too.", cause)
}

// remark says where the command of a fix writes its result: what it overwrites although no option
// says so, and the folder of the first one that writes wheels. "" = its options say it.
func (w *stepWriter) remark(command shellword.Line, x analyzer.CauseFix) string {
	s := string(command) + " "
	if strings.Contains(s, writes) {
		return sentences(w.once("The corrected wheel is written to ./"+fix.Fixed+"."),
			w.limited(s), w.repeated(s), w.once(x.NextBuild))
	}
	if x.Bundling != nil && x.Bundling.With != "" {
		where := string(x.Bundling.With) + " writes to the folder " + fix.Wheelhouse + "."
		if x.Bundling.With == fix.Delocate {
			where = "The command changes the wheel in place."
		}
		return sentences(w.once(where), w.once(x.NextBuild))
	}
	if len(x.Retags) > 0 || fix.Retags(command) { // a report from JSON has only the command
		return sentences(w.once("The command replaces the file."), w.once(x.NextBuild))
	}
	if !strings.Contains(s, inPlace) || strings.Contains(s, " --write ") ||
		strings.Contains(s, " --in-place ") {
		return ""
	}
	return "The command changes the file in place; with --dry-run it only prints the change."
}

// limited says which causes a command is limited to, by number: it has their names, which are in
// parentheses where the causes are. It is "" if it fixes all that it can.
func (w *stepWriter) limited(command string) string {
	_, names, only := strings.Cut(command, " --only ")
	if !only {
		return ""
	}
	names, _, _ = strings.Cut(names, " ")
	var causes []int
	for _, id := range strings.Split(names, ",") {
		i := slices.IndexFunc(w.report.Causes, func(c analyzer.Cause) bool {
			return c.ID == id
		})
		if i >= 0 {
			causes = append(causes, i+1)
		}
	}
	if len(causes) == 0 {
		return ""
	}
	slices.Sort(causes)
	return w.once("--only limits it to " + ranges(causes) + ".")
}

// repeated says why a command has packages that were given; "" if it has none.
func (w *stepWriter) repeated(command string) string {
	if !strings.Contains(command, " --with ") {
		return ""
	}
	return w.once("It checks the result with what --with gave, as far as pip then takes it.")
}

// sentences joins those that are not empty.
func sentences(all ...string) string { return strings.Join(NonEmpty(all...), " ") }

// once returns a sentence that was not said before, or "".
func (w *stepWriter) once(sentence string) string {
	if sentence == "" || w.said[sentence] {
		return ""
	}
	w.said[sentence] = true
	return sentence
}

// writes is in the commands that write corrected wheels.
const writes = " --write " + fix.Fixed + " "

// inPlace begins the commands that change files which pin packages, if no option says otherwise.
const inPlace = "compat fix "

// isPlan reports whether the command of the plan makes a fix. command is that of the fix, without
// one that the title contains.
func (w *stepWriter) isPlan(c *analyzer.Cause, x analyzer.CauseFix, command shellword.Line) bool {
	plan := w.report.Plan
	if plan.Command == "" {
		return false
	}
	return command == plan.Command || command == "" && x.Verified &&
		(slices.Contains(plan.Tried, c.ID) || len(w.report.Causes) == 1)
}

// writer returns the number of the first cause whose fix the command of the plan makes; 0 if there
// is none.
func (w *stepWriter) writer() int {
	for _, i := range w.causes {
		c := &w.report.Causes[i]
		if len(c.Fixes) > 0 && (c.Fixes[0].Command == w.report.Plan.Command ||
			slices.Contains(w.report.Plan.Tried, c.ID)) {
			return i + 1
		}
	}
	return 0
}

// reads reports whether a command reads a file that the command of the plan writes.
func reads(command shellword.Line) bool {
	return strings.Contains(string(command), fix.Fixed+"/")
}

// named reports whether a command names an artifact.
func named(command shellword.Line, artifact string) bool {
	return artifact != "" && strings.Contains(string(command), Stem(path.Base(artifact)))
}

// plan returns the lines of the command of the plan, after the one that saves the artifacts. It is
// for the folder of the files that it names.
func (w *stepWriter) plan() []string {
	r := w.report
	x := analyzer.CauseFix{}
	x.Command = r.Plan.Command
	of := slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool {
		return c.Artifact != "" && strings.Contains(string(x.Command), path.Base(c.Artifact))
	})
	return append(w.save(), w.lines(&r.Causes[max(of, 0)], x)...)
}

// save returns the line of the command that saves the artifacts, once.
func (w *stepWriter) save() []string {
	if w.saved || w.report.Plan.Save == "" {
		return nil
	}
	w.saved = true
	return []string{string(w.report.Plan.Save)}
}

func (w *stepWriter) lines(c *analyzer.Cause, x analyzer.CauseFix) []string {
	if w.local {
		return Commands(c, x)
	}
	return strings.Split(string(x.Command), "\n")
}

// state is FixState, with what the word "tried" means where it is first used.
func (w *stepWriter) state(c *analyzer.Cause, x analyzer.CauseFix) string {
	if !x.Verified || len(c.Findings) == 0 || w.tried {
		return FixState(c, x)
	}
	w.tried = true
	return fixState(c, x, tried+" on a copy")
}

const tried = "tried"

// FixState says whether a fix was tried, and what is left of the cause after it.
func FixState(c *analyzer.Cause, x analyzer.CauseFix) string { return fixState(c, x, tried) }

// fixState is FixState. how is what is said of a fix that was tried.
func fixState(c *analyzer.Cause, x analyzer.CauseFix, how string) string {
	n := len(c.Findings)
	part := fmt.Sprintf("%d of the %d findings of this cause", x.Clears, n)
	switch {
	case x.Verified && n == 0: // read from a log
		return how
	case x.Verified && x.Clears < n:
		return how + ": " + part + " are gone"
	case x.Verified:
		return how + ": this cause is gone"
	case x.Clears < n:
		return "not tried; for " + part
	}
	return "not tried"
}

// BriefState is FixState in fewer words, for an alternative.
func BriefState(c *analyzer.Cause, x analyzer.CauseFix) string {
	s := "not tried"
	if x.Verified {
		s = tried
	}
	if n := len(c.Findings); x.Clears < n {
		s += fmt.Sprintf(", for %d of %d findings", x.Clears, n)
	}
	return s
}
