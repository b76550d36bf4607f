// Package analyzer finds symbols and libraries that the dynamic loader or a linker will not
// resolve in binaries, explains why, and offers fixes.
//
//	report, err := analyzer.New(rules.All()).Check(ctx, inputs, analyzer.Options{})
//
// Data flows in one direction: facts (reading files) -> judge (environment, loading, binding,
// rules) -> trial (verifying fixes) -> result (the report). This package connects them and is
// their API. Check opens no files or sockets, reads no clock and executes nothing: the same
// bytes and settings give the same report. Other packages are provided by a packages.Source.
//
// All input is untrusted. elfobj checks every table against the file's size, unpack limits
// every archive, and files that could not be read are listed in Report.Unread, which makes the
// verdict unchecked.
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
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/sbom"
	"github.com/compat-app/compat/analyzer/trial"
)

// Analyzer checks artifacts with a list of rules. It is safe for concurrent use.
type Analyzer struct {
	rules []*Rule
}

// New returns an analyzer. The rules run in the order given.
func New(rules []*Rule) *Analyzer { return &Analyzer{rules: rules} }

// Rules returns the analyzer's rules.
func (a *Analyzer) Rules() []*Rule { return a.rules }

// Check checks inputs together: they can satisfy each other's dependencies. It returns an error
// for invalid options (unknown platform, requirement that cannot be parsed) and if ctx ends.
// Damage in an input is part of the report.
func (a *Analyzer) Check(ctx context.Context, inputs []Input, o Options) (*Report, error) {
	r, _, err := a.fix(ctx, inputs, o, fixing{})
	return r, err
}

// FixOptions are which fixes are applied to wheels, and how.
type FixOptions struct {
	Only []string // IDs of causes; nil = all
	// Bundle runs a bundler for a wheel whose name, with slashes, is that of the input, and returns
	// the wheel that it writes. The error is the reason why there is none. If Bundle is nil, no
	// libraries are bundled.
	Bundle func(ctx context.Context, b fix.Bundling, wheel Input) (Input, error)
}

// fixing are the options of an executor.
type fixing struct {
	FixOptions
	// write is set if the result is written: then RECORD is compared with all members of a wheel, and
	// single files are changed too.
	write bool
}

// Fix is like Check, and also returns the wheels to which the fixes of the report were applied.
// They refer to the content of the inputs.
func (a *Analyzer) Fix(
	ctx context.Context,
	inputs []Input,
	o Options,
	how FixOptions,
) (*Report, *Execution, error) {
	return a.fix(ctx, inputs, o, fixing{how, true})
}

func (a *Analyzer) fix(
	ctx context.Context,
	inputs []Input,
	o Options,
	how fixing,
) (*Report, *Execution, error) {
	j, err := judge.New(a.rules, o.environment())
	if err != nil {
		return nil, nil, err
	}
	var cache *facts.Cache
	if !o.NoFixes {
		cache = facts.NewCache()
	}
	r, damaged, before, err := a.check(ctx, j, inputs, o, cache)
	if err != nil || o.NoFixes {
		return r, &Execution{}, err
	}
	x := &executor{
		analyzer: a, judge: j, inputs: inputs, damaged: damaged, before: before, report: r,
		options: o, with: o.With, fixing: how, cache: cache,
	}
	done, err := x.execute(ctx)
	if err != nil {
		return r, done, err
	}
	written := map[string]string{}
	for _, f := range done.Files {
		written[f.Artifact] = f.File
	}
	trial.Sequence(r, written)
	cause.NextBuilds(r)
	return r, done, nil
}

