package analyzer

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/fix/apply"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// maxExecutions limits how often the wheels are written and checked again. A wheel with more than
// maxImports is only written by Fix, because the second check needs as much memory as the first,
// and so is one of which a file above maxChanged bytes is changed, because of the time.
const (
	maxExecutions = 12
	maxImports    = 500_000
	maxChanged    = 100 << 20
)

// Fixed is a wheel or a single file to which fixes were applied, and that was checked again.
type Fixed struct {
	Artifact string // path of the file as it was
	*apply.Result
	Causes []string // IDs of the causes that were removed, maybe in part, in the order of the report
}

// Execution is what the fixes of a report that can be applied to the bytes of its artifacts led to.
type Execution struct {
	Files []Fixed
	After *Report // of the files with the fixes and of all other inputs; nil without Files
	// Last is After with the fixes for what is left, if fixes of a later round were applied: those of
	// the first report may no longer be right. nil otherwise.
	Last *Report
	// Applied is how many of a cause's fixes were applied, by its ID. They are its first ones.
	Applied map[string]int
	// Partly are the IDs of causes of which some findings are left, although fixes were applied.
	Partly []string
	// Refused is why a bundler did not remove a cause, by its ID.
	Refused map[string]error
}

// executor applies fixes to wheels.
type executor struct {
	analyzer *Analyzer
	judge    *judge.Judge
	inputs   []Input
	damaged  []Unread // files of the inputs
	before   []*judge.Earlier
	report   *Report
	options  Options
	with     []string // what is left of Options.With with the fixes of earlier rounds
	fixing   fixing
	cache    *facts.Cache
	problems map[string]result.Severity // of the report, by problem
	left     int                        // executions that may still be tried
	refused  map[int]bool               // fixes that cannot be applied to the bytes
}

// planned are the fixes of a cause that are applied.
type planned struct {
	cause     int
	fixes     []fix.Fix
	artifacts []string
}

// attempt is the result of some fixes.
type attempt struct {
	Execution
	cleared []int    // by fix: how many findings of its cause are gone
	with    []string // what is left of the executor's with the fixes
	breaks  bool     // there are new problems
	broken  string   // the first of them; "" if it is no finding
}

// execute applies the fixes of the report's causes to the bytes of its wheels, and checks the
// result. Only fixes that removed findings without a new problem are marked as verified.
func (x *executor) execute(ctx context.Context) (*Execution, error) {
	done, all, kept, err := x.apply(ctx)
	if err != nil || done == nil {
		return &Execution{}, err
	}
	if done, all, kept, err = x.rounds(ctx, done, all, kept); err != nil {
		return nil, err
	}
	done.Partly, done.Applied = x.partly(done, all, kept), map[string]int{}
	for _, i := range kept {
		done.Applied[x.report.Causes[all[i].cause].ID] = len(all[i].fixes)
	}
	x.mark(all, kept, done)
	return &done.Execution, nil
}

// apply applies the fixes of the report's causes, as far as they work. It returns what that led to,
// the fixes, and the indexes of those that are applied; nil if none can be.
func (x *executor) apply(ctx context.Context) (*attempt, []planned, []int, error) {
	all, later := x.candidates(true), x.candidates(false)
	if len(all) == 0 && x.fixing.Bundle == nil {
		return nil, nil, nil, nil
	}
	x.left = maxExecutions
	x.problems, x.refused = map[string]result.Severity{}, map[int]bool{}
	for i := range x.report.Findings {
		f := &x.report.Findings[i]
		x.problems[problem(f.Artifact, f)] = f.Severity
	}
	done, kept, err := x.best(ctx, all)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(kept) > 0 {
		if done, all, kept, err = x.add(ctx, done, all, kept, later); err != nil {
			return nil, nil, nil, err
		}
	}
	if x.fixing.Bundle != nil {
		if done, all, kept, err = x.bundle(ctx, done, all, kept); err != nil {
			return nil, nil, nil, err
		}
	}
	return done, all, kept, nil
}

