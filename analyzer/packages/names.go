package packages

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

//go:generate go run github.com/compat-app/compat/internal/gen/history -names data/names.txt

// namesFile has a line for each package, as internal/gen/history writes it, sorted by name:
//
//	NAME [has FILE,...] [requires NAME,...]
//
// The files are those that are Loadable.
//
//go:embed data/names.txt
var namesFile string

// named is a package of which only the names of libraries and requirements are known, those of
// several releases together.
type named struct{ files, requires []string }

var namedPackages = sync.OnceValue(func() map[string]named {
	all := map[string]named{}
	for line := range strings.Lines(namesFile) {
		words := strings.Fields(line)
		var p named
		for n := 1; n+1 < len(words); n += 2 {
			switch list := strings.Split(words[n+1], ","); words[n] {
			case "has":
				p.files = list
			case "requires":
				p.requires = list
			}
		}
		all[words[0]] = p
	}
	return all
})

// Lacks reports whether neither a package nor anything that it requires has a library that other
// packages may load and whose file name or SONAME want accepts. It is false if one of these
// packages is not known, or is required with extras. Of most packages a few releases were read; the
// others are assumed to be like them.
func (Embedded) Lacks(name string, extras []string, want func(file string) bool) bool {
	todo := []string{Follow(pkgmeta.Requirement{Name: pkgmeta.Normalize(name), Extras: extras})}
	for i := 0; i < len(todo); i++ {
		requires, ok := lacks(todo[i], want)
		if !ok {
			return false
		}
		for _, n := range requires {
			if !slices.Contains(todo, n) {
				todo = append(todo, n)
			}
		}
	}
	return true
}

// lacks returns the requirements of a package that has no wanted library itself. ok is false if it
// has one, or is not known.
func lacks(name string, want func(file string) bool) (requires []string, ok bool) {
	f := historyPackage(name)
	if f == nil {
		p, ok := namedPackages()[name]
		return p.requires, ok && !slices.ContainsFunc(p.files, want)
	}
	seen := map[string]bool{}
	for i := range f.Releases {
		r := &f.Releases[i]
		for _, l := range r.Libraries {
			if Loadable(l.Path) && (want(path.Base(l.Path)) || want(l.SONAME)) {
				return nil, false
			}
		}
		for _, text := range r.Requires {
			if seen[text] {
				continue
			}
			seen[text] = true
			q, err := pkgmeta.ParseRequirement(text) // a test checks that every requirement parses
			if n := Follow(q); err == nil && n != "" && !slices.Contains(requires, n) {
				requires = append(requires, n)
			}
		}
	}
	return requires, true
}

// Follow returns the package that a requirement names, or "" if it applies to no Linux with a
// current Python, or only with an extra. With extras requested of the package the name is
// "NAME[EXTRA,...]", which is not the name of a package.
func Follow(q pkgmeta.Requirement) string {
	applies := false
	for minor := oldestMinor; minor <= latestMinor && !applies; minor++ {
		for _, machine := range []string{"x86_64", "aarch64"} {
			env := pkgmeta.DefaultMarkerEnv(fmt.Sprintf("3.%d", minor), machine)
			ok, err := q.Applies(env)
			applies = applies || ok || err != nil
		}
	}
	switch {
	case !applies:
		return ""
	case len(q.Extras) > 0:
		return q.Name + "[" + strings.Join(q.Extras, ",") + "]"
	}
	return q.Name
}

// oldestMinor is the minor version of the oldest Python 3 whose requirements are followed.
const oldestMinor = 9
