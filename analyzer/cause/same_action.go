package cause

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// mergeActions merges groups that one action removes, since they are one cause: everything that is
// bundled into a wheel, that one command installs on a system, the packages of one CUDA release, or
// one change of the tags.
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
	into := map[string]*group{}
	return slices.DeleteFunc(groups, func(g *group) bool {
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
			if g.packaged() && !pinned { // there each package is named
				key, as = "system", origin{systemLibraries, "", g.project}
			}
		case undeclared:
			if release := gpu.ReleaseOfPackage(g.subject); release != "" && !pinned {
				key, as = "CUDA "+release, origin{undeclaredCUDA, "CUDA " + release, g.project}
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

// packaged reports whether the libraries of a group are installed with the packages of a system. A
// driver or the toolkit of a GPU is installed for itself.
func (g *group) packaged() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		p, ok := platform.ProviderOf(f.Library)
		return ok && (p.Kind == platform.ToolkitProvider || p.Kind == platform.DriverProvider) &&
			p.Packages(platform.Debian) == nil
	})
}

// retagged reports whether a change of the tags removes all findings of a group. Each also writes
// the tags into WHEEL.
func (g *group) retagged() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		return !g.rules[f.Rule].Linker && !slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
			_, meta := x.Change.(fix.WriteTags)
			return len(x.Retags) == 1 && (meta || x.Verified && versionOf(x.Retags[0].To).kind != "")
		})
	})
}
