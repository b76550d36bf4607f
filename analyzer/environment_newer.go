package analyzer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

const (
	// maxNewer limits the newer releases of a package that are read, because each is a download: the
	// newest, and those of a bisection of 16.
	maxNewer = 5
	// maxListed limits the newer releases of which the requirements are looked up.
	maxListed = 32
	// maxForward limits the packages that one fix changes to newer releases.
	maxForward = 3
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
	pins      map[string]pkgmeta.Version // of the environment, by package; set by offer
}

// release is another release of the package of an artifact.
type release struct {
	of       *facts.Artifact
	artifact *facts.Artifact
	pin      string // NAME==VERSION
}

// offer adds to the errors of each package the nearest newer release that was found to have none of
// them. For packages that fail with the same other one, these are one fix. The error is that of
// ctx.
func (n *newerReleases) offer(ctx context.Context, findings []Finding) error {
	if n.of.Other == nil || n.options.Source == nil || n.options.NoFixes {
		return nil
	}
	errors := map[string][]*Finding{} // by artifact
	for i := range findings {
		if x := &findings[i]; x.Severity == Error {
			errors[x.Artifact] = append(errors[x.Artifact], x)
		}
	}
	if len(errors) == 0 {
		return nil
	}
	n.pins = map[string]pkgmeta.Version{}
	for _, pin := range n.of.With {
		q, err := pkgmeta.ParseRequirement(pin)
		if v, ok := q.Pin(); err == nil && ok {
			n.pins[q.Name] = v
		}
	}
	with := map[string]map[*facts.Artifact][]*Finding{} // by the other package
	for _, f := range n.artifacts {
		if f.Wheel == nil || f.Metadata == nil {
			continue
		}
		var own []*Finding
		for _, x := range errors[f.Path] {
			other := failsWith(x)
			switch {
			case !changesEnvironment(x.Fixes):
				own = append(own, x)
			case slices.ContainsFunc(x.Fixes, asRequired): // it fails with versions that it excludes
			case other != "" && other != pkgmeta.Normalize(f.Metadata.Name):
				if with[other] == nil {
					with[other] = map[*facts.Artifact][]*Finding{}
				}
				with[other][f] = append(with[other][f], x)
			}
		}
		if len(own) == 0 {
			continue
		}
		r, err := n.nearest(ctx, f, own)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		for _, x := range own {
			x.Fixes = append([]fix.Fix{{
				Kind: fix.KindPin, Title: "Pin " + r.pin, Requirement: r.pin, Verified: true,
				Cost: []string{},
			}}, x.Fixes...)
		}
	}
	for _, other := range slices.Sorted(maps.Keys(with)) {
		if err := n.forward(ctx, with[other]); err != nil {
			return err
		}
	}
	return nil
}

// forward adds to the errors of packages that fail with the same other one the fix that changes all
// of them to newer releases.
func (n *newerReleases) forward(
	ctx context.Context,
	failing map[*facts.Artifact][]*Finding,
) error {
	if len(failing) > maxForward {
		return nil
	}
	var to []release
	var all []*Finding
	var pins fix.Releases
	for _, f := range n.artifacts {
		if failing[f] == nil {
			continue
		}
		r, err := n.nearest(ctx, f, failing[f])
		if r == nil || err != nil {
			return err
		}
		to, all, pins = append(to, *r), append(all, failing[f]...), append(pins, r.pin)
	}
	if works, err := n.work(ctx, to, all); !works || err != nil {
		return err
	}
	for _, x := range all {
		x.Fixes = append(x.Fixes, fix.Fix{
			Kind: fix.KindEnvironment, Title: "Change together: " + strings.Join(pins, ", "),
			Command: "pip install " + shellword.Quoted(pins), Verified: true, Cost: []string{},
			Change: pins,
		})
	}
	return nil
}

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

// asRequired reports whether a fix chooses the versions that the package requires.
func asRequired(x fix.Fix) bool {
	_, ok := x.Change.(fix.AsRequired)
	return ok
}

// changesEnvironment reports whether a fix is one for who installs the packages.
func changesEnvironment(fixes []fix.Fix) bool {
	return slices.ContainsFunc(fixes, func(x fix.Fix) bool {
		return x.Requirement != "" || x.Kind == fix.KindEnvironment
	})
}

