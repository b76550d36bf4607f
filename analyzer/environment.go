package analyzer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
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
	// Declared are the requirements of the projects from which the lock files in Origins are made.
	Declared []lockfile.Declared
	On       packages.Target // the interpreter and the libc
	// Platform is the name of the system; "": those of Options.Platforms.
	Platform string
	// Prefix is the folder in which the packages are installed; nil for wheels of an index. A child
	// process cannot be given one, because it has functions.
	Prefix        *Conda         `json:"-"`
	CondaPackages []CondaPackage // all conda packages in Prefix
	// Complete means that With has all packages that the interpreter finds.
	Complete bool
	// Other returns the wheel that an installer would choose for another version of a package, or nil
	// if none can be read. It is nil for installed packages.
	Other   func(ctx context.Context, name, version string) (*Input, error) `json:"-"`
	NoWheel []NoWheel
	Broken  []Broken // installed packages that the interpreter cannot import, or not as a whole
	// Lost returns the installed package whose files should include one of a name, but do not, as
	// NAME==VERSION; "" if there is none. Changed reports whether an object of a wheel is not the
	// file that was installed. They are nil if this is not known, and always in a child process.
	Lost    func(file string) string        `json:"-"`
	Changed func(wheel, object string) bool `json:"-"`
	Unread  []Unread                        // packages that could not be looked up
	// Packages that are not checked, for example because only their source is published.
	Skipped []Unread
	Notes   []string
}

// NoWheel is a pinned version without a wheel for the environment.
type NoWheel struct {
	Package, Version string
	// Reason is a sentence without a period: "numpy==1.26.4 has no wheel for Python 3.13". Detail
	// says more: "there are wheels for Python 3.12"; it may be "".
	Reason, Detail string
	At             Origin // place of the pin
	// Source is set if an installer would build it from the source archive.
	Source bool
	// Others are the versions with a wheel for the environment, the closest first.
	Others []string
	// Python is an interpreter for which the version has a wheel; "" if another one does not help.
	Python string
	// Hash means that there is a wheel, but not with a hash that the file has. Then Renew is the
	// command that writes the hashes again; "" if the lines have to be edited.
	Hash  bool
	Renew shellword.Line
	// For is what there is no wheel for, if that is one property of the environment: "musl",
	// "Python 3.13".
	For string
}

// Refused describes a pin that an installer refuses, or builds from source, because of its hashes.
func Refused(at Origin, e *packages.HashError) NoWheel {
	id, installer := e.Name+"=="+e.Version, lockfile.Installer(at.File)
	at.Line = cmp.Or(at.HashLine, at.Line)
	n := NoWheel{
		Package: e.Name, Version: e.Version, Hash: true, Source: e.Source, At: at,
		Renew: lockfile.Renew(at.File, e.Name),
	}
	if e.Listed == nil {
		n.Reason = id + " has hashes that no file of the index has"
		n.Detail = fmt.Sprintf("%s refuses to install %s, whose hash is sha256:%s", installer, e.File,
			e.SHA256)
		return n
	}
	n.Reason = fmt.Sprintf("%s is pinned without the hash of a wheel for %s", id,
		cmp.Or(e.Misfit.Lacks, "the environment"))
	m := e.Misfit
	switch {
	case m.Have != nil:
		n.Detail = "it has those of wheels for " + List(m.Have, 6, len(m.Have), "other")
		if e.Source {
			n.Detail += " and of the source archive"
		}
	case len(e.Listed) == 1 && e.Source:
		n.Detail = "it has only that of the source archive"
	default:
		n.Detail = "it has those of " + List(e.Listed, 3, len(e.Listed), "file")
	}
	if !e.Source {
		n.Detail += fmt.Sprintf(", and %s refuses %s", installer, e.File)
	}
	return n
}

// Broken is an installed package whose files are not those that the interpreter needs.
type Broken struct {
	Package, Version string
	File             string // name of its wheel in the report
	Object           string // a file of it, or its name
	Reason           string // a sentence without a period
	// For is what all of its files are installed for, such as "aarch64" or "Python 3.12"; "" if it
	// has others.
	For string
	// But is the end of Reason, if that says what all of its files are installed for: "this Python is
	// for x86_64".
	But      string
	Optional bool   // it may work
	Remove   string // the folder to remove; "" = it has to be installed again
	Conda    bool   // conda may have installed it
	At       Origin
}

