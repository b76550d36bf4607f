package logmatch

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

// maxFixes is the maximum number of fixes of a diagnosis; fixes that were tried come first.
const maxFixes = 5

// analyses returns the diagnoses with their Analysis. Fixes of findings about the same error
// are added before the others, and the cause is set if it is known now. report is the result of
// the check.
func (w *matcher) analyses(report *analyzer.Report) []buildlog.Diagnosis {
	for i := range w.diagnoses {
		d := &w.diagnoses[i]
		d.Analysis = w.analyze(d, w.seen[i], report)
		switch {
		case d.Analysis.Verdict == buildlog.Confirmed:
			w.adopt(d, report)
		case d.Cause == buildlog.CauseEnvironment && notFound(d):
			d.Fixes = slices.DeleteFunc(d.Fixes, func(f fix.Fix) bool { // the artifact is right
				return d.Analysis.Verdict == buildlog.Contradicted && f.Kind == fix.KindRebuild
			})
		}
	}
	return w.diagnoses
}

// analyze combines the evidence of all objects and platforms.
func (w *matcher) analyze(
	d *buildlog.Diagnosis,
	seen []evidence,
	report *analyzer.Report,
) *buildlog.Analysis {
	seen = slices.DeleteFunc(
		seen,
		func(e evidence) bool { // on other platforms only fixes were verified
			return !slices.ContainsFunc(
				report.Targets,
				func(t analyzer.Target) bool { return t.Name == e.target },
			)
		},
	)
	for i := range seen {
		e := &seen[i]
		if e.unreached && slices.ContainsFunc(report.Findings, func(f analyzer.Finding) bool {
			return w.unreachable(&f) && e.about(&f)
		}) {
			e.state = bad
		}
	}
	if slices.ContainsFunc(seen, func(e evidence) bool { return e.exact }) {
		seen = slices.DeleteFunc(seen, func(e evidence) bool { return !e.exact })
	}
	out := &buildlog.Analysis{Verdict: buildlog.Undecided, Targets: []string{}, Rules: []string{}}
	if len(seen) == 0 {
		if !w.byFindings(d, out, report) {
			w.withoutEvidence(d, out, report)
		}
		return out
	}
	worst := slices.MaxFunc(seen, func(a, b evidence) int { return int(a.state) - int(b.state) })
	out.Why, out.Object, out.Library = worst.why, worst.object, worst.library
	var passed []string
	for _, e := range seen {
		switch {
		case e.state == bad && !e.always && !slices.Contains(out.Targets, e.target):
			out.Targets = append(out.Targets, e.target)
		case e.state == fine && !slices.Contains(passed, e.target):
			passed = append(passed, e.target)
		}
	}
	switch worst.state {
	case bad:
		out.Verdict = buildlog.Confirmed
		out.Why += on(out.Targets)
		if passed = slices.DeleteFunc(passed, func(t string) bool {
			return slices.Contains(out.Targets, t)
		}); len(passed) > 0 {
			out.Why += ", but not" + on(passed)
		}
	case fine:
		out.Verdict = buildlog.Contradicted
		switch {
		case slices.ContainsFunc(seen, func(e evidence) bool { return e.state == fine && e.assumed }):
			out.Verdict = buildlog.Undecided
			out.Why += on(passed) + "; give the system of the log with --platform"
		case report.Verdict == analyzer.Unchecked:
			out.Verdict = buildlog.Undecided
			fallthrough
		default:
			out.Why += on(passed) + ": the log may be from another environment"
		}
		if report.Verdict != analyzer.Unchecked && d.Cause != buildlog.CauseBuild {
			d.Cause = buildlog.CauseEnvironment
		}
	case lacks:
		out.Verdict = buildlog.Contradicted
		out.Why += ": the log may be from another build"
	}
	return out
}

// of returns what the rule of a finding says about its causes.
func (w *matcher) of(f *analyzer.Finding) cause.Rule {
	if r := w.rules[f.Rule]; r != nil {
		return r.Cause
	}
	return cause.Rule{}
}

