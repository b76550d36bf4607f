package facts

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
)

// condaName returns the name of a conda package and its version, of its file name
// (NAME-VERSION-BUILD.conda); "" for other artifacts.
func (a *Artifact) condaName() (name, version string) {
	if !a.Conda() {
		return "", ""
	}
	rest, build := cutLast(path.Base(a.Path), "-")
	if name, version = cutLast(rest, "-"); build == "" {
		return "", ""
	}
	return name, version
}

func cutLast(s, separator string) (before, after string) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+len(separator):]
}

// GivenProvides is DependencyProvides of a conda package of which others are given, whose files are
// therefore known. lacks is a package among them, as "libfoo 1.0", that should have the library by
// its name and does not, or of which no dependency remains that may have it; "" if there is none.
func (a *Artifact) GivenProvides(soname string, others []*Artifact) (
	certain, perhaps bool, lacks string,
) {
	given := map[string]*Artifact{}
	for _, o := range others {
		if name, _ := o.condaName(); name != "" {
			given[name] = o
		}
	}
	all := []*Artifact{a}
	rest := Artifact{Format: a.Format, conda: a.conda}
	known := a.providers(soname)
	_, ofPython := platform.ProviderOf(soname)
	for i := 0; i < len(all); i++ {
		for _, d := range all[i].OtherPackages() {
			o := given[d]
			switch {
			case o == nil && (d != "python" || ofPython):
				rest.Depends = append(rest.Depends, d)
			case o != nil && !slices.Contains(all, o):
				all = append(all, o)
				if named := a.named(d, soname) || slices.Contains(known, d); named || lacks == "" {
					name, version := o.condaName()
					lacks = name + " " + version
				}
			}
		}
	}
	if lacks == "" {
		certain, perhaps = a.DependencyProvides(soname)
		return certain, perhaps, ""
	}
	certain, perhaps = rest.DependencyProvides(soname)
	named := slices.ContainsFunc(all[1:], func(o *Artifact) bool {
		name, _ := o.condaName()
		return a.named(name, soname) || slices.Contains(known, name)
	})
	if certain || perhaps && !named {
		return certain, perhaps, ""
	}
	return false, false, lacks
}
