package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/impact"
	reports "github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/report"
)

// impactRule is the rule of what a release breaks, in SARIF. It is none of the analyzer, which
// checks one release.
const impactRule = "breaks-dependent"

// impactRules describes impactRule.
func impactRules() []report.Rule {
	return []report.Rule{{
		ID: impactRule, Title: "a release breaks a package that uses it", Severity: analyzer.Error,
		Help: "The package loads with the release before, and not with this one: a symbol, a library " +
			"or a type that it was built with is gone or changed.",
		URL: "https://github.com/compat-app/compat/blob/main/docs/impact.md",
	}}
}

// impactFix are the kinds of what each person can do.
var impactFix = map[string]fix.Kind{
	"release": fix.KindSource, "dependent": fix.KindDependency, "user": fix.KindEnvironment,
}

// asReport returns what a release breaks as a report with a cause for each dependent that breaks,
// for the formats that have only those. A cause is at the line of the first file that pins it.
func asReport(r *impact.Report) *analyzer.Report {
	out := analyzer.NewReport(version())
	out.Environment = true // its artifacts are packages
	if r.Old != nil {
		out.Base = name(*r.Old)
	}
	for _, e := range r.Dependents {
		out.Artifacts = append(out.Artifacts, analyzer.Artifact{
			Path: dependentName(e), Kind: analyzer.KindWheel,
		})
		switch e.Verdict {
		case impact.Breaks:
			addBreak(out, r, e)
		case impact.Undecided:
			out.Skipped = append(out.Skipped, analyzer.Unread{Path: dependentName(e), Reason: e.Reason})
		}
	}
	switch {
	case r.Summary.Breaks > 0:
		out.Verdict = analyzer.Incompatible
	case r.Summary.Undecided > 0 || slices.ContainsFunc(r.Locks, impact.LockFile.Partly):
		out.Verdict = analyzer.Unchecked
	case len(r.Dependents) == 0:
		out.Verdict = analyzer.NotJudged
	}
	if text := impactRemoved(r); text != "" {
		out.AddNote(text)
	}
	for _, n := range append(impactLocks(r), r.Notes...) {
		out.AddNote(n)
	}
	return out
}

func dependentName(e impact.Entry) string { return e.Name + " " + e.Version }

// addBreak adds a finding and its cause.
func addBreak(out *analyzer.Report, r *impact.Report, e impact.Entry) {
	f := analyzer.Finding{
		Rule: impactRule, Severity: analyzer.Error, New: true, Artifact: dependentName(e),
		Object: e.Object, Library: e.Library, Message: e.Reason, Package: e.Name,
		Chain: []string{}, Fixes: []fix.Fix{},
	}
	c := analyzer.Cause{
		ID:    impactRule + "-" + e.Name,
		Title: fmt.Sprintf("%s %s breaks with %s", e.Name, e.Version, name(r.New)), Reason: "breaks",
		Severity: analyzer.Error, New: true, Actor: reports.Upstream, Rules: []string{impactRule},
		Findings: []int{len(out.Findings)}, Artifact: dependentName(e), Objects: 1,
		Symbols: len(e.Symbols), Targets: []string{},
		Action: fmt.Sprintf("Keep in %s what it uses, or let it set a bound before the release.",
			r.New.Name),
	}
	if slices.ContainsFunc(out.Causes, func(x analyzer.Cause) bool { return x.ID == c.ID }) {
		c.ID += "-" + e.Version // several files pin it
	}
	c.File, c.Line = pinOf(r, e)
	shown := reports.Evidence{Library: e.Library, Objects: []string{e.Object}, Symbols: []string{}}
	listed := e.Symbols[:min(len(e.Symbols), maxListed)]
	shown.MoreSymbols = len(e.Symbols) - len(listed)
	for _, s := range listed {
		shown.Symbols = append(shown.Symbols, abi.Readable(s))
	}
	if len(e.Symbols) > 0 {
		f.Symbol = e.Symbols[0]
	}
	c.Evidence = append(c.Evidence, shown)
	for _, x := range e.Fixes {
		c.Fixes = append(c.Fixes, analyzer.CauseFix{Fix: fix.Fix{
			Kind: impactFix[x.Who], Title: fix.Text(whose[x.Who] + ": " + x.What),
			Requirement: x.Requirement, Cost: []string{},
		}, Clears: 1})
	}
	out.Findings, out.Causes = append(out.Findings, f), append(out.Causes, c)
}

// maxListed is the number of symbols that the evidence of a cause lists.
const maxListed = 20

// pinOf returns the line of the first file that pins a dependent; "" and 0 if none was read.
func pinOf(r *impact.Report, e impact.Entry) (file string, line int) {
	for _, f := range r.Locks {
		if p := f.Pinned(e.Name, e.Version); p != nil {
			return f.Path, p.Line
		}
	}
	return "", 0
}

// writeImpactSARIF writes a result for each dependent that breaks.
func writeImpactSARIF(w io.Writer, r *impact.Report) error {
	return report.SARIF(w, asReport(r), impactRules(), nil)
}

// impactResults are the verdicts as results of a table.
var impactResults = map[impact.Verdict]causetext.Result{
	impact.Breaks: causetext.Fails, impact.Undecided: causetext.Unclear,
	impact.Excluded: causetext.Skipped, impact.Works: causetext.Works,
}

// writeImpactHTML writes a page with a table of all dependents, and the causes.
func writeImpactHTML(w io.Writer, r *impact.Report) error {
	v := report.NewView(asReport(r))
	v.Name, v.Summary, v.Rows = name(r.New), report.Sentence(impactAnswer(r)), nil
	number := 0
	for _, verdict := range []impact.Verdict{
		impact.Breaks, impact.Undecided, impact.Excluded, impact.Works,
	} {
		for _, e := range byVerdict(r, verdict) {
			row := causetext.Row{
				Result: impactResults[verdict], Artifacts: []string{dependentName(e)},
				Reason: sentences(e.Reason, pinnedBy(r, e)),
			}
			if verdict == impact.Breaks {
				number++
				row.Causes, row.Reason = []int{number}, pinnedBy(r, e)
			}
			v.Rows = append(v.Rows, row)
		}
	}
	return report.File(w, v)
}
