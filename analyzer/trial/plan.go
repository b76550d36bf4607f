package trial

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// step is a fix that is applied to some artifacts.
type step struct {
	fix.Fix
	artifacts map[string]bool // by path
	alone     bool            // only these artifacts are checked with it
}

// replacedBy reports whether a step gives the same wheels a platform tag as a fix does.
func (s step) replacedBy(x fix.Fix, artifacts map[string]bool) bool {
	return s.Kind == x.Kind && maps.Equal(s.artifacts, artifacts)
}

// changes reports whether a step is applied to all artifacts of a cause.
func (s step) changes(cause string, r *result.Report) bool {
	for _, c := range r.Causes {
		if c.ID != cause {
			continue
		}
		for _, f := range c.Findings {
			if !s.artifacts[r.Findings[f].Artifact] {
				return false
			}
		}
	}
	return true
}

// planner verifies the fixes of causes, and of all causes together.
type planner struct {
	verifiers []*Verifier
	others    []*Verifier // of artifacts without findings
	report    *result.Report
	severity  map[string]result.Severity // configured severity by rule
	accepted  map[string]bool            // identities of accepted findings
	reported  map[string]result.Severity // severity of the report's findings by identity
	reword    func(fix.Fix) fix.Fix
	limited   bool // the limit of trials was reached
}

// Plan verifies the fixes of the report's causes, and sets the report's plan. It counts what
// each fix removes when the artifact is checked with it, and drops fixes that remove nothing or
// break something else. For each cause of severity error, the plan has the first fix that
// removes its errors when applied together with all fixes before it. In an environment, a version
// that a fix chooses is that of all artifacts, and the versions of the plan have to satisfy the
// requirements of each other: if those of a fix do not, others are searched. severity is the
// configured severity by rule; verifiers are those of all targets with findings; others, those of
// an environment without findings, are checked with the plan if they require a package of which it
// chooses the version; reword returns a fix of a search as a cause has it. The error is that of the
// context or of a source.
func Plan(
	verifiers, others []*Verifier,
	r *result.Report,
	severity map[string]result.Severity,
	reword func(fix.Fix) fix.Fix,
) error {
	p := &planner{
		verifiers: verifiers,
		others:    others,
		report:    r,
		severity:  severity,
		accepted:  map[string]bool{},
		reported:  map[string]result.Severity{},
		reword:    reword,
	}
	for _, v := range verifiers {
		v.most = len(v.known) + maxPlanTrials
	}
	for i := range r.Accepted {
		p.accepted[r.Accepted[i].Finding.Identity()] = true
	}
	for i := range r.Findings {
		p.reported[r.Findings[i].Identity()] = r.Findings[i].Severity
	}
	for i := range r.Causes {
		if err := p.verify(&r.Causes[i]); err != nil {
			return err
		}
	}
	return p.plan()
}

// triedFix is a fix of a cause with the indexes of the findings that remain.
type triedFix struct {
	result.CauseFix
	tried bool
	left  []int // if tried
}

// verify counts what each fix of a cause removes, and sorts the fixes accordingly. If none removes
// all, a fix has to remove more than those before it.
func (p *planner) verify(c *result.Cause) error {
	var kept []triedFix
	for _, x := range c.Fixes {
		if x.Change == nil || !p.tries(c) {
			kept = append(kept, triedFix{CauseFix: x})
			continue
		}
		o, err := p.apply([]step{{x.Fix, p.artifacts(c), true}})
		if err != nil {
			return err
		}
		if o == nil { // not tried
			kept = append(kept, triedFix{CauseFix: x})
			continue
		}
		left := p.left(o, c, result.Note)
		if len(left) == len(c.Findings) || o.breaks {
			continue
		}
		x.Clears, x.Verified = len(c.Findings)-len(left), true
		kept = append(kept, triedFix{x, true, left})
	}
	all := func(x triedFix) int { return min(x.Clears/max(len(c.Findings), 1), 1) }
	slices.SortStableFunc(kept, func(a, b triedFix) int {
		return cmp.Or(
			all(b)-all(a),
			boolToInt(a.Last)-boolToInt(b.Last),
			boolToInt(b.Verified)-boolToInt(a.Verified),
			boolToInt(a.Conflicts())-boolToInt(b.Conflicts()),
		)
	})
	c.Together = len(kept) > 0 && all(kept[0]) == 0
	left := c.Findings
	c.Fixes = []result.CauseFix{}
	for _, x := range kept {
		if c.Together && x.tried {
			also := intersection(left, x.left)
			if len(also) == len(left) {
				continue
			}
			left = also
		}
		c.Fixes = append(c.Fixes, x.CauseFix)
	}
	c.Fixes = distinct(c.Fixes)
	c.Together = c.Together && len(c.Fixes) > 1
	return nil
}