// candidates returns the fixes that can be applied to the wheels: of causes with one that worked
// when it was simulated alone, or of the others.
func (x *executor) candidates(simulated bool) (out []planned) {
	for i := range x.report.Causes {
		c := &x.report.Causes[i]
		p := planned{cause: i, artifacts: x.files(c)}
		if p.artifacts == nil || !x.wanted(c) {
			continue
		}
		for _, f := range c.Fixes {
			f.Fix = written(c, f.Fix)
			// Tags that could not be simulated for this cause are changed as well.
			promising := f.Verified || f.Retags != nil
			if promising == simulated && !slices.ContainsFunc(p.artifacts, func(a string) bool {
				return !apply.Can(f.Fix, a)
			}) {
				p.fixes = append(p.fixes, f.Fix)
			}
		}
		if p.fixes == nil {
			continue
		}
		if !c.Together { // they are alternatives; a link flag makes the same change in the next build
			edits := slices.IndexFunc(p.fixes, func(f fix.Fix) bool {
				return f.Kind != fix.KindLinkFlag && (len(p.fixes) == 1 || x.applies(f, p.artifacts))
			})
			p.fixes = p.fixes[max(edits, 0):][:1]
		}
		if !simulated && slices.ContainsFunc(c.Fixes, func(f CauseFix) bool {
			return f.Verified || f.Retags != nil
		}) {
			continue
		}
		out = append(out, p)
	}
	return out
}

// add adds fixes that were not simulated to those that work, one after the other: before them, too
// many others were simulated. The kept fixes are in the order of the causes.
func (x *executor) add(
	ctx context.Context, done *attempt, all []planned, kept []int, more []planned,
) (*attempt, []planned, []int, error) {
	for _, p := range more {
		next := append(slices.Clone(all), p)
		use := append(slices.Clone(kept), len(all))
		slices.SortStableFunc(use, func(i, j int) int { return next[i].cause - next[j].cause })
		a, err := x.try(ctx, next, use)
		if err != nil {
			return nil, nil, nil, err
		}
		if a == nil || a.breaks || a.cleared[len(all)] == 0 || slices.ContainsFunc(kept,
			func(i int) bool { return a.cleared[i] < done.cleared[i] }) {
			continue
		}
		done, all, kept = a, next, use
	}
	return done, all, kept, nil
}

// written returns a fix as it is written into a wheel: where a version was specified, a requirement
// that its builder has to change was simulated as another version.
func written(c *Cause, f fix.Fix) fix.Fix {
	if pin, ok := f.Change.(fix.Pin); ok && f.Kind == fix.KindPin && c.OfBuilder() {
		pin.Direct = true
		f.Change = pin
	}
	return f
}

// admitted returns the specified requirements without the versions that requirements of fixes do
// not admit: an installer does not take these with the changed wheel.
func admitted(with []string, fixes []fix.Fix) []string {
	return slices.DeleteFunc(slices.Clone(with), func(text string) bool {
		q, err := pkgmeta.ParseRequirement(text)
		if err != nil {
			return false
		}
		version, exact := q.Pin()
		return exact && slices.ContainsFunc(fixes, func(f fix.Fix) bool {
			r, err := pkgmeta.ParseRequirement(f.Requirement)
			pin, ok := f.Change.(fix.Pin)
			return err == nil && ok && pin.Direct && r.Name == q.Name && !r.Admits(version)
		})
	})
}

// wanted reports whether the fixes of a cause are applied.
func (x *executor) wanted(c *Cause) bool {
	return x.fixing.Only == nil || slices.Contains(x.fixing.Only, c.ID)
}

// applies reports whether a fix alone can be applied to the bytes of some artifacts: the header of
// a file may have no room for it.
func (x *executor) applies(f fix.Fix, artifacts []string) bool {
	return !slices.ContainsFunc(x.inputs, func(i Input) bool {
		if !slices.Contains(artifacts, i.Name) {
			return false
		}
		_, err := apply.To(artifactOf(i), []fix.Fix{f}, x.writing())
		return err != nil
	})
}