// Rules whose findings are not those of a check: of NoWheel, of NoWheel.Hash, of requirements that
// the packages of an environment do not satisfy, pip's and conda's, of Broken, and of packages that
// install the same files.
const (
	RuleNoWheel  = "no-wheel"
	RuleHash     = "hash-mismatch"
	RuleUnmet    = "requirement-not-met"
	RuleBroken   = "broken-installation"
	RuleConflict = "file-conflict"
)

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
	var was map[string]cause.Pin
	if bases != nil {
		withoutFixes := o
		withoutFixes.NoFixes = true // fixes of the base are not shown
		checked, err := a.environments(ctx, bases, withoutFixes)
		if err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
		before, was = checked.report.Identities(), checked.pins
	}
	checked, err := a.environments(ctx, heads, o)
	if err != nil {
		return nil, err
	}
	if bases != nil {
		checked.report.MarkExisting(before)
	}
	for name, p := range checked.pins {
		if old := was[name].Version; old != p.Version {
			p.Was = old
			checked.pins[name] = p
		}
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
	out := &checked{report: result.New(o.Version), pins: map[string]cause.Pin{}}
	out.report.Environment = true
	for _, e := range list {
		e.addPins(out.pins)
		if err := a.environment(ctx, e, o, out); err != nil {
			return nil, err
		}
	}
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
	var unmet []judge.Unmet
	before := len(report.Findings)
	for _, f := range set.Artifacts {
		addArtifact(report, describe(f))
		if len(f.Objects) == 0 || f.Wheel == nil && !f.Conda() {
			continue
		}
		if all == nil {
			if all, err = judge.NewEnvironment(rules, environment, set.Artifacts); err != nil {
				return err
			}
			if unmet, err = all.Unmet(ctx); err != nil {
				return err
			}
		}
		out.tries = slices.ContainsFunc(unmet, func(u judge.Unmet) bool { return u.Artifact == f })
		if err := out.artifact(ctx, all.Session(f, names), f, o); err != nil {
			return err
		}
	}
	own := report.Findings[before:]
	for i := range own {
		e.damaged(out, &own[i], lacks(rules, &own[i]))
	}
	leaveToSystem(rules, own)
	if all != nil {
		newer := &newerReleases{
			of: e, all: all, rules: rules, options: o, on: environment, artifacts: set.Artifacts,
			names: names, verifiers: slices.Concat(out.verifiers, out.others),
		}
		if err := newer.offer(ctx, own); err != nil {
			return err
		}
	}
	if e.Prefix != nil && o.Root != nil {
		for _, f := range set.Artifacts {
			absent(rules, f, set.Artifacts, own)
		}
	}
	for _, x := range e.Listed {
		addArtifact(report, x)
	}
	e.addBroken(out, o)
	// Requirements that the pins do not satisfy are noted before what was not read.
	for _, n := range e.Notes {
		report.AddNote(n)
	}
	if all != nil {
		if err := e.addUnmet(ctx, all, out, o); err != nil {
			return err
		}
	}
	e.addMissing(set.Artifacts, report)
	e.addConflicts(ctx, set.Artifacts, out)
	if err := e.addUnmetConda(out, o); err != nil {
		return err
	}
	return e.addNoWheel(ctx, out, o)
}

