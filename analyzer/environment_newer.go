package analyzer

import (
	"context"
	"slices"
	"sort"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// maxNewer limits the newer releases of a package that are read, because each is a download: the
// newest, and those of a bisection of 16.
const maxNewer = 5

// newerReleases searches newer releases of packages with errors that no change of other packages
// removes, such as an executable stack.
type newerReleases struct {
	of        *Environment
	all       *judge.Environment
	rules     []*Rule
	options   Options
	on        judge.Options
	artifacts []*facts.Artifact
	names     *elfobj.Names
}

// offer adds to such findings of each artifact the nearest newer release that was found to have none
// of them. The error is that of ctx.
func (n *newerReleases) offer(ctx context.Context, findings []Finding) error {
	if n.of.Other == nil || n.options.Source == nil || n.options.NoFixes {
		return nil
	}
	for _, f := range n.artifacts {
		if f.Wheel == nil || f.Metadata == nil {
			continue
		}
		var own []*Finding
		for i := range findings {
			x := &findings[i]
			if x.Artifact == f.Path && x.Severity == Error && !changesEnvironment(x.Fixes) {
				own = append(own, x)
			}
		}
		if len(own) == 0 {
			continue
		}
		version, err := n.nearest(ctx, f, own)
		if err != nil {
			return err
		}
		if version == "" {
			continue
		}
		pin := pkgmeta.Normalize(f.Metadata.Name) + "==" + version
		for _, x := range own {
			x.Fixes = append([]fix.Fix{{
				Kind: fix.KindPin, Title: "Pin " + pin, Requirement: pin, Verified: true, Cost: []string{},
			}}, x.Fixes...)
		}
	}
	return nil
}

// changesEnvironment reports whether a fix is one for who installs the packages.
func changesEnvironment(fixes []fix.Fix) bool {
	return slices.ContainsFunc(fixes, func(x fix.Fix) bool {
		return x.Requirement != "" || x.Kind == fix.KindEnvironment
	})
}

// nearest returns the nearest newer release without some findings, by bisection if the newest has
// none; "" if it is not known.
func (n *newerReleases) nearest(
	ctx context.Context,
	f *facts.Artifact,
	findings []*Finding,
) (string, error) {
	name := pkgmeta.Normalize(f.Metadata.Name)
	at, err := pkgmeta.ParseVersion(f.Metadata.Version)
	listed, errListed := n.options.Source.Versions(ctx, name, n.of.On)
	if err != nil || errListed != nil {
		return "", ctx.Err()
	}
	newer := slices.DeleteFunc(
		packages.Sorted(n.all.Admitted(name, listed)),
		func(v pkgmeta.Version) bool { return v.IsPreRelease() || v.Compare(at) <= 0 },
	)
	best, reads := len(newer), 0
	good := func(i int) bool {
		if reads == maxNewer || err != nil {
			return false
		}
		reads++
		var ok bool
		if ok, err = n.without(ctx, f, name, newer[i].String(), findings); ok {
			best = min(best, i)
		}
		return ok
	}
	if len(newer) > 0 && good(len(newer)-1) {
		sort.Search(len(newer)-1, good)
	}
	if err != nil || best == len(newer) {
		return "", err
	}
	return newer[best].String(), nil
}

// without reports whether a version of the package of f, in its place, has none of some findings
// and no error. It is false if the version is not known.
func (n *newerReleases) without(
	ctx context.Context,
	f *facts.Artifact,
	name, version string,
	findings []*Finding,
) (bool, error) {
	input, err := n.of.Other(ctx, name, version)
	if input == nil || err != nil {
		return false, ctx.Err()
	}
	set, err := facts.Read(ctx, []Input{*input}, n.options.reading(), n.names)
	if err != nil || len(set.Artifacts) != 1 || len(set.Unread) > 0 {
		return false, err
	}
	other := set.Artifacts[0]
	artifacts := slices.Clone(n.artifacts)
	artifacts[slices.Index(artifacts, f)] = other
	on := n.on
	on.With = slices.DeleteFunc(slices.Clone(on.With), func(r string) bool {
		q, err := pkgmeta.ParseRequirement(r)
		return err == nil && q.Name == name
	})
	on.With = append(on.With, name+"=="+version)
	all, err := judge.NewEnvironment(n.rules, on, artifacts)
	if err != nil {
		return false, err
	}
	targets, _, err := judge.Targets(other, nil, n.options.platforms(nil))
	if err != nil || len(targets) == 0 {
		return false, err
	}
	session := all.Session(other, n.names)
	for _, t := range targets {
		outcome, err := session.Judge(ctx, judge.Case{
			Artifact: other, Target: t, Scenario: fix.Scenario{Platform: t.Key()},
		})
		if err != nil {
			return false, err
		}
		var found []Finding
		for _, x := range outcome.Found {
			found = append(found, *x.Finding)
		}
		leaveToSystem(found)
		if slices.ContainsFunc(found, func(x Finding) bool {
			return x.Severity == Error || slices.ContainsFunc(findings, func(y *Finding) bool {
				return x.Rule == y.Rule && x.Library == y.Library && x.Symbol == y.Symbol
			})
		}) || slices.ContainsFunc(outcome.Sets, func(s *packages.Set) bool {
			return slices.ContainsFunc(s.Conflicts, func(c packages.Conflict) bool {
				return c.By == packages.Artifact
			})
		}) {
			return false, nil
		}
	}
	return true, nil
}