// writing returns how a wheel is written. A check compresses nothing, and tries no change of a
// large binary, for which it would take longer than for the rest.
func (x *executor) writing() apply.Options {
	o := apply.Options{Record: x.fixing.write, Store: !x.fixing.write}
	if !x.fixing.write {
		o.Largest = maxChanged
	}
	return o
}

func artifactOf(i Input) apply.Artifact {
	return apply.Artifact{Path: i.Name, Content: i.Content, Size: i.Size}
}

// files returns the artifacts of a cause; nil if one is neither a wheel nor a single file, or was
// not read completely.
func (x *executor) files(c *Cause) (out []string) {
	for _, n := range c.Findings {
		a := x.report.Findings[n].Artifact
		if slices.Contains(out, a) {
			continue
		}
		given := slices.ContainsFunc(x.inputs, func(i Input) bool { return i.Name == a }) &&
			slices.ContainsFunc(x.report.Artifacts, func(y Artifact) bool {
				small := y.Accounting == nil || y.Accounting.Imports <= maxImports
				return y.Path == a && (y.Kind == KindWheel && small ||
					x.fixing.write && (y.Kind == KindWheel || y.Kind == KindObject))
			})
		damaged := slices.ContainsFunc(x.damaged, func(u Unread) bool {
			return u.Path == a || strings.HasPrefix(u.Path, a+"/")
		})
		if !given || damaged {
			return nil
		}
		out = append(out, a)
	}
	return out
}

// problem identifies a finding in an artifact.
func problem(artifact string, f *Finding) string { return artifact + "\x00" + f.Identity() }

// best returns what the largest set of fixes leads to that works, and the indexes of these fixes.
func (x *executor) best(ctx context.Context, all []planned) (*attempt, []int, error) {
	kept := make([]int, len(all))
	for i := range kept {
		kept[i] = i
	}
	for len(kept) > 0 {
		a, err := x.try(ctx, all, kept)
		if err != nil {
			return nil, nil, err
		}
		if a == nil || a.breaks {
			return x.oneByOne(ctx, all)
		}
		useful := slices.DeleteFunc(slices.Clone(kept), func(i int) bool { return a.cleared[i] == 0 })
		if len(useful) == len(kept) {
			return a, kept, nil
		}
		kept = useful
	}
	return &attempt{cleared: make([]int, len(all))}, nil, nil
}

// oneByOne adds one fix after the other, and leaves out those that do not work with those before.
func (x *executor) oneByOne(ctx context.Context, all []planned) (*attempt, []int, error) {
	best, kept := &attempt{cleared: make([]int, len(all))}, []int(nil)
	for i := range all {
		next := append(slices.Clone(kept), i)
		a, err := x.try(ctx, all, next)
		if err != nil {
			return nil, nil, err
		}
		if a != nil && !a.breaks && a.cleared[i] > 0 {
			best, kept = a, next
		}
	}
	return best, kept, nil
}

// try applies some fixes and checks the result. It returns nil if a fix cannot be applied, which is
// recorded, or if enough was tried or would take too long.
func (x *executor) try(ctx context.Context, all []planned, use []int) (*attempt, error) {
	if x.left--; x.left < 0 {
		return nil, nil //nolint:nilnil // the doc says so
	}
	a := &attempt{cleared: make([]int, len(all))}
	for _, in := range x.inputs {
		var fixes []fix.Fix
		var causes []string
		for _, i := range use {
			if slices.Contains(all[i].artifacts, in.Name) {
				fixes = append(fixes, all[i].fixes...)
				causes = append(causes, x.report.Causes[all[i].cause].ID)
			}
		}
		if fixes == nil {
			continue
		}
		w, err := apply.To(artifactOf(in), fixes, x.writing())
		if errors.Is(err, apply.ErrRefused) {
			x.refused[use[len(use)-1]] = true
			return nil, nil //nolint:nilnil // the doc says so
		}
		if errors.Is(err, apply.ErrLarge) {
			return nil, nil //nolint:nilnil // the doc says so
		}
		if err != nil {
			return nil, err
		}
		a.Files = append(a.Files, Fixed{in.Name, w, causes})
	}
	return a, x.judgeAttempt(ctx, a, all, use)
}

