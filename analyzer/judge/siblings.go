package judge

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
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

// siblings returns the libraries of other artifacts that the loader may find for the libraries of
// an artifact and of its packages, in the order given. The loader finds a library by its file name
// or SONAME, so those that nothing needs, also indirectly, are left out: with them the cost of a
// check would grow with the square of the number of artifacts.
func (s *Session) siblings(c Case, views []*View, given []*dynlink.Library) []*dynlink.Library {
	if len(s.artifacts) == 1 {
		return nil
	}
	if s.named == nil {
		s.named = siblingsByName(s.artifacts)
	}
	f, p, own := c.Artifact, c.Target.Platform, project(c.Artifact)
	var names []string
	seen := map[string]bool{}
	need := func(libraries ...*dynlink.Library) {
		for _, l := range append(s.libraries.inFolders(libraries, p.Arch), libraries...) {
			names = append(names, l.Needed...)
		}
	}
	for _, v := range views {
		names = append(names, v.Host.Loaded()...)
	}
	need(given...)
	found := map[sibling]*dynlink.Library{}
	for ; len(names) > 0; names = names[1:] {
		if seen[names[0]] {
			continue
		}
		seen[names[0]] = true
		if l := p.Library(names[0]); l != nil {
			names = append(names, l.Needed...)
		}
		for _, x := range s.called(path.Base(path.Clean(names[0]))) {
			a := s.artifacts[x.artifact]
			o := a.Objects[x.object]
			if found[x] == nil && a != f && o.Arch() == p.Arch &&
				(own == "" || s.projects[x.artifact] != own) {
				found[x] = s.libraries.ofObject(a, o)
				need(found[x])
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(found), func(a, b sibling) int {
		return cmp.Or(a.artifact-b.artifact, a.object-b.object)
	})
	out := make([]*dynlink.Library, len(order))
	for i, x := range order {
		out[i] = found[x]
	}
	return out
}

// called returns the objects with a name. The loader replaces $PLATFORM and $LIB in names, so these
// can mean any object.
func (s *Session) called(name string) []sibling {
	if !strings.Contains(name, "$") {
		return s.named[name]
	}
	return slices.Concat(slices.Collect(maps.Values(s.named))...)
}
