package causetext

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/shellword"
)

// Step is what is said about a fix next to its title.
type Step struct {
	// Label is what the fix begins with: "Fix", "And", "Or"; see Label.
	Label string
	// By says which of Runs makes the fix, before State: "command 1, "; "" = none.
	By string
	// State says whether the fix was tried. Of the first tried one it says what that means.
	State string
	// Commands are lines, in the order in which they are run; nil if there are none, or Runs or
	// another cause has them.
	Commands []string
	// Remark is a sentence about Commands, or says where they are; "" = none.
	Remark string
	// Before is what Commands are for, to precede them: in a pull request, the wheel that is already
	// built, since its author corrects the build. "" = the fix.
	Before string
	// Build is the sentence of Remark about what a build needs that can still be corrected; "" =
	// none.
	Build string
	// Whole is a command in Remark or Build, which is not broken into lines; "" = none.
	Whole string
	next  string // what the build needs, after Remark
	run   int    // the number of the run that has the command; 0 = none
	reads bool   // Commands read what the command of the plan writes
}

// Run is a command of the list before several causes.
type Run struct {
	Commands []string // lines
	Causes   []int    // numbers of the causes for which it is run; nil = those that it can fix
	tried    []int    // those of them that were gone when it was tried
	partly   []int    // those of them of which a part was gone then
	Place    string   // "in the wheel"; "" = not said
	Remark   string   // where it writes its result; "" = not said
}

// about says for what a command is run: "causes 1 and 3, in the wheel (tried).", with the remark.
func (r Run) about() string {
	if len(r.Causes) == 0 {
		return sentences("what can be fixed in files.", r.Remark)
	}
	about := ranges(r.Causes)
	if r.Place != "" {
		about += ", " + r.Place
	}
	switch {
	case len(r.tried) == len(r.Causes):
		about += " (tried)."
	case len(r.tried) > 0:
		about += " (tried for " + ranges(r.tried) + ")."
	case len(r.partly) == len(r.Causes):
		about += " (tried: a part is gone)."
	default:
		about += " (not tried)."
	}
	return sentences(about, r.Remark)
}

// Steps are those of the causes that are shown together. Each command is among them once. If there
// are several causes, Runs has the commands to run in their order, and the steps refer to them.
type Steps struct {
	of    map[[2]int]Step
	rest  []string
	runs  []Run
	other []int
	only  bool
	all   bool // there is one run, for all causes of a plan that was tried
}

// Of returns the step of a fix of a cause, given by their indexes.
func (s *Steps) Of(cause, fix int) Step { return s.of[[2]int{cause, fix}] }

// Only reports whether a command names causes by their IDs.
func (s *Steps) Only() bool { return s.only }

// name is the ID of a cause in parentheses, as Markdown, if a command names causes; else "".
func (s *Steps) name(c *analyzer.Cause) string {
	if !s.only {
		return ""
	}
	return " (" + mdsafe.Code(c.ID, 100) + ")"
}

// Rest returns the lines of the command of the plan if no step of a single cause has it; else nil.
func (s *Steps) Rest() []string { return s.rest }

// Runs returns the commands to run for several causes, in their order; nil for one cause.
func (s *Steps) Runs() []Run { return s.runs }

// RunsTitle is the line before Runs. It says of a single command what it is for. If the build can
// still be corrected, it comes before what changes the wheels.
func (s *Steps) RunsTitle() string {
	built := slices.ContainsFunc(s.runs, func(r Run) bool { return r.Place == inBuilt })
	switch {
	case len(s.runs) == 1 && built:
		return "Change the build as the causes below say. Run this for " + s.runs[0].about()
	case s.all && len(s.runs[0].tried) == len(s.runs[0].Causes): // PlanSentence says that it was
		return sentences("Run this.", s.runs[0].Remark)
	case len(s.runs) == 1:
		return "Run this for " + s.runs[0].about()
	case built:
		return "Change the build as the causes below say. These commands are for what is already built " +
			"or installed, in this order:"
	}
	return "Run these commands, in this order:"
}

// inBuilt is the place of a command for a wheel where the build can still be corrected.
const inBuilt = "to correct a wheel that is already built"

// About says for what one of several commands of Runs is run, by its index: "Causes 1 and 3, in the
// wheel (tried)."; "" for a single one.
func (s *Steps) About(run int) string {
	about := s.runs[run].about()
	if len(s.runs) == 1 {
		return ""
	}
	return strings.ToUpper(about[:1]) + about[1:]
}