func intersection(a, b []int) []int {
	in := make(map[int]bool, len(b))
	for _, n := range b {
		in[n] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(n int) bool { return !in[n] })
}

// tries reports whether a fix can be tried for an artifact of a cause: a package of an environment
// that requires another one need not have been read.
func (p *planner) tries(c *result.Cause) bool {
	artifacts := p.artifacts(c)
	return slices.ContainsFunc(p.verifiers, func(v *Verifier) bool {
		return artifacts[v.base.Artifact.Path]
	})
}

// distinct removes fixes with the command of an earlier one or, if they have none, with its title.
func distinct(fixes []result.CauseFix) []result.CauseFix {
	seen := map[string]bool{}
	return slices.DeleteFunc(fixes, func(x result.CauseFix) bool {
		key := cmp.Or(string(x.Command), x.Title.String())
		again := seen[key]
		seen[key] = true
		return again
	})
}

// plan selects a fix for each cause of severity error.
func (p *planner) plan() error {
	out := result.Plan{Fixes: []result.PlannedFix{}, Leaves: []string{}}
	var steps []step
	var untried []string // causes whose fixes cannot be tried, such as those without a wheel
	verified := true
	for i := range p.report.Causes {
		c := &p.report.Causes[i]
		if c.Severity != result.Error {
			continue
		}
		if len(c.Fixes) == 0 {
			out.Leaves = append(out.Leaves, c.ID)
			continue
		}
		next, chosen, err := p.choose(steps, c)
		if err != nil {
			return err
		}
		if chosen == nil {
			failed := c.Fixes[0].Fix
			failed.Verified = false
			if len(steps) > 0 && failed.Change != nil && !p.limited {
				failed.Cost = append(slices.Clone(failed.Cost), fix.Remain)
			}
			if p.tries(c) || failed.Change != nil {
				verified = false
			} else {
				untried = append(untried, c.ID)
			}
			chosen = &failed
		} else {
			steps = next
		}
		out.Fixes = append(out.Fixes, result.PlannedFix{Cause: c.ID, Fix: *chosen})
	}
	// a later platform tag replaces an earlier one
	for i := range out.Fixes {
		x := &out.Fixes[i]
		for _, s := range steps {
			if x.Verified && x.Kind.Exclusive() && x.Kind == s.Kind && s.changes(x.Cause, p.report) {
				x.Fix = s.Fix
			}
		}
	}
	var o *outcome
	broken, works := "", false
	leaves := slices.Concat(out.Leaves, untried)
	if verified && len(steps) > 0 {
		var err error
		if o, broken, works, err = p.together(steps, leaves); err != nil {
			return err
		}
	}
	if !works && len(out.Fixes)-len(untried) > 1 {
		alone, last, err := p.enough(leaves)
		if err != nil {
			return err
		}
		if last != nil {
			o, broken, works = last, "", true
			for i := range out.Fixes {
				if !slices.Contains(untried, out.Fixes[i].Cause) {
					out.Fixes[i].Fix = *alone
				}
			}
		}
	}
	out.Verified = works && len(untried) == 0
	if o != nil {
		last := &out.Fixes[len(out.Fixes)-1].Fix
		last.Cost = append(slices.Clone(last.Cost), newConflicts(o.conflicts, last.Cost)...)
		if broken != "" {
			last.Cost = append(last.Cost, broken)
		}
		for i := range p.report.Causes {
			p.putFirst(&p.report.Causes[i], out.Fixes, o)
		}
	}
	p.report.Plan = out
	shareTags(p.report)
	return nil
}

// together tries all steps. works is set if they leave no error but those of some causes; otherwise
// broken is what artifacts without findings lose. The outcome is nil if it is not known.
func (p *planner) together(
	steps []step,
	leaves []string,
) (o *outcome, broken string, works bool, err error) {
	if o, err = p.apply(steps); o == nil || err != nil {
		return nil, "", false, err
	}
	if broken, err = p.broken(steps); err != nil {
		return nil, "", false, err
	}
	return o, broken, broken == "" && !p.errorsLeft(o, leaves) && len(o.conflicts) == 0, nil
}