// check is Check without the fixes that are applied to the bytes. damaged are files that could not
// be read, before the earlier builds.
func (a *Analyzer) check(
	ctx context.Context,
	j *judge.Judge,
	inputs []Input,
	o Options,
	cache *facts.Cache,
) (_ *Report, damaged []Unread, before []*judge.Earlier, _ error) {
	var base *Report
	var unread []Unread // of the base and of the other earlier builds
	if o.Base != nil {
		withoutFixes := o
		withoutFixes.NoFixes = true // fixes of the base are not shown
		checked, err := run(ctx, a.rules, j, o.Base, nil, withoutFixes, nil)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("base: %w", err)
		}
		base = checked.report
		unread = append(unread, checked.unreadBase(o)...)
		if !o.ABI.SkipBase {
			before = append(before, &judge.Earlier{
				Name:      cmp.Or(o.BaseName, "the base"),
				Version:   o.BaseVersion,
				Release:   o.BaseRelease,
				Artifacts: checked.artifacts,
			})
		}
	}
	earlier, more, err := o.earlier(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	before, unread = append(before, earlier...), append(unread, more...)
	head, err := run(ctx, a.rules, j, inputs, before, o, cache)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, u := range unread {
		if o.OptionalBase {
			head.report.AddNote(u.Path + ": " + u.Reason)
		} else {
			head.report.AddUnread(u)
		}
	}
	if base != nil {
		head.report.MarkExisting(base.Identities())
		head.report.Base = cmp.Or(o.BaseName, "the base")
	}
	r, err := head.conclude(a.rules, o)
	if err == nil && base != nil {
		had := o.BaseWheels
		if had == nil {
			had = Wheels(base)
		}
		a.AddLostSupport(r, had, o.BaseName, o)
	}
	return r, head.damaged, before, err
}

// checked is the result for a list of inputs.
type checked struct {
	report    *Report
	artifacts []*facts.Artifact
	damaged   []Unread // files that could not be read
	providers judge.Providers
	published judge.Published      // nil if they are installed
	verifiers []*trial.Verifier    // for targets on which a finding was found first
	others    []*trial.Verifier    // of an environment, for artifacts without findings
	with      map[string]*listed   // by the name of a target's platform
	places    map[string][]int     // the artifacts of the report by path, see placesOf
	placed    int                  // how many of them are in places
	pins      map[string]cause.Pin // of environments; nil for artifacts
	tries     bool                 // fixes of other findings are tried with the next artifact
	refused   []*refused           // pins with other hashes than those of the index
}

// run checks a list of inputs. cache has what was read before of them; nil = nothing is kept.
func run(
	ctx context.Context,
	rules []*Rule,
	j *judge.Judge,
	inputs []Input,
	before []*judge.Earlier,
	o Options,
	cache *facts.Cache,
) (*checked, error) {
	for _, name := range slices.Concat(o.Platforms, o.Also) {
		if err := platform.Validate(name); err != nil {
			return nil, err
		}
	}
	reading, names := o.reading(), elfobj.NewNames()
	if reading.Cache = cache; cache != nil {
		names = cache.Names
	}
	set, err := facts.Read(ctx, inputs, reading, names)
	if err != nil {
		return nil, err
	}
	report := result.New(o.Version)
	report.Unread, report.Skipped = set.Unread, set.Skipped
	session, notes := j.Session(set.Artifacts, before, names)
	for _, note := range notes {
		report.AddNote(note)
	}
	out := &checked{
		report:    report,
		artifacts: set.Artifacts,
		damaged:   slices.Clone(set.Unread),
		providers: judge.ProvidersOf(set.Artifacts),
		published: judge.PublishedWheels(set.Artifacts),
	}
	for _, f := range set.Artifacts {
		report.Artifacts = append(report.Artifacts, describe(f))
		if f.Binaries() == 0 {
			continue
		}
		if err := out.artifact(ctx, session, f, o); err != nil {
			return nil, err
		}
		for _, c := range session.Compared(f) {
			report.ABI = append(report.ABI, compared(c))
		}
	}
	out.skipEmpty()
	pass := &judge.EnvironmentPass{NoWheel: out.refusedPins(o)}
	pass.Run(ctx, rules, nil, report)
	return out, nil
}

