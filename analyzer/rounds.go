package analyzer

import (
	"context"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// maxRounds limits how often fixes are searched and applied: to the artifacts as they were, and to
// what the fixes before led to.
const maxRounds = 3

// rounds checks the artifacts with the fixes so far, searches fixes for the causes that are left
// and applies them too, as long as errors become fewer, or a cause was only removed in part. A fix
// may be found only then: a version of a package works only with another requirement. It adds the
// fixes to all and kept.
func (x *executor) rounds(
	ctx context.Context, done *attempt, all []planned, kept []int,
) (*attempt, []planned, []int, error) {
	before, merged := x.report, false
	var last *Report // of what the fixes so far led to, with the fixes for what is left
	for range maxRounds - 1 {
		if done.After == nil || len(kept) == 0 {
			break
		}
		errors, warnings := left(done.After)
		was, _ := left(before)
		if (errors == 0 || errors >= was) && len(x.partly(done, all, kept)) == 0 {
			break
		}
		before = done.After
		next, err := x.next(ctx, done)
		if err != nil {
			return nil, nil, nil, err
		}
		if last = next.report; next.done == nil {
			break
		}
		e, w := left(next.done.After)
		if e > errors || e == errors && w >= warnings {
			break
		}
		done, all, kept = x.merge(done, all, kept, next)
		last, merged = nil, true
	}
	if !merged || !x.fixing.write {
		return done, all, kept, nil
	}
	if errors, warnings := left(done.After); last == nil && errors+warnings > 0 {
		inputs, _ := x.changed(done.Files)
		var err error
		if last, err = x.check(ctx, inputs, x.after(done)); err != nil {
			return nil, nil, nil, err
		}
	}
	done.Last = last
	return done, all, kept, nil
}

// after returns the options of the report for what an attempt led to.
func (x *executor) after(done *attempt) Options {
	o := x.options
	o.With = done.with
	return o
}

// partly returns the IDs of the causes of which the fixes removed only some findings.
func (x *executor) partly(done *attempt, all []planned, kept []int) (ids []string) {
	for _, i := range kept {
		if c := &x.report.Causes[all[i].cause]; done.cleared[i] < len(c.Findings) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// left counts the findings of a report that are errors and warnings.
func left(r *Report) (errors, warnings int) {
	for i := range r.Findings {
		switch r.Findings[i].Severity {
		case result.Error:
			errors++
		case result.Warning:
			warnings++
		}
	}
	return errors, warnings
}

// round is what was applied to the artifacts with the fixes of an earlier one.
type round struct {
	*executor
	was    map[string]string // original paths, by those of the executor's inputs
	causes map[int]int       // causes of the first report, by those of the executor's
	done   *attempt
	all    []planned
	kept   []int
}

// next searches the fixes for what is left with those of an attempt, and applies them. done is nil
// if none works.
func (x *executor) next(ctx context.Context, done *attempt) (*round, error) {
	inputs, was := x.changed(done.Files)
	r, err := x.check(ctx, inputs, x.after(done))
	if err != nil {
		return nil, err
	}
	n := &round{was: was, causes: map[int]int{}, executor: &executor{
		analyzer: x.analyzer, judge: x.judge, inputs: inputs, damaged: x.damaged, before: x.before,
		report: r, options: x.options, with: done.with, cache: x.cache,
		fixing: fixing{FixOptions{Only: []string{}}, x.fixing.write},
	}}
	for i := range r.Causes {
		if at := x.causeOf(r, &r.Causes[i], was); at >= 0 && x.wanted(&x.report.Causes[at]) {
			n.causes[i] = at
			n.fixing.Only = append(n.fixing.Only, r.Causes[i].ID)
		}
	}
	if n.done, n.all, n.kept, err = n.apply(ctx); err != nil {
		return nil, err
	}
	if len(n.kept) == 0 {
		n.done = nil
	}
	return n, nil
}

// causeOf returns the index of the cause in the report of the executor that has a finding of one in
// another report; -1 if there is none. was are the original paths.
func (x *executor) causeOf(r *Report, c *Cause, was map[string]string) int {
	ids := map[string]bool{}
	for _, n := range c.Findings {
		f := &r.Findings[n]
		ids[problem(was[f.Artifact], f)] = true
	}
	return slices.IndexFunc(x.report.Causes, func(c Cause) bool {
		return slices.ContainsFunc(c.Findings, func(n int) bool {
			f := &x.report.Findings[n]
			return ids[problem(f.Artifact, f)]
		})
	})
}

// merge adds what a round led to. The fixes become those of the causes in the first report.
func (x *executor) merge(done *attempt, all []planned, kept []int, n *round) (
	*attempt, []planned, []int,
) {
	out := &attempt{
		Execution: Execution{After: n.done.After, Refused: done.Refused}, with: n.done.with,
	}
	out.Files = slices.Clone(done.Files)
	for _, f := range n.done.Files {
		f.Artifact = n.was[f.Artifact]
		f.Causes = nil
		if old := out.file(f.Artifact); old != nil {
			f.Changed = slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Changed, f.Changed))))
			f.Causes = slices.Clone(old.Causes)
			*old = f
		} else {
			out.Files = append(out.Files, f)
		}
	}
	for _, i := range n.kept {
		c := &x.report.Causes[n.causes[n.all[i].cause]]
		p := planned{cause: n.causes[n.all[i].cause]}
		for _, a := range n.all[i].artifacts {
			p.artifacts = append(p.artifacts, n.was[a])
			if f := out.file(n.was[a]); !slices.Contains(f.Causes, c.ID) {
				f.Causes = append(f.Causes, c.ID)
			}
		}
		p.fixes = n.all[i].fixes
		of := n.report.Causes[n.all[i].cause].Fixes
		if k := slices.IndexFunc(kept, func(k int) bool { return all[k].cause == p.cause }); k >= 0 {
			earlier := all[kept[k]].fixes
			x.found(c, of, p.fixes, len(earlier))
			all[kept[k]].fixes = slices.Concat(earlier, p.fixes)
			continue
		}
		x.found(c, of, p.fixes, 0)
		all = append(all, p)
		kept = append(kept, len(all)-1)
	}
	order := func(id string) int {
		return slices.IndexFunc(x.report.Causes, func(c Cause) bool { return c.ID == id })
	}
	for i := range out.Files {
		slices.SortFunc(out.Files[i].Causes, func(a, b string) int { return order(a) - order(b) })
	}
	slices.SortStableFunc(kept, func(i, j int) int { return all[i].cause - all[j].cause })
	out.cleared = make([]int, len(all))
	_, was := x.changed(out.Files)
	x.compare(out, all, kept, was)
	return out, all, kept
}