// nearest returns the nearest newer release without some findings, by bisection if the newest has
// none; nil if it is not known.
func (n *newerReleases) nearest(
	ctx context.Context,
	f *facts.Artifact,
	findings []*Finding,
) (best *release, err error) {
	name := pkgmeta.Normalize(f.Metadata.Name)
	at, errVersion := pkgmeta.ParseVersion(f.Metadata.Version)
	listed, errListed := n.options.Source.Versions(ctx, name, n.of.On)
	if errVersion != nil || errListed != nil {
		return nil, ctx.Err()
	}
	newer := slices.DeleteFunc(
		packages.Sorted(n.all.Admitted(name, listed)),
		func(v pkgmeta.Version) bool { return v.IsPreRelease() || v.Compare(at) <= 0 },
	)
	newer = slices.DeleteFunc(newer[:min(len(newer), maxListed)], func(v pkgmeta.Version) bool {
		return !n.fits(ctx, name, v.String())
	})
	reads := 0
	good := func(i int) bool {
		if reads == maxNewer || err != nil {
			return false
		}
		reads++
		var r *release
		if r, err = n.read(ctx, f, name, newer[i].String()); r == nil {
			return false
		}
		var works bool
		if works, err = n.work(ctx, []release{*r}, findings); works {
			best = r // each is nearer than the one before
		}
		return works
	}
	if len(newer) > 0 && good(len(newer)-1) {
		sort.Search(len(newer)-1, good)
	}
	return best, cmp.Or(err, ctx.Err())
}

// fits reports whether the packages of the environment satisfy the requirements of a release.
func (n *newerReleases) fits(ctx context.Context, name, version string) bool {
	r, err := n.options.Source.Release(ctx, name, version, n.of.On)
	if err != nil {
		return false
	}
	on := pkgmeta.DefaultMarkerEnv(n.of.On.Python, n.of.On.Arch)
	return !slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
		applies, err := q.Applies(on)
		v, pinned := n.pins[q.Name]
		return err == nil && applies && pinned && !q.Admits(v)
	})
}

// read reads another version of the package of f; nil if it is not known.
func (n *newerReleases) read(
	ctx context.Context,
	f *facts.Artifact,
	name, version string,
) (*release, error) {
	input, err := n.of.Other(ctx, name, version)
	if input == nil || err != nil {
		return nil, ctx.Err()
	}
	set, err := facts.Read(ctx, []Input{*input}, n.options.reading(), n.names)
	if err != nil || len(set.Artifacts) != 1 || len(set.Unread) > 0 {
		return nil, err
	}
	return &release{f, set.Artifacts[0], name + "==" + version}, nil
}

// work reports whether releases, in the place of the artifacts that they replace, have none of some
// findings and no error.
func (n *newerReleases) work(
	ctx context.Context,
	releases []release,
	findings []*Finding,
) (bool, error) {
	artifacts, on := slices.Clone(n.artifacts), n.on
	for _, r := range releases {
		artifacts[slices.Index(artifacts, r.of)] = r.artifact
		name, _, _ := strings.Cut(r.pin, "==")
		on.With = slices.DeleteFunc(slices.Clone(on.With), func(w string) bool {
			q, err := pkgmeta.ParseRequirement(w)
			return err == nil && q.Name == name
		})
		on.With = append(on.With, r.pin)
	}
	all, err := judge.NewEnvironment(n.rules, on, artifacts)
	if err != nil {
		return false, err
	}
	for _, r := range releases {
		targets, _, err := judge.Targets(r.artifact, nil, n.options.platforms(nil))
		if err != nil || len(targets) == 0 {
			return false, err
		}
		session := all.Session(r.artifact, n.names)
		for _, t := range targets {
			outcome, err := session.Judge(ctx, judge.Case{
				Artifact: r.artifact, Target: t, Scenario: fix.Scenario{Platform: t.Key()},
			})
			if err != nil || fails(outcome, findings) {
				return false, err
			}
		}
	}
	return true, nil
}

// fails reports whether an outcome has an error, a finding like some, or a requirement that the
// pins do not satisfy.
func fails(o *judge.Outcome, findings []*Finding) bool {
	var found []Finding
	for _, x := range o.Found {
		found = append(found, *x.Finding)
	}
	leaveToSystem(found)
	return slices.ContainsFunc(found, func(x Finding) bool {
		return x.Severity == Error || slices.ContainsFunc(findings, func(y *Finding) bool {
			return x.Rule == y.Rule && x.Library == y.Library && x.Symbol == y.Symbol
		})
	}) || slices.ContainsFunc(o.Sets, func(s *packages.Set) bool {
		return slices.ContainsFunc(s.Conflicts, func(c packages.Conflict) bool {
			return c.By == packages.Artifact
		})
	})
}