// unreachable reports whether a finding says that the loader does not find a library of the
// artifact or of a package that it requires. The log shows that nothing loaded it before, so its
// severity does not matter.
func (w *matcher) unreachable(f *analyzer.Finding) bool {
	kind := w.of(f).Kind
	return kind == cause.Unreachable || kind == cause.UnreachableDependency
}

// explains reports whether findings of a rule explain a message of the log, or its class.
func (w *matcher) explains(f *analyzer.Finding, message string) bool {
	r := w.rules[f.Rule]
	return r != nil && slices.Contains(r.Explains, message)
}

// about reports whether a finding is about the library of the evidence.
func (e *evidence) about(f *analyzer.Finding) bool {
	return f.Object == e.object && f.Library == e.library &&
		(f.Target == e.target || slices.Contains(f.On, e.target))
}

// withoutEvidence handles a diagnosis for which no object has evidence.
func (w *matcher) withoutEvidence(
	d *buildlog.Diagnosis,
	out *buildlog.Analysis,
	report *analyzer.Report,
) {
	for _, u := range report.Unread {
		if d.Class == "invalid-elf" && d.Object != "" && path.Base(u.Path) == path.Base(d.Object) {
			out.Verdict, out.Object, out.Why = buildlog.Confirmed, u.Path, fmt.Sprintf(
				"%s cannot be read: %s",
				u.Path,
				u.Reason,
			)
			return
		}
	}
	if d.Class == "platform-tag" {
		w.tag(d, out, report)
		return
	}
	if f := w.explaining(d.Rule, analyzer.Warning, report, func(f *analyzer.Finding) bool {
		return (d.Object == "" || isObject(d.Object, f.Object)) &&
			(d.Symbol == "" || d.Symbol == f.Symbol || d.Symbol == f.Type)
	}); f != nil {
		confirm(out, f)
		d.Cause, d.Fixes = buildlog.CauseArtifact, merge(f.Fixes, d.Fixes)
		d.Fixes = d.Fixes[:min(len(d.Fixes), maxFixes)]
		return
	}
	switch {
	case d.Object != "":
		out.Why = path.Base(d.Object) + " is not one of the given files"
	case d.Symbol != "":
		out.Why = "No given file imports " + analyzer.Versioned(d.Symbol, d.Version)
	case d.Version != "":
		out.Why = "No given file needs " + d.Version
	case d.Library != "":
		out.Why = "No given file lists " + path.Base(
			d.Library,
		) + " in DT_NEEDED: it is opened at run time, or another library needs it"
	default:
		out.Why = "This cannot be checked from a file"
		if d.Class == "host-abi" || d.Class == "framework-abi" {
			out.Why += "; compat env --venv VENV checks the installed packages together"
		}
	}
}

// tag handles a wheel tag: a wheel that does not meet its tag has a finding.
func (w *matcher) tag(d *buildlog.Diagnosis, out *buildlog.Analysis, report *analyzer.Report) {
	out.Why = "The installer decides whether a wheel fits the machine"
	if d.Rule == "pip-wheel-not-supported" {
		return
	}
	if f := w.explaining(d.Class, analyzer.Error, report, nil); f != nil {
		confirm(out, f)
		return
	}
	out.Why = "No given wheel has an error about its tag"
}

// explaining returns the most severe finding of a rule that explains a message of the log, or its
// class; nil if none has at least the severity. about reports whether a finding is about what the
// message names; nil = all are.
func (w *matcher) explaining(
	message string, least analyzer.Severity, report *analyzer.Report,
	about func(*analyzer.Finding) bool,
) (found *analyzer.Finding) {
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Severity.Rank() >= least.Rank() && w.explains(f, message) &&
			(about == nil || about(f)) &&
			(found == nil || f.Severity.Rank() > found.Severity.Rank()) {
			found = f
		}
	}
	return found
}

// confirm says that a finding is about the error.
func confirm(out *buildlog.Analysis, f *analyzer.Finding) {
	out.Verdict, out.Object, out.Library, out.Why = buildlog.Confirmed, f.Object, f.Library, f.Message
	out.Targets, out.Rules = []string{f.Target}, []string{f.Rule}
}