// skipEmpty lists the artifacts of which nothing was checked, if something of others was: a pure
// Python wheel, or one for a system that compat does not know.
func (k *checked) skipEmpty() {
	r := k.report
	if !slices.ContainsFunc(r.Artifacts, func(a Artifact) bool { return a.Objects > 0 }) {
		return
	}
	unread, skipped := byArtifact(r.Unread), byArtifact(r.Skipped)
	listed := map[string]bool{}
	for _, u := range r.Skipped {
		listed[u.Path] = true
	}
	for _, a := range r.Artifacts {
		reason, known := skipped[a.Path]
		if _, failed := unread[a.Path]; a.Objects > 0 || failed || listed[a.Path] {
			continue
		}
		if !known {
			reason = "it has no binary"
		}
		r.Skipped = append(r.Skipped, Unread{Path: a.Path, Reason: reason})
	}
}

// byArtifact returns the first reason of the files in each folder and archive, and of each file.
func byArtifact(files []Unread) map[string]string {
	out := map[string]string{}
	for _, u := range files {
		for end := len(u.Path); end > 0; end = strings.LastIndexByte(u.Path[:end], '/') {
			if _, known := out[u.Path[:end]]; !known {
				out[u.Path[:end]] = u.Reason
			}
		}
	}
	return out
}

// unreadBase returns what could not be read of a base, so that the head was not compared with it:
// the files that could not be read, or the first input if there is nothing in any of them.
func (k *checked) unreadBase(o Options) []Unread {
	out := unreadEarlier(cmp.Or(o.BaseName, "the base"), k.damaged)
	if len(out) == 0 && len(o.Base) > 0 && !slices.ContainsFunc(k.artifacts, canCompare) {
		out = append(out, Unread{
			Path: o.Base[0].Name,
			Reason: "there is nothing to compare with in the base: it has no wheel, library or " +
				"program that compat checks",
		})
	}
	return out
}

// failsOnOlder returns the note about systems on which a wheel without a tag for them is not
// checked, because it fails there; "" if there are none.
func failsOnOlder(lacking []judge.Lacking) string {
	var parts []string
	for _, l := range lacking {
		lack := "lack"
		if len(l.Systems) == 1 {
			lack = "lacks"
		}
		parts = append(parts, fmt.Sprintf("%s, which %s %s", l.Version,
			result.List(l.Systems, 3, len(l.Systems), "platform"), lack))
	}
	if parts == nil {
		return ""
	}
	return "fails on older systems: it needs " + strings.Join(parts, ", and ")
}

// untagged returns the note about a wheel with a platform tag that package indexes refuse; "" for
// other files. auditwheel chooses the oldest tag that the symbols allow without an option.
func untagged(f *facts.Artifact, targets []judge.Target) string {
	tags := f.PlatformTags()
	i := slices.IndexFunc(tags, func(t string) bool { return platform.ParseTag(t).WithoutLibc() })
	if i < 0 {
		return ""
	}
	note := fmt.Sprintf("PyPI does not accept the tag %s; auditwheel repair changes it", tags[i])
	for _, t := range targets {
		p := t.Platform
		if p.Kind == platform.Policy && p.Libc == "glibc" && tags[i] == "linux_"+p.Arch {
			return note + " to " + p.Name + ", which the symbols of the wheel allow"
		}
	}
	return note
}

