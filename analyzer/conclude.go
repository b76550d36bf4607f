package analyzer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/trial"
)

// addTarget adds a platform with its packages to the report, or more packages to an existing one.
// The packages are those for f; nil if there are none.
func (k *checked) addTarget(p *platform.Platform, f *facts.Artifact, sets []*packages.Set) *Target {
	r := k.report
	i := slices.IndexFunc(r.Targets, func(t Target) bool { return t.Name == p.Name })
	if i < 0 {
		i = len(r.Targets)
		r.Targets = append(r.Targets, Target{Name: p.Name, Verdict: Compatible, NamesOnly: p.NamesOnly()})
	}
	if k.with == nil {
		k.with = map[string]*listed{}
	}
	in, ok := k.with[p.Name]
	if !ok {
		in = &listed{ids: map[packages.ID]bool{}}
		k.with[p.Name] = in
	}
	for _, s := range sets {
		for _, rel := range in.releases.Add(s) {
			// A release is described by its wheel for glibc.
			if rel.Refused != nil && p.OS == platform.Linux && p.Libc == "glibc" {
				k.refuse(rel.Refused, s.Given[rel.Name], f.Path, p.Name)
			}
			if id := rel.ID(); !in.ids[id] {
				in.ids[id] = true
				r.Targets[i].With = append(r.Targets[i].With, id.String())
			}
		}
	}
	return &r.Targets[i]
}

// refused is a pinned version with other hashes than those of the index.
type refused struct {
	*packages.HashError
	given    string   // the requirement of the user
	artifact string   // the first one that is installed with it
	on       []string // names of platforms
}

func (k *checked) refuse(e *packages.HashError, given, artifact, on string) {
	i := slices.IndexFunc(k.refused, func(r *refused) bool {
		return r.Name == e.Name && r.Version == e.Version
	})
	if i < 0 {
		i = len(k.refused)
		k.refused = append(k.refused, &refused{e, given, artifact, nil})
	}
	if r := k.refused[i]; !slices.Contains(r.on, on) {
		r.on = append(r.on, on)
	}
}

// refusedPins returns the pins that an installer refuses. Each has the artifact that is checked
// with it, and is a cause of its own.
func (k *checked) refusedPins(o Options) (pins []NoWheel) {
	add := func(n NoWheel, artifact string, on []string) {
		n.Artifact, n.On, n.For = artifact, on, n.ID()
		pins = append(pins, n)
	}
	for _, x := range k.refused {
		add(Refused(o.Origins[x.given], x.HashError), x.artifact, x.on)
	}
	var on []string
	for _, t := range k.report.Targets {
		on = append(on, t.Name)
	}
	for _, n := range o.NoWheel {
		if len(on) > 0 {
			add(n, k.report.Artifacts[0].Path, on)
		}
	}
	return pins
}

// listed are the packages of a target in the report.
type listed struct {
	releases packages.Union
	ids      map[packages.ID]bool
}

// alsoOn returns the end of a message: the other platforms on which the finding occurs.
func alsoOn(names []string) string {
	const shown = 4
	switch {
	case len(names) == 0:
		return ""
	case len(names) <= shown+1:
		return ". Also affects " + strings.Join(names, ", ")
	}
	return fmt.Sprintf(
		". Also affects %d more platforms: %s, …, %s",
		len(names), strings.Join(names[:shown], ", "), names[len(names)-1],
	)
}

// conclude completes the report: findings, verdicts, causes and plan.
func (k *checked) conclude(rules []*Rule, o Options) (*Report, error) {
	conclude(k.report, rules, o, k.pins)
	if o.NoFixes {
		return k.report, nil
	}
	err := trial.Plan(
		k.verifiers, k.others, k.report, o.Rules, cause.Options{Pins: k.pins}.Choice,
	)
	if err != nil {
		return nil, err
	}
	return k.report, nil
}

// conclude applies configured severities and acceptances, sorts the findings, and sets the
// verdicts. pins are those of an environment, or nil.
func conclude(r *Report, rules []*Rule, o Options, pins map[string]cause.Pin) {
	unused := o.unused(r)
	kept := r.Findings[:0]
	for _, f := range r.Findings {
		if s, ok := o.Rules[f.Rule]; ok && s != f.Severity {
			f.Severity, f.Why = s, "the configuration sets the severity of this rule"
		}
		if f.Severity == Off {
			r.AddOff(f.Rule, 1)
			continue
		}
		a, expired := o.accepts(&f)
		if a != nil {
			r.Accepted = append(
				r.Accepted,
				Accepted{
					Finding: f,
					Because: strings.ToValidUTF8(a.Because, "\uFFFD"), // as JSON has it
					Until:   a.Until,
					By:      a.By,
				},
			)
			continue
		}
		if expired != nil && len(r.Notes) < maxExpiredNotes {
			r.AddNote(expired.expiredNote(&f))
		}
		kept = append(kept, f)
	}
	r.Findings = kept
	unreadOf(r)
	for _, a := range unused {
		if note := a.unusedNote(kept, o); note != "" {
			r.AddNote(note)
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if n := b.Severity.Rank() - a.Severity.Rank(); n != 0 {
			return n
		}
		return cmp.Or(
			strings.Compare(a.Artifact, b.Artifact),
			strings.Compare(a.Object, b.Object),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Library, b.Library),
			strings.Compare(a.Version, b.Version),
			strings.Compare(a.Symbol, b.Symbol),
		)
	})
	r.Conclude()
	cause.Of(r, cause.Options{
		Pins: pins, Rules: Causes(rules), Index: o.Source != nil && !o.NoIndex,
		Published: o.Published,
	})
}

// unreadOf adds Unread for artifacts of which a finding says that what they need may be in a
// package that was not read: they are not known to be compatible. In an environment the warning
// suffices: its releases were published for each other, and most are not read.
func unreadOf(r *Report) {
	if r.Environment {
		return
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Unknown && f.Severity == Warning && r.Complete(f.Artifact) {
			r.AddUnread(Unread{Path: f.Artifact, Reason: cmp.Or(f.Headline, f.Message)})
		}
	}
}

// Causes returns what rules say about the causes of their findings, by ID.
func Causes(rules []*Rule) map[string]cause.Rule {
	of := map[string]cause.Rule{}
	for _, r := range rules {
		x := r.Cause
		x.Title = r.Title
		of[r.ID] = x
	}
	return of
}

// maxExpiredNotes limits the notes about acceptances that have expired.
const maxExpiredNotes = 100

// accepts returns the first entry that accepts a finding, or nil. expired is the last entry that
// accepted it until a date that has passed, or nil.
func (o *Options) accepts(f *Finding) (accepted, expired *Accept) {
	for i := range o.Accept {
		a := &o.Accept[i]
		switch {
		case len(a.differences(f)) > 0 || a.Finding != "" && a.Finding != f.Identity():
		case a.Until != "" && o.Today > a.Until:
			if expired == nil || a.Until > expired.Until {
				expired = a
			}
		default:
			return a, nil
		}
	}
	return nil, expired
}

// expiredNote says that the entry accepted a finding until a date that has passed.
func (a *Accept) expiredNote(f *Finding) string {
	var what []string
	for _, s := range []string{a.Rule, a.Package, a.Symbol, a.Library, a.Object} {
		if s != "" {
			what = append(what, s)
		}
	}
	if a.Finding != "" {
		what = []string{f.Rule, f.Object}
	}
	by := ""
	if a.By != "" {
		by = " by " + a.By
	}
	return fmt.Sprintf("The acceptance of %s%s expired on %s. Its reason was: %s",
		strings.Join(what, " in "), by, a.Until, a.Because)
}