// Other says for which causes Runs has no command, although something can be done about them; ""
// without Runs, and if there are none.
func (s *Steps) Other() string {
	if len(s.runs) == 0 || len(s.other) == 0 {
		return ""
	}
	var whole, part []int
	for _, n := range s.other {
		if slices.ContainsFunc(s.runs, func(r Run) bool { return slices.Contains(r.Causes, n) }) {
			part = append(part, n)
		} else {
			whole = append(whole, n)
		}
	}
	var of []string
	if len(whole) > 0 {
		of = append(of, ranges(whole))
	}
	if len(part) > 0 {
		of = append(of, "a part of "+ranges(part))
	}
	return "Without a command: " + strings.Join(of, ", and ") + "; see below."
}

// StepsOf returns the steps of causes of a report, by their indexes in the order in which they are
// shown; nil = all. Commands are for the folder of the artifact, or, if local is set, for that in
// which compat was started.
func StepsOf(r *analyzer.Report, causes []int, local bool) *Steps {
	if causes == nil {
		for i := range r.Causes {
			causes = append(causes, i)
		}
	}
	w := &stepWriter{report: r, local: local, list: len(causes) > 1, ran: map[shellword.Line]int{},
		said: map[string]bool{}}
	w.out.of = map[[2]int]Step{}
	for _, i := range causes {
		for j := range r.Causes[i].Fixes {
			w.out.of[[2]int{i, j}] = w.step(i, j)
		}
	}
	if !w.planned && r.Plan.Command != "" && len(causes) > 0 && !w.useless {
		if w.list {
			w.ofPlan()
		} else {
			w.out.rest = w.plan()
		}
	}
	w.finish()
	w.out.all = r.Plan.Verified && len(w.out.runs) == 1 && len(w.out.runs[0].Causes) == len(causes)
	return &w.out
}

// stepWriter makes the steps, in their order.
type stepWriter struct {
	report  *analyzer.Report
	local   bool
	list    bool // the commands are listed
	out     Steps
	tried   bool                   // the meaning of the word was said
	saved   bool                   // the command that saves the artifacts was shown
	said    map[string]bool        // see once
	planned bool                   // the command of the plan was shown
	useless bool                   // a new build makes what the command of the plan does useless
	planRun int                    // the number of its run; 0 = none yet
	ran     map[shellword.Line]int // other commands of first fixes: the number of the run, or 1
}

// finish completes the remarks, which name runs by their number if there are several.
func (w *stepWriter) finish() {
	for at, x := range w.out.of {
		switch {
		case x.run > 0 && len(w.out.runs) == 1:
			x.By = "command above, "
		case x.run > 0:
			x.By = fmt.Sprintf("command %d, ", x.run)
		case x.reads && w.planRun > 0:
			x.Remark = fmt.Sprintf("Run command %d first: it writes the wheel that this one reads.",
				w.planRun)
		}
		c := &w.report.Causes[at[0]]
		x.Whole = string(c.Fixes[at[1]].NextCommand)
		if w.report.Corrects(c) {
			x.Build = x.inBuild(c, c.Fixes[at[1]])
			x.next = x.Build
		}
		if w.ofBuilt(at[0], x.Commands) {
			x.Before, x.Remark = builtWheel+inParentheses(clause(x.Remark)), x.next
		} else {
			x.Remark = sentences(x.Remark, x.next)
		}
		w.out.of[at] = x
	}
	names := func(line string) bool { return strings.Contains(line, " --only ") }
	w.out.only = slices.ContainsFunc(w.out.rest, names)
	for _, x := range w.out.runs {
		w.out.only = w.out.only || slices.ContainsFunc(x.Commands, names)
	}
	for _, x := range w.out.of {
		w.out.only = w.out.only || slices.ContainsFunc(x.Commands, names)
	}
}

// builtWheel precedes a command for a wheel where the build can still be corrected.
const builtWheel = "For a wheel that is already built"

// inParentheses follows what it is about; "" if there is nothing to say.
func inParentheses(remark string) string {
	if remark == "" {
		return ""
	}
	return " (" + remark + ")"
}

// clause is a remark of sentences as a part of another sentence.
func clause(remark string) string {
	if remark == "" {
		return ""
	}
	remark = strings.ReplaceAll(strings.TrimSuffix(remark, "."), ". ", "; ")
	return strings.ToLower(remark[:1]) + remark[1:]
}

// Line is fix i of a cause, given by its index, as plain text at the line of the repository that
// causes it: what to change in a build that can still be corrected comes before a command for what
// was built. edits change that line. command is shown after the title; "" = none. clean makes the
// text safe to show.
func Line(r *analyzer.Report, cause, i int, edits []Edit, command string,
	clean func(string) string) string {
	c := &r.Causes[cause]
	x := c.Fixes[i]
	step := StepsOf(r, []int{cause}, true).Of(cause, i)
	edit, state := EditOf(edits, i), FixState(c, x)
	if edit != nil {
		x.Title, state = x.Title.Without(fix.InSources), EditState(c, x)
	}
	line := step.Label + " (" + state + "): " + clean(x.Title.String())
	if edit != nil {
		line += edit.plain()
		if !NamesWheel(command) {
			command = "" // the edit has it
		}
	} else if step.Build != "" { // its command is shown as it is
		before, after, _ := strings.Cut(strings.TrimSuffix(step.Build, "."), step.Whole)
		line += ". " + clean(before) + mdsafe.Lines(step.Whole) + clean(after)
	}
	if command != "" && r.Corrects(c) && NamesWheel(command) {
		line += ". " + builtWheel
	}
	if command != "" {
		line += ": " + mdsafe.Lines(command)
	}
	if r.PullRequest && len(x.Cost) > 0 {
		line += "\nCosts: " + clean(strings.Join(x.Cost, "; "))
	}
	return line
}