// artifact checks an artifact on each of its targets.
func (k *checked) artifact(
	ctx context.Context,
	s *judge.Session,
	f *facts.Artifact,
	o Options,
) error {
	on := o.platforms(k.published)
	if why := judge.NotJudged(f, on); why != "" {
		a := &k.report.Artifacts[len(k.report.Artifacts)-1]
		a.Objects, a.Imports = 0, 0
		k.report.Skipped = append(k.report.Skipped, Unread{Path: f.Path, Reason: why})
		return nil
	}
	targets, skipped, err := judge.Targets(f, k.providers, on)
	if err != nil {
		return err
	}
	k.describeTargets(f, targets, skipped, o)
	found := findings{first: map[string]*Finding{}}
	earlier := len(k.verifiers)
	for len(targets) > 0 {
		t := targets[0]
		targets = targets[1:]
		o.progress("judging %s on %s", f.Path, t.Platform.Name)
		c := judge.Case{Artifact: f, Target: t, Scenario: fix.Scenario{Platform: t.Key()}}
		outcome, err := s.Judge(ctx, c)
		if err != nil {
			return err
		}
		before := len(found.order)
		fresh := found.add(k.relevant(f, t, outcome, found), t.Platform.Name)
		if !t.Promised {
			k.account(f, t, outcome, s.Account(outcome.Found))
		}
		if kept := affordable(targets, f, len(outcome.Found)); len(kept) < len(targets) {
			k.report.AddNote(fmt.Sprintf("%s has too many findings; %d of its platforms were not checked",
				f.Path, len(targets)-len(kept)))
			targets = kept
		}
		if err := k.tryFixes(ctx, s, c, outcome, fresh, &found, o); err != nil {
			return err
		}
		switch {
		case t.Promised:
			for _, x := range found.order[before:] {
				x.Severity, x.Message = Warning, x.Message+". "+judge.Promise(t.Platform)
				x.Why = "it fails on " + t.Platform.Name + ", which the tag names and you did not"
			}
		case t.Platform.OS == platform.Linux:
			all := decided(outcome.Found)
			for i, x := range all { // the first target's finding has the fixes
				all[i].Finding = found.first[x.Identity()]
			}
			s.AddGaps(ctx, k.report, c, all)
		}
	}
	if err := trial.Elsewhere(k.verifiers[earlier:], found.order); err != nil {
		return err
	}
	k.report.Findings = slices.Grow(k.report.Findings, len(found.order))
	for _, x := range found.order {
		x.Message += alsoOn(x.On[1:])
		k.report.Findings = append(k.report.Findings, *x)
	}
	return nil
}

// describeTargets reports what of an artifact is not checked, and what is taken for granted.
func (k *checked) describeTargets(
	f *facts.Artifact, targets []judge.Target, skipped []string, o Options,
) {
	report := k.report
	asked := len(o.Platforms) > 0 || o.Root != nil
	for _, why := range skipped {
		u := Unread{Path: f.Path, Reason: why}
		if len(targets) == 0 && !asked { // probably the tag is wrong
			report.Unread = append(report.Unread, u)
		} else {
			report.Skipped = append(report.Skipped, u)
		}
	}
	a := &report.Artifacts[len(report.Artifacts)-1]
	switch {
	case len(targets) > 0 && o.Conda == nil:
		var on []*platform.Platform
		for _, t := range targets {
			on = append(on, t.Platform)
		}
		a.Assumed = f.OthersLibraries(on)
	case len(targets) == 0 && len(skipped) > 0: // no object of it is checked
		a.Objects, a.Imports = 0, 0
	case len(targets) == 0:
		report.Unread = append(report.Unread, Unread{
			Path:   f.Path,
			Reason: "no built-in platform has its architecture; give one with --platform",
		})
	}
	if p := namesOnly(targets); p != nil {
		report.AddUnread(Unread{Path: f.Path, Reason: fmt.Sprintf("only the names of the libraries of "+
			"%s on %s are known, not their symbols; give a folder with its files with --root",
			p.Name, p.Arch)})
	}
	if note := failsOnOlder(judge.TooOld(f, k.providers, targets)); note != "" {
		report.AddNote(f.Path + " " + note)
	}
	if note := untagged(f, targets); note != "" && !asked {
		report.AddNote(note)
	}
}

// namesOnly returns the first platform if of all only the names of the libraries are known, else
// nil.
func namesOnly(targets []judge.Target) *platform.Platform {
	for _, t := range targets {
		if !t.Platform.NamesOnly() {
			return nil
		}
	}
	if len(targets) == 0 {
		return nil
	}
	return targets[0].Platform
}