// found adds fixes that were found for a cause later to it, after the first ones, and to the plan.
func (x *executor) found(c *Cause, of []CauseFix, fixes []fix.Fix, first int) {
	r := x.report
	for i := len(fixes) - 1; i >= 0; i-- {
		same := func(f CauseFix) bool { return f.Same(fixes[i]) }
		n := slices.IndexFunc(of, same)
		if n >= 0 && !slices.ContainsFunc(c.Fixes, same) {
			c.Fixes = slices.Insert(c.Fixes, min(first, len(c.Fixes)), of[n])
		}
	}
	at := slices.Index(r.Plan.Leaves, c.ID)
	if at < 0 {
		return
	}
	r.Plan.Leaves = slices.Delete(r.Plan.Leaves, at, at+1)
	r.Plan.Fixes = append(r.Plan.Fixes, result.PlannedFix{Cause: c.ID, Fix: fixes[0]})
	slices.SortStableFunc(r.Plan.Fixes, func(a, b result.PlannedFix) int {
		index := func(id string) int {
			return slices.IndexFunc(r.Causes, func(c Cause) bool { return c.ID == id })
		}
		return index(a.Cause) - index(b.Cause)
	})
}

// changed returns the inputs with some files instead of the originals, and the original paths by
// the new ones. If another input has the name of a new one, that is in a folder of its own.
func (x *executor) changed(files []Fixed) (inputs []Input, was map[string]string) {
	inputs, was = slices.Clone(x.inputs), map[string]string{}
	for _, i := range inputs {
		was[i.Name] = i.Name
	}
	for _, f := range files {
		n := slices.IndexFunc(x.inputs, func(i Input) bool { return i.Name == f.Artifact })
		dir, _ := path.Split(f.Artifact)
		name := dir + f.File
		for was[name] != "" && was[name] != f.Artifact { // another input has this path
			dir += fix.Fixed + "/"
			name = dir + f.File
		}
		inputs[n] = Input{Name: name, Content: f.Result, Size: f.Size}
		was[name] = f.Artifact
	}
	return inputs, was
}
