package judge

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// linker is the system on which programs that use an artifact are linked, for any link line. It
// is created when a rule first needs it.
type linker struct {
	session  *Session
	facts    *facts.Artifact
	platform *platform.Platform
	set      *packageSet
	scenario fix.Scenario // without its link line
	before   *linker      // of the baseline; nil if there is none

	system *staticlink.System
	of     map[*View]*staticlink.Library
	// all given objects: of the artifact and of other inputs
	given []*staticlink.Library
	// The given libraries that need another one.
	users map[*staticlink.Library][]*staticlink.Library
	plain map[*staticlink.Library]*staticlink.Result // results of GNU ld without flags
}

// linking contains the results of the linkers with the link line of a scenario.
type linking struct {
	*linker
	line    fix.Scenario
	key     string // of line
	used    bool   // a rule used it
	results map[linkKey]*staticlink.Result
	// result of LinkLeft in this scenario, which every link rule needs
	left    map[*View]staticlink.Problems
	started map[linkKey]*staticlink.Start
}

func newLinking(l *linker, s fix.Scenario) *linking {
	return &linking{
		linker:  l,
		line:    s,
		key:     s.Key(),
		results: map[linkKey]*staticlink.Result{},
		left:    map[*View]staticlink.Problems{},
		started: map[linkKey]*staticlink.Start{},
	}
}

type linkKey struct {
	by      staticlink.Linker
	library *staticlink.Library
}

func (k *linking) build() {
	k.used = true
	if k.system != nil {
		return
	}
	k.of, k.plain, k.users = map[*View]*staticlink.Library{},
		map[*staticlink.Library]*staticlink.Result{}, map[*staticlink.Library][]*staticlink.Library{}
	same := map[*staticlink.Library]bool{} // libraries that are unchanged from the baseline
	for _, v := range k.set.views {
		if old := k.unedited(v); old != nil {
			k.of[v], same[old] = old, true
			k.given = append(k.given, old)
			continue
		}
		l := *k.session.libraries.linkedObject(v.Object)
		l.Needed, l.RPath, l.RunPath, l.Imports = v.Library.Needed, v.Library.RPath, v.Library.RunPath,
			rebound(v, k.scenario)
		k.of[v] = &l
		k.given = append(k.given, &l)
	}
	for _, sibling := range k.session.alongside(k.facts, k.platform, k.set.Set) {
		for _, o := range sibling.Objects {
			if o.Arch() == k.platform.Arch {
				k.given = append(k.given, k.session.libraries.linkedObject(o))
			}
		}
	}
	files := slices.Clone(k.given)
	for r := range k.set.All() {
		files = append(files, k.session.libraries.linkedRelease(r)...)
	}
	k.system = staticlink.NewSystem(k.platform, files, k.session.libraries.names)
	if k.before == nil || k.before.system == nil {
		return
	}
	k.system.Share(k.before.system)
	own := map[*staticlink.Library]bool{}
	for _, l := range k.before.of {
		own[l] = true
	}
	for l, r := range k.before.plain {
		if same[l] && r.Only(func(x *staticlink.Library) bool { return same[x] || !own[x] }) {
			k.plain[l] = r
		}
	}
}

// unedited returns the library of the baseline for an object, or nil if there is none or the
// fix changes it.
func (k *linking) unedited(v *View) *staticlink.Library {
	if k.before == nil || k.before.system == nil ||
		v.Library != k.session.libraries.ofObject(k.facts, v.Object) ||
		len(k.scenario.Symver) > 0 {
		return nil
	}
	return k.before.of[k.before.set.of[v.Object]]
}

func (k *linking) link(by staticlink.Linker, l *staticlink.Library) *staticlink.Result {
	key := linkKey{by, l}
	if k.results[key] == nil {
		k.results[key] = k.system.Link(by, l, lineOf(k.line))
	}
	return k.results[key]
}

// without links with GNU ld and without flags.
func (k *linking) without(l *staticlink.Library) *staticlink.Result {
	if k.plain[l] == nil {
		k.plain[l] = k.system.Link(staticlink.GNU, l, staticlink.Line{})
	}
	return k.plain[l]
}