// judgeAttempt checks the files of an attempt together with all other inputs, and compares the
// result with that of the files as they were.
func (x *executor) judgeAttempt(ctx context.Context, a *attempt, all []planned, use []int) error {
	inputs, was := x.changed(a.Files)
	o := x.options
	o.NoFixes, o.With = true, x.with
	for _, i := range use {
		o.With = admitted(o.With, all[i].fixes)
	}
	a.with = o.With
	var err error
	if a.After, err = x.check(ctx, inputs, o); err != nil {
		return err
	}
	x.compare(a, all, use, was)
	return nil
}

// check checks inputs like those of the report.
func (x *executor) check(ctx context.Context, inputs []Input, o Options) (*Report, error) {
	j := x.judge
	if !slices.Equal(o.With, x.options.With) {
		var err error
		if j, err = judge.New(x.analyzer.rules, o.environment()); err != nil {
			return nil, err
		}
	}
	k, err := run(ctx, x.analyzer.rules, j, inputs, x.before, o, x.cache)
	if err != nil {
		return nil, err
	}
	return k.conclude(x.analyzer.rules, o)
}

// compare compares the report of an attempt with that of the wheels as they were.
func (x *executor) compare(a *attempt, all []planned, use []int, was map[string]string) {
	now := map[string]bool{}
	for i := range a.After.Findings {
		f := &a.After.Findings[i]
		if f.Severity.Rank() < result.Warning.Rank() {
			continue
		}
		id := problem(was[f.Artifact], f)
		now[id] = true
		if x.problems[id].Rank() < f.Severity.Rank() && !a.breaks && !ofCopy(f) {
			a.breaks, a.broken = true, cmp.Or(f.Headline, f.Message)
		}
	}
	a.breaks = a.breaks || len(a.After.Unread) > len(x.report.Unread)
	for _, i := range use {
		for _, n := range x.report.Causes[all[i].cause].Findings {
			if f := &x.report.Findings[n]; !now[problem(f.Artifact, f)] {
				a.cleared[i]++
			}
		}
	}
}

// mark writes into the report which fixes were applied, and with which command.
func (x *executor) mark(all []planned, kept []int, done *attempt) {
	r := x.report
	command := x.command(all, kept, done.After, done.Partly)
	complete := true // the errors of all executed causes are gone
	for i, p := range all {
		c := &r.Causes[p.cause]
		same := func(f fix.Fix) bool {
			return slices.ContainsFunc(p.fixes, f.Same)
		}
		if !slices.Contains(kept, i) {
			complete = complete && c.Severity != result.Error
			x.failed(c, same, x.refused[i] || x.left < 0)
			continue
		}
		var first, others []CauseFix
		for _, f := range c.Fixes {
			if !same(f.Fix) {
				others = append(others, f)
				continue
			}
			f.Clears, f.Verified = done.cleared[i], true
			if command != "" && (f.Requirement == "" || f.Command == "") {
				f.Command = command // that of a requirement is what is written
			}
			first = append(first, f)
		}
		if c.Together && len(p.fixes) == len(first) && done.cleared[i] == len(c.Findings) {
			c.Together = false
		}
		c.Fixes = slices.Concat(first, others)
		for n := range r.Plan.Fixes {
			if r.Plan.Fixes[n].Cause == c.ID {
				r.Plan.Fixes[n].Fix = first[0].Fix
				if command != "" {
					r.Plan.Fixes[n].Command = command
				}
			}
		}
	}
	r.Plan.Command, r.Plan.Tried = command, nil
	for _, i := range kept {
		if c := &r.Causes[all[i].cause]; command != "" && done.cleared[i] == len(c.Findings) {
			r.Plan.Tried = append(r.Plan.Tried, c.ID)
		}
	}
	if done.After == nil || !complete {
		r.Plan.Verified = r.Plan.Verified && complete
		return
	}
	x.verifyPlan(all, kept, done.After)
}

