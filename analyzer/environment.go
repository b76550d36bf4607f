package analyzer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Environment is a set of packages that are installed together.
type Environment struct {
	Wheels []Input // wheels, or installed conda packages, with native code
	// Listed are wheels that are not checked, because they are pure Python or too large to
	// download. They are listed in the report.
	Listed []Artifact
	With   []string // all packages, as NAME==VERSION
	// Origins are the places of the requirements in With, by their text.
	Origins map[string]Origin
	On      packages.Target // the interpreter and the libc
	// Platform is the name of the system; "": those of Options.Platforms.
	Platform string
	// Prefix is the folder in which the packages are installed; nil for wheels of an index. A child
	// process cannot be given one, because it has functions.
	Prefix  *Conda `json:"-"`
	NoWheel []NoWheel
	Unread  []Unread // packages that could not be looked up
	// Packages that are not checked, for example because only their source is published.
	Skipped []Unread
	Notes   []string
}

// NoWheel is a pinned version without a wheel for the environment.
type NoWheel struct {
	Package, Version string
	// Reason is a sentence without a period: "numpy==1.26.4 has no wheel for Python 3.13; there are
	// wheels for Python 3.12". The title of the finding is what is before the semicolon.
	Reason string
	At     Origin // place of the pin
	// Source is set if an installer would build it from the source archive.
	Source bool
	// Others are the versions with a wheel for the environment, the closest first.
	Others []string
	// Python is an interpreter for which the version has a wheel; "" if another one does not help.
	Python string
}

// RuleNoWheel is the rule of the findings for NoWheel.
const RuleNoWheel = "no-wheel"

// CheckEnvironment checks whether the packages of an environment load together: each wheel with
// the other packages installed. base is the environment before a change; if it is nil, all
// findings are new. Rules about building and publishing wheels do not run. Options.With and
// Origins are ignored. Errors are those of Check.
func (a *Analyzer) CheckEnvironment(
	ctx context.Context,
	head, base *Environment,
	o Options,
) (*Report, error) {
	var bases []*Environment
	if base != nil {
		bases = []*Environment{base}
	}
	return a.CheckEnvironments(ctx, []*Environment{head}, bases, o)
}

// CheckEnvironments is like CheckEnvironment for several environments in one report, for
// example those of the platforms in a lock file. bases contains nil for an environment without
// a base.
func (a *Analyzer) CheckEnvironments(
	ctx context.Context,
	heads, bases []*Environment,
	o Options,
) (*Report, error) {
	var before []string
	if bases != nil {
		withoutFixes := o
		withoutFixes.NoFixes = true // fixes of the base are not shown
		checked, err := a.environments(ctx, bases, withoutFixes)
		if err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
		before = checked.report.Identities()
	}
	checked, err := a.environments(ctx, heads, o)
	if err != nil {
		return nil, err
	}
	if bases != nil {
		checked.report.MarkExisting(before)
	}
	r, err := checked.conclude(a.rules, o)
	switch {
	case err != nil || r.Verdict != result.NotJudged:
	case slices.ContainsFunc(heads, (*Environment).empty):
		for i := range r.Targets {
			r.Targets[i].Verdict = result.NotJudged
		}
	default:
		r.Verdict = result.Compatible // packages without native code are always compatible
	}
	return r, err
}

func (a *Analyzer) environments(
	ctx context.Context,
	list []*Environment,
	o Options,
) (*checked, error) {
	out := &checked{report: result.New(o.Version)}
	for _, e := range list {
		if err := a.environment(ctx, e, o, out); err != nil {
			return nil, err
		}
	}
	leaveToSystem(out.report)
	return out, nil
}

// environment checks each wheel with the other packages, and adds the result to out.
func (a *Analyzer) environment(ctx context.Context, e *Environment, o Options, out *checked) error {
	names := elfobj.NewNames()
	set, err := facts.Read(ctx, e.Wheels, o.reading(), names)
	if err != nil {
		return err
	}
	if e.Platform != "" {
		o.Platforms = []string{e.Platform}
	}
	if e.Prefix != nil {
		o.Conda = e.Prefix
	}
	rules := slices.DeleteFunc(slices.Clone(a.rules), func(r *Rule) bool { return r.Packaging })
	report := out.report
	for _, u := range slices.Concat(e.Unread, set.Unread) {
		report.AddUnread(u)
	}
	for _, u := range slices.Concat(e.Skipped, set.Skipped) {
		if !slices.Contains(report.Skipped, u) {
			report.Skipped = append(report.Skipped, u)
		}
	}
	o.Origins = e.Origins
	out.artifacts = append(out.artifacts, set.Artifacts...)
	o.With = e.With
	environment := o.environment()
	environment.On = e.On
	var all *judge.Environment
	for _, f := range set.Artifacts {
		addArtifact(report, describe(f))
		if len(f.Objects) == 0 || f.Wheel == nil && !f.Conda() {
			continue
		}
		if all == nil {
			if all, err = judge.NewEnvironment(rules, environment, set.Artifacts); err != nil {
				return err
			}
		}
		if err := out.artifact(ctx, all.Session(f, names), f, o); err != nil {
			return err
		}
	}
	for _, x := range e.Listed {
		addArtifact(report, x)
	}
	// Requirements that the pins do not satisfy are noted before what was not read.
	for _, n := range e.Notes {
		report.AddNote(n)
	}
	return e.addNoWheel(out, o.Platforms)
}