// relevant returns the findings of an outcome that count on a target. On a platform that only the
// tags promise, those count that the named ones do not have.
func (k *checked) relevant(
	f *facts.Artifact, t judge.Target, outcome *judge.Outcome, found findings,
) []judge.Found {
	if outcome.Unchecked > 0 {
		k.report.AddUnread(Unread{Path: f.Path, Reason: fmt.Sprintf("%d files were not checked, because "+
			"its DLLs have too many dependencies on each other", outcome.Unchecked)})
	}
	if t.Promised {
		return onlyPromised(outcome.Found, found.first)
	}
	return decided(outcome.Found)
}

// decided leaves out what is not known of an object if it lacks a symbol with the newest releases
// only: its requirements have to exclude these. The imports are counted as undecided.
func decided(found []judge.Found) []judge.Found {
	lacks := map[string]bool{}
	for _, x := range found {
		newer := x.Symbol != "" && x.Severity == Error && x.At == [2]bool{false, true}
		lacks[x.Object] = lacks[x.Object] || newer
	}
	return slices.DeleteFunc(slices.Clone(found), func(x judge.Found) bool {
		return x.Unknown && lacks[x.Object]
	})
}

// placesOf returns the indexes of the artifacts in the report that have a path.
func (k *checked) placesOf(path string) []int {
	if k.places == nil {
		k.places = map[string][]int{}
	}
	for ; k.placed < len(k.report.Artifacts); k.placed++ {
		at := k.report.Artifacts[k.placed].Path
		k.places[at] = append(k.places[at], k.placed)
	}
	return k.places[path]
}

// account adds a target to the report, and what became of the imports of an artifact on it.
func (k *checked) account(
	f *facts.Artifact, t judge.Target, outcome *judge.Outcome, imports result.Accounting,
) {
	target := k.addTarget(t.Platform, f, outcome.Sets)
	if target.Accounting == nil {
		target.Accounting = &result.Accounting{Why: []result.Undecided{}}
	}
	target.Accounting.Add(imports)
	a := &k.report.Artifacts[k.placesOf(f.Path)[0]]
	if !slices.Contains(a.Targets, t.Platform.Name) {
		a.Targets = append(a.Targets, t.Platform.Name)
	}
	if a.Accounting == nil || imports.Worse(a.Accounting) {
		a.Accounting = &imports
	}
}

// tryFixes tries the fixes of the findings that no earlier target has. What a fix reveals is a
// finding too.
func (k *checked) tryFixes(
	ctx context.Context,
	s *judge.Session,
	c judge.Case,
	outcome *judge.Outcome,
	fresh []judge.Found,
	found *findings,
	o Options,
) error {
	switch {
	case o.NoFixes:
		return nil
	case len(fresh) == 0 && !k.tries:
		if s.Pinned() { // a fix of another package may break this one
			k.others = append(k.others, trial.New(ctx, s, c, outcome))
		}
		return nil
	}
	v := trial.New(ctx, s, c, outcome)
	revealed, err := v.Fixes(fresh, outcome.Sets)
	if err != nil {
		return err
	}
	for _, x := range revealed {
		if found.first[x.Identity()] == nil {
			found.add([]judge.Found{x}, c.Target.Platform.Name)
		}
	}
	k.verifiers = append(k.verifiers, v)
	return nil
}

// findings are those of an artifact on all targets.
type findings struct {
	first map[string]*Finding // by Identity: that of the first target, with all targets and the fixes
	order []*Finding
}

// add adds findings on a target and returns those that no earlier one has. The severity is the
// highest of all targets.
func (fs *findings) add(found []judge.Found, target string) (fresh []judge.Found) {
	for _, x := range found {
		id := x.Identity()
		if fs.first[id] == nil {
			fs.first[id] = x.Finding
			fs.order, fresh = append(fs.order, x.Finding), append(fresh, x)
		} else if x.Severity.Rank() > fs.first[id].Severity.Rank() {
			fs.first[id].Severity, fs.first[id].Why = x.Severity, x.Why
		}
		fs.first[id].On = append(fs.first[id].On, target)
	}
	return fresh
}

