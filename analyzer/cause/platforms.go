package cause

import (
	"slices"

	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// reference lists the distributions in Cause.Fails and Works, oldest first.
var reference = []struct{ name, title string }{
	{"centos7", "RHEL 7"},
	{"rhel8", "RHEL 8"},
	{"debian10", "Debian 10"},
	{"ubuntu20.04", "Ubuntu 20.04"},
	{"debian11", "Debian 11"},
	{"rhel9", "RHEL 9"},
	{"ubuntu22.04", "Ubuntu 22.04"},
	{"debian12", "Debian 12"},
	{"ubuntu24.04", "Ubuntu 24.04"},
	{"debian13", "Debian 13"},
}

// isReference reports whether a system of Cause.Fails is a distribution, and not "the oldest
// systems of manylinux1".
func isReference(system string) bool {
	return slices.ContainsFunc(reference, func(d struct{ name, title string }) bool {
		return d.title == system
	})
}

// platforms returns the distributions on which the findings of a cause occur, and those on which
// the artifact works. fails decides for one, and everywhere is set if the artifact was checked on
// all of them.
func (g *group) platforms(
	r *result.Report,
	fails func(*platform.Platform) bool,
	everywhere bool,
) (failing, works []string) {
	arch := ""
	for _, f := range g.all {
		if arch = platform.Architecture(f.Target); arch != "" {
			break
		}
	}
	other := g.elsewhere(r)
	for _, d := range reference {
		p, err := platform.Lookup(d.name, arch)
		switch {
		case err != nil:
		case fails(p):
			failing = append(failing, d.title)
		case other.fails(p):
		case everywhere || checked(r, p):
			works = append(works, d.title)
		}
	}
	return failing, works
}

// lacksNode returns a function that reports whether a platform lacks one of the symbol versions of
// the findings. Symbol versions of glibc and GCC are known for all distributions.
func (g *group) lacksNode() func(*platform.Platform) bool {
	type node struct{ library, version string }
	var nodes set[node]
	for _, f := range g.all {
		if f.Version != "" && !g.rules[f.Rule].Linker {
			nodes.add(node{f.Library, f.Version})
		}
	}
	return func(p *platform.Platform) bool {
		return slices.ContainsFunc(nodes.list, func(n node) bool {
			l := p.Library(n.library)
			return l != nil && l.Known && !l.HasVersion(n.version)
		})
	}
}

// leastSystems describes the systems with no more than what the target guarantees, none of which
// is listed: those older than all listed ones, or those with older libraries of another vendor.
func (g *group) leastSystems(oldest string) string {
	target := g.all[0].Target
	arch := platform.Architecture(target)
	p, err := platform.Lookup(target, arch)
	first, errFirst := platform.Lookup(oldest, arch)
	if err == nil && errFirst == nil && platform.Older(p.LibcVersion, first.LibcVersion) {
		return "the oldest systems of " + platform.Title(target)
	}
	return "systems that have only what " + platform.Title(target) + " guarantees"
}

// checked reports whether a distribution is a target of a report.
func checked(r *result.Report, p *platform.Platform) bool {
	return slices.ContainsFunc(r.Targets, func(t result.Target) bool { return t.Name == p.Name })
}

// failures are where an artifact fails for another cause than the one at hand, or was not checked.
type failures struct {
	on         map[string]bool
	everywhere bool
	oldest     string // of the C libraries of the cause's targets
}

// elsewhere returns where the artifacts of a cause fail, except for the cause itself.
func (g *group) elsewhere(r *result.Report) failures {
	x := failures{on: map[string]bool{}}
	artifacts, own := map[string]bool{}, map[*result.Finding]bool{}
	for _, f := range g.all {
		artifacts[f.Artifact], own[f] = true, true
		if p, err := platform.Lookup(f.Target, platform.Architecture(f.Target)); err == nil &&
			(x.oldest == "" || platform.Older(p.LibcVersion, x.oldest)) {
			x.oldest = p.LibcVersion
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if own[f] || f.Severity != result.Error || !artifacts[f.Artifact] {
			continue
		}
		for _, name := range append([]string{f.Target}, f.On...) {
			p, err := platform.Lookup(name, platform.Architecture(name))
			x.on[name] = true
			x.everywhere = x.everywhere || err != nil || p.Kind == platform.Policy
		}
	}
	return x
}

// fails reports whether the artifact fails on a distribution, or is not meant for it: its glibc is
// older than that of the targets.
func (x failures) fails(p *platform.Platform) bool {
	return x.everywhere || x.on[p.Name] || platform.Older(p.LibcVersion, x.oldest)
}
