package analyzer

import (
	"slices"

	"github.com/compat-app/compat/analyzer/facts"
)

// Limits of Artifact.Needs. The largest wheels have some hundred objects, and an object of them
// needs a few dozen libraries.
const (
	maxNeeds     = 1000
	maxLibraries = 100
)

// needs returns the first objects of an artifact with the libraries that they need.
func needs(f *facts.Artifact) (out []Needs) {
	add := func(object, name string, libraries []string) {
		if len(out) < maxNeeds {
			libraries = slices.Clone(libraries[:min(len(libraries), maxLibraries)])
			out = append(out, Needs{Object: object, Name: name, Libraries: libraries})
		}
	}
	for _, o := range f.Objects {
		add(o.Path, o.SONAME, o.Needed)
	}
	for _, o := range f.MachO {
		var name string
		var libraries []string
		for _, s := range o.Slices {
			if s.Object == nil {
				continue
			}
			name = s.Object.InstallName
			for _, n := range s.Object.Needed {
				if !slices.Contains(libraries, n.Path) {
					libraries = append(libraries, n.Path)
				}
			}
		}
		add(o.Path, name, libraries)
	}
	for _, o := range f.PE {
		var libraries []string
		for _, d := range o.Imports {
			libraries = append(libraries, d.Name)
		}
		add(o.Path, "", libraries)
	}
	return out
}
