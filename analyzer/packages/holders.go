package packages

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/packages/historydata"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Holding returns a requirement that allows only releases of a package that have a library, given
// by its file name or SONAME: "nvidia-cudnn-cu12<9" for libcudnn.so.8, and the bare name if the
// newest releases have it as well as all older ones. If several series of releases have it, the
// requirement is for the newest one. It is "" if no known release has the library.
func (Embedded) Holding(name, library string) string {
	name = pkgmeta.Normalize(name)
	f := historyPackage(name)
	if f == nil {
		return ""
	}
	has := map[string]bool{} // of any architecture
	for i := range f.Releases {
		if r := &f.Releases[i]; !r.Yanked {
			has[r.Version] = has[r.Version] || libraryIn(r, library) != nil
		}
	}
	var versions []pkgmeta.Version
	var holds []bool
	for v, ok := range has {
		if p, err := pkgmeta.ParseVersion(v); err == nil && !p.IsPreRelease() {
			n, _ := slices.BinarySearchFunc(versions, p, pkgmeta.Version.Compare)
			versions, holds = slices.Insert(versions, n, p), slices.Insert(holds, n, ok)
		}
	}
	last := len(holds) - 1
	for last >= 0 && !holds[last] {
		last--
	}
	if last < 0 {
		return ""
	}
	first := last
	for first > 0 && holds[first-1] {
		first--
	}
	var bounds []string
	if first > 0 {
		bounds = append(bounds, ">="+between(versions[first-1], versions[first]))
	}
	if last+1 < len(versions) {
		bounds = append(bounds, "<"+between(versions[last], versions[last+1]))
	}
	return name + strings.Join(bounds, ",")
}

// between returns the shortest version that is later than before and not later than after: 9 for
// 8.9.7.29 and 9.0.0.312.
func between(before, after pkgmeta.Version) string {
	var text string
	for i, n := range after.Release() {
		if i > 0 {
			text += "."
		}
		text += strconv.FormatInt(n, 10)
		if v, err := pkgmeta.ParseVersion(text); err == nil && before.Compare(v) < 0 {
			return text
		}
	}
	return after.String()
}

// Folder returns the folder, relative to site-packages, in which the newest release of a package
// with a library has it. It is "" if no known release has the library.
func (Embedded) Folder(name, library string) (folder string) {
	f := historyPackage(pkgmeta.Normalize(name))
	if f == nil {
		return ""
	}
	var newest pkgmeta.Version
	for i := range f.Releases {
		v, err := pkgmeta.ParseVersion(f.Releases[i].Version)
		if l := libraryIn(&f.Releases[i], library); l != nil && err == nil && v.Compare(newest) >= 0 {
			newest, folder = v, path.Dir(l.Path)
		}
	}
	return folder
}

// libraryIn returns a library of a release that other packages may load, or nil.
func libraryIn(r *historydata.Release, library string) *historydata.Library {
	i := slices.IndexFunc(r.Libraries, func(l historydata.Library) bool {
		return (l.SONAME == library || path.Base(l.Path) == library) && Loadable(l.Path)
	})
	if i < 0 {
		return nil
	}
	return &r.Libraries[i]
}

// holders maps the file names and SONAMEs of libraries to the packages that have them.
var holders = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for name := range historyPackages() {
		f := historyPackage(name)
		for i := range f.Releases {
			for _, l := range f.Releases[i].Libraries {
				for _, key := range []string{path.Base(l.Path), l.SONAME} {
					if Loadable(l.Path) && key != "" && !slices.Contains(all[key], name) {
						all[key] = append(all[key], name)
					}
				}
			}
		}
	}
	for _, names := range all {
		slices.Sort(names)
	}
	return all
})

// Holders returns the packages that have a library in a release, given by its file name or SONAME,
// sorted. The first call takes a third of a second, because it reads the whole history.
func (Embedded) Holders(library string) []string { return holders()[library] }

// Compiled reports whether the wheels of a package are known to contain machine code, so that a
// release has one for each platform and often each Python. It is false for unknown packages.
func (Embedded) Compiled(name string) bool {
	name = pkgmeta.Normalize(name)
	if historyPackages()[name] != nil || len(namedPackages()[name].files) > 0 {
		return true
	}
	list, prefix := standaloneList(), strings.ReplaceAll(name, "-", "_")+"-"
	n, _ := slices.BinarySearch(list, prefix)
	return n < len(list) && strings.HasPrefix(list[n], prefix)
}
