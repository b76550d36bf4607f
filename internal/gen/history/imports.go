package main

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/packages/historydata"
	"github.com/compat-app/compat/analyzer/platform"
)

// newestSystem returns the newest system with glibc on an architecture.
func newestSystem(arch string) (newest *platform.Platform) {
	for _, p := range platform.All(arch) {
		if p.Kind == platform.Policy && p.Libc == "glibc" {
			newest = p
		}
	}
	return newest
}

// isLoader reports whether a library is the dynamic loader of glibc, also that of another machine: a
// few wheels have libraries for one.
func isLoader(name string) bool { return strings.HasPrefix(name, "ld-linux") }

// linksOthers reports whether a library needs one that is neither of its release nor of the system.
func linksOthers(l *historydata.Library, release []historydata.Library, arch string) bool {
	system := newestSystem(arch)
	return slices.ContainsFunc(l.Needed, func(name string) bool {
		return !isLoader(name) && system.Library(name) == nil &&
			!slices.ContainsFunc(release, func(o historydata.Library) bool {
				return o.SONAME == name || path.Base(o.Path) == name
			})
	})
}

// takesFromOthers removes the imports that a library of the release, the system or Python defines.
// Those of a library that links no other package are not listed.
func takesFromOthers(r *historydata.Release) {
	own := map[string]bool{} // SONAMEs and exports
	for _, l := range r.Libraries {
		own[l.SONAME], own[path.Base(l.Path)] = true, true
		for _, e := range l.Exports {
			own[e.Name] = true
		}
	}
	system := newestSystem(r.Arch)
	for n := range r.Libraries {
		l := &r.Libraries[n]
		if l.Linked = l.Linked && linksOthers(l, r.Libraries, r.Arch); !l.Linked {
			l.Imports = nil
			continue
		}
		l.Imports = slices.DeleteFunc(l.Imports, func(i historydata.Import) bool {
			if i.Version != "" {
				return own[i.Library] || system.Library(i.Library) != nil || isLoader(i.Library)
			}
			return own[i.Name] || len(platform.Providers(system, i.Name)) > 0 ||
				len(cpython.Releases(i.Name)) > 0
		})
		slices.SortFunc(l.Imports, func(a, b historydata.Import) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
		})
	}
}
