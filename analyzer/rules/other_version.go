package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/stack"
)

// otherVersion offers the nearest versions of a package beside the artifact that good accepts.
func otherVersion(p *analyzer.Pass, r *stack.Release, good func(*stack.Release) bool) []fix.Candidate {
	spec, ok := p.World.Nearest(r.Name, r.Version, good)
	if !ok {
		return nil
	}
	want := r.Name + spec
	return []fix.Candidate{{
		Fix:    fix.Fix{Kind: fix.KindPin, Title: fmt.Sprintf("Pin %s, the nearest versions that fit", want), Command: want, Requirement: want},
		Change: fix.Pin{Requirement: want, Direct: !p.Given(r.Name)},
	}}
}

// brings tells whether a release has a library under a name.
func brings(r *stack.Release, name string) bool {
	for i := range r.Libraries {
		if l := &r.Libraries[i]; l.SONAME == name || path.Base(l.Path) == name {
			return true
		}
	}
	return false
}

// stem is a library's name without its version: "libboost_python311.so" of "libboost_python311.so.1.82.0".
func stem(soname string) string {
	name, _, ok := strings.Cut(soname, ".so")
	if !ok {
		return soname
	}
	return name + ".so"
}

// ofStem finds the package beside the artifact that has a library of the same stem, which is then of another version.
func ofStem(p *analyzer.Pass, needed string) *stack.Release {
	for _, r := range p.Stack.Releases {
		for i := range r.Libraries {
			if l := &r.Libraries[i]; stem(l.SONAME) == stem(needed) || stem(path.Base(l.Path)) == stem(needed) {
				return r
			}
		}
	}
	return nil
}

// siblingWith offers another version of that package which brings the needed name.
func siblingWith(p *analyzer.Pass, needed string) []fix.Candidate {
	r := ofStem(p, needed)
	if r == nil {
		return nil
	}
	return otherVersion(p, r, func(o *stack.Release) bool { return brings(o, needed) })
}

// definedBy offers another version of a package whose library the object needs, where that version defines a symbol.
func definedBy(p *analyzer.Pass, v *analyzer.View, name, version string) []fix.Candidate {
	for _, f := range v.Loading.Found {
		if f.Library.Kind != dynlink.FromPackage || !f.Library.Known {
			continue
		}
		r := p.Stack.Release(strings.Split(f.Library.Origin, "==")[0])
		if r == nil {
			continue
		}
		soname := f.Library.Names()[0]
		fixes := otherVersion(p, r, func(o *stack.Release) bool {
			for i := range o.Libraries {
				if l := dynlink.OfPackage(o, &o.Libraries[i]); stem(l.Names()[0]) == stem(soname) && l.Known && l.Defines(name, version) {
					return true
				}
			}
			return false
		})
		if fixes != nil {
			return fixes
		}
	}
	return nil
}