// onlyPromised returns the problems that a wheel has only on a platform that the user did not name.
// Notes, and what depends on packages that could not be looked up, are for the named ones.
func onlyPromised(found []judge.Found, named map[string]*Finding) []judge.Found {
	return slices.DeleteFunc(slices.Clone(found), func(x judge.Found) bool {
		return x.Severity == Note || x.Unknown || named[x.Identity()] != nil
	})
}

// An artifact with more than manyFindings on one target is checked on fewer other targets:
// maxRepeats limits the findings of all targets together. A finding costs about 50
// microseconds, and an import importCost times that.
const (
	manyFindings = 2_000
	maxRepeats   = 40_000
	importCost   = 0.05
)

// affordable selects the remaining targets that can be checked within maxRepeats if each has
// found findings: evenly distributed and including the last one. Platforms that the user
// specified are all kept.
func affordable(targets []judge.Target, f *facts.Artifact, found int) []judge.Target {
	if found < manyFindings || len(targets) == 0 || targets[0].Requested {
		return targets
	}
	imports := 0
	for _, o := range f.Objects {
		imports += o.Imports.Len()
	}
	most := max(int(maxRepeats/(float64(found)+importCost*float64(imports))), 1)
	if len(targets) <= most {
		return targets
	}
	var out []judge.Target
	for i := range most {
		out = append(out, targets[(i+1)*len(targets)/most-1])
	}
	return out
}

func describe(f *facts.Artifact) Artifact {
	a := Artifact{
		Path: f.Path, SHA256: f.SHA256, Kind: f.Kind, Root: f.Root(), Objects: f.Binaries(),
		Needs: needs(f),
	}
	if f.Metadata != nil {
		a.Project = f.Metadata.Name
	}
	for _, o := range slices.Concat(f.Objects, f.Android) {
		a.Imports += o.Imports.Len()
	}
	for _, o := range f.Wasm {
		a.Imports += len(o.Imports)
	}
	for _, o := range f.PE {
		for _, d := range o.Imports {
			a.Imports += len(d.Symbols)
		}
	}
	for _, o := range f.MachO {
		for _, s := range o.Slices {
			if s.Object != nil {
				a.Imports += len(s.Object.Imports)
			}
		}
	}
	if f.Wheel != nil {
		a.Wheel = &Wheel{
			Name:    f.Wheel.Name,
			Version: f.Wheel.Version,
			Policy:  f.Policy,
			ABI3:    f.ABI3,
			SBOMs:   sboms(f),
		}
		for _, t := range f.Wheel.Tags {
			a.Wheel.Tags = append(a.Wheel.Tags, t.Python+"-"+t.ABI+"-"+t.Platform)
		}
		if f.Metadata != nil {
			a.Wheel.RequiresPython = f.Metadata.RequiresPython
			for _, q := range f.Metadata.Requires {
				a.Wheel.Requires = append(a.Wheel.Requires, q.Raw)
			}
		}
	}
	return a
}

// maxSBOMLibraries limits the libraries of an SBOM in a report; wheels have up to 30.
const maxSBOMLibraries = 1000

// sboms describes the software bills of materials of a wheel.
func sboms(f *facts.Artifact) (out []result.SBOM) {
	if f.Inside == nil || len(f.Inside.SBOMs) == 0 {
		return nil
	}
	var paths []string
	for _, o := range f.Objects {
		paths = append(paths, o.Path)
	}
	files := sbom.NewFiles(paths)
	for _, s := range f.Inside.SBOMs {
		b := result.SBOM{Path: s.Path, Error: s.Error}
		if d := s.Document; d != nil {
			b.Tools, b.Components = d.Tools, &s.Count
			if d.Format != "" {
				b.Format = d.Format + " " + strings.TrimPrefix(d.Version, d.Format+"-")
			}
			for _, c := range d.Components {
				for _, at := range files.Of(c) {
					if len(b.Libraries) < maxSBOMLibraries {
						b.Libraries = append(b.Libraries, result.SBOMLibrary{
							Path: at, Name: c.Name, Version: c.Version,
						})
					}
				}
			}
		}
		out = append(out, b)
	}
	return out
}
