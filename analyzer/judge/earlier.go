package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// earlier returns whether a library of another package may be loaded before those of an artifact in
// an environment, so that no search path has to lead to it. A package that is related to the wheel,
// because the wheel or a package that requires it requires that package or its sources import it,
// may be. An unrelated one is not if systems have the library too, or if a wheel without modules
// has a library of the same name as the package or one that it requires: nothing loads the
// libraries of PyQt6-Qt6 and of PySide6 in one process. Nil: that of every package may be. What
// modules import is not known here; see Pass.LoadedBefore.
func (s *Session) earlier(f *facts.Artifact, set *packages.Set) func(*dynlink.Library) bool {
	e, own := s.judge.environment, project(f)
	if e == nil || own == "" {
		return nil
	}
	k, related := e.contents(set), s.related(f, set)
	rival := map[string]bool{}
	rivals := func(name string) bool {
		known, ok := rival[name]
		if !ok {
			all := map[string]bool{}
			k.follow(all, name)
			for other := range all {
				known = known || !related[other] && slices.ContainsFunc(f.Objects, func(o *facts.Object) bool {
					return o.SONAME != "" && k.sonames[other][o.SONAME]
				})
			}
			rival[name] = known
		}
		return known
	}
	modules := slices.ContainsFunc(f.Objects, (*facts.Object).Extension)
	return func(l *dynlink.Library) bool {
		of := cmp.Or(l.Package.Name, l.Wheel.Name)
		if of == "" || related[of] {
			return true
		}
		_, system := platform.Known(l.Names()[0])
		return !system && (modules || !rivals(of))
	}
}

// related returns the packages of an environment whose libraries may be loaded with those of an
// artifact: see earlier. Nil: that of every package may be.
func (s *Session) related(f *facts.Artifact, set *packages.Set) map[string]bool {
	e, own := s.judge.environment, project(f)
	if e == nil || own == "" {
		return nil
	}
	k, out := e.contents(set), map[string]bool{}
	for _, name := range slices.Concat(k.users[own], []string{own}, s.judge.options.Uses,
		s.judge.options.First, k.imported(f)) {
		k.follow(out, pkgmeta.Normalize(name))
	}
	return out
}

// contents are the packages of an environment, by name: what each requires, also with the extras
// with which another one requires it; what requires it, without extras, which are alternatives such
// as one for each Qt; and the SONAMEs of its libraries.
type contents struct {
	on       pkgmeta.MarkerEnv
	requires map[string][]pkgmeta.Requirement
	users    map[string][]string
	sonames  map[string]map[string]bool
	tops     map[string]string // the package whose sources have a top-level name
}

// contents returns the contents of the environment, which are collected once, with the first set of
// packages: those of fixes differ little.
func (e *Environment) contents(set *packages.Set) *contents {
	if e.known != nil {
		return e.known
	}
	k := &contents{
		e.judge.options.On.Markers(), map[string][]pkgmeta.Requirement{}, map[string][]string{},
		map[string]map[string]bool{}, map[string]string{},
	}
	e.known = k
	add := func(name string, list []pkgmeta.Requirement) map[string]bool {
		k.requires[name] = list
		for _, q := range list {
			if e.applies(q) {
				k.users[q.Name] = append(k.users[q.Name], name)
			}
		}
		if k.sonames[name] == nil {
			k.sonames[name] = map[string]bool{}
		}
		return k.sonames[name]
	}
	for r := range set.All() {
		of := add(r.Name, r.Requires)
		for _, l := range r.Libraries {
			of[l.SONAME] = true
		}
	}
	for _, a := range e.artifacts {
		list := k.requires[project(a)]
		if a.Metadata != nil {
			list = a.Metadata.Requires
		}
		of := add(project(a), list)
		for _, o := range a.Objects {
			of[o.SONAME] = true
		}
		for name := range a.Program {
			top, _, _ := strings.Cut(name, "/")
			k.tops[top] = project(a)
		}
	}
	return k
}

// imported returns the packages that the sources of an artifact import, also under a condition.
func (k *contents) imported(f *facts.Artifact) (out []string) {
	for _, top := range f.Program.Tops() {
		name, ok := k.tops[top]
		if !ok {
			name = pkgmeta.Normalize(top)
		}
		if k.sonames[name] != nil && name != project(f) {
			out = append(out, name)
		}
	}
	return out
}

// follow adds a package, and those that it requires directly or indirectly.
func (k *contents) follow(to map[string]bool, name string) {
	seen := map[string]bool{}
	for todo := []pkgmeta.Requirement{{Name: name}}; len(todo) > 0; todo = todo[1:] {
		key := todo[0].Name + " " + strings.Join(todo[0].Extras, ",")
		if seen[key] {
			continue
		}
		seen[key], to[todo[0].Name] = true, true
		for _, q := range k.requires[todo[0].Name] {
			if ok, err := q.Applies(k.on, todo[0].Extras...); err == nil && ok {
				todo = append(todo, q)
			}
		}
	}
}
