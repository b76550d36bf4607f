package analyzer

import (
	"context"
	"slices"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/stack"
)

// judged is a finding with the fixes to try.
type judged struct {
	*Finding
	candidates []fix.Candidate
	beside     [2]bool // at which end of the declared ranges it shows; of one set only the first
}

// judge runs every rule over one artifact in one scenario, at both ends of the declared ranges, and returns each finding once, as it is at the end where it is worse. As long as nothing is wrong
// it is enough to look up the packages that bring what is needed; for an error, and what mends it, all of them count.
func (c *check) judge(ctx context.Context, f *Facts, g goal, s fix.Scenario) ([]judged, []*stack.Set, error) {
	out, sets, err := c.judgeOnce(ctx, f, g, s)
	if err == nil && c.demand != nil && !c.deep[f] && slices.ContainsFunc(out, func(x judged) bool { return x.Severity == Error }) {
		c.deep[f] = true
		return c.judgeOnce(ctx, f, g, s)
	}
	return out, sets, err
}

func (c *check) judgeOnce(ctx context.Context, f *Facts, g goal, s fix.Scenario) ([]judged, []*stack.Set, error) {
	var out []judged
	seen := map[string]int{} // where in out
	sets, err := c.stacks(ctx, f, g.platform, s)
	if err != nil {
		return nil, nil, err
	}
	world := c.world(ctx, f, g)
	for n, set := range sets {
		views := c.views(f, g.platform, set, s)
		linking := &linking{check: c, facts: f, platform: g.platform, set: set, views: views, scenario: s}
		for _, rule := range c.rules {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			pass := &Pass{Facts: f, Platform: g.platform, Stack: set, Views: views, Scenario: s, Asked: g.asked, Trial: g.trial, GPU: c.options.GPU, Link: c.options.Link, World: world, Base: c.base, given: c.with, linking: linking, rule: rule}
			pass.emit = func(x *Finding, candidates []fix.Candidate) {
				id := x.Identity()
				at, again := seen[id]
				if !again {
					at = len(out)
					seen[id] = at
					out = append(out, judged{Finding: x, candidates: candidates})
				} else if rank(x.Severity) > rank(out[at].Severity) {
					out[at].Finding, out[at].candidates = x, candidates
				}
				out[at].beside[n] = true
			}
			rule.Check(pass)
		}
	}
	return out, sets, ctx.Err()
}

// world is what rules may ask of other packages while they look at an artifact on a platform.
func (c *check) world(ctx context.Context, f *Facts, g goal) *World {
	return &World{ctx: ctx, source: c.source, on: on(f, g.platform.Arch), asked: c.asked}
}

// stacks resolves the packages beside the artifact: one set, or two where the ends of the ranges differ.
func (c *check) stacks(ctx context.Context, f *Facts, p *platform.Platform, s fix.Scenario) ([]*stack.Set, error) {
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
		return []*stack.Set{{}}, nil
	}
	var lean *stack.Lean
	if c.demand != nil {
		c.demand.want(f, p, s)
		if !c.deep[f] {
			lean = c.demand.lean(f, p)
		}
	}
	low, err := c.resolve(ctx, f, p.Arch, with, requires, stack.Lowest, lean)
	if err != nil {
		return nil, err
	}
	high, err := c.resolve(ctx, f, p.Arch, with, requires, stack.Highest, lean)
	if err != nil || equal(low, high) {
		return []*stack.Set{low}, err
	}
	return []*stack.Set{low, high}, nil
}

