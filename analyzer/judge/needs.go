package judge

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/windows"
)

// need is a library that an artifact needs and that neither the artifact nor the platform has, by
// the name that the loader searches.
type need struct {
	name string
	by   searcher
}

// searcher is an object that needs a library, with the paths that it is searched in.
type searcher struct{ dir, paths string }

// needsOf returns the libraries that the objects of an artifact need from elsewhere.
func needsOf(f *facts.Artifact, p *platform.Platform, s fix.Scenario) (out []need) {
	own := ownNames(f)
	switch p.OS {
	case platform.MacOS:
		for _, m := range f.MachO {
			for _, slice := range m.Slices {
				if slice.Arch != p.Arch || slice.Object == nil {
					continue
				}
				for _, n := range slice.Object.Needed {
					_, python := dyld.PythonLibrary(n.Path)
					// no package is installed at a fixed path
					if name := path.Base(n.Path); !own[name] && !n.Weak && !python &&
						!strings.HasPrefix(n.Path, "/") {
						out = append(out, need{name: name})
					}
				}
			}
		}
	case platform.Windows:
		for _, o := range f.PE {
			for _, d := range o.Imports {
				if name := platform.Stem(d.Name); !own[name] && !d.Delay && o.RunsOn(p.Arch) &&
					windows.Lookup(name, p.Arch).Kind == windows.Other {
					out = append(out, need{name: name})
				}
			}
		}
	default:
		for _, o := range f.Objects {
			if o.Arch() != p.Arch {
				continue
			}
			by := searcher{path.Dir(o.Path), cmp.Or(s.RunPath[o.Path], o.RunPath, o.RPath)}
			for _, n := range slices.Concat(o.Needed, s.Needed[o.Path]) {
				if !own[n] && !p.Installs(n) {
					out = append(out, need{n, by})
				}
			}
		}
	}
	return out
}

// ownNames returns the names of the artifact's objects.
func ownNames(f *facts.Artifact) map[string]bool {
	own := map[string]bool{}
	for _, o := range f.Objects {
		own[o.SONAME], own[path.Base(o.Path)] = true, true
	}
	for _, m := range f.MachO {
		own[path.Base(m.Path)] = true
		for _, s := range m.Slices {
			if s.Object != nil {
				own[path.Base(s.Object.InstallName)] = true
			}
		}
	}
	for _, o := range f.PE {
		own[platform.Stem(o.Path)] = true
	}
	return own
}