// enough returns the fix of one cause that leaves no error but those of some causes, for a plan
// whose fixes contradict each other: the first one of a cause, or else a later one. The outcome is
// nil if there is none.
func (p *planner) enough(leaves []string) (*fix.Fix, *outcome, error) {
	for at, more := 0, true; more; at++ {
		more = false
		for i := range p.report.Causes {
			c := &p.report.Causes[i]
			if c.Severity != result.Error || at >= len(c.Fixes) {
				continue
			}
			more = true
			x := c.Fixes[at].Fix
			if x.Change == nil {
				continue
			}
			o, _, works, err := p.together([]step{{x, p.artifacts(c), false}}, leaves)
			if err != nil {
				return nil, nil, err
			}
			if works {
				return &x, o, nil
			}
		}
	}
	return nil, nil, nil
}

// broken returns what artifacts without findings lose with some steps, as a cost; "" if nothing.
func (p *planner) broken(steps []step) (string, error) {
	for _, v := range p.others {
		s := p.scenario(v, steps)
		changed := names(s.With)
		m := v.base.Artifact.Metadata
		if m == nil || !slices.ContainsFunc(m.Requires, func(q pkgmeta.Requirement) bool {
			return changed[q.Name]
		}) {
			continue
		}
		v = v.in(s)
		w, err := v.run(s)
		if w == nil || err != nil {
			return "", err
		}
		for _, f := range w.found {
			severity := cmp.Or(p.severity[f.Rule], f.Severity)
			if severity == result.Error && !v.before[f.Identity()] && !p.accepted[f.Identity()] {
				return fix.Remain + ": " + cmp.Or(f.Headline, f.Message), nil
			}
		}
	}
	return "", nil
}

// putFirst makes the planned fix of a cause its first one, if the plan removes all findings of the
// cause: a newer tag that another cause needs replaces its own.
func (p *planner) putFirst(c *result.Cause, planned []result.PlannedFix, o *outcome) {
	at := slices.IndexFunc(planned, func(x result.PlannedFix) bool { return x.Cause == c.ID })
	if at < 0 || o == nil || len(p.left(o, c, result.Note)) > 0 {
		return
	}
	first := planned[at].Fix
	c.Fixes = slices.DeleteFunc(c.Fixes, func(x result.CauseFix) bool {
		return x.Same(first) ||
			x.Kind.Exclusive() && x.Kind == first.Kind
	})
	c.Fixes = slices.Insert(c.Fixes, 0, result.CauseFix{Fix: first, Clears: len(c.Findings)})
	c.Together = false
}

// choose returns the steps including a fix for a cause, and the fix, or nil if none is
// verified. The steps are unchanged if they already remove the cause.
func (p *planner) choose(steps []step, c *result.Cause) ([]step, *fix.Fix, error) {
	for i := len(steps) - 1; i >= 0; i-- {
		o, err := p.apply(steps[:i+1])
		if err != nil {
			return nil, nil, err
		}
		if o == nil || len(p.left(o, c, result.Error)) > 0 {
			if i == len(steps)-1 {
				break
			}
			return steps, &steps[i+1].Fix, nil
		}
		if i == 0 {
			return steps, &steps[0].Fix, nil
		}
	}
	next, chosen, conflicts, err := p.add(steps, c, c.Fixes)
	if err != nil || chosen != nil && !conflicts || len(steps) == 0 {
		return next, chosen, err
	}
	others, err := p.search(steps, c)
	if err != nil {
		return nil, nil, err
	}
	found, other, conflicts, err := p.add(steps, c, others)
	if err != nil || other == nil || conflicts {
		return next, chosen, err
	}
	c.Fixes = slices.Insert(c.Fixes, 0, others[slices.IndexFunc(others, func(x result.CauseFix) bool {
		return x.Title.Equal(other.Title)
	})])
	return found, other, nil
}

