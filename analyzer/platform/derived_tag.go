package platform

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// derivedTags caches the PEP 600 tags made so far by name and architecture, so that each is always
// the same *Platform.
var derivedTags sync.Map

// derivedTag returns manylinux_2_Y for a glibc without a policy of its own that is known to the
// tables; nil for other names. PEP 600 defines a tag by its glibc alone, so the libraries and the
// other version nodes are those of the newest older policy.
func derivedTag(base, arch string, all []*Platform) *Platform {
	tag := ParseTag(base + "_" + arch)
	if tag.Family != "manylinux" || tag.Version[0] != 2 {
		return nil
	}
	minor := tag.Version[1]
	var below, above *Platform
	for _, p := range all {
		if p.Kind != Policy || p.Libc != "glibc" {
			continue
		}
		if table.CompareNodes("_"+p.LibcVersion, fmt.Sprintf("_2.%d", minor)) < 0 {
			below = p
		} else if above == nil {
			above = p
		}
	}
	if below == nil {
		return nil
	}
	nodes := glibcNodes(arch)
	if above != nil {
		nodes = above.policy.Versions[arch]["GLIBC"]
	} else if !slices.Contains(nodes, fmt.Sprintf("2.%d", minor)) {
		return nil
	}
	q := *below.policy
	q.Name, q.Aliases = base, nil
	q.Versions = map[string]map[string][]string{arch: maps.Clone(below.policy.Versions[arch])}
	var glibc []string
	for _, v := range nodes {
		if table.CompareNodes("_"+v, fmt.Sprintf("_2.%d", minor)) <= 0 {
			glibc = append(glibc, v)
		}
	}
	q.Versions[arch]["GLIBC"] = glibc
	p, _ := derivedTags.LoadOrStore(base+"_"+arch, &Platform{
		Name: base + "_" + arch, Arch: arch, Libc: "glibc", LibcVersion: fmt.Sprintf("2.%d", minor),
		Kind: Policy, policy: &q, cut: &q,
		Note: fmt.Sprintf(
			"no policy has this name; it is glibc 2.%d and otherwise what %s promises",
			minor,
			below.Name,
		),
	})
	return p.(*Platform)
}

// glibcNodes lists the GLIBC nodes in the tables of an architecture, without "GLIBC_".
func glibcNodes(arch string) (nodes []string) {
	for _, l := range symbols(arch).Libraries {
		for _, f := range l.In {
			for _, n := range f.Nodes {
				if rest, ok := strings.CutPrefix(n, "GLIBC_"); ok && isVersion(n, "GLIBC") &&
					!slices.Contains(nodes, rest) {
					nodes = append(nodes, rest)
				}
			}
		}
	}
	return nodes
}
