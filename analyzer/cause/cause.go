// Package cause groups the findings of a report by their cause: a wheel tagged for an older
// system than the one it was built on, a dependency with a wrong version, a library that is
// neither bundled nor declared. 10,000 findings may have three causes.
//
//	cause.Of(report, cause.Options{Rules: rules})
//
// sets Report.Causes and a preliminary Report.Plan. The package resolves nothing, tries no
// fixes, and reads no sentence: what it needs of a rule is in its Rule, and what it needs of a
// finding in the fields of the finding. Every error and warning has exactly one cause. The cost is
// linear in the number of findings.
package cause

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/result"
)

// Options contain what a report does not.
type Options struct {
	// Rules are what the rules of the findings say about their causes, by the ID of the rule.
	Rules map[string]Rule
	// Pins are the packages of an environment by normalized name, of which the causes say what to
	// change; nil for artifacts that are checked to be published.
	Pins map[string]Pin
	// Index is set if the versions of packages are those that a package index has, not only those
	// that were published when compat was.
	Index bool
	// Published are the paths of artifacts that a package index has under this name.
	Published []string
}

// group is a cause and its findings.
type group struct {
	origin
	rules    map[string]Rule
	artifact *artifact
	findings []int
	all      []*result.Finding // the findings for the indexes in findings
	parts    []*group          // those that are shown as parts of its cause; see joinSimilar
	cut      bool              // the title had no room for all of its words
}

// Of sets the causes and the plan of a report from its findings.
func Of(r *result.Report, o Options) {
	groups := collect(r, o)
	r.Causes = make([]result.Cause, 0, len(groups))
	for _, g := range groups {
		r.Causes = append(r.Causes, g.withParts(r, o))
	}
	slices.SortStableFunc(r.Causes, func(a, b result.Cause) int {
		return cmp.Or(
			b.Severity.Rank()-a.Severity.Rank(),
			boolRank(b.New)-boolRank(a.New),
			boolRank(a.AnotherWheel())-boolRank(b.AnotherWheel()),
			errors(r, b)-errors(r, a),
			boolRank(o.first(b))-boolRank(o.first(a)),
			b.Objects-a.Objects,
			len(b.Findings)-len(a.Findings),
			strings.Compare(a.ID, b.ID),
		)
	})
	newBuildFirst(r)
	unique(r.Causes)
	r.Plan = plan(r.Causes)
}

// newBuildFirst moves an error for which wheels have to be built again before the first cause whose
// fix the new build makes useless.
func newBuildFirst(r *result.Report) {
	causes := r.Causes
	for i := range causes {
		c := causes[i]
		at := slices.IndexFunc(causes[:i], func(x result.Cause) bool { return r.Replaces(&c, &x) })
		if at >= 0 {
			copy(causes[at+1:i+1], causes[at:i])
			causes[at] = c
		}
	}
}

// first reports whether a cause has to be removed before others.
func (o Options) first(c result.Cause) bool {
	kind := o.Rules[c.Rules[0]].Kind
	return kind != nil && kind.First
}

// collect groups the findings, in the order of the report.
func collect(r *result.Report, o Options) []*group {
	s := newSorter(r, o.Rules)
	byOrigin := map[origin]*group{}
	var groups []*group
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Severity.Rank() < result.Warning.Rank() {
			continue
		}
		at := s.origin(f)
		g := byOrigin[at]
		if g == nil {
			g = &group{origin: at, rules: o.Rules, artifact: s.artifact(f.Artifact)}
			byOrigin[at] = g
			groups = append(groups, g)
		}
		g.findings = append(g.findings, i)
		g.all = append(g.all, f)
	}
	groups = mergeActions(groups, o.Pins != nil)
	if o.Pins != nil {
		groups = foldUnmet(mergePins(groups))
	}
	// The first finding is described: it is about what fails, and the base does not have it.
	for _, g := range groups {
		slices.SortStableFunc(g.findings, func(a, b int) int {
			x, y := &r.Findings[a], &r.Findings[b]
			return cmp.Or(boolRank(g.guest(x))-boolRank(g.guest(y)), boolRank(y.New)-boolRank(x.New),
				boolRank(g.unmet(x))-boolRank(g.unmet(y)))
		})
		for i, n := range g.findings {
			g.all[i] = &r.Findings[n]
		}
		g.artifact = s.artifact(g.all[0].Artifact)
	}
	if o.Pins == nil {
		groups = joinSimilar(groups)
	}
	return groups
}

// severity returns the most severe one of its findings.
func (g *group) severity() result.Severity {
	worst := slices.MaxFunc(g.all, func(a, b *result.Finding) int {
		return a.Severity.Rank() - b.Severity.Rank()
	})
	return worst.Severity
}

