package rules

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// provides reports whether a release has a library with a name.
func provides(r *packages.Release, name string) bool {
	for i := range r.Libraries {
		if l := &r.Libraries[i]; l.SONAME == name || path.Base(l.Path) == name {
			return true
		}
	}
	return false
}

// versioned matches a version before the suffix, as in libvtkCommonCore-9.3.so.
var versioned = lazyregexp.New(`-[0-9]+(\.[0-9]+)*$`)

// stem returns a library's name without its version: "libboost_python311.so" for
// "libboost_python311.so.1.82.0".
func stem(soname string) string {
	name, _, ok := strings.Cut(soname, ".so")
	if !ok {
		return soname
	}
	return versioned.ReplaceAllString(name, "") + ".so"
}

// otherVersion returns the installed package that has another version of a library and is related
// to the artifact, or nil: a second package of Qt in an environment is no source of libraries for
// what belongs to the first.
func otherVersion(p *analyzer.Pass, needed string) *packages.Release {
	wanted := stem(needed)
	var known map[string]bool
	for r := range p.Packages.All() {
		for i := range r.Libraries {
			l := &r.Libraries[i]
			if stem(l.SONAME) != wanted && stem(path.Base(l.Path)) != wanted {
				continue
			}
			if known == nil {
				known = related(p)
			}
			if known[r.Name] || searched(p, path.Dir(l.Path)) {
				return r
			}
		}
	}
	return nil
}

// related returns the packages that the artifact requires, those that these require, those of
// which it loads a library, and those that the user gave for it. Without metadata it is related to
// all.
func related(p *analyzer.Pass) map[string]bool {
	out := map[string]bool{}
	var add func(requires []pkgmeta.Requirement)
	enter := func(name string) {
		if r := p.Packages.Release(name); r != nil && !out[name] {
			out[name] = true
			add(r.Requires)
		}
	}
	add = func(requires []pkgmeta.Requirement) {
		for _, q := range requires {
			enter(q.Name)
		}
	}
	for r := range p.Packages.All() {
		if p.Facts.Metadata == nil || !p.Pinned && p.Given(r.Name) {
			enter(r.Name)
		}
	}
	if p.Facts.Metadata != nil {
		add(p.Facts.Metadata.Requires)
	}
	for _, v := range p.Views {
		for _, f := range v.Loading.Found {
			if f.Library.Kind == dynlink.FromPackage {
				enter(f.Library.Package.Name)
			}
		}
	}
	return out
}

// searched reports whether the loader searches a folder for an object of the artifact.
func searched(p *analyzer.Pass, folder string) bool {
	return slices.ContainsFunc(p.Views, func(v *analyzer.View) bool {
		return elfobj.LeadsTo(ownPaths(v.Library), path.Dir(v.Path), folder)
	})
}

// siblingWith searches for a version of that package that provides the needed name.
func siblingWith(p *analyzer.Pass, needed string) []fix.Candidate {
	r := otherVersion(p, needed)
	if r == nil {
		return nil
	}
	return []fix.Candidate{
		p.Releases.WithLibrary(r, needed,
			func(o *packages.Release) bool { return provides(o, needed) }),
	}
}

// siblingWithout searches for another version of a package whose library needs a missing library:
// one that does not need it, or needs a version that is installed.
func siblingWithout(p *analyzer.Pass, needer *dynlink.Library, missing string) []fix.Candidate {
	r := releaseOf(p, needer)
	if r == nil {
		return nil
	}
	name := stem(needer.Names()[0])
	return []fix.Candidate{p.Releases.OtherVersion(r, func(o *packages.Release) bool {
		for i := range o.Libraries {
			l := &o.Libraries[i]
			if stem(l.SONAME) != name && stem(path.Base(l.Path)) != name {
				continue
			}
			return !slices.ContainsFunc(l.Needed, func(n string) bool {
				return stem(n) == stem(missing) &&
					!slices.ContainsFunc(
						slices.Collect(p.Packages.All()),
						func(q *packages.Release) bool { return provides(q, n) },
					)
			})
		}
		return false
	})}
}

// releaseOf returns the installed release of a library, or nil for a library of the artifact or the
// platform.
func releaseOf(p *analyzer.Pass, l *dynlink.Library) *packages.Release {
	name := l.Package.Name
	if l.Kind != dynlink.FromPackage {
		return nil
	}
	return p.Packages.Release(name)
}

// definedBy searches for another version of a package whose library the object loads, in which the
// libraries define most of the given symbols. Of several packages it uses the one whose library has
// the most similar names: symbols of one project have a common prefix.
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
			Kind:  fix.KindRebuild,
			Title: fix.Titled("Build against %s %s", r.Name, r.Version),
		},
	}
	return []fix.Candidate{p.Releases.OtherVersion(r, func(o *packages.Release) bool {
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
			maps.DeleteFunc(lost, func(name string, _ bool) bool { return len(l.Exports.Named(name)) > 0 })
		}
		return there &&
			2*len(lost) <= wanted // the rest may come from another package; the trial decides
	}), rebuild}
}
