package analyzer

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/stack"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// linking is what a static linker makes of one artifact in one scenario. It is built when a rule first asks.
type linking struct {
	check    *check
	facts    *Facts
	platform *platform.Platform
	set      *stack.Set
	views    []*View
	scenario fix.Scenario

	system  *staticlink.System
	of      map[*View]*staticlink.Library
	given   []*staticlink.Library // all objects that were given: the artifact's and its siblings'
	results map[linkKey]*staticlink.Result
	left    map[*View][]staticlink.Problem // LinkLeft in this scenario, which every link rule asks for
	started map[linkKey]*started
}

// started is what became of a linked program when the loader ran it.
type started struct {
	missing   bool
	undefined map[elfobj.Import]bool
}

type linkKey struct {
	by      staticlink.Linker
	library *staticlink.Library
}

func (k *linking) build() {
	if k.system != nil {
		return
	}
	k.of, k.results, k.left, k.started = map[*View]*staticlink.Library{}, map[linkKey]*staticlink.Result{}, map[*View][]staticlink.Problem{}, map[linkKey]*started{}
	for _, v := range k.views {
		l := *k.check.object(v.Object)
		l.Needed, l.RPath, l.RunPath, l.Imports = v.Library.Needed, v.Library.RPath, v.Library.RunPath, rebound(v, k.scenario)
		k.of[v] = &l
		k.given = append(k.given, &l)
	}
	for _, sibling := range k.check.facts {
		for _, o := range sibling.Objects {
			if sibling != k.facts && o.Arch() == k.platform.Arch {
				k.given = append(k.given, k.check.object(o))
			}
		}
	}
	files := slices.Clone(k.given)
	for _, r := range k.set.Releases {
		if k.check.linkable[r] == nil {
			for i := range r.Libraries {
				k.check.linkable[r] = append(k.check.linkable[r], staticlink.FromPackage(&r.Libraries[i]))
			}
		}
		files = append(files, k.check.linkable[r]...)
	}
	k.system = staticlink.NewSystem(k.platform, files)
}

// object indexes an object once for all scenarios.
func (c *check) object(o *Object) *staticlink.Library {
	if c.linkable[o] == nil {
		c.linkable[o] = []*staticlink.Library{staticlink.FromObject(o.Path, o.Object)}
	}
	return c.linkable[o][0]
}

func (k *linking) link(by staticlink.Linker, l *staticlink.Library) *staticlink.Result {
	key := linkKey{by, l}
	if k.results[key] == nil {
		k.results[key] = k.system.Link(by, l, lineOf(k.scenario))
	}
	return k.results[key]
}

// start runs the program that a linker makes.
func (k *linking) start(by staticlink.Linker, l *staticlink.Library) *started {
	key := linkKey{by, l}
	if k.started[key] == nil {
		k.started[key] = k.run(k.link(by, l))
	}
	return k.started[key]
}

func (k *linking) run(r *staticlink.Result) *started {
	missing, undefined := k.system.Run(r.Needed)
	s := &started{missing: len(missing) > 0, undefined: make(map[elfobj.Import]bool, len(undefined))}
	for _, i := range undefined {
		s.undefined[i] = true
	}
	return s
}

// lineOf is the link line of a scenario.
func lineOf(s fix.Scenario) staticlink.Line {
	return staticlink.Line{Before: staticlink.Kept(s.Link...), After: staticlink.Kept(s.LinkLast...), RPathLink: s.RPathLink, AllowUndefined: s.AllowShlibUndefined}
}

// LinkLeft links a program against the object with the flags of a scenario, and runs it: what GNU ld refuses, and of what it refuses without these
// flags that which the program then dies of.
func (p *Pass) LinkLeft(v *View, s fix.Scenario) []staticlink.Problem {
	k := p.linking
	k.build()
	own := s.Key() == k.scenario.Key()
	if out, ok := k.left[v]; ok && own {
		return out
	}
	lib := k.of[v]
	r := k.system.Link(staticlink.GNU, lib, lineOf(s))
	out := slices.Clip(r.Problems)
	if undefined := k.run(r).undefined; len(undefined) > 0 {
		for _, x := range k.system.Link(staticlink.GNU, lib, lineOf(fix.Scenario{})).Problems {
			if undefined[x.Import] && r.Problem(x.Import) == nil {
				out = append(out, x)
			}
		}
	}
	if own {
		k.left[v] = out
	}
	return out
}

// LinkSystem is where programs are linked: the platform, with everything that was given and the packages beside it.
func (p *Pass) LinkSystem() *staticlink.System {
	p.linking.build()
	return p.linking.system
}

// Linkable is the object as a static linker reads it.
func (p *Pass) Linkable(v *View) *staticlink.Library {
	p.linking.build()
	return p.linking.of[v]
}

// Linked links a neutral program against the object, with the flags of the scenario.
func (p *Pass) Linked(by staticlink.Linker, v *View) *staticlink.Result {
	return p.linking.link(by, p.Linkable(v))
}

// LinkedStarts tells whether the program that a linker makes of a link against the object starts, as far as its libraries and one reference go.
func (p *Pass) LinkedStarts(by staticlink.Linker, v *View, i elfobj.Import) bool {
	s := p.linking.start(by, p.Linkable(v))
	return !s.missing && !s.undefined[i]
}

// LinkUser is a given library that needs another by name, with what GNU ld says when a program is linked against it.
type LinkUser struct {
	Library *staticlink.Library
	Result  *staticlink.Result
}

// LinkUsers are the given libraries that need the object and find it.
func (p *Pass) LinkUsers(v *View) []LinkUser {
	own := p.Linkable(v)
	var users []LinkUser
	for _, u := range p.linking.given {
		if u == own || !slices.ContainsFunc(u.Needed, own.AnswersTo) {
			continue
		}
		if r := p.linking.link(staticlink.GNU, u); r.Reads(own) {
			users = append(users, LinkUser{u, r})
		}
	}
	return users
}

// LinkDefiner is the first given library that defines a name, wherever it lies: one to which a linker binds, else one to which the loader does; nil where none does.
func (p *Pass) LinkDefiner(name string) *staticlink.Library {
	p.linking.build()
	for _, defines := range []func(*staticlink.Library) bool{
		func(l *staticlink.Library) bool { return l.Links(name, "") },
		func(l *staticlink.Library) bool { return l.Binds(name, "") },
	} {
		if i := slices.IndexFunc(p.linking.given, defines); i >= 0 {
			return p.linking.given[i]
		}
	}
	return nil
}

// LinkView is the view of a library of the artifact, nil for one of a sibling or a package.
func (p *Pass) LinkView(l *staticlink.Library) *View {
	p.linking.build()
	for v, x := range p.linking.of {
		if x == l {
			return v
		}
	}
	return nil
}
