package analyzer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/trial"
	"github.com/compat-app/compat/internal/shellword"
)

const (
	// maxNewer limits the newer releases of a package that are read, because each is a download: the
	// nearest, the newest, and those of a bisection of 16.
	maxNewer = 6
	// maxNext limits the nearest releases that are read if neither the first nor the last works.
	maxNext = 4
	// maxListed limits the newer releases of a package of which the requirements are looked up.
	maxListed = 32
	// maxForward limits the packages that one fix changes to newer releases.
	maxForward = 8
)

// newerReleases searches newer releases of packages with errors: of those that no change of other
// packages removes, such as an executable stack, and of those that fail with a newer version of
// another package.
type newerReleases struct {
	of        *Environment
	all       *judge.Environment
	rules     []*Rule
	options   Options
	on        judge.Options
	artifacts []*facts.Artifact
	names     *elfobj.Names
	verifiers []*trial.Verifier          // of the artifacts; they get those of releases that work
	pins      map[string]pkgmeta.Version // of the environment, by package; set by offer
	unmet     []judge.Unmet              // in the environment; set by offer
}

// failing is a package with errors, or one whose requirements the pins do not satisfy.
type failing struct {
	packages.ID
	artifact *facts.Artifact // nil if its wheel was not read
	found    []*Finding      // the errors, and warnings that the same change of versions removes
}

// release is another release of a package.
type release struct {
	of       failing
	artifact *facts.Artifact // nil if its wheel was not read, because it has no library
	pin      string          // NAME==VERSION
}

// offer adds to the errors of each package the nearest newer release that was found to have none of
// them. For packages that fail with the same other one, these are one fix. The error is that of
// ctx.
func (n *newerReleases) offer(ctx context.Context, findings []Finding) error {
	if n.of.Other == nil || n.options.Source == nil || n.options.NoFixes {
		return nil
	}
	found := map[string][]*Finding{} // by artifact
	for i := range findings {
		if x := &findings[i]; x.Severity.Rank() >= Warning.Rank() && x.Rule != RuleUnmet {
			found[x.Artifact] = append(found[x.Artifact], x)
		}
	}
	if !slices.ContainsFunc(findings, isError) {
		return nil
	}
	n.pins = map[string]pkgmeta.Version{}
	for _, pin := range n.of.With {
		q, err := pkgmeta.ParseRequirement(pin)
		if v, ok := q.Pin(); err == nil && ok {
			n.pins[q.Name] = v
		}
	}
	var err error
	if n.unmet, err = n.all.Unmet(ctx); err != nil {
		return err
	}
	with := map[string][]failing{} // by the other package
	for _, f := range n.artifacts {
		if f.Wheel == nil || f.Metadata == nil {
			continue
		}
		id := packages.ID{Name: pkgmeta.Normalize(f.Metadata.Name), Version: f.Metadata.Version}
		own := failing{ID: id, artifact: f}
		others := map[string][]*Finding{}
		for _, x := range found[f.Path] {
			other := failsWith(x)
			switch {
			case changesEnvironment(x.Fixes) && other != "" && other != id.Name:
				others[other] = append(others[other], x)
			case !changesEnvironment(x.Fixes) && x.Severity == Error:
				own.found = append(own.found, x)
			}
		}
		for other, list := range others {
			if slices.ContainsFunc(list, func(x *Finding) bool { return isError(*x) }) {
				with[other] = append(with[other], failing{id, f, list})
			}
		}
		if len(own.found) == 0 {
			continue
		}
		r, err := n.nearest(ctx, own, n.fitting(ctx, own))
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		for _, x := range own.found {
			x.Fixes = append([]fix.Fix{{
				Kind: fix.KindPin, Title: fix.Titled("Pin %s", fix.Requirement(r.pin)),
				Requirement: r.pin, Verified: true, Cost: []string{},
			}}, x.Fixes...)
		}
	}
	for _, other := range slices.Sorted(maps.Keys(with)) {
		if err := n.forward(ctx, other, with[other]); err != nil {
			return err
		}
	}
	return nil
}

