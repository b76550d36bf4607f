package judge

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
)

// Global is a library of another package whose symbols are visible to all that is loaded after the
// import of a package.
type Global struct {
	*dynlink.Library
	Import string // the package whose import loads it: "tensorflow"
}

// Globals returns the libraries that other packages open with RTLD_GLOBAL when they are imported,
// with the libraries that these need, in load order. Not among them are libraries whose names the
// sources compute, unless they are known of the package.
func (p *Pass) Globals() (out []Global) {
	s := p.sources.session
	for _, x := range s.openings() {
		if x.object.Arch() == p.Platform.Arch && slices.Contains(p.Others, x.artifact) {
			out = append(out, Global{s.libraries.ofObject(x.artifact, x.object), x.by})
		}
	}
	return out
}

// opening is an object that is opened with RTLD_GLOBAL, or that such an object needs.
type opening struct {
	artifact *facts.Artifact
	object   *facts.Object
	by       string // the package whose import opens it
}

// openingsOf returns what the imports of artifacts open with RTLD_GLOBAL.
func openingsOf(artifacts []*facts.Artifact) (out []opening) {
	var named map[string][]sibling
	seen := map[sibling]bool{}
	for n, a := range artifacts {
		opened := slices.Concat(a.Opened(), promoted[project(a)])
		if len(opened) == 0 {
			continue
		}
		if named == nil { // most packages open nothing globally
			named = siblingsByName(artifacts)
		}
		var todo []sibling
		for _, name := range opened {
			for _, x := range named[name] {
				if x.artifact == n {
					todo = append(todo, x)
				}
			}
			for i, o := range a.Objects {
				if strings.Contains(name, "/") && o.Extension() && facts.ModuleName(o.Path) == name {
					todo = append(todo, sibling{n, i})
				}
			}
		}
		for by := importName(a); len(todo) > 0; todo = todo[1:] {
			x := todo[0]
			if seen[x] {
				continue
			}
			seen[x] = true
			o := artifacts[x.artifact].Objects[x.object]
			out = append(out, opening{artifacts[x.artifact], o, by})
			for _, needed := range o.Needed {
				for _, y := range named[needed] {
					if artifacts[y.artifact].Objects[y.object].Arch() == o.Arch() {
						todo = append(todo, y)
					}
				}
			}
		}
	}
	return out
}

// importName returns the name under which a wheel is imported: that of its only package or module
// with a source, or else that of the wheel.
func importName(a *facts.Artifact) string {
	only := ""
	for name := range a.Program {
		top, _, _ := strings.Cut(name, "/")
		if only != "" && top != only {
			return project(a)
		}
		only = top
	}
	if only == "" {
		return project(a)
	}
	return only
}
