package analyzer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
)

// target adds a platform to the report, or the packages beside it to the one that is there.
func (r *Report) target(p *platform.Platform, sets []*packages.Set) {
	i := slices.IndexFunc(r.Targets, func(t Target) bool { return t.Name == p.Name })
	if i < 0 {
		i = len(r.Targets)
		r.Targets = append(r.Targets, Target{Name: p.Name, Verdict: Compatible})
	}
	t := &r.Targets[i]
	for _, s := range sets {
		for _, rel := range s.Releases {
			if name := rel.ID().String(); !slices.Contains(t.With, name) {
				t.With = append(t.With, name)
			}
		}
	}
}

func (r *Report) addUnread(u Unread) {
	if !slices.Contains(r.Unread, u) {
		r.Unread = append(r.Unread, u)
	}
}

func (r *Report) addNote(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// alsoOn ends a message with the other platforms that show the finding.
func alsoOn(names []string) string {
	const shown = 4
	switch {
	case len(names) == 0:
		return ""
	case len(names) <= shown:
		return "; the same on " + strings.Join(names, ", ")
	}
	return fmt.Sprintf(
		"; the same on %s and %d more platforms up to %s",
		strings.Join(names[:shown], ", "),
		len(names)-shown,
		names[len(names)-1],
	)
}

// MarkExisting clears New on the findings whose identity is among these, the base's.
func (r *Report) MarkExisting(identities []string) {
	sorted := slices.Sorted(slices.Values(identities))
	for i := range r.Findings {
		_, had := slices.BinarySearch(sorted, r.Findings[i].Identity())
		r.Findings[i].New = !had
	}
}

// Identities lists the findings' identities, each once.
func (r *Report) Identities() []string {
	ids := []string{}
	for i := range r.Findings {
		ids = append(ids, r.Findings[i].Identity())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// conclude applies configured severities and acceptances, sorts, and sums up.
func (c *check) conclude(r *Report) {
	kept := r.Findings[:0]
	for _, f := range r.Findings {
		if s, ok := c.options.Rules[f.Rule]; ok {
			f.Severity = s
		}
		if f.Severity == Off {
			continue
		}
		if a := c.accepted(&f); a != nil {
			r.Accepted = append(
				r.Accepted,
				Accepted{Finding: f, Because: a.Because, Until: a.Until, By: a.By},
			)
			continue
		}
		kept = append(kept, f)
	}
	r.Findings = kept
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if n := rank(b.Severity) - rank(a.Severity); n != 0 {
			return n
		}
		return cmp.Or(
			strings.Compare(a.Artifact, b.Artifact),
			strings.Compare(a.Object, b.Object),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(
				a.Library,
				b.Library,
			),
			strings.Compare(a.Version, b.Version),
			strings.Compare(a.Symbol, b.Symbol),
		)
	})
	r.retarget()
	r.Verdict = r.verdict()
	r.full()
}

// retarget sets the verdict of each target from the findings that count.
func (r *Report) retarget() {
	for i := range r.Targets {
		t := &r.Targets[i]
		t.Verdict = Compatible
		if len(r.Unread) > 0 {
			t.Verdict = Unchecked
		}
	}
	for _, f := range r.Findings {
		for i := range r.Targets {
			if t := &r.Targets[i]; f.Severity == Error && slices.Contains(f.on, t.Name) {
				t.Verdict = Incompatible
			}
		}
	}
}

func (r *Report) verdict() Verdict {
	switch {
	case slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error }):
		return Incompatible
	case len(r.Unread) > 0:
		return Unchecked
	}
	return Compatible
}

// Fails tells whether a new finding is at or above a severity; "" counts as Error, and nothing
// fails at Off.
func (r *Report) Fails(on Severity) bool {
	if on == "" {
		on = Error
	}
	return on != Off &&
		slices.ContainsFunc(
			r.Findings,
			func(f Finding) bool { return f.New && rank(f.Severity) >= rank(on) },
		)
}

func (c *check) accepted(f *Finding) *Accept {
	for i := range c.options.Accept {
		a := &c.options.Accept[i]
		switch {
		case a.Rule != "" && a.Rule != f.Rule,
			a.Symbol != "" && a.Symbol != f.Symbol,
			a.Object != "" && a.Object != f.Object,
			a.Finding != "" && a.Finding != f.Identity():
		case a.Until != "" && c.options.Today > a.Until:
		default:
			return a
		}
	}
	return nil
}

func rank(s Severity) int {
	switch s {
	case Error:
		return 3
	case Warning:
		return 2
	case Note:
		return 1
	}
	return 0
}

// full replaces nil lists, which would be null in JSON.
func (r *Report) full() {
	r.Targets, r.Artifacts = orEmpty(r.Targets), orEmpty(r.Artifacts)
	r.Findings, r.Unread, r.Skipped = orEmpty(r.Findings), orEmpty(r.Unread), orEmpty(r.Skipped)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Chain, f.Fixes = orEmpty(f.Chain), orEmpty(f.Fixes)
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