// forward adds to findings of packages that fail with the same other one the fix that changes all
// of them, and those that require another version of it, to newer releases.
func (n *newerReleases) forward(ctx context.Context, other string, all []failing) error {
	for _, u := range n.unmet {
		if u.Package == other && !slices.ContainsFunc(all, func(p failing) bool {
			return p.Name == u.By.Name
		}) {
			all = append(all, failing{ID: u.By, artifact: u.Artifact})
		}
	}
	if len(all) > maxForward {
		return nil
	}
	var fitting [][]pkgmeta.Version
	for _, p := range all { // of all, before any is read
		versions := n.fitting(ctx, p)
		if len(versions) == 0 {
			return ctx.Err()
		}
		fitting = append(fitting, versions)
	}
	var to []release
	var found []*Finding
	var pins fix.Releases
	for i, p := range all {
		r, err := n.nearest(ctx, p, fitting[i])
		if r == nil || err != nil {
			return err
		}
		to, found, pins = append(to, *r), append(found, p.found...), append(pins, r.pin)
	}
	checked, err := n.work(ctx, to, found)
	if checked == nil || err != nil {
		return err
	}
	for _, c := range checked {
		trial.Replace(n.verifiers, c.of.of.artifact, c.of.pin, c.verifier)
	}
	for _, x := range found {
		x.Fixes = append(x.Fixes, fix.Fix{
			Kind: fix.KindEnvironment, Title: fix.Together(pins),
			Command: "pip install " + shellword.Quoted(pins), Verified: true, Cost: n.alsoUnmet(other),
			Change: pins,
		})
	}
	return nil
}

// alsoUnmet returns what a fix that keeps a package costs: its requirements on others that the pins
// do not satisfy. It is not nil.
func (n *newerReleases) alsoUnmet(name string) []string {
	var others []string
	for _, u := range n.unmet {
		if u.By.Name == name {
			others = append(others, u.Package)
		}
	}
	if others == nil {
		return []string{}
	}
	return []string{name + " " + n.pins[name].String() + " also requires other versions of " +
		List(others, 3, len(others), "package")}
}

func isError(x Finding) bool { return x.Severity == Error }

// failsWith returns the package of which a finding's first fix chooses another version, or else the
// one that the finding is about.
func failsWith(x *Finding) string {
	for _, y := range x.Fixes {
		if q, err := pkgmeta.ParseRequirement(y.Requirement); err == nil && y.Requirement != "" {
			return q.Name
		}
	}
	return pkgmeta.Normalize(x.Package)
}

// changesEnvironment reports whether a fix is one for who installs the packages.
func changesEnvironment(fixes []fix.Fix) bool {
	return slices.ContainsFunc(fixes, func(x fix.Fix) bool {
		return x.Requirement != "" || x.Kind == fix.KindEnvironment
	})
}

// fitting returns the newer releases of a package that the packages of the environment allow and
// whose requirements they satisfy, the nearest first.
func (n *newerReleases) fitting(ctx context.Context, p failing) []pkgmeta.Version {
	at, errVersion := pkgmeta.ParseVersion(p.Version)
	listed, errListed := n.options.Source.Versions(ctx, p.Name, n.of.On)
	if errVersion != nil || errListed != nil {
		return nil
	}
	newer := slices.DeleteFunc(
		packages.Sorted(n.all.Admitted(p.Name, listed)),
		func(v pkgmeta.Version) bool { return v.IsPreRelease() || v.Compare(at) <= 0 },
	)
	return slices.DeleteFunc(newer[:min(len(newer), maxListed)], func(v pkgmeta.Version) bool {
		return !n.fits(ctx, p, v.String())
	})
}

// nearest returns the nearest of newer releases without the findings of a package: the first or, if
// the last has none, one that a bisection finds, or else one of the next; nil if none is known. The
// last release of a package that is built for one version of another need not work.
func (n *newerReleases) nearest(
	ctx context.Context,
	p failing,
	newer []pkgmeta.Version,
) (best *release, err error) {
	if p.artifact == nil && len(newer) > 0 { // there is nothing to read
		return &release{of: p, pin: p.Name + "==" + newer[0].String()}, nil
	}
	reads := 0
	good := func(i int) bool {
		if reads == maxNewer || err != nil {
			return false
		}
		reads++
		var r *release
		if r, err = n.read(ctx, p, newer[i].String()); r == nil {
			return false
		}
		var works []checkedRelease
		if works, err = n.work(ctx, []release{*r}, p.found); works != nil {
			best = r // each is nearer than the one before
		}
		return works != nil
	}
	last := len(newer) - 1
	switch {
	case last < 0 || good(0) || last == 0:
	case good(last):
		sort.Search(last-1, func(i int) bool { return good(i + 1) })
	default: // an old release, of which the next but one may work
		for i := 1; i < min(last, maxNext) && !good(i); i++ {
		}
	}
	return best, cmp.Or(err, ctx.Err())
}