// counts returns how many objects and symbols findings are about.
func (g *group) counts(all []*result.Finding) (n, of int) {
	type object struct{ artifact, path string }
	var objects set[object]
	var symbols set[string]
	for _, f := range all {
		if f.Symbol != "" {
			symbols.add(f.Symbol)
		}
		if f.Object != "" && !g.states(f) { // else it is a package
			objects.add(object{f.Artifact, f.Object})
		}
	}
	return len(objects.list), len(symbols.list)
}

// on returns all targets of findings; nil if they are those that are given.
func on(all []*result.Finding, given []string) []string {
	var targets set[string]
	for _, f := range all {
		for _, name := range append([]string{f.Target}, f.On...) {
			if name != "" {
				targets.add(name)
			}
		}
	}
	slices.Sort(targets.list)
	if slices.Equal(targets.list, given) {
		return nil
	}
	return targets.list
}

// cause describes a group without its parts. room is for the title, in characters.
func (g *group) cause(r *result.Report, o Options, room int) result.Cause {
	first := g.all[0]
	c := result.Cause{
		Severity: g.severity(),
		Artifact: first.Artifact,
		Findings: g.findings,
		Targets:  []string{},
	}
	var rules, targets set[string]
	for _, f := range g.all {
		c.New = c.New || f.New
		rules.add(f.Rule)
		if f.Target != "" {
			targets.add(f.Target)
		}
	}
	slices.Sort(rules.list)
	slices.Sort(targets.list)
	c.Covers = g.kind.Covers
	c.Rules, c.Targets = rules.list, append(c.Targets, targets.list...)
	c.On = on(g.all, c.Targets)
	c.Objects, c.Symbols = g.counts(g.all)
	c.Fixes, c.Together = fixes(g)
	if g.kind.Platforms != nil {
		c.Fails, c.Works = g.kind.Platforms(g, r)
	}
	c.Evidence = evidence(g)
	t := &Text{group: g, cause: &c, report: r, options: o, room: room}
	c.ID = slug(g.kind.Name, g.subject)
	var title string
	for _, t.shown = range []int{0, 1, counted} {
		if title = t.fullTitle(); len(title) <= room {
			break
		}
	}
	c.Title, g.cut = cmp.Or(shorten(title, room), "other findings"), len(title) > room
	c.Reason = t.reason()
	if g.kind.Systems != nil { // symbol versions that the texts name
		named := []string{c.Title}
		for _, x := range c.Fixes[:min(len(c.Fixes), 1)] {
			named = append(named, x.Title.String())
		}
		namedFirst(c.Evidence, named...)
	}
	c.Covers = c.Covers || t.coversGuests()
	c.Reproduce, c.Why = t.reproduce(), t.severityReason()
	if c.Reproduce == nil {
		c.Message = t.printed()
	}
	if t.pinned() {
		c.Fixes = t.choices()
		c.Actor, c.Action, c.Do, c.Affected = result.Installer, t.advice(), "", ""
		_, p := t.blamed()
		c.File, c.Line = p.File, p.Line
		return c
	}
	t.action()
	completed := []result.CauseFix{}
	for _, x := range c.Fixes {
		completed = append(completed, t.complete(x)...)
	}
	c.Fixes = completed
	if slices.ContainsFunc(c.Fixes, c.ForUsers) { // after what the builder does
		slices.SortStableFunc(c.Fixes, func(a, b result.CauseFix) int {
			return cmp.Or(b.Clears-a.Clears, boolRank(b.Verified)-boolRank(a.Verified),
				boolRank(c.ForUsers(a))-boolRank(c.ForUsers(b)))
		})
	}
	return c
}

// errors counts the findings of a cause that are errors.
func errors(r *result.Report, c result.Cause) int {
	n := 0
	for _, i := range c.Findings {
		if r.Findings[i].Severity == result.Error {
			n++
		}
	}
	return n
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// set is a list of distinct values in the order of adding. The zero value is empty.
type set[T comparable] struct {
	list []T
	has  map[T]bool
}

// add reports whether v is new.
func (s *set[T]) add(v T) bool {
	if s.has[v] {
		return false
	}
	if s.has == nil {
		s.has = map[T]bool{}
	}
	s.has[v] = true
	s.list = append(s.list, v)
	return true
}

// slug returns an ID for a cause's kind and subject: lower-case letters, digits and ".+_-".
func slug(kind, subject string) string {
	s := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.ContainsRune(".+_-", c):
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, kind+" "+subject)
	s = strings.Trim(s, "+._-")
	return cmp.Or(s[:min(len(s), maxID)], "cause")
}

const maxID = 80

// unique appends numbers to equal IDs: two artifacts may have the same cause.
func unique(causes []result.Cause) {
	seen := map[string]int{}
	for i := range causes {
		id := causes[i].ID
		if seen[id]++; seen[id] > 1 {
			causes[i].ID = slug(id, itoa(seen[id]))
		}
	}
}