// addPins adds the packages of the environment, unless another environment has them.
func (e *Environment) addPins(pins map[string]cause.Pin) {
	add := func(name, version string, at Origin) {
		if _, had := pins[name]; !had && name != "" {
			pins[name] = cause.Pin{
				Version: version, File: at.File, Line: at.Line, Installed: at.Installed,
				Declared: lockfile.Of(e.Declared, name),
			}
		}
	}
	for _, w := range e.With {
		if q, err := pkgmeta.ParseRequirement(w); err == nil {
			add(q.Name, strings.TrimSpace(strings.TrimLeft(q.Spec, "=")), e.Origins[w])
		}
	}
	for _, w := range e.NoWheel {
		add(pkgmeta.Normalize(w.Package), w.Version, w.At)
	}
	for _, c := range e.CondaPackages {
		add(c.Name, c.Version, Origin{File: c.File, Installed: true})
	}
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
func (e *Environment) addNoWheel(ctx context.Context, out *checked, o Options) error {
	if len(e.NoWheel) == 0 {
		return nil
	}
	r := out.report
	var names []string
	for _, name := range o.Platforms {
		p, err := platform.Lookup(name, e.On.Arch)
		if err != nil {
			return err
		}
		names = append(names, p.Name)
		out.addTarget(p, nil, nil)
	}
	others := slices.Concat(r.Artifacts, e.withoutWheel(ctx, o.Source))
	for _, w := range e.NoWheel {
		f := w.finding(names)
		id := f.Artifact
		if x, ok := w.pin(others); ok {
			f.Fixes = append(f.Fixes, x)
		}
		if w.Python != "" {
			f.Fixes = append(f.Fixes, e.otherPython(ctx, o.Source, w.Python))
		}
		if i := slices.IndexFunc(r.Findings, func(x Finding) bool {
			return x.Identity() == f.Identity() && x.Artifact == f.Artifact
		}); i >= 0 {
			r.Findings[i].On = append(r.Findings[i].On, names...)
			continue
		}
		if i := slices.IndexFunc(r.Artifacts, func(a Artifact) bool {
			return a.Wheel != nil && pkgmeta.Normalize(a.Wheel.Name) == pkgmeta.Normalize(w.Package)
		}); i >= 0 && w.Hash {
			f.Artifact = r.Artifacts[i].Path // it is listed as a wheel that can be checked
		} else {
			addArtifact(r, Artifact{
				Path: id, Kind: KindWheel, Wheel: &Wheel{Name: w.Package, Version: w.Version},
			})
		}
		r.Findings = append(r.Findings, f)
	}
	return nil
}

// maxElsewhere limits the packages without a wheel that are looked up for another system.
const maxElsewhere = 32

// withoutWheel returns the packages without a wheel for the environment, with the requirements of
// their wheels for newer systems: an installer that builds them has to satisfy these too.
func (e *Environment) withoutWheel(ctx context.Context, source packages.Source) (out []Artifact) {
	if source == nil || !slices.ContainsFunc(e.NoWheel, func(w NoWheel) bool {
		return len(w.Others) > 0
	}) {
		return nil
	}
	on := packages.Target{Python: e.On.Python, Arch: e.On.Arch}
	env := pkgmeta.DefaultMarkerEnv(on.Python, on.Arch)
	for _, w := range e.NoWheel[:min(len(e.NoWheel), maxElsewhere)] {
		release, err := source.Release(ctx, pkgmeta.Normalize(w.Package), w.Version, on)
		if err != nil {
			continue // there is none, or only for another Python
		}
		a := Artifact{Wheel: &Wheel{Name: w.Package, Version: w.Version}}
		for _, q := range release.Requires {
			if ok, err := q.Applies(env); err == nil && ok {
				a.Wheel.Requires = append(a.Wheel.Requires, q.Name+q.Spec)
			}
		}
		out = append(out, a)
	}
	return out
}

// finding returns the finding of a pin on platforms. Its artifact is NAME==VERSION.
func (w NoWheel) finding(names []string) Finding {
	id := w.Package
	if w.Version != "" {
		id += "==" + w.Version
	}
	f := Finding{
		Rule: RuleNoWheel, Severity: Error, New: true, Artifact: id, Object: w.Package,
		Package: w.Package, On: names, NoWheelFor: w.For, Message: w.Reason,
		Fixes: []fix.Fix{},
	}
	if w.Detail != "" {
		f.Headline, f.Message = w.Reason, w.Reason+"; "+w.Detail
	}
	if w.Source {
		f.Severity = Warning
		f.Message += ", so it is built from source where it is installed"
	}
	f.Message += " (" + w.At.String() + ")"
	f.Headline = cmp.Or(f.Headline, f.Message)
	if len(names) > 0 {
		f.Target = names[0]
	}
	if w.Hash {
		f.Rule = RuleHash
		f.Fixes = append(f.Fixes, fix.Fix{
			Kind: fix.KindEnvironment, Title: fix.Titled("Renew the hashes of %s in %s", id, w.At.File),
			Command: w.Renew, Cost: []string{},
		})
	}
	return f
}

// otherPython returns the fix that uses an interpreter for which all packages have a wheel. If
// there is none, it is the given one, and its cost are the packages without a wheel. Packages that
// could not be looked up are ignored, as are those of which only the source is published.
func (e *Environment) otherPython(
	ctx context.Context,
	source packages.Source,
	python string,
) fix.Fix {
	x := fix.Fix{
		Kind: fix.KindEnvironment, Cost: e.missing(ctx, source, python),
		Title: fix.Titled("Use Python %s", python),
	}
	if len(x.Cost) == 0 {
		x.Title = x.Title.Append(", for which all packages have a wheel")
		return x
	}
	known := packages.Interpreters("")
	slices.Reverse(known)
	for _, other := range known {
		if other != python && other != e.On.Python && len(e.missing(ctx, source, other)) == 0 {
			x.Title = fix.Titled("Use Python %s, for which all packages have a wheel", other)
			x.Cost = []string{}
			return x
		}
	}
	x.Cost = []string{"no wheel for Python " + python + ": " + List(x.Cost, 4, len(x.Cost), "package")}
	return x
}

// missing returns the packages that have no wheel for an interpreter. It is not nil.
func (e *Environment) missing(ctx context.Context, source packages.Source, python string) []string {
	out := []string{}
	if source == nil {
		return out
	}
	on := e.On
	on.Python = python
	ids := slices.Clone(e.With)
	for _, w := range e.NoWheel {
		ids = append(ids, w.Package+"=="+w.Version)
	}
	for _, id := range ids {
		q, err := pkgmeta.ParseRequirement(id)
		if err != nil {
			continue
		}
		spec, err := pkgmeta.ParseSpec(q.Spec)
		if err != nil {
			continue
		}
		versions, err := source.Versions(ctx, q.Name, on)
		if err == nil && !slices.ContainsFunc(packages.Sorted(versions), spec.Admits) {
			out = append(out, q.Name+q.Spec)
		}
	}
	return out
}

// onFirst returns a finding that does not depend on the platform for the first one of the report.
func onFirst(r *Report, f Finding) Finding {
	if len(r.Targets) > 0 {
		f.Target, f.On = r.Targets[0].Name, []string{r.Targets[0].Name}
	}
	return f
}

// addUnmet adds a finding for each requirement of a package that the pins do not satisfy.
func (e *Environment) addUnmet(
	ctx context.Context,
	all *judge.Environment,
	out *checked,
	o Options,
) error {
	r := out.report
	unmet, err := all.Unmet(ctx)
	if err != nil {
		return err
	}
	for _, u := range unmet {
		p := out.pins[u.Package]
		f := Finding{
			Rule: RuleUnmet, Severity: Warning, New: true, Artifact: u.By.String(),
			Object: u.By.Name, Version: u.Requirement, Package: u.Package, Fixes: []fix.Fix{},
		}
		if i := slices.IndexFunc(r.Artifacts, func(a Artifact) bool {
			return a.Wheel != nil && pkgmeta.Normalize(a.Wheel.Name) == u.By.Name
		}); i >= 0 {
			f.Artifact = r.Artifacts[i].Path
		}
		is := "is installed"
		if at := p.String(); at != "" {
			is = "is pinned (" + at + ")"
		}
		f.Headline = fmt.Sprintf("%s %s requires %s, but %s %s", u.By.Name, u.By.Version,
			u.Requirement, p.Version, is)
		f.Message = f.Headline + ". pip refuses to install the two together"
		if u.Version != "" {
			pin := u.Package + "==" + u.Version
			f.Fixes = append(f.Fixes, fix.Fix{
				Kind: fix.KindPin, Title: fix.Titled("Pin %s",
					fix.Requirement(pin)), Requirement: pin, Cost: []string{},
				Change: fix.Pin{Requirement: pin},
			})
		}
		f = onFirst(r, f)
		if !slices.ContainsFunc(r.Findings, func(x Finding) bool {
			return x.Identity() == f.Identity()
		}) {
			r.Findings = append(r.Findings, f)
		}
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
			Kind: fix.KindPin, Title: fix.Titled("Pin %s, which has a wheel for it",
				fix.Requirement(pin)),
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
func leaveToSystem(rules []*Rule, findings []Finding) {
	for i := range findings {
		f := &findings[i]
		pin := slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Requirement != "" })
		if lacks(rules, f) == cause.LacksLibrary && f.Severity == Error && !pin &&
			!strings.Contains(strings.Join(f.Chain, " "), "==") {
			f.Severity = Warning
		}
	}
}

// lacks returns what the object of a finding lacks.
func lacks(rules []*Rule, f *Finding) cause.Lacks {
	i := slices.IndexFunc(rules, func(r *Rule) bool { return r.ID == f.Rule })
	if i < 0 || rules[i].Cause.Linker {
		return cause.LacksNothing
	}
	return rules[i].Cause.Lacks
}