// adopt adds the fixes of findings about the same error, which were tried.
func (w *matcher) adopt(d *buildlog.Diagnosis, report *analyzer.Report) {
	if d.Cause == buildlog.CauseUnknown {
		d.Cause = buildlog.CauseArtifact
	}
	var fixes []fix.Fix
	for i := range report.Findings {
		f := &report.Findings[i]
		if !w.same(d, f) {
			continue
		}
		if !slices.Contains(d.Analysis.Rules, f.Rule) {
			d.Analysis.Rules = append(d.Analysis.Rules, f.Rule)
		}
		if d.Analysis.Library == "" {
			d.Analysis.Library = f.Library
		}
		if f.NotExported != "" && f.NotExported == f.Library { // the others are about other causes
			d.Analysis.Why, d.Analysis.Library = f.Message, f.Library
			d.Fixes = nil
		}
		if w.unreachable(f) {
			d.Cause = buildlog.CauseArtifact
		}
		fixes = merge(fixes, f.Fixes)
	}
	if notFound(d) && d.Cause == buildlog.CauseArtifact && len(d.Analysis.Rules) > 0 {
		inEnvironment := func(f fix.Fix) bool { return f.Kind == fix.KindEnvironment }
		other := slices.DeleteFunc(slices.Clone(fixes), inEnvironment)
		if len(fixes) > 0 && len(other) == 0 { // a library that no artifact should have
			d.Cause = buildlog.CauseEnvironment
		} else {
			// those of the log are for a system without the library, or guess what the finding knows
			d.Fixes = slices.DeleteFunc(d.Fixes, func(f fix.Fix) bool {
				return len(other) > 0 || inEnvironment(f) || f.Kind == fix.KindDependency
			})
			fixes = other
		}
	}
	tried := func(f fix.Fix) bool {
		return slices.ContainsFunc(fixes, func(t fix.Fix) bool { return t.Verified && t.Kind == f.Kind })
	}
	d.Fixes = merge(fixes, slices.DeleteFunc(d.Fixes, tried))
	d.Fixes = d.Fixes[:min(len(d.Fixes), maxFixes)]
}

// notFound reports whether a diagnosis is about a library that was not found.
func notFound(d *buildlog.Diagnosis) bool {
	return d.Symbol == "" && d.Version == "" && d.Library != ""
}

// same reports whether a finding is about the error of a diagnosis. Linker errors correspond to
// link rules.
func (w *matcher) same(d *buildlog.Diagnosis, f *analyzer.Finding) bool {
	rule := w.of(f)
	if f.Object != d.Analysis.Object || strings.HasPrefix(d.Class, "link-") != rule.Linker {
		return false
	}
	switch {
	case d.Symbol != "":
		return (f.Symbol == d.Symbol ||
			f.Demangled != "" && withoutSpaces(f.Demangled) == withoutSpaces(d.Symbol)) &&
			(d.Version == "" || f.Version == "" || f.Version == d.Version)
	case d.Version != "":
		return f.Version == d.Version
	case w.unreachable(f):
		return notFound(d) && f.Library == d.Analysis.Library
	case d.Library != "":
		return rule.Lacks == cause.LacksLibrary &&
			path.Base(f.Library) == path.Base(d.Library)
	}
	return false
}

// merge adds fixes that are missing. A verified fix replaces an equal one that is not verified.
func merge(have, more []fix.Fix) []fix.Fix {
	for _, m := range more {
		if !slices.ContainsFunc(have, func(h fix.Fix) bool {
			return h.Kind == m.Kind &&
				(m.Command != "" && h.Command == m.Command || m.Command == "" && h.Same(m))
		}) {
			have = append(have, m)
		}
	}
	return have
}

// on formats a list of platforms.
func on(targets []string) string {
	const most = 3
	if len(targets) == 0 {
		return ""
	}
	return " on " + analyzer.List(targets, most, len(targets), "platform")
}