// search searches fixes for a cause in the environment with some steps. Their versions fit those of
// the steps.
func (p *planner) search(steps []step, c *result.Cause) (out []result.CauseFix, _ error) {
	o, err := p.apply(steps)
	if o == nil || err != nil {
		return nil, err
	}
	seen, remain := map[string]bool{}, map[string]bool{}
	for _, i := range p.left(o, c, result.Error) {
		remain[p.report.Findings[i].Identity()] = true
	}
	artifacts := p.artifacts(c)
	for k, v := range p.verifiers {
		if !v.session.Pinned() || !artifacts[v.base.Artifact.Path] {
			continue
		}
		var left []judge.Found
		for _, x := range o.trials[k].found {
			if remain[x.Identity()] {
				x.Fixes = nil
				left = append(left, x)
			}
		}
		s := p.scenario(v, steps)
		if err := v.in(s).after(s, o.trials[k]).candidates(left); err != nil {
			return nil, err
		}
		for _, f := range left {
			for _, x := range f.Fixes {
				if title := x.Title.String(); x.Verified && !seen[title] {
					seen[title] = true
					out = append(out, result.CauseFix{Fix: p.reword(x), Clears: len(c.Findings)})
				}
			}
		}
	}
	return out, nil
}

// add returns the steps including the first of some fixes that removes the errors of a cause, and
// that fix; nil if there is none. One whose versions do not satisfy the requirements of others
// comes after those whose versions do.
func (p *planner) add(
	steps []step,
	c *result.Cause,
	fixes []result.CauseFix,
) (with []step, chosen *fix.Fix, conflicts bool, _ error) {
	artifacts := p.artifacts(c)
	for i, x := range fixes {
		if x.Change == nil || x.Last && i > 0 {
			continue
		}
		next := slices.Clone(steps)
		if x.Kind.Exclusive() {
			next = slices.DeleteFunc(next, func(s step) bool { return s.replacedBy(x.Fix, artifacts) })
		}
		next = append(next, step{x.Fix, artifacts, false})
		o, err := p.apply(next)
		if err != nil {
			return nil, nil, false, err
		}
		if o == nil || o.breaks || len(p.left(o, c, result.Error)) > 0 {
			continue
		}
		if len(o.conflicts) == 0 {
			return next, &next[len(next)-1].Fix, false, nil
		}
		if chosen == nil {
			with, chosen, conflicts = next, &next[len(next)-1].Fix, true
		}
	}
	return with, chosen, conflicts, nil
}

// outcome contains the remaining findings on every target with some fixes applied.
type outcome struct {
	trials []*trial // by verifier
	// by verifier: a step chooses another version of the artifact's package, which was not read
	replaced  []bool
	with      []string // the requirements of the steps
	breaks    bool
	conflicts []string // requirements of an environment that no other version satisfies
}

// apply checks every artifact with fixes applied. It returns nil if the limit of trials is
// reached.
func (p *planner) apply(steps []step) (*outcome, error) {
	out := &outcome{}
	var s fix.Scenario
	for _, x := range steps {
		s = fix.Versions(x.Change).Apply(s)
	}
	out.with = s.With
	changed := names(s.With)
	for _, v := range p.verifiers {
		m, s := v.base.Artifact.Metadata, p.scenario(v, steps)
		now := v.in(s)
		replaced := now == v && v.session.Pinned() && m != nil && changed[pkgmeta.Normalize(m.Name)]
		out.replaced = append(out.replaced, replaced)
		w, err := now.run(s)
		if w == nil || err != nil {
			p.limited = true
			return nil, err
		}
		out.trials = append(out.trials, w)
		out.breaks = out.breaks || w.breaks && !replaced
		for _, cost := range w.cost {
			if v.session.Pinned() && strings.HasPrefix(cost, fix.ConflictsWith) &&
				!(replaced && strings.HasPrefix(cost, ownConflict)) &&
				!slices.Contains(out.conflicts, cost) {
				out.conflicts = append(out.conflicts, cost)
			}
		}
	}
	return out, nil
}

// scenario returns the scenario of a verifier with steps applied: those of its artifact, and the
// versions that others choose for the same environment.
func (p *planner) scenario(v *Verifier, steps []step) fix.Scenario {
	s := v.base.Scenario
	for _, x := range steps {
		switch {
		case x.artifacts[v.base.Artifact.Path]:
			s = fix.Of(x.Change, v.base.Artifact.Path).Apply(s)
		case v.session.Pinned() && !x.alone:
			s = fix.Versions(x.Change).Apply(s)
		}
	}
	s.Platform = onArch(s.Platform, v.base.Target.Platform.Arch, v.base.Scenario.Platform)
	return s
}

