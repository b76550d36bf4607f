package cause

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// mergeActions merges groups that one action removes, since they are one cause: everything that is
// bundled into a wheel, that one command installs on a system, the packages that one edit of its
// requirements declares, the libraries of one CUDA release, or one change of the tags.
func mergeActions(groups []*group, pinned bool) []*group {
	misses := map[string]int{}
	for _, g := range groups {
		misses[g.project] += boolRank(g.kind == missing)
	}
	tags := map[string]*group{}
	for _, g := range groups {
		if g.kind == TooNew && g.retagged() {
			tags[g.project] = g
		}
	}
	bundled := map[string]*group{}
	for _, g := range groups {
		if first := bundled[g.project]; g.kind == missing && g.bundles() &&
			(first == nil || first.severity().Rank() < g.severity().Rank()) {
			bundled[g.project] = g
		}
	}
	severalCUDA := releasesOfCUDA(groups)
	into := map[string]*group{}
	groups = slices.DeleteFunc(groups, func(g *group) bool {
		if t := tags[g.project]; t != nil && g.kind.OfTags && g.retagged() {
			t.join(g)
			return true
		}
		b := bundled[g.project]
		if b != nil && (g.kind == system || g.kind == systemLibraries) && g.bundles() && !pinned {
			b.join(g)
			return true
		}
		key, as := "", origin{}
		switch g.kind {
		case missing:
			key = g.bundling(misses[g.project])
		case system, systemLibraries:
			if g.packaged() && !pinned && !g.chosen() { // there each package is named
				key, as = "system", origin{systemLibraries, "", g.project}
			}
		case undeclared:
			if g.artifact.wheel() && !pinned {
				key, as = "requirements", origin{undeclaredPackages, "", g.project}
				if release := gpu.ReleaseOfPackage(g.subject); release != "" && severalCUDA[g.project] {
					key += " of CUDA " + release // the wheel has variants, of which one works
				}
			}
		case stringABI:
			key, as = "string ABI", origin{stringABI, "", g.project}
		}
		if key == "" {
			return false
		}
		first := into[g.project+"\x00"+key]
		if first == nil {
			into[g.project+"\x00"+key] = g
			return false
		}
		first.join(g)
		if as.kind != nil {
			first.origin = as
		}
		return true
	})
	for _, g := range groups {
		if g.kind == undeclaredPackages {
			g.subject = g.onlyCUDA()
		}
	}
	if pinned {
		return groups
	}
	return joinCUDA(groups)
}

// releasesOfCUDA returns the wheels that do not declare packages of several CUDA releases.
func releasesOfCUDA(groups []*group) map[string]bool {
	one, several := map[string]string{}, map[string]bool{}
	for _, g := range groups {
		release := gpu.ReleaseOfPackage(g.subject)
		if g.kind != undeclared || release == "" {
			continue
		}
		several[g.project] = several[g.project] || one[g.project] != "" && one[g.project] != release
		one[g.project] = release
	}
	return several
}

// joinCUDA merges the groups about what a wheel lacks of CUDA: an extra that requires its packages,
// those that the wheel does not declare, and what no package is known for. It is one installation.
func joinCUDA(groups []*group) []*group {
	into := map[string]*group{}
	for _, kinds := range [][]*Kind{{ofExtras}, {undeclared, undeclaredPackages}, {system}} {
		for _, g := range groups {
			if into[g.project] == nil && slices.Contains(kinds, g.kind) && g.needsCUDA() {
				into[g.project] = g
			}
		}
	}
	return slices.DeleteFunc(groups, func(g *group) bool {
		first := into[g.project]
		guest := g.kind == system || g.kind == undeclared || g.kind == undeclaredPackages
		if first == nil || first == g || !guest || !g.needsCUDA() || !sameCUDA(first, g) {
			return false
		}
		first.join(g)
		switch first.kind {
		case system:
			first.origin = origin{toolkits, "CUDA", first.project}
		case undeclared:
			first.origin = origin{undeclaredPackages, first.onlyCUDA(), first.project}
		}
		return true
	})
}

// needsCUDA reports whether a group is about libraries of NVIDIA that are installed with CUDA.
func (g *group) needsCUDA() bool {
	return g.artifact.wheel() && slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		p, _ := platform.ProviderOf(f.Library)
		return gpu.OfCUDA(f.Library) || slices.Contains(withCUDA, p.Project)
	})
}

// sameCUDA reports whether the libraries of two groups can be of one CUDA release.
func sameCUDA(a, b *group) bool {
	var releases set[string]
	for _, f := range slices.Concat(a.all, b.all) {
		release := gpu.Major(f.Library)
		if q := dependencyOf(f); q != nil {
			release = cmp.Or(release, gpu.ReleaseOfPackage(q.name))
		}
		if release != "" {
			releases.add(release)
		}
	}
	return len(releases.list) < 2
}

// join adds the findings of another group, after its own.
func (g *group) join(other *group) {
	g.findings = append(g.findings, other.findings...)
	g.all = append(g.all, other.all...)
}

// guest reports whether a finding is about the tags of a wheel, in the cause that explains why they
// have to change.
func (g *group) guest(f *result.Finding) bool {
	kind := g.rules[f.Rule].Kind
	return kind != nil && kind.OfTags && kind != g.kind
}

// bundling identifies what is bundled together with the libraries of a group without a known
// provider: everything of one severity into a wheel. Nothing is bundled into other artifacts; there
// the same objects usually lack libraries of one package, unless very many are missing.
func (g *group) bundling(misses int) string {
	key := "missing " + string(g.severity())
	if g.artifact.wheel() || misses > manyMissing {
		return key
	}
	var objects set[string]
	for _, f := range g.all {
		objects.add(f.Artifact + "\x00" + f.Object)
	}
	slices.Sort(objects.list)
	return strings.Join(objects.list, "\x00")
}

const manyMissing = 8

// bundles reports whether the same program can copy all libraries of a group into the wheel.
func (g *group) bundles() bool {
	return g.artifact.wheel() && !slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		return !slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Bundling != nil })
	})
}

// chosen reports whether one of several releases of a project has to be chosen, which is more than
// to install what an artifact needs.
func (g *group) chosen() bool { return g.kind == system && (&Text{group: g}).oneRelease() != "" }

// packaged reports whether the libraries of a group are installed with the packages of a system. A
// driver or the toolkit of a GPU is installed for itself.
func (g *group) packaged() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		p, ok := platform.ProviderOf(f.Library)
		return ok && (p.Kind == platform.ToolkitProvider || p.Kind == platform.DriverProvider) &&
			p.Packages(platform.Debian) == nil
	})
}

// ofPython reports whether a fix changes only for which Pythons a wheel is.
func ofPython(x fix.Fix) bool {
	return len(x.Retags) == 1 && x.Retags[0].To.Platform == "" && x.Kind == fix.KindPlatformTag
}

// retagged reports whether a change of the tags removes all findings of a group. Each also writes
// the tags into WHEEL.
func (g *group) retagged() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		return !g.rules[f.Rule].Linker && !slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
			_, meta := x.Change.(fix.WriteTags)
			return len(x.Retags) == 1 && (meta || x.Verified && versionOf(x.Retags[0].To).kind != "" ||
				ofPython(x))
		})
	})
}
