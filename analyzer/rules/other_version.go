package rules

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// brings tells whether a release has a library under a name.
func brings(r *packages.Release, name string) bool {
	for i := range r.Libraries {
		if l := &r.Libraries[i]; l.SONAME == name || path.Base(l.Path) == name {
			return true
		}
	}
	return false
}

// versioned matches the version that some projects put before the ending: libvtkCommonCore-9.3.so.
var versioned = lazyregexp.New(`-[0-9]+(\.[0-9]+)*$`)

// stem is a library's name without its version: "libboost_python311.so" of
// "libboost_python311.so.1.82.0".
func stem(soname string) string {
	name, _, ok := strings.Cut(soname, ".so")
	if !ok {
		return soname
	}
	return versioned.ReplaceAllString(name, "") + ".so"
}

// ofStem finds the package beside the artifact that has a library of the same stem, which is then
// of another version.
func ofStem(p *analyzer.Pass, needed string) *packages.Release {
	for _, r := range p.Packages.Releases {
		for i := range r.Libraries {
			if l := &r.Libraries[i]; stem(l.SONAME) == stem(needed) ||
				stem(path.Base(l.Path)) == stem(needed) {
				return r
			}
		}
	}
	return nil
}

// siblingWith looks for another version of that package which brings the needed name.
func siblingWith(p *analyzer.Pass, needed string) []fix.Candidate {
	r := ofStem(p, needed)
	if r == nil {
		return nil
	}
	return []fix.Candidate{
		p.World.OtherVersion(r, func(o *packages.Release) bool { return brings(o, needed) }),
	}
}

// siblingWithout looks for another version of a package whose library needs what nothing beside it
// brings: one that needs nothing of that stem, or what is there.
func siblingWithout(p *analyzer.Pass, needer *dynlink.Library, missing string) []fix.Candidate {
	r := releaseOf(p, needer)
	if r == nil {
		return nil
	}
	name := stem(needer.Names()[0])
	return []fix.Candidate{p.World.OtherVersion(r, func(o *packages.Release) bool {
		for i := range o.Libraries {
			l := &o.Libraries[i]
			if stem(l.SONAME) != name && stem(path.Base(l.Path)) != name {
				continue
			}
			return !slices.ContainsFunc(l.Needed, func(n string) bool {
				return stem(n) == stem(missing) &&
					!slices.ContainsFunc(
						p.Packages.Releases,
						func(beside *packages.Release) bool { return brings(beside, n) },
					)
			})
		}
		return false
	})}
}

// releaseOf is the release beside the artifact that brought a library, nil for one of the artifact
// or the platform.
func releaseOf(p *analyzer.Pass, l *dynlink.Library) *packages.Release {
	name := l.Package.Name
	if l.Kind != dynlink.FromPackage {
		return nil
	}
	return p.Packages.Release(name)
}

// definedBy looks for another version of a package whose library the object loads, where the
// libraries of that version define most of some symbols. Of several packages it takes that whose
// library has the most similar names: symbols of one project begin alike.
func definedBy(p *analyzer.Pass, v *analyzer.View, bindings []dynlink.Binding) []fix.Candidate {
	var likely *dynlink.Library
	best := 0
	for _, f := range v.Loading.Found {
		if f.Library.Kind == dynlink.FromPackage && f.Library.Known {
			if n := f.Library.Similar(bindings[0].Import.Name); n > best {
				likely, best = f.Library, n
			}
		}
	}
	if likely == nil {
		return nil
	}
	r := releaseOf(p, likely)
	if r == nil {
		return nil
	}
	soname := stem(likely.Names()[0])
	rebuild := fix.Candidate{
		Fix: fix.Fix{
			Kind: fix.KindRebuild,
			Title: fmt.Sprintf(
				"Build against %s %s, the version that is loaded",
				r.Name,
				r.Version,
			),
		},
	}
	return []fix.Candidate{p.World.OtherVersion(r, func(o *packages.Release) bool {
		lost := map[string]bool{}
		for _, b := range bindings {
			lost[b.Import.Name] = true
		}
		wanted, there := len(lost), false
		for i := range o.Libraries {
			l := &o.Libraries[i]
			if stem(l.SONAME) == soname || stem(path.Base(l.Path)) == soname {
				if there = true; !l.Known {
					return true
				}
			}
			maps.DeleteFunc(
				lost,
				func(name string, _ bool) bool { return len(l.Exports.Named(name)) > 0 },
			)
		}
		return there &&
			2*len(lost) <= wanted // the others may be another package's; the trial decides
	}), rebuild}
}
