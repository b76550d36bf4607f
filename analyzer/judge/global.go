package judge

import (
	"path"
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
// with the libraries that these need, in load order. A library that only sources of which the
// names are computed open is not among them, apart from those that are known of a package.
func (p *Pass) Globals() (out []Global) {
	if p.sources == nil {
		return nil
	}
	libraries := p.sources.session.libraries
	var byName map[string][]*dynlink.Library
	seen := map[*dynlink.Library]bool{}
	for _, a := range p.Others {
		opened := slices.Concat(a.Opened(), promoted[project(a)])
		if len(opened) == 0 {
			continue
		}
		if byName == nil {
			byName = p.librariesByName()
		}
		of := importName(a)
		var todo []*dynlink.Library
		for _, o := range a.Objects {
			if o.Arch() != p.Platform.Arch {
				continue
			}
			l := libraries.ofObject(a, o)
			if slices.ContainsFunc(opened, func(name string) bool {
				return strings.Contains(name, "/") && o.Extension() && facts.ModuleName(o.Path) == name ||
					slices.Contains(l.Names(), name)
			}) {
				todo = append(todo, l)
			}
		}
		for ; len(todo) > 0; todo = todo[1:] {
			l := todo[0]
			if seen[l] {
				continue
			}
			seen[l] = true
			out = append(out, Global{l, of})
			for _, n := range l.Needed {
				todo = append(todo, byName[n]...)
			}
		}
	}
	return out
}

// librariesByName returns the libraries of the other packages by the names that DT_NEEDED may have.
func (p *Pass) librariesByName() map[string][]*dynlink.Library {
	out := map[string][]*dynlink.Library{}
	for _, a := range p.Others {
		for _, o := range a.Objects {
			if o.Arch() == p.Platform.Arch {
				l := p.sources.session.libraries.ofObject(a, o)
				for _, n := range l.Names() {
					out[n] = append(out[n], l)
				}
			}
		}
	}
	return out
}

// importName returns the name under which a wheel is imported: that of its only package with a
// source, or else that of the wheel.
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
	return path.Base(only)
}