// start models running the program that a linker creates.
func (k *linking) start(by staticlink.Linker, l *staticlink.Library) *staticlink.Start {
	key := linkKey{by, l}
	if k.started[key] == nil {
		k.started[key] = k.system.Run(k.link(by, l).Needed)
	}
	return k.started[key]
}

// lineOf returns the link line of a scenario.
func lineOf(s fix.Scenario) staticlink.Line {
	return staticlink.Line{
		Before:         staticlink.NoAsNeeded(s.Link...),
		After:          staticlink.NoAsNeeded(s.LinkLast...),
		RPathLink:      s.RPathLink,
		AllowUndefined: s.AllowShlibUndefined,
	}
}

// LinkLeft links a program with the object and the flags of a scenario, and models running it.
// It returns the errors of GNU ld, and the errors without these flags that the program then
// fails with.
func (p *Pass) LinkLeft(v *View, s fix.Scenario) staticlink.Problems {
	k := p.linking
	k.build()
	own := s.Key() == k.key
	if out, ok := k.left[v]; ok && own {
		return out
	}
	lib := k.of[v]
	without := k.without(lib)
	out := without.Problems
	if !s.Plain() {
		r := k.system.Link(staticlink.GNU, lib, lineOf(s))
		out = r.Problems
		if without.Problems.Len() > 0 {
			out = out.WithFatal(without.Problems, k.system.Run(r.Needed))
		}
	}
	if own {
		k.left[v] = out
	}
	return out
}

// LinkSystem returns the system for linking: the platform with all given artifacts and
// packages.
func (p *Pass) LinkSystem() *staticlink.System {
	p.linking.build()
	return p.linking.system
}

// Linkable returns the staticlink library of the object.
func (p *Pass) Linkable(v *View) *staticlink.Library {
	p.linking.build()
	return p.linking.of[v]
}

// Linked links a program with the object, with the flags of the scenario.
func (p *Pass) Linked(by staticlink.Linker, v *View) *staticlink.Result {
	return p.linking.link(by, p.Linkable(v))
}

// LinkedStarts reports whether the program that a linker creates starts, as far as missing
// libraries and one reference are concerned.
func (p *Pass) LinkedStarts(by staticlink.Linker, v *View, i elfobj.Import) bool {
	s := p.linking.start(by, p.Linkable(v))
	return len(s.Missing) == 0 && !s.Lacks(i.Name, i.Version)
}

// LinkUser is a given library that needs another one, with the result of GNU ld for a program
// linked with it.
type LinkUser struct {
	Library *staticlink.Library
	Result  *staticlink.Result
}

// LinkUsers returns the given libraries that need the object and find it.
func (p *Pass) LinkUsers(v *View) []LinkUser {
	own := p.Linkable(v)
	var users []LinkUser
	for _, u := range p.linking.needing(own) {
		if r := p.linking.link(staticlink.GNU, u); r.Reads(own) {
			users = append(users, LinkUser{u, r})
		}
	}
	return users
}

// needing returns the given libraries that need another one by one of its names, in the order
// given.
func (k *linking) needing(own *staticlink.Library) []*staticlink.Library {
	if users, ok := k.users[own]; ok {
		return users
	}
	var users []*staticlink.Library
	for _, u := range k.given {
		if u != own && slices.ContainsFunc(u.Needed, own.HasName) {
			users = append(users, u)
		}
	}
	k.users[own] = users
	return users
}

// LinkDefiner returns the first given library to whose definition of a name a linker binds;
// otherwise the first to which the loader binds; otherwise nil.
func (p *Pass) LinkDefiner(name string) *staticlink.Library {
	p.linking.build()
	return p.linking.system.Definer(name, p.linking.given)
}

// LinkView returns the view of a library of the artifact, or nil for other libraries.
func (p *Pass) LinkView(l *staticlink.Library) *View {
	p.linking.build()
	for v, x := range p.linking.of {
		if x == l {
			return v
		}
	}
	return nil
}