// empty reports whether all packages of the environment are left out, because no wheel can be
// installed or only their source is published.
func (e *Environment) empty() bool {
	return len(e.Wheels)+len(e.Listed) == 0 && len(e.NoWheel)+len(e.Skipped) > 0
}

// addArtifact adds an artifact, unless it is listed already: environments share wheels.
func addArtifact(r *Report, a Artifact) {
	if !slices.ContainsFunc(r.Artifacts, func(x Artifact) bool {
		return x.Path == a.Path && x.SHA256 == a.SHA256
	}) {
		r.Artifacts = append(r.Artifacts, a)
	}
}

// addNoWheel adds a finding for each pin without a wheel.
func (e *Environment) addNoWheel(out *checked, platforms []string) error {
	if len(e.NoWheel) == 0 {
		return nil
	}
	r := out.report
	var names []string
	for _, name := range platforms {
		p, err := platform.Lookup(name, e.On.Arch)
		if err != nil {
			return err
		}
		names = append(names, p.Name)
		out.addTarget(p, nil)
	}
	for _, w := range e.NoWheel {
		id := w.Package + "==" + w.Version
		f := Finding{
			Rule: RuleNoWheel, Severity: Error, New: true, Artifact: id, Object: w.Package,
			Package: w.Package, On: names,
			Message: fmt.Sprintf("%s (%s)", w.Reason, w.At),
			Fixes:   []fix.Fix{},
		}
		if w.Source {
			f.Severity = Warning
			f.Message = w.Reason + ", so it is built from source where it is installed (" +
				w.At.String() + ")"
		}
		if len(names) > 0 {
			f.Target = names[0]
		}
		if x, ok := w.pin(r.Artifacts); ok {
			f.Fixes = append(f.Fixes, x)
		}
		if w.Python != "" {
			f.Fixes = append(f.Fixes, fix.Fix{
				Kind: fix.KindEnvironment, Cost: []string{},
				Title: "Use Python " + w.Python + ", for which " + id + " has a wheel",
			})
		}
		if i := slices.IndexFunc(r.Findings, func(x Finding) bool {
			return x.Identity() == f.Identity() && x.Artifact == f.Artifact
		}); i >= 0 {
			r.Findings[i].On = append(r.Findings[i].On, names...)
			continue
		}
		r.Findings = append(r.Findings, f)
		addArtifact(r, Artifact{
			Path: id, Kind: KindWheel, Wheel: &Wheel{Name: w.Package, Version: w.Version},
		})
	}
	return nil
}

// pin returns the closest version with a wheel that the requirements of the other packages allow.
// If they allow none, it is the closest, and its cost is what does not allow it.
func (w NoWheel) pin(others []Artifact) (x fix.Fix, ok bool) {
	for _, version := range w.Others {
		v, err := pkgmeta.ParseVersion(version)
		if err != nil {
			continue
		}
		pin := w.Package + "==" + version
		y := fix.Fix{
			Kind: fix.KindPin, Title: "Pin " + pin + ", which has a wheel for it",
			Requirement: pin, Cost: Conflicts(w.Package, v, others),
		}
		if len(y.Cost) == 0 {
			return y, true
		}
		if !ok {
			x, ok = y, true
		}
	}
	return x, ok
}

// Conflicts returns the requirements of wheels that do not allow a version of a package, as costs
// of a fix. Requirements of extras are ignored. The result is not nil.
func Conflicts(name string, v pkgmeta.Version, others []Artifact) []string {
	out := []string{}
	for _, a := range others {
		if a.Wheel == nil {
			continue
		}
		for _, text := range a.Wheel.Requires {
			q, err := pkgmeta.ParseRequirement(text)
			if err != nil || q.Name != name || strings.Contains(text, "extra") {
				continue
			}
			if spec, err := pkgmeta.ParseSpec(q.Spec); err == nil && !spec.Admits(v) {
				out = append(out, fix.ConflictsWith+a.Wheel.Name+" "+a.Wheel.Version+" requires "+
					text+", not "+v.String())
			}
		}
	}
	return out
}

// leaveToSystem turns errors about missing libraries into warnings if no choice of versions can
// provide them: a lock file does not describe the packages of the system, and a wheel may have
// plug-ins for libraries that only some systems have.
func leaveToSystem(r *Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		pin := slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Requirement != "" })
		if f.Rule == "library-not-found" && f.Severity == Error && !pin &&
			!strings.Contains(strings.Join(f.Chain, " "), "==") {
			f.Severity = Warning
		}
	}
}