// ofBuilt reports whether commands for a cause, given by its index, change a wheel that is already
// built, while its build can still be corrected.
func (w *stepWriter) ofBuilt(cause int, commands []string) bool {
	return w.report.Corrects(&w.report.Causes[cause]) &&
		slices.ContainsFunc(commands, NamesWheel)
}

// NamesWheel reports whether a command is for the file of a wheel, unlike a setting or a flag of a
// build.
func NamesWheel(command string) bool { return strings.Contains(command, ".whl") }

// inBuild is the sentence about what a build that can still be corrected needs, so that the fix is
// not; "" if the title says it.
func (s *Step) inBuild(c *analyzer.Cause, x analyzer.CauseFix) string {
	made := " after the wheel is made."
	if !c.OfBuilder() {
		made = " after the file is linked."
	}
	next, ok := strings.CutPrefix(s.next, fix.NextBuild)
	switch {
	case ok && x.Kind.Setting() != fix.Requirements: // their title says where they are written
		return "In the build, " + next
	case ok || x.Kind != fix.KindPatchelf || !x.Verified:
		return ""
	case s.run > 0 && strings.ContainsAny(s.By, "0123456789"):
		return "In the build, run " + strings.TrimSuffix(s.By, ", ") + made
	}
	return "In the build, run the command" + made
}

func (w *stepWriter) step(i, j int) Step {
	r := w.report
	c := &r.Causes[i]
	x := c.Fixes[j]
	out := Step{Label: Label(c, j), State: w.state(c, x)}
	applied := j == 0 || c.Together
	command := x.Command
	if x.ShowsCommand() {
		command = ""
	}
	before := ShownBefore(r, i, x) > 0 // the title refers to that cause
	if build := Rebuilt(r, i); build > 0 && applied && !before {
		w.useless = w.useless || w.isPlan(c, x, command)
		out.Label, out.Remark = "Without a new build", forBuild(build, x)
		return out
	}
	listed := applied && w.list && out.Label != forUsers
	if listed && command != "" && !x.Kind.Runs(command) { // it is shown with its cause
		listed = false
		w.without(i)
	}
	switch {
	case listed && before:
		if n := w.ran[command]; n > 0 || w.isPlan(c, x, command) && w.planRun > 0 {
			w.forCause(cmp.Or(n, w.planRun), i, x)
		}
		return out
	case before:
		return out
	case listed:
		if out.run = w.listed(i, x, command); out.run > 0 {
			out.next = w.once(x.NextBuild)
		} else {
			w.without(i)
		}
		return out
	case applied && w.isPlan(c, x, command):
		out.next = w.once(x.NextBuild)
		if w.planned {
			out.Remark = above
			return out
		}
		w.planned = true
		out.Commands, out.Remark = w.plan(), w.remark(r.Plan.Command, x)
		return out
	case command == "":
		return out
	case applied && w.ran[command] > 0:
		out.Remark = above
		return out
	}
	if applied {
		w.ran[command] = 1
	}
	own := w.lines(c, x)
	out.reads = w.list && reads(command)
	if applied && reads(command) && r.Plan.Command != "" && !w.planned {
		w.planned = true
		out.Commands = w.plan()
		out.Remark = "The compat fix command writes the wheel that the last command reads."
	}
	if named(command, c.Artifact) {
		out.Commands = append(out.Commands, w.save()...)
	}
	out.Commands = append(out.Commands, own...)
	if out.Remark == "" {
		out.Remark, out.next = w.remark(command, x), w.once(x.NextBuild)
	}
	return out
}

// without adds a cause, given by its index, to those with a fix without a command.
func (w *stepWriter) without(cause int) {
	if !slices.Contains(w.out.other, cause+1) {
		w.out.other = append(w.out.other, cause+1)
	}
}

// above is said of a fix of a single cause whose command another fix has.
const above = "The command above does this too."