// verifyPlan sets whether the plan leaves no error, if all its fixes were applied.
func (x *executor) verifyPlan(all []planned, kept []int, after *Report) {
	r := x.report
	if len(r.Plan.Fixes) == 0 {
		return // there are only warnings
	}
	executed := map[string]bool{}
	for _, i := range kept {
		executed[r.Causes[all[i].cause].ID] = true
	}
	for _, f := range r.Plan.Fixes {
		if !executed[f.Cause] {
			return // what was simulated counts
		}
	}
	expected := map[string]bool{}
	for _, c := range r.Causes {
		if slices.Contains(r.Plan.Leaves, c.ID) {
			for _, n := range c.Findings {
				expected[r.Findings[n].Identity()] = true
			}
		}
	}
	r.Plan.Verified = !slices.ContainsFunc(after.Findings, func(f Finding) bool {
		return f.Severity == result.Error && !expected[f.Identity()]
	})
}

// failed marks the fixes of a cause that were not applied, and removes those that were and did not
// work.
func (x *executor) failed(c *Cause, same func(fix.Fix) bool, untried bool) {
	others := slices.DeleteFunc(slices.Clone(c.Fixes), func(f CauseFix) bool { return same(f.Fix) })
	if len(others) > 0 && !untried {
		c.Fixes = others
	}
	for i := range c.Fixes {
		if same(c.Fixes[i].Fix) {
			c.Fixes[i].Verified = false
		}
	}
	for n := range x.report.Plan.Fixes {
		if p := &x.report.Plan.Fixes[n]; p.Cause == c.ID && same(p.Fix) {
			p.Fix = c.Fixes[0].Fix
		}
	}
}

// follows reports whether a command for a wheel that was not tried is printed before one that was.
// It could fail, and nothing would work after it.
func (x *executor) follows(all []planned, kept []int) bool {
	last := all[kept[len(kept)-1]]
	for i := range x.report.Causes[:last.cause] {
		c := &x.report.Causes[i]
		tried := slices.ContainsFunc(kept, func(k int) bool { return all[k].cause == i })
		if tried || len(c.Fixes) == 0 {
			continue
		}
		command := string(c.Fixes[0].Command)
		if slices.ContainsFunc(last.artifacts, func(a string) bool {
			return strings.Contains(command, string(shellword.Quote(shellword.File(path.Base(a)))))
		}) {
			return true
		}
	}
	return false
}

// command returns the command that applies the fixes, which succeeds if they remove what they did,
// even if something of the causes partly is left; "" if there are none, or if they
// have one of a single tool.
func (x *executor) command(
	all []planned, kept []int, after *Report, partly []string,
) shellword.Line {
	var commands []shellword.Line
	var wheels []string
	for _, i := range kept {
		for _, f := range all[i].fixes {
			if !slices.Contains(commands, f.Command) {
				commands = append(commands, f.Command)
			}
		}
		for _, a := range all[i].artifacts {
			if !slices.Contains(wheels, a) {
				wheels = append(wheels, a)
			}
		}
	}
	if len(kept) == 0 || len(commands) == 1 && fix.SingleTool(commands[0]) && !x.follows(all, kept) {
		return ""
	}
	slices.Sort(wheels)
	var options shellword.Line
	for _, p := range x.options.Platforms {
		options += " --platform " + shellword.Quote(p)
	}
	for _, w := range x.options.With {
		options += " --with " + shellword.Quote(w)
	}
	if after.Problems() { // other causes are left, so the command says for which it succeeds
		var ids []string
		for _, i := range kept {
			ids = append(ids, x.report.Causes[all[i].cause].ID)
		}
		options += " --only " + shellword.Quote(strings.Join(ids, ","))
		if len(partly) > 0 {
			options += " --partly"
		}
	}
	return fix.Run(options, wheels)
}
