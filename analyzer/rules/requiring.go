package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// requiring is an installed package, with its requirements and the objects that were read.
type requiring struct {
	packages.ID
	file     string // name of its wheel in the report
	requires []pkgmeta.Requirement
	objects  []*analyzer.Object
	extras   []string // those that other packages require, after ""
}

// requiringOf returns the packages with their requirements: those that were read, and those that
// are only listed.
func requiringOf(p *analyzer.EnvironmentPass) (all []*requiring) {
	for _, a := range p.Artifacts {
		if m := a.Metadata; m != nil {
			id := packages.ID{Name: pkgmeta.Normalize(m.Name), Version: m.Version}
			all = append(all, &requiring{id, a.Path, m.Requires, a.Objects, []string{""}})
		}
	}
	for _, a := range p.Listed {
		if a.Wheel == nil {
			continue
		}
		x := &requiring{file: a.Path, extras: []string{""}}
		x.ID = packages.ID{Name: pkgmeta.Normalize(a.Wheel.Name), Version: a.Wheel.Version}
		for _, text := range a.Wheel.Requires {
			if q, err := pkgmeta.ParseRequirement(text); err == nil {
				x.requires = append(x.requires, q)
			}
		}
		all = append(all, x)
	}
	return all
}