// fits reports whether the packages of the environment satisfy the requirements of a release. If
// the wheel of the package was not read, the release has to be without libraries too.
func (n *newerReleases) fits(ctx context.Context, p failing, version string) bool {
	r, err := n.options.Source.Release(ctx, p.Name, version, n.of.On)
	if err != nil || p.artifact == nil && len(r.Libraries) > 0 {
		return false
	}
	on := n.of.On.Markers()
	return !slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
		applies, err := q.Applies(on)
		v, pinned := n.pins[q.Name]
		return err == nil && applies && pinned && !q.Admits(v)
	})
}

// read reads another version of a package; nil if it is not known.
func (n *newerReleases) read(ctx context.Context, p failing, version string) (*release, error) {
	input, err := n.of.Other(ctx, p.Name, version)
	if input == nil || err != nil {
		return nil, ctx.Err()
	}
	set, err := facts.Read(ctx, []Input{*input}, n.options.reading(), n.names)
	if err != nil || len(set.Artifacts) != 1 || len(set.Unread) > 0 {
		return nil, err
	}
	return &release{p, set.Artifacts[0], p.Name + "==" + version}, nil
}

// checkedRelease is a release that works on a target, with its verifier.
type checkedRelease struct {
	of       release
	verifier *trial.Verifier
}

// work checks releases in the place of the packages that they replace. It returns nil if they have
// an error or one of some findings, or if they add a requirement that the pins do not satisfy.
func (n *newerReleases) work(
	ctx context.Context,
	releases []release,
	findings []*Finding,
) ([]checkedRelease, error) {
	artifacts, on := slices.Clone(n.artifacts), n.on
	replaced := map[string]bool{}
	for _, r := range releases {
		replaced[r.of.Name] = true
		if r.artifact != nil {
			artifacts[slices.Index(artifacts, r.of.artifact)] = r.artifact
		}
	}
	on.With = slices.DeleteFunc(slices.Clone(on.With), func(w string) bool {
		q, err := pkgmeta.ParseRequirement(w)
		return err == nil && replaced[q.Name]
	})
	for _, r := range releases {
		on.With = append(on.With, r.pin)
	}
	all, err := judge.NewEnvironment(n.rules, on, artifacts)
	if err != nil {
		return nil, err
	}
	out := []checkedRelease{}
	for _, r := range releases {
		if r.artifact == nil {
			continue
		}
		targets, _, err := judge.Targets(r.artifact, nil, n.options.platforms(nil))
		if err != nil || len(targets) == 0 {
			return nil, err
		}
		session := all.Session(r.artifact, n.names)
		for _, t := range targets {
			c := judge.Case{
				Artifact: r.artifact, Target: t, Scenario: fix.Scenario{Platform: t.Key()},
			}
			outcome, err := session.Judge(ctx, c)
			if err != nil || n.fails(outcome, findings) {
				return nil, err
			}
			out = append(out, checkedRelease{r, trial.New(ctx, session, c, outcome)})
		}
	}
	unmet, err := all.Unmet(ctx)
	if err != nil || slices.ContainsFunc(unmet, func(u judge.Unmet) bool {
		return replaced[u.By.Name] || !slices.ContainsFunc(n.unmet, func(old judge.Unmet) bool {
			return old.By.Name == u.By.Name && old.Package == u.Package
		})
	}) {
		return nil, err
	}
	return out, nil
}

// fails reports whether an outcome has an error or a finding like some.
func (n *newerReleases) fails(o *judge.Outcome, findings []*Finding) bool {
	var found []Finding
	for _, x := range o.Found {
		found = append(found, *x.Finding)
	}
	leaveToSystem(n.rules, n.artifacts, found)
	return slices.ContainsFunc(found, func(x Finding) bool {
		return x.Severity == Error || slices.ContainsFunc(findings, func(y *Finding) bool {
			return x.Rule == y.Rule && x.Library == y.Library && x.Symbol == y.Symbol
		})
	})
}
