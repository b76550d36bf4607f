package pinned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
)

// Unselected is a release that a file lists and the base does not, and that no environment
// installs.
type Unselected struct {
	Release packages.ID
	// Option is what selects it: "--extra dl". "" = another platform or interpreter installs it.
	Option string
}

// maxChoices limits the extras and groups that are tried to find what selects a release.
const maxChoices = 64

// Beyond returns what differs from the base and was not checked, because it is in an extra, in a
// group, or for another platform; nil without a base.
func Beyond(head, base []*Pinned) (out []Unselected) {
	if len(head) == 0 || len(base) == 0 {
		return nil
	}
	seen := map[packages.ID]bool{}
	for _, p := range head {
		for _, id := range p.releases() {
			seen[id.Key()] = true
		}
	}
	for _, p := range base {
		for _, id := range p.listed() {
			seen[id.Key()] = true
		}
	}
	for _, p := range head {
		for _, id := range p.listed() {
			if !seen[id.Key()] {
				seen[id.Key()] = true
				out = append(out, Unselected{Release: id})
			}
		}
	}
	if len(out) > 0 {
		head[0].options(out)
	}
	return out
}

// listed returns all releases that the files list.
func (e *Pinned) listed() (out []packages.ID) {
	for _, file := range e.Files {
		for _, v := range e.from.parse(file).lock.Versions {
			if id, ok := packages.Pinned(v); ok {
				out = append(out, id)
			}
		}
	}
	return out
}

// options finds what selects releases.
func (e *Pinned) options(list []Unselected) {
	var extras, groups []string
	for _, file := range e.Files {
		l := e.from.parse(file).lock
		extras, groups = append(extras, l.Extras...), append(groups, l.Groups...)
	}
	slices.Sort(extras)
	slices.Sort(groups)
	extras, groups = slices.Compact(extras), slices.Compact(groups)
	tried := 0
	try := func(option, name string) {
		if tried++; tried > maxChoices {
			return
		}
		f := *e.from
		if option == "--extra" {
			f.Extras = append(slices.Clone(f.Extras), name)
		} else {
			f.Groups = append(slices.Clone(f.Groups), name)
		}
		p := &Pinned{On: e.On, PythonFrom: e.PythonFrom}
		if f.choose(p) != nil {
			return // it cannot be combined with the others
		}
		with := p.releases()
		for i := range list {
			if x := &list[i]; x.Option == "" && with[x.Release.Name].Key() == x.Release.Key() {
				x.Option = option + " " + name
			}
		}
	}
	for _, x := range extras {
		try("--extra", x)
	}
	for _, g := range groups {
		try("--group", g)
	}
}

// beyondNote returns a sentence about what was not checked; "" for nothing.
func beyondNote(list []Unselected) string {
	const shown = 6
	var parts []string
	for _, x := range list[:min(shown, len(list))] {
		if x.Option == "" {
			parts = append(parts, x.Release.String()+
				" (not installed on this platform and Python; --platform and --python choose others)")
		} else {
			parts = append(parts, x.Release.String()+" ("+x.Option+" checks it)")
		}
	}
	switch more := len(list) - len(parts); {
	case len(parts) == 0:
		return ""
	case more > 0:
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "differs from the base and was not checked: " + strings.Join(parts, ", ")
}
