package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// conflict is a set of packages of which each installs a file that another one of them installs
// too, with other content.
type conflict struct {
	members []*analyzer.Facts
	files   []string
}

func idOf(a *analyzer.Facts) packages.ID {
	return packages.ID{Name: pkgmeta.Normalize(a.Wheel.Name), Version: a.Wheel.Version}
}

// unreadConflict is a pair of packages that install the same libraries; the second was not read.
type unreadConflict struct {
	ids   [2]packages.ID
	files []string
}

// unreadConflicts returns the conflicts of pinned packages whose wheels were not read, but whose
// libraries the built-in history knows.
func unreadConflicts(p *analyzer.EnvironmentPass) (out []*unreadConflict) {
	if p.Installed {
		return nil
	}
	first := map[string]packages.ID{}
	read := map[packages.ID]bool{}
	for _, a := range p.Artifacts {
		if a.Wheel != nil {
			read[idOf(a)] = true
			for _, o := range a.Objects {
				first[installedPath(o)] = idOf(a)
			}
		}
	}
	pairs := map[[2]packages.ID]*unreadConflict{}
	for _, pin := range p.With {
		q, err := pkgmeta.ParseRequirement(pin)
		v, ok := q.Pin()
		id := packages.ID{Name: q.Name, Version: v.String()}
		if err != nil || !ok || read[id] {
			continue
		}
		r, err := packages.History().Release(p.Context(), id.Name, id.Version, p.On)
		if err != nil {
			continue
		}
		for _, l := range r.Libraries {
			other, again := first[l.Path]
			if !again {
				first[l.Path] = id
			}
			if !again || other == id {
				continue
			}
			key := [2]packages.ID{other, id}
			if pairs[key] == nil {
				pairs[key] = &unreadConflict{ids: key}
				out = append(out, pairs[key])
			}
			pairs[key].files = append(pairs[key].files, l.Path)
		}
	}
	for _, c := range out {
		slices.SortFunc(c.files, shorterFirst)
	}
	return out
}

// shorterFirst orders files; the first is the example.
func shorterFirst(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }

// conflicts returns the packages that install the same objects. In an environment in which it is
// not known which files were changed, there are none.
func conflicts(p *analyzer.EnvironmentPass) (out []*conflict) {
	if p.Installed && p.Changed == nil {
		return nil
	}
	type file struct {
		of *analyzer.Facts
		*analyzer.Object
	}
	in := map[*analyzer.Facts]*conflict{}
	first := map[string]file{}
	for _, a := range p.Artifacts {
		if a.Wheel == nil {
			continue
		}
		for _, o := range a.Objects {
			at := installedPath(o)
			x, again := first[at]
			switch {
			case !again:
				first[at] = file{a, o}
				continue
			case x.of == a, !differ(p, x.of, x.Object, a, o):
				continue
			}
			c := in[x.of]
			if c == nil {
				c = &conflict{members: []*analyzer.Facts{x.of}}
				in[x.of] = c
				out = append(out, c)
			}
			if other := in[a]; other == nil {
				c.members = append(c.members, a)
				in[a] = c
			} else if other != c {
				c.members = append(c.members, other.members...)
				c.files = append(c.files, other.files...)
				for _, m := range other.members {
					in[m] = c
				}
				out = slices.DeleteFunc(out, func(x *conflict) bool { return x == other })
			}
			c.files = append(c.files, at)
		}
	}
	for _, c := range out {
		slices.SortFunc(c.files, shorterFirst)
		c.files = slices.Compact(c.files)
	}
	return out
}

// dataFolder matches the folder of a wheel whose files are installed next to its others (PEP 427).
var dataFolder = lazyregexp.New(`^[^/]+\.data/(?:platlib|purelib)/`)

// installedPath returns the path of an object of a wheel in site-packages.
func installedPath(o *analyzer.Object) string { return dataFolder.ReplaceAllString(o.Path, "") }

// differ reports whether two packages install different objects at a path. Of installed packages
// there is only one: it is not that of one of them.
func differ(
	p *analyzer.EnvironmentPass,
	a *analyzer.Facts,
	x *analyzer.Object,
	b *analyzer.Facts,
	y *analyzer.Object,
) bool {
	if p.Changed != nil {
		return p.Changed(a.Path, x.Path) || p.Changed(b.Path, y.Path)
	}
	if x.BuildID != "" || y.BuildID != "" {
		return x.BuildID != y.BuildID
	}
	return !x.Exports.Equal(y.Exports) || !slices.Equal(x.Needed, y.Needed)
}
