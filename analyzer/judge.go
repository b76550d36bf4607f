package analyzer

import (
	"context"
	"maps"
	"slices"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// judged is a finding with the fixes to try.
type judged struct {
	*Finding
	candidates []fix.Candidate
	beside     [2]bool // at which end of the declared ranges it shows; of one set only the first
}

// judge runs every rule over one artifact in one scenario, at both ends of the declared ranges, and
// returns each finding once, as it is at the end where it is worse. As long as nothing is wrong it
// is enough to look up the packages that bring what is needed; for an error, and what mends it, all
// of them count.
//
// A scenario is given up, and nil returned, as soon as hopeless is true of a finding; nil: never.
func (c *check) judge(
	ctx context.Context,
	f *facts.Artifact,
	g goal,
	s fix.Scenario,
	hopeless func(*Finding) bool,
) ([]judged, []*packages.Set, error) {
	if c.demand != nil && !c.deep[f] {
		out, sets, err := c.judgeOnce(ctx, f, g, s, nil)
		if err != nil ||
			!slices.ContainsFunc(out, func(x judged) bool { return x.Severity == Error }) {
			return out, sets, err
		}
		c.deep[f] = true
	}
	return c.judgeOnce(ctx, f, g, s, hopeless)
}

// scene is what one artifact looks like in one scenario, as far as programs that are linked against
// it don't matter: judged in another scenario that differs in their link line only, nothing else
// has to be looked at again.
type scene struct {
	facts    *facts.Artifact
	platform *platform.Platform
	key      string // of the scenario without the link line
	sets     []*packages.Set
	acts     []*act // one for each set
}

// act is one set of packages beside the artifact.
type act struct {
	set      *packages.Set
	platform *platform.Platform
	views    []*View
	of       map[*Object]*View
	first    []*dynlink.Library           // what is imported before the artifact
	local    map[*dynlink.Library]bool    // of that, what others don't see
	users    map[*dynlink.Library][]*View // whose load brings a library in
	path     []string                     // folders of LD_LIBRARY_PATH
	// views whose load is as without the fix, by what they were then
	kept   map[*View]*View
	linker *linker
	found  map[*Rule][]judged // of rules that didn't ask what a linker says
}

// without is the act without a fix that a scene in the same world begins from; nil where there is
// none.
func (c *check) without(f *facts.Artifact, g goal, set *packages.Set) *act {
	if !g.trial || c.first == nil || c.first.facts != f || c.first.platform != g.platform {
		return nil
	}
	if i := slices.IndexFunc(c.first.acts, func(a *act) bool { return a.set == set }); i >= 0 {
		return c.first.acts[i]
	}
	return nil
}

// scene looks at the artifact in a scenario, or takes the one that was looked at first, without a
// fix.
func (c *check) scene(ctx context.Context, f *facts.Artifact, g goal, s fix.Scenario) (*scene, error) {
	key := s.Unlinked().Key()
	if b := c.first; g.trial && b != nil && b.facts == f && b.platform == g.platform &&
		b.key == key {
		return b, nil
	}
	sets, err := c.stacks(ctx, f, g.platform, s)
	if err != nil {
		return nil, err
	}
	x := &scene{facts: f, platform: g.platform, key: key, sets: sets}
	if !g.trial {
		c.first = x
	}
	for _, set := range sets {
		without := c.without(f, g, set)
		a := c.act(f, g.platform, set, s, without)
		a.linker = &linker{check: c, facts: f, platform: g.platform, set: set, act: a, scenario: s}
		if without != nil {
			a.linker.before = without.linker
		}
		x.acts = append(x.acts, a)
	}
	return x, nil
}

func (c *check) judgeOnce(
	ctx context.Context,
	f *facts.Artifact,
	g goal,
	s fix.Scenario,
	hopeless func(*Finding) bool,
) ([]judged, []*packages.Set, error) {
	var out []judged
	seen := map[string]int{} // where in out
	x, err := c.scene(ctx, f, g, s)
	if err != nil {
		return nil, nil, err
	}
	world := c.world(ctx, f, g)
	for n, a := range x.acts {
		linking := newLinking(a.linker, s)
		found := map[*Rule][]judged{}
		for _, rule := range c.order(hopeless != nil) {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			known, ok := a.found[rule]
			if !ok {
				linking.asked = false
				pass := &Pass{
					Facts:    f,
					Platform: g.platform,
					Packages: x.sets[n],
					Views:    a.views,
					Scenario: s,
					Asked:    g.asked,
					Trial:    g.trial,
					GPU:      c.options.GPU,
					Link:     c.options.Link,
					World:    world,
					Base:     c.base,
					given:    c.with,
					linking:  linking,
					rule:     rule,
				}
				pass.emit = func(x *Finding, candidates []fix.Candidate) {
					known = append(known, judged{Finding: x, candidates: candidates})
				}
				rule.Check(pass)
				if !linking.asked {
					a.found[rule] = known
				}
			}
			found[rule] = known
			if hopeless != nil &&
				slices.ContainsFunc(known, func(x judged) bool { return hopeless(x.Finding) }) {
				return nil, nil, ctx.Err()
			}
		}
		for _, rule := range c.rules {
			for _, x := range found[rule] {
				id := x.Identity()
				at, again := seen[id]
				if !again {
					at = len(out)
					seen[id] = at
					out = append(out, x)
				} else if x.Severity.Rank() > out[at].Severity.Rank() {
					out[at].Finding, out[at].candidates = x.Finding, x.candidates
				}
				out[at].beside[n] = true
			}
		}
	}
	return out, x.sets, ctx.Err()
}

// order is the order in which rules are asked; quick: those first that may soon say enough.
func (c *check) order(quick bool) []*Rule {
	if !quick {
		return c.rules
	}
	return slices.SortedStableFunc(slices.Values(c.rules), func(a, b *Rule) int {
		switch {
		case a.Quick == b.Quick:
			return 0
		case a.Quick:
			return -1
		}
		return 1
	})
}

// world is what rules may ask of other packages while they look at an artifact on a platform.
func (c *check) world(ctx context.Context, f *facts.Artifact, g goal) *World {
	return &World{ctx: ctx, source: c.source, on: on(f, g.platform.Arch), asked: c.asked}
}

// stacks resolves the packages beside the artifact: one set, or two where the ends of the ranges
// differ.
func (c *check) stacks(
	ctx context.Context,
	f *facts.Artifact,
	p *platform.Platform,
	s fix.Scenario,
) ([]*packages.Set, error) {
	with := c.with
	for _, w := range s.With {
		q, err := pkgmeta.ParseRequirement(w)
		if err != nil {
			return nil, err
		}
		with = append(slices.Clone(with), q)
	}
	requires, err := requirements(f, s)
	if err != nil {
		return nil, err
	}
	if len(with) == 0 && (len(requires) == 0 || selfContained(f, p)) {
		return []*packages.Set{&c.alone}, nil
	}
	var lean *packages.Lean
	if c.demand != nil {
		c.demand.want(f, p, s)
		if !c.deep[f] {
			lean = c.demand.lean(f, p)
		}
	}
	low, err := c.resolve(ctx, f, p.Arch, with, requires, packages.Lowest, lean)
	if err != nil {
		return nil, err
	}
	high, err := c.resolve(ctx, f, p.Arch, with, requires, packages.Highest, lean)
	if err != nil || equal(low, high) {
		return []*packages.Set{low}, err
	}
	return []*packages.Set{low, high}, nil
}

func (c *check) resolve(
	ctx context.Context,
	f *facts.Artifact,
	arch string,
	with, requires []pkgmeta.Requirement,
	end packages.End,
	lean *packages.Lean,
) (*packages.Set, error) {
	key := arch + "|" + on(f, arch).Python + "|" + string(end)
	for _, q := range with {
		key += "|with " + q.Raw
	}
	for _, q := range requires {
		key += "|" + q.Raw
	}
	if lean != nil {
		key += "|for " + f.Path
	}
	if s, ok := c.resolved[key]; ok {
		return s, nil
	}
	var installed func(name string) string
	if c.prefix != nil {
		installed = c.prefix.version
	}
	s, err := packages.ResolveLean(ctx, c.source, on(f, arch), with, requires, end, lean, installed)
	if err != nil {
		return s, err
	}
	if c.demand != nil {
		c.demand.complete(ctx, s, on(f, arch))
	}
	c.resolved[key] = s
	return s, nil
}

// requirements are the artifact's own, as far as the scenario does not replace them.
func requirements(f *facts.Artifact, s fix.Scenario) ([]pkgmeta.Requirement, error) {
	var out []pkgmeta.Requirement
	if f.Metadata != nil {
		out = slices.Clone(f.Metadata.Requires)
	}
	for _, r := range s.Requires {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil {
			return nil, err
		}
		out = append(
			slices.DeleteFunc(out, func(o pkgmeta.Requirement) bool { return o.Name == q.Name }),
			q,
		)
	}
	return out, nil
}

// selfContained tells whether everything the objects need is in the artifact or on the platform, so
// that no other package matters.
func selfContained(f *facts.Artifact, p *platform.Platform) bool {
	if slices.ContainsFunc(f.Objects, func(o *Object) bool { return o.NumPy == NumPy1 }) {
		return false
	}
	own := ownNames(f)
	for _, o := range f.Objects {
		if o.Arch() != p.Arch {
			continue
		}
		for _, n := range o.Needed {
			if !own[n] && p.Library(n) == nil {
				return false
			}
		}
	}
	return true
}

func equal(a, b *packages.Set) bool {
	return slices.EqualFunc(
		a.Releases,
		b.Releases,
		func(x, y *packages.Release) bool { return x.Name == y.Name && x.Version == y.Version },
	)
}

// act loads and binds every object of the platform's architecture. What a fix does not touch is
// taken from without.
func (c *check) act(
	f *facts.Artifact,
	p *platform.Platform,
	set *packages.Set,
	s fix.Scenario,
	without *act,
) *act {
	a := &act{
		set:      set,
		platform: p,
		of:       map[*Object]*View{},
		users:    map[*dynlink.Library][]*View{},
		kept:     map[*View]*View{},
		found:    map[*Rule][]judged{},
	}
	var libraries []*dynlink.Library
	edited := map[*dynlink.Library]bool{} // as they are without the fix
	for _, o := range f.Objects {
		if o.Arch() != p.Arch || f.ForOtherLibc(o, p.Libc) {
			continue
		}
		l := c.library(f, o)
		if more, to := s.Needed[o.Path], s.RunPath[o.Path]; len(more) > 0 || to != "" {
			edited[l] = true
			changed := *l
			changed.Needed = append(slices.Clone(l.Needed), more...)
			if to != "" {
				changed.RPath, changed.RunPath = "", to
			}
			l = &changed
		}
		libraries = append(libraries, l)
		v := &View{Object: o, Library: l, Host: o.Host()}
		if f.Kind == KindWheel {
			v.Host = HostPython
		}
		a.views = append(a.views, v)
		a.of[o] = v
	}
	for _, sibling := range c.facts {
		for _, o := range sibling.Objects {
			if sibling != f && o.Arch() == p.Arch {
				libraries = append(libraries, c.library(sibling, o))
			}
		}
	}
	before := imported{}
	for _, r := range set.Releases {
		brought := c.brought(r)
		libraries = append(libraries, brought...)
		if c.importedFirst(r.Name, s) {
			before.add(r.Name, brought)
		}
	}
	a.first, a.local = before.loaded(libraries)
	a.path = c.libraryPath(s)
	if without != nil &&
		!(slices.Equal(a.first, without.first) && maps.Equal(a.local, without.local) && slices.Equal(a.path, without.path)) {
		without = nil
	}
	provided := c.provided(p, libraries)
	libraries = append(libraries, provided...)
	environment := c.environments(f, p, set, libraries, provided, a)
	for _, v := range a.views {
		if old := without.view(v.Object); old != nil &&
			!slices.ContainsFunc(
				old.Loading.Found,
				func(x dynlink.Found) bool { return edited[x.Library] },
			) {
			v.Loading, v.Missing, a.kept[v] = old.Loading, old.Missing, old
		} else {
			v.Loading = environment(v.Host).Load(v.Library)
			for _, m := range v.Loading.Missing {
				if m.NeededBy == v.Library && !slices.Contains(v.Missing, m.Name) {
					v.Missing = append(v.Missing, m.Name)
				}
			}
		}
		for _, x := range v.Loading.Found[1:] {
			a.users[x.Library] = append(a.users[x.Library], v)
		}
	}
	stems := map[string][]*View{}
	for _, v := range a.views {
		stems[v.Stem()] = append(stems[v.Stem()], v)
	}
	for _, v := range a.views {
		v.Alternative = slices.ContainsFunc(
			stems[v.Stem()],
			func(u *View) bool { return Alternatives(v, u) },
		)
		if a.sameScope(v, without) && len(s.Symver) == 0 {
			v.bound = a.kept[v].bound
			continue
		}
		v.bound = &bound{bind: func() dynlink.Bindings {
			var others []*dynlink.Loading
			for _, u := range a.users[v.Library] {
				others = append(others, u.Loading)
			}
			return environment(HostNone).Bind(rebound(v, s), dynlink.Union(v.Loading, others))
		}}
	}
	return a
}

// view is the view of an object; nil where there is none.
func (a *act) view(o *Object) *View {
	if a == nil {
		return nil
	}
	return a.of[o]
}

// sameScope tells whether the symbols of an object are looked up in the same libraries as without
// the fix.
func (a *act) sameScope(v *View, without *act) bool {
	if a.kept[v] == nil {
		return false
	}
	return slices.EqualFunc(
		a.users[v.Library],
		without.users[v.Library],
		func(now, then *View) bool { return a.kept[now] == then },
	)
}

// environments makes what each host loads from.
func (c *check) environments(
	f *facts.Artifact,
	p *platform.Platform,
	set *packages.Set,
	libraries, provided []*dynlink.Library,
	a *act,
) func(Host) *dynlink.Environment {
	hosted := map[Host]*dynlink.Environment{}
	return func(h Host) *dynlink.Environment {
		if h.Loaded() == nil {
			h = HostNone
		}
		if hosted[h] == nil {
			var process []*dynlink.Library
			for _, name := range h.Loaded() {
				if i := slices.IndexFunc(provided, func(l *dynlink.Library) bool { return l.SONAME == name }); i >= 0 {
					process = append(process, provided[i])
				}
			}
			hosted[h] = dynlink.NewEnvironment(
				p.Libc,
				libraries,
				append(process, a.first...),
				c.providers(f, p, set, libraries),
			)
			hosted[h].Local = a.local
			c.reach(hosted[h], h, p.Arch, a.path)
		}
		return hosted[h]
	}
}

// provided are the libraries of a platform. An unpacked system lists what it was asked for, so it
// is asked for what these libraries need; what it lists later comes behind.
func (c *check) provided(p *platform.Platform, libraries []*dynlink.Library) []*dynlink.Library {
	ls, ok := c.system[p]
	if ok && p.Kind != platform.System {
		return ls
	}
	if p.Kind == platform.System {
		for _, l := range append(c.nearby(libraries, p.Arch), libraries...) {
			for _, n := range l.Needed {
				p.Library(n)
			}
		}
	}
	for _, l := range p.Libraries() {
		if !slices.ContainsFunc(ls, func(x *dynlink.Library) bool { return x.SONAME == l.SONAME }) {
			ls = append(ls, dynlink.OfPlatform(p, l))
		}
	}
	c.system[p] = ls
	return ls
}

// providers are shared by all scenarios with the same libraries.
func (c *check) providers(
	f *facts.Artifact,
	p *platform.Platform,
	set *packages.Set,
	libraries []*dynlink.Library,
) *dynlink.Providers {
	world := sharing{f, p, set}
	known, ok := c.shared[world]
	if !ok {
		maps.DeleteFunc(
			c.shared,
			// a world in which a fix was tried is hardly tried again
			func(old sharing, _ *dynlink.Providers) bool {
				return old.facts != c.first.facts || old.platform != c.first.platform ||
					!slices.Contains(c.first.sets, old.set)
			},
		)
		known = dynlink.NewProviders(c.names, libraries)
		c.shared[world] = known
	}
	return known
}

// sharing is what the scenarios of one artifact on one platform beside one set of packages have in
// common.
type sharing struct {
	facts    *facts.Artifact
	platform *platform.Platform
	set      *packages.Set
}

// library indexes an object once for all scenarios.
func (c *check) library(f *facts.Artifact, o *Object) *dynlink.Library {
	l := c.indexed[o]
	if l == nil {
		l = dynlink.FromObject(o.Path, o.Object)
		if f.Kind == KindWheel {
			l.Site = c.site()
		}
		c.indexed[o] = l
	}
	return l
}

// brought indexes a release's libraries once for all scenarios.
func (c *check) brought(r *packages.Release) []*dynlink.Library {
	ls, ok := c.packages[r]
	if !ok {
		for i := range r.Libraries {
			l := dynlink.OfPackage(r, &r.Libraries[i])
			l.Site = c.site()
			ls = append(ls, l)
		}
		c.packages[r] = ls
	}
	return ls
}

// rebound is the object's imports, with those bound elsewhere that the scenario says.
func rebound(v *View, s fix.Scenario) *elfobj.Imports {
	other := false
	for r := range s.Symver {
		other = other || r.Object == v.Path
	}
	if !other {
		return v.Imports
	}
	out := v.Imports.List()
	for i := range out {
		if version, ok := s.Symver[fix.Reference{Object: v.Path, Symbol: out[i].Name, Version: out[i].Version}]; ok {
			out[i].Version = version
		}
	}
	return elfobj.NewImports(out...)
}

// Alternatives tells whether two objects stand beside each other with names that differ in a
// version or a GPU stack only: one of them is picked at run time.
func Alternatives(a, b *View) bool {
	return a.Stem() == b.Stem() && a.Path != b.Path && (a.SONAME == "" || a.SONAME != b.SONAME)
}
