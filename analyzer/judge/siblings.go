package judge

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
)

// sibling is an object of another artifact that was given, by its indexes.
type sibling struct{ artifact, object int }

// siblingsByName returns the objects of all artifacts by SONAME and by file name.
func siblingsByName(artifacts []*facts.Artifact) map[string][]sibling {
	out := map[string][]sibling{}
	for n, f := range artifacts {
		for i, o := range f.Objects {
			base := path.Base(o.Path)
			out[base] = append(out[base], sibling{n, i})
			if o.SONAME != "" && o.SONAME != base {
				out[o.SONAME] = append(out[o.SONAME], sibling{n, i})
			}
		}
	}
	return out
}

// reachable returns the libraries of other artifacts, in the order given, and those of packages, in
// the order of the set, that the loader may find for the libraries of an artifact and for those in
// first. The loader finds a library by its file name or SONAME, so those that nothing needs, also
// indirectly, are left out: with them the cost of a check would grow with the square of the number
// of artifacts and of packages.
func (s *Session) reachable(
	c Case,
	set *packageSet,
	own, first []*dynlink.Library,
) (siblings, installed []*dynlink.Library) {
	if s.named == nil && len(s.artifacts) > 1 {
		s.named = siblingsByName(s.artifacts)
	}
	s.libraries.installed.add(set.Set)
	f, p := c.Artifact, c.Target.Platform
	project, together := project(f), s.togetherWith(f, p)
	var names []string
	seen := map[string]bool{}
	need := func(libraries ...*dynlink.Library) {
		for _, l := range append(s.libraries.inFolders(libraries, p), libraries...) {
			names = append(names, l.Needed...)
		}
	}
	for _, v := range set.views {
		names = append(names, v.Host.Loaded()...)
	}
	need(own...)
	need(first...)
	found := map[sibling]*dynlink.Library{}
	reached := map[*packages.Release]map[int]bool{} // libraries by their index
	for ; len(names) > 0; names = names[1:] {
		if seen[names[0]] {
			continue
		}
		seen[names[0]] = true
		if l := p.Library(names[0]); l != nil {
			names = append(names, l.Needed...)
		}
		base := path.Base(path.Clean(names[0]))
		for _, x := range called(s.named, base) {
			a := s.artifacts[x.artifact]
			o := a.Objects[x.object]
			of := s.projects[x.artifact]
			if found[x] == nil && o.Arch() == p.Arch && a != f && (project == "" || of != project) &&
				!together.excludes(a, of) && set.Release(of) == nil {
				found[x] = s.libraries.ofObject(a, o)
				need(found[x])
			}
		}
		for _, x := range called(s.libraries.installed.named, base) {
			if reached[x.release] == nil {
				reached[x.release] = map[int]bool{}
			}
			if !reached[x.release][x.library] {
				reached[x.release][x.library] = true
				need(s.libraries.ofRelease(x.release)[x.library])
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(found), func(a, b sibling) int {
		return cmp.Or(a.artifact-b.artifact, a.object-b.object)
	})
	for _, x := range order {
		siblings = append(siblings, found[x])
	}
	imported := map[*dynlink.Library]bool{}
	for _, l := range first {
		imported[l] = true
	}
	among := set.Ordered(maps.Keys(reached))
	if len(first) > 0 {
		among = slices.Collect(set.All())
	}
	for _, r := range among {
		for i, l := range s.libraries.ofRelease(r) {
			if reached[r][i] || imported[l] {
				installed = append(installed, l)
			}
		}
	}
	return siblings, installed
}

// called returns the libraries with a name. The loader replaces $PLATFORM and $LIB in names, so
// these can mean any library.
func called[T any](named map[string][]T, name string) []T {
	if !strings.Contains(name, "$") {
		return named[name]
	}
	return slices.Concat(slices.Collect(maps.Values(named))...)
}
