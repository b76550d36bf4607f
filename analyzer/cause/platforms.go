package cause

import (
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
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

// platforms returns the distributions on which the findings of a cause occur and do not occur.
// Symbol versions of glibc and GCC are looked up in all distributions; those of macOS are its own.
// Other causes only have the targets on which they were checked, and none if they occur on all.
func platforms(g *group) (fails, works []string) {
	if g.kind != tooNew && g.kind != linkFlag {
		return nil, nil
	}
	if g.kind == tooNew && strings.HasPrefix(g.all[0].Target, "macosx_") {
		if version := (text{group: g}).newest(); version != "" { // the first macOS that has the symbol
			return []string{"macOS before " + version}, []string{"macOS " + version + " and later"}
		}
		return nil, nil
	}
	type node struct{ library, version string }
	var nodes set[node]
	on := map[string]bool{}
	arch := ""
	for _, f := range g.all {
		if f.Version != "" && !fromLinker(f) {
			nodes.add(node{f.Library, f.Version})
		}
		for _, name := range f.On {
			on[name] = true
		}
		if arch == "" {
			arch = platform.Architecture(f.Target)
		}
	}
	for _, d := range reference {
		p, err := platform.Lookup(d.name, arch)
		if err != nil {
			continue
		}
		fail := g.kind == linkFlag && on[p.Name]
		for _, n := range nodes.list {
			l := p.Library(n.library)
			fail = fail || l != nil && l.Known && !l.HasVersion(n.version)
		}
		if fail {
			fails = append(fails, d.title)
		} else if g.kind == tooNew || len(on) > 1 {
			works = append(works, d.title)
		}
	}
	switch { // it fails only on older systems than the listed ones
	case len(fails) > 0:
	case g.kind == tooNew && g.artifact.wheel() && len(works) > 0 && g.all[0].Target != "":
		fails = []string{"the oldest systems of " + platform.Title(g.all[0].Target)}
	default:
		works = nil
	}
	return fails, works
}