// onArch returns the platform of a new tag for the architecture of a target, since the tag of a
// universal wheel is about all: macosx_12_0_x86_64/x86_64 for arm64 is macosx_12_0_arm64/arm64. It
// is usual if the tag does not exist for the architecture.
func onArch(name, arch, usual string) string {
	tag, of, ok := strings.Cut(name, "/")
	if !ok || of == arch || name == usual {
		return name
	}
	other := strings.TrimSuffix(tag, of) + arch + "/" + arch
	if _, err := platform.Lookup(other, arch); err != nil {
		return usual
	}
	return other
}

// left returns the indexes of a cause's findings with at least a severity that remain.
func (p *planner) left(o *outcome, c *result.Cause, least result.Severity) (out []int) {
	for _, i := range c.Findings {
		f := &p.report.Findings[i]
		if f.Severity.Rank() < least.Rank() {
			continue
		}
		if p.remains(o, f) {
			out = append(out, i)
		}
	}
	return out
}

// remains reports whether a finding remains. One that no trial shows remains unless the versions of
// the steps are those that it asks for.
func (p *planner) remains(o *outcome, f *result.Finding) bool {
	id, known := f.Identity(), false
	for k, v := range p.verifiers {
		if v.base.Artifact.Path != f.Artifact || !v.before[id] {
			continue
		}
		known = true
		if o.replaced[k] && needsRequired(f) { // the other version has other requirements
			return o.excludedBy(v.base.Artifact.Metadata.Name)
		}
		if o.trials[k].left[id] {
			return true
		}
	}
	return !known && !o.chooses(f)
}

// needsRequired reports whether a finding occurs only because other versions are chosen than the
// artifact requires.
func needsRequired(f *result.Finding) bool {
	return slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
		_, ok := x.Change.(fix.AsRequired)
		return ok
	})
}

// excludedBy reports whether the chosen version of a package requires others than are chosen.
func (o *outcome) excludedBy(name string) bool {
	return slices.ContainsFunc(o.conflicts, func(s string) bool {
		return strings.HasPrefix(s, fix.ConflictsWith+pkgmeta.Normalize(name)+"==")
	})
}

// chooses reports whether the steps choose the version that a finding about the pins asks for: one
// that a package requires, another one of that package, or one that has a wheel.
func (o *outcome) chooses(f *result.Finding) bool {
	required, err := pkgmeta.ParseRequirement(f.Requirement)
	unmet := err == nil && required.Name == f.Package // "numpy<2"
	if unmet && names(o.with)[f.RequiredBy] {
		return !o.excludedBy(f.RequiredBy)
	}
	return slices.ContainsFunc(o.with, func(with string) bool {
		q, err := pkgmeta.ParseRequirement(with)
		if err != nil || q.Name != pkgmeta.Normalize(f.Package) {
			return false
		}
		if unmet {
			return admits(required, q)
		}
		return slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Requirement == with })
	})
}

// admits reports whether a requirement allows the version that another one pins.
func admits(q, pin pkgmeta.Requirement) bool {
	v, ok := pin.Pin()
	return ok && q.Admits(v) || q.Spec == pin.Spec
}

// errorsLeft reports whether errors remain that do not belong to some causes.
func (p *planner) errorsLeft(o *outcome, causes []string) bool {
	expected := map[string]bool{}
	for i := range p.report.Causes {
		if c := &p.report.Causes[i]; slices.Contains(causes, c.ID) {
			for _, f := range c.Findings {
				expected[p.report.Findings[f].Identity()] = true
			}
		}
	}
	for i := range p.report.Causes {
		if c := &p.report.Causes[i]; !slices.Contains(causes, c.ID) &&
			len(p.left(o, c, result.Error)) > 0 {
			return true
		}
	}
	for k, w := range o.trials {
		if o.replaced[k] {
			continue
		}
		for _, x := range w.found {
			id := x.Identity()
			severity := cmp.Or(p.reported[id], p.severity[x.Rule], x.Severity)
			if severity == result.Error && !expected[id] && !p.accepted[id] {
				return true
			}
		}
	}
	return false
}

// artifacts returns the paths of the artifacts of a cause.
func (p *planner) artifacts(c *result.Cause) map[string]bool {
	out := map[string]bool{}
	for _, i := range c.Findings {
		out[p.report.Findings[i].Artifact] = true
	}
	return out
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