// listed adds the command of a fix of a cause, given by its index, to the list, and returns the
// number of its run; 0 if there is no command.
func (w *stepWriter) listed(cause int, x analyzer.CauseFix, command shellword.Line) int {
	r := w.report
	c := &r.Causes[cause]
	n := w.ran[command]
	switch {
	case w.isPlan(c, x, command):
		n = w.ofPlan()
	case command == "":
		return 0
	case n > 0:
	default:
		if reads(command) && r.Plan.Command != "" {
			w.ofPlan()
		}
		var lines []string
		if named(command, c.Artifact) {
			lines = w.save()
		}
		n = w.run(append(lines, w.lines(c, x)...), w.remark(command, x))
		w.ran[command] = n
	}
	w.forCause(n, cause, x)
	return n
}

// ofPlan returns the number of the run of the plan's command, which it adds if there is none.
func (w *stepWriter) ofPlan() int {
	if w.planRun == 0 {
		command := w.report.Plan.Command
		w.planRun = w.run(w.plan(), w.remark(command, analyzer.CauseFix{}))
		w.planned = true
	}
	return w.planRun
}

// run adds a run and returns its number.
func (w *stepWriter) run(lines []string, remark string) int {
	w.out.runs = append(w.out.runs, Run{Commands: lines, Remark: remark})
	return len(w.out.runs)
}

// forCause adds a cause, given by its index, to a run that makes its fix.
func (w *stepWriter) forCause(run, cause int, x analyzer.CauseFix) {
	r, c := &w.out.runs[run-1], &w.report.Causes[cause]
	if slices.Contains(r.Causes, cause+1) {
		return
	}
	r.Causes = append(r.Causes, cause+1)
	if x.Verified && x.Clears == len(c.Findings) {
		r.tried = append(r.tried, cause+1)
	} else if x.Verified {
		r.partly = append(r.partly, cause+1)
	}
	switch {
	case w.report.Environment:
	case w.ofBuilt(cause, r.Commands):
		r.Place = inBuilt
	case x.Kind == fix.KindEnvironment && c.Actor == result.Builder:
		r.Place = usersMachine
	default:
		r.Place = place(w.report, c)
	}
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
		return sentences(w.once("The command writes the corrected wheel to "+w.folder(s, fix.Fixed)+"."),
			w.limited(s), w.repeated(s))
	}
	if x.Bundling != nil && x.Bundling.With != "" {
		where := string(x.Bundling.With) + " writes to the folder " +
			strings.TrimPrefix(w.folder(s, fix.Wheelhouse), "./") + "."
		if x.Bundling.With == fix.Delocate {
			where = "The command changes the wheel in place."
		}
		return w.once(where)
	}
	if len(x.Retags) > 0 || fix.Retags(command) { // a report from JSON has only the command
		return w.once("The command replaces the file.")
	}
	if !strings.Contains(s, inPlace) || strings.Contains(s, " --write ") ||
		strings.Contains(s, " --in-place ") {
		return ""
	}
	return "The command changes the file in place; with --dry-run it only prints the change."
}

// folder is where a command for an artifact writes that names a folder: next to the artifact,
// because it is run there.
func (w *stepWriter) folder(command, name string) string {
	for i := range w.report.Causes {
		artifact := w.report.Causes[i].Artifact
		if dir, _ := fix.Place(artifact); w.local && dir != "" &&
			strings.Contains(command, Stem(path.Base(artifact))) {
			return path.Join(dir, name)
		}
	}
	return "./" + name
}

// limited says which causes a command is limited to, by number: it has their names, which are in
// parentheses where the causes are. It is "" if it fixes all that it can.
func (w *stepWriter) limited(command string) string {
	_, names, only := strings.Cut(command, " --only ")
	if !only || w.list { // the list says for which causes it is run
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
		return ShortState(c, x)
	}
	w.tried = true
	return FixState(c, x)
}

const tried = "tried"

// FixState says whether a fix was tried, how, and what is left of the cause after it.
func FixState(c *analyzer.Cause, x analyzer.CauseFix) string {
	if len(c.Findings) == 0 { // read from a log, not from an artifact
		return ShortState(c, x)
	}
	if x.Kind == fix.KindLinkFlag { // the entry that the linker adds is added to the copy
		return fixState(c, x, "its effect was tried on a copy")
	}
	return fixState(c, x, tried+" on a copy")
}

// ShortState is FixState where it was said what "tried" means.
func ShortState(c *analyzer.Cause, x analyzer.CauseFix) string { return fixState(c, x, tried) }

// fixState is FixState. how is what is said of a fix that was tried.
func fixState(c *analyzer.Cause, x analyzer.CauseFix, how string) string {
	n := len(c.Findings)
	this := string(c.Severity) // "error"
	part := "part of this " + this
	switch {
	case x.Verified && n == 0: // read from a log
		return how
	case x.Verified && x.Clears < n:
		return how + ": " + part + " is gone"
	case x.Verified:
		return how + ": this " + this + " is gone"
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
	if x.Clears < len(c.Findings) {
		s += ", for a part"
	}
	return s
}