func (c *check) resolve(ctx context.Context, f *Facts, arch string, with, requires []pkgmeta.Requirement, end stack.End, lean *stack.Lean) (*stack.Set, error) {
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
	s, err := stack.ResolveLean(ctx, c.source, on(f, arch), with, requires, end, lean)
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
func requirements(f *Facts, s fix.Scenario) ([]pkgmeta.Requirement, error) {
	var out []pkgmeta.Requirement
	if f.Metadata != nil {
		out = slices.Clone(f.Metadata.Requires)
	}
	for _, r := range s.Requires {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil {
			return nil, err
		}
		out = append(slices.DeleteFunc(out, func(o pkgmeta.Requirement) bool { return o.Name == q.Name }), q)
	}
	return out, nil
}

// selfContained tells whether everything the objects need is in the artifact or on the platform, so that no other package matters.
func selfContained(f *Facts, p *platform.Platform) bool {
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

func equal(a, b *stack.Set) bool {
	return slices.EqualFunc(a.Releases, b.Releases, func(x, y *stack.Release) bool { return x.Name == y.Name && x.Version == y.Version })
}

// views loads and binds every object of the platform's architecture.
func (c *check) views(f *Facts, p *platform.Platform, set *stack.Set, s fix.Scenario) []*View {
	var views []*View
	var libraries []*dynlink.Library
	for _, o := range f.Objects {
		if o.Arch() != p.Arch || elsewhereOnly(f, o, p.Libc) {
			continue
		}
		l := c.library(o)
		if more := s.Needed[o.Path]; len(more) > 0 {
			edited := *l
			edited.Needed = append(slices.Clone(l.Needed), more...)
			l = &edited
		}
		if to := s.RunPath[o.Path]; to != "" {
			edited := *l
			edited.RPath, edited.RunPath = "", to
			l = &edited
		}
		libraries = append(libraries, l)
		host := o.host
		if f.Kind == "wheel" {
			host = HostPython
		}
		views = append(views, &View{Object: o, Library: l, Host: host})
	}
	for _, sibling := range c.facts {
		for _, o := range sibling.Objects {
			if sibling != f && o.Arch() == p.Arch {
				libraries = append(libraries, c.library(o))
			}
		}
	}
	before := imported{}
	byName := map[string]*dynlink.Library{}
	for _, r := range set.Releases {
		brought := c.brought(r)
		libraries = append(libraries, brought...)
		if c.importedFirst(r.Name, s) {
			before.add(r.Name, brought)
		}
	}
	first, local := before.loaded(libraries)
	for _, l := range p.Libraries() {
		provided := dynlink.OfPlatform(p, l)
		libraries = append(libraries, provided)
		byName[l.SONAME] = provided
	}
	hosted := map[Host]*dynlink.Environment{}
	environment := func(h Host) *dynlink.Environment {
		if loaded[h] == nil {
			h = HostNone
		}
		if hosted[h] == nil {
			var process []*dynlink.Library
			for _, name := range loaded[h] {
				if l := byName[name]; l != nil {
					process = append(process, l)
				}
			}
			hosted[h] = dynlink.NewEnvironment(p.Libc, libraries, append(process, first...))
			hosted[h].Local = local
		}
		return hosted[h]
	}
	for _, v := range views {
		env := environment(v.Host)
		v.Loading = env.Load(v.Library)
		for _, m := range v.Loading.Missing {
			if m.NeededBy == v.Library && !slices.Contains(v.Missing, m.Name) {
				v.Missing = append(v.Missing, m.Name)
			}
		}
	}
	for _, v := range views {
		v.Bindings = environment(HostNone).Bind(rebound(v, s), scope(v, views))
		v.Alternative = slices.ContainsFunc(views, func(u *View) bool { return Alternatives(v, u) })
	}
	return views
}

// library indexes an object once for all scenarios.
func (c *check) library(o *Object) *dynlink.Library {
	l := c.indexed[o]
	if l == nil {
		l = dynlink.FromObject(o.Path, o.Object)
		c.indexed[o] = l
	}
	return l
}

// brought indexes a release's libraries once for all scenarios.
func (c *check) brought(r *stack.Release) []*dynlink.Library {
	ls, ok := c.packages[r]
	if !ok {
		for i := range r.Libraries {
			ls = append(ls, dynlink.OfPackage(r, &r.Libraries[i]))
		}
		c.packages[r] = ls
	}
	return ls
}

// rebound is the object's imports, with those bound elsewhere that the scenario says.
func rebound(v *View, s fix.Scenario) []elfobj.Import {
	if len(s.Symver) == 0 {
		return v.Imports
	}
	out := slices.Clone(v.Imports)
	for i := range out {
		if version, ok := s.Symver[fix.Reference{Object: v.Path, Symbol: out[i].Name, Version: out[i].Version}]; ok {
			out[i].Version = version
		}
	}
	return out
}

// scope is where the imports of an object are looked up: its own load, and the load of each object of the artifact that brings it in.
func scope(v *View, views []*View) []*dynlink.Library {
	out := v.Loading.Scope()
	for _, u := range views {
		if u != v && u.Loading.Chain(v.Library) != nil {
			out = append(out, u.Loading.Scope()...)
		}
	}
	return out
}

// Alternatives tells whether two objects stand beside each other with names that differ in a version or a GPU stack only: one of
// them is picked at run time.
func Alternatives(a, b *View) bool {
	return a.stem == b.stem && a.Path != b.Path && (a.SONAME == "" || a.SONAME != b.SONAME)
}
