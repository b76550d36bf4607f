package analyzer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

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
	"github.com/compat-app/compat/analyzer/trial"
)

// Environment is a set of packages that are installed together.
type Environment struct {
	Wheels []Input // wheels, or installed conda packages, with native code
	// Read are the Wheels, if they were read already; nil if they are read for the check.
	Read *Reading `json:"-"`
	// Listed are wheels that are not checked, because they are pure Python or too large to
	// download. They are listed in the report.
	Listed []Artifact
	With   []string // all packages, as NAME==VERSION
	// Uses are packages whose libraries the wheels use, even if they require them only with an extra.
	Uses []string
	// Newest means that only what an installer chooses is checked, and not also the oldest versions
	// that the requirements of the packages allow.
	Newest bool
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

// Reading is what was read of inputs, which can be checked in several environments.
type Reading struct {
	set   *facts.Set
	names *elfobj.Names
}

// Read reads inputs with the limits of the options. The error is that of ctx, or that an input
// cannot be read; what is damaged is in Unread.
func Read(ctx context.Context, inputs []Input, o Options) (*Reading, error) {
	return readWith(ctx, inputs, o.reading())
}

func readWith(ctx context.Context, inputs []Input, o facts.Options) (*Reading, error) {
	r := &Reading{names: elfobj.NewNames()}
	var err error
	r.set, err = facts.Read(ctx, inputs, o, r.names)
	return r, err
}

// Artifacts returns what was read.
func (r *Reading) Artifacts() []*Facts { return r.set.Artifacts }

// Unread returns what could not be read.
func (r *Reading) Unread() []Unread { return r.set.Unread }

// Refused describes a pin that an installer refuses, or builds from source, because of its hashes.
func Refused(at Origin, e *packages.HashError) NoWheel {
	id, installer := e.Name+"=="+e.Version, lockfile.Installer(at.File)
	at.Line = cmp.Or(at.HashLine, at.Line)
	n := NoWheel{
		Package: e.Name, Version: e.Version, Hash: true, Source: e.Source, At: at,
		Renew: lockfile.Renew(at.File, e.Name),
	}
	if e.Listed == nil {
		n.Reason = id + " is pinned with hashes that match no file in the index"
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

// IDs of rules about environments that the analyzer and its users know.
const (
	RuleHash   = "hash-mismatch"
	RuleUnmet  = "requirement-not-met"
	RuleBroken = "broken-installation"
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
		checked.report.Base = "the base"
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
	if err == nil {
		trial.Sequence(r, nil)
	}
	return r, err
}

func (a *Analyzer) environments(
	ctx context.Context,
	list []*Environment,
	o Options,
) (*checked, error) {
	read := make([]*Reading, len(list))
	for i, e := range list {
		if read[i] = e.Read; read[i] == nil {
			lean := o.reading()
			lean.Lean = true
			var err error
			if read[i], err = readWith(ctx, e.Wheels, lean); err != nil {
				return nil, err
			}
		}
	}
	for {
		out := &checked{report: result.New(o.Version), pins: map[string]cause.Pin{}}
		out.report.Environment = true
		for i, e := range list {
			e.addPins(out.pins)
			if err := a.environment(ctx, e, read[i], o, out); err != nil {
				return nil, err
			}
		}
		again := false
		for i, e := range list {
			r := read[i]
			some, err := r.set.Complete(ctx, e.Wheels, o.reading(), r.names)
			if err != nil {
				return nil, err
			}
			again = again || some
		}
		if !again {
			return out, nil
		}
	}
}

// environment checks each wheel with the other packages, and adds the result to out.
func (a *Analyzer) environment(
	ctx context.Context, e *Environment, read *Reading, o Options, out *checked,
) error {
	set, names := read.set, read.names
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
	environment.On, environment.Uses, environment.Newest = e.On, e.Uses, e.Newest
	var all *judge.Environment
	var unmet []judge.Unmet
	var err error
	before := len(report.Findings)
	for _, f := range set.Artifacts {
		out.addArtifact(describe(f))
		if f.Binaries() == 0 || f.Wheel == nil && !f.Conda() {
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
		e.damaged(out, &own[i], Lacks(rules, &own[i]))
	}
	leaveToSystem(rules, set.Artifacts, own)
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
		out.addArtifact(x)
	}
	for _, n := range e.Notes {
		report.AddNote(n)
	}
	if all != nil {
		if unmet, err = all.Unmet(ctx); err != nil { // with what fixes have looked up
			return err
		}
	}
	pass, err := e.pass(out, o)
	if err != nil {
		return err
	}
	pass.Artifacts, pass.Unmet = set.Artifacts, unmet
	pass.Run(ctx, rules, o.Source, report)
	return ctx.Err()
}

// pass returns the input of the rules about environments, and adds the packages without a wheel to
// the artifacts of the report.
func (e *Environment) pass(out *checked, o Options) (*judge.EnvironmentPass, error) {
	p := &judge.EnvironmentPass{
		On: e.On, With: e.With, Pins: out.pins, Listed: e.Listed, Unread: e.Unread,
		Installed: e.Prefix != nil, Complete: e.Complete, Changed: e.Changed,
		NoWheel: e.NoWheel, Broken: e.Broken, Conda: e.CondaPackages,
		Targets: func() []string { return e.targets(out, o) },
	}
	if len(e.CondaPackages) > 0 {
		libc, err := e.glibc(o)
		if err != nil {
			return nil, err
		}
		p.Libc = libc
	}
	if len(e.NoWheel) > 0 {
		for _, name := range o.Platforms {
			if _, err := platform.Lookup(name, e.On.Arch); err != nil {
				return nil, err
			}
		}
	}
	for _, w := range e.NoWheel {
		if w.Hash && slices.ContainsFunc(out.report.Artifacts, func(a Artifact) bool {
			return a.Wheel != nil && pkgmeta.Normalize(a.Wheel.Name) == pkgmeta.Normalize(w.Package)
		}) {
			continue // it is listed as a wheel that can be checked
		}
		out.addArtifact(Artifact{
			Path: w.ID(), Kind: KindWheel, Wheel: &Wheel{Name: w.Package, Version: w.Version},
		})
	}
	return p, nil
}

// addPins adds the packages of the environment, unless another environment has them.
func (e *Environment) addPins(pins map[string]cause.Pin) {
	add := func(name, version string, at Origin) {
		if p, had := pins[name]; (!had || p.Implied) && name != "" {
			pins[name] = cause.Pin{
				Version: version, File: at.File, Line: at.Line,
				Installed: at.Installed, Implied: at.Implied,
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

// addArtifact adds an artifact to the report, unless it is listed already: environments share
// wheels.
func (k *checked) addArtifact(a Artifact) {
	if !slices.ContainsFunc(k.placesOf(a.Path), func(i int) bool {
		return k.report.Artifacts[i].SHA256 == a.SHA256
	}) {
		k.report.Artifacts = append(k.report.Artifacts, a)
	}
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
// plug-ins for libraries that only some systems have. A library of no known system that a package
// loads whenever it is imported is missing, and one of which a pinned package has another version.
func leaveToSystem(rules []*Rule, all []*facts.Artifact, findings []Finding) {
	loaded := sync.OnceValue(func() map[string]bool { return loadedByImport(all) })
	for i := range findings {
		f := &findings[i]
		pin := slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Requirement != "" })
		if Lacks(rules, f) == cause.LacksLibrary && f.Severity == Error && !pin &&
			f.LackedBy == "" && !strings.Contains(strings.Join(f.Chain, " "), "==") {
			_, known := platform.OfSystem(f.Library, f.Target)
			if !known && loaded()[f.Object] {
				continue
			}
			f.Severity, f.Why = Warning, "the system may have the library; the list of packages does not "+
				"say it"
		}
	}
}

// Lacks returns what the object of a finding lacks.
func Lacks(rules []*Rule, f *Finding) cause.Lacks {
	i := slices.IndexFunc(rules, func(r *Rule) bool { return r.ID == f.Rule })
	if i < 0 || rules[i].Cause.Linker {
		return cause.LacksNothing
	}
	return rules[i].Cause.Lacks
}
