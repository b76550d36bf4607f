package judge

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
)

// loadState is how the objects of an artifact load in one scenario. It does not depend on link
// lines, so scenarios that differ only in the link line share it.
type loadState struct {
	artifact *facts.Artifact
	platform *platform.Platform
	key      string // key of the scenario without its link line
	sets     []*packages.Set
	packages []*packageSet // one for each element of sets
}

// packageSet is the artifact loaded with one set of packages.
type packageSet struct {
	*packages.Set
	platform *platform.Platform
	views    []*View
	windows  *WindowsLoad // on a Windows platform, which has no views
	macOS    *MacOSLoad   // on a macOS platform, otherwise nil
	android  *AndroidLoad // on a platform of Android, otherwise nil
	iOS      *IOSLoad     // on a platform of iOS, otherwise nil
	pyodide  *PyodideLoad // on a platform of Pyodide, otherwise nil
	of       map[*facts.Object]*View
	all      []*dynlink.Library // that the loader may find
	first    []*dynlink.Library // loaded before the artifact
	// Libraries of first that are not in the global scope.
	local map[*dynlink.Library]bool
	users map[*dynlink.Library][]*View // the views that load a library
	// Libraries of other packages that the views load and whose imports are known.
	dependencies []*Dependency
	path         []string // folders of LD_LIBRARY_PATH
	// unchanged maps a view to the view of the baseline with the same load.
	unchanged map[*View]*View
	linker    *linker
	found     map[*Rule][]Found // of rules that did not use the linker
	full      []string          // rules with more findings than are listed
}

// load loads the artifact in a scenario. It returns the baseline if the scenario differs from
// it only in the link line.
func (s *Session) load(ctx context.Context, c Case, trial bool) (*loadState, error) {
	f, p := c.Artifact, c.Target.Platform
	key := c.Scenario.Unlinked().Key()
	if b := s.baseline; trial && b != nil && b.artifact == f && b.platform == p && b.key == key {
		return b, nil
	}
	sets, err := s.resolver.resolve(ctx, f, p, c.Scenario)
	if err != nil {
		return nil, err
	}
	state := &loadState{artifact: f, platform: p, key: key, sets: sets}
	if !trial {
		s.baseline = state
	}
	for _, set := range sets {
		if p.OS != platform.Linux {
			state.packages = append(state.packages, s.loadOther(c, set))
			continue
		}
		var baseline *packageSet
		if trial {
			baseline = s.baselineOf(f, p, set)
		}
		loaded := s.loadWith(c, set, baseline)
		loaded.linker = &linker{
			session:  s,
			facts:    f,
			platform: p,
			set:      loaded,
			scenario: c.Scenario,
		}
		if baseline != nil {
			loaded.linker.before = baseline.linker
		}
		state.packages = append(state.packages, loaded)
	}
	return state, nil
}

// baselineOf returns the artifact loaded without a fix with the same packages, or nil.
func (s *Session) baselineOf(
	f *facts.Artifact,
	p *platform.Platform,
	set *packages.Set,
) *packageSet {
	if s.baseline == nil || s.baseline.artifact != f || s.baseline.platform != p {
		return nil
	}
	for _, x := range s.baseline.packages {
		if x.Set == set {
			return x
		}
	}
	return nil
}

// loadWith loads every object of the platform's architecture. Imports are bound when a rule
// needs them. Loads that a fix does not change are taken from baseline, which may be nil.
func (s *Session) loadWith(c Case, set *packages.Set, baseline *packageSet) *packageSet {
	f, p := c.Artifact, c.Target.Platform
	x := &packageSet{
		Set:       set,
		platform:  p,
		of:        map[*facts.Object]*View{},
		users:     map[*dynlink.Library][]*View{},
		unchanged: map[*View]*View{},
		found:     map[*Rule][]Found{},
	}
	own, edited := s.openObjects(x, c)
	before := imported{}
	if len(s.judge.options.First) > 0 {
		for r := range set.All() {
			if s.importedFirst(r.Name, c.Scenario) {
				before.add(r.Name, s.libraries.ofRelease(r))
			}
		}
	}
	siblings, installed := s.reachable(c, x, own, before.all)
	all := slices.Concat(own, siblings, installed)
	x.first, x.local = before.loaded(all)
	x.path = s.LibraryPath(c.Scenario)
	if baseline != nil &&
		!(slices.Equal(x.first, baseline.first) && maps.Equal(x.local, baseline.local) &&
			slices.Equal(x.path, baseline.path)) {
		baseline = nil
	}
	provided := s.libraries.ofPlatform(p, all)
	if f.Packaged() {
		provided = slices.DeleteFunc(slices.Clone(provided), func(l *dynlink.Library) bool {
			return f.ReplacesSystem(l.SONAME)
		})
	}
	all = append(all, provided...)
	x.all = all
	environment := s.environments(f, x, all, provided)
	for _, v := range x.views {
		old := baseline.view(v.Object)
		if old != nil && !slices.ContainsFunc(
			old.Loading.Found,
			func(l dynlink.Found) bool { return edited[l.Library] },
		) {
			v.Loading, v.Missing, x.unchanged[v] = old.Loading, old.Missing, old
		} else {
			v.Loading = environment(process{v.Host, v.Program()}).Load(v.Library)
			for _, m := range v.Loading.Missing {
				if m.NeededBy == v.Library && !slices.Contains(v.Missing, m.Name) {
					v.Missing = append(v.Missing, m.Name)
				}
			}
		}
		for _, l := range v.Loading.Found[1:] {
			x.users[l.Library] = append(x.users[l.Library], v)
		}
	}
	if f.Root() {
		x.shareUsers()
	}
	for _, v := range x.views {
		v.Users = x.users[v.Library]
	}
	x.findVariants(f, s.judge.options.On.Python)
	x.bind(c.Scenario, baseline, environment)
	return x
}

// openObjects returns the libraries of the artifact's objects with the changes of the scenario,
// and sets the views. edited contains the original libraries of changed objects.
func (s *Session) openObjects(
	x *packageSet,
	c Case,
) (own []*dynlink.Library, edited map[*dynlink.Library]bool) {
	edited = map[*dynlink.Library]bool{}
	for _, o := range c.Artifact.Objects {
		if o.Arch() != x.platform.Arch || c.Artifact.ForOtherLibc(o, x.platform.Libc) {
			continue
		}
		l := s.libraries.ofObject(c.Artifact, o)
		more, to := c.Scenario.Needed[o.Path], c.Scenario.RunPath[o.Path]
		drop, at := c.Scenario.Dropped[o.Path], c.Scenario.Renamed[o.Path]
		if len(more)+len(drop) > 0 || to != "" || at != "" {
			edited[l] = true
			changed := *l
			changed.Needed = slices.DeleteFunc(slices.Clone(l.Needed), func(n string) bool {
				return slices.Contains(drop, n)
			})
			changed.Needed = append(changed.Needed, more...)
			changed.Path = cmp.Or(at, l.Path)
			switch {
			case to != "" && c.Artifact.Conda():
				changed.RPath, changed.RunPath = to, ""
			case to != "":
				changed.RPath, changed.RunPath = "", to
			}
			l = &changed
		}
		if at := inRoot(c.Artifact, x.platform); at != "" {
			placed := *l
			placed.Site = path.Dir(at)
			l = &placed
		}
		own = append(own, l)
		v := &View{Object: o, Library: l, Host: o.Host()}
		if c.Artifact.Kind == facts.KindWheel {
			v.Host = facts.HostPython
		}
		x.views = append(x.views, v)
		x.of[o] = v
	}
	return own, edited
}

// bind prepares binding the imports of each view.
func (x *packageSet) bind(
	s fix.Scenario,
	baseline *packageSet,
	environment func(process) *dynlink.Environment,
) {
	for _, v := range x.views {
		if x.sameScope(v, baseline) && len(s.Symver) == 0 {
			v.bound = x.unchanged[v].bound
			continue
		}
		v.bound = &bound{bind: func() dynlink.Bindings {
			return environment(process{}).Bind(rebound(v, s), x.scope(v.Loading, v.Library),
				v.VersionNeeds)
		}}
	}
	known := map[*dynlink.Library]bool{}
	for _, v := range x.views {
		for _, f := range v.Loading.Found {
			l := f.Library
			if l.Kind != dynlink.FromPackage || l.Imports.Len() == 0 || known[l] {
				continue
			}
			known[l] = true
			x.dependencies = append(x.dependencies, &Dependency{
				Library: l,
				Users:   x.users[l],
				bound: &bound{bind: func() dynlink.Bindings {
					return environment(process{}).Bind(l.Imports, x.scope(v.Loading, l), nil)
				}},
			})
		}
	}
}

// scope returns the libraries in which the symbols of a library are looked up: those of a load that
// has it, and of the others. Only the first of them loads it, and it is not known which that is.
func (x *packageSet) scope(of *dynlink.Loading, l *dynlink.Library) []*dynlink.Library {
	var others []*dynlink.Loading
	for _, u := range x.users[l] {
		if u.Loading != of {
			others = append(others, u.Loading)
		}
	}
	return dynlink.Union(of, others)
}

// shareUsers makes the users of a library of the system, which is a root, those of its file.
func (x *packageSet) shareUsers() {
	own := map[string]*View{} // by path
	for _, v := range x.views {
		for _, at := range append([]string{v.Path}, v.Links...) {
			own["/"+at] = v
		}
	}
	for _, l := range x.all {
		if l.Kind != dynlink.FromPlatform {
			continue
		}
		v := own[x.platform.Library(l.SONAME).Path]
		if v == nil {
			continue
		}
		for _, u := range x.users[l] {
			if u != v {
				x.users[v.Library] = append(x.users[v.Library], u)
			}
		}
	}
}

// view returns the view of an object, or nil.
func (x *packageSet) view(o *facts.Object) *View {
	if x == nil {
		return nil
	}
	return x.of[o]
}

// sameScope reports whether the symbols of an object are looked up in the same libraries as in the
// baseline.
func (x *packageSet) sameScope(v *View, baseline *packageSet) bool {
	if x.unchanged[v] == nil {
		return false
	}
	return slices.EqualFunc(
		x.users[v.Library],
		baseline.users[v.Library],
		func(now, then *View) bool { return x.unchanged[now] == then },
	)
}

// process is in which kind of process an object is loaded.
type process struct {
	host facts.Host
	own  bool // the object is the program
}

// environments returns a function that creates the environment of each kind of process once.
func (s *Session) environments(
	f *facts.Artifact,
	x *packageSet,
	all, provided []*dynlink.Library,
) func(process) *dynlink.Environment {
	hosted, earlier := map[process]*dynlink.Environment{}, s.earlier(f, x.Set)
	keep := func(old environmentKey) bool {
		return old.artifact == s.baseline.artifact && old.platform == s.baseline.platform &&
			slices.Contains(s.baseline.sets, old.set)
	}
	return func(in process) *dynlink.Environment {
		if in.host.Loaded() == nil {
			in.host = facts.HostNone
		}
		if hosted[in] == nil {
			var first []*dynlink.Library
			// libc needs the loader, so its symbols are visible to every program. That of musl is
			// the loader itself.
			names := append(slices.Clone(in.host.Loaded()), x.platform.Loader())
			if x.platform.Libc == "musl" {
				names = append(names, platform.MuslLibc(x.platform.Arch))
			}
			for _, name := range names {
				i := slices.IndexFunc(provided, func(l *dynlink.Library) bool { return l.SONAME == name })
				if i >= 0 {
					first = append(first, provided[i])
				}
			}
			hosted[in] = dynlink.NewEnvironment(
				x.platform.Libc,
				all,
				append(first, x.first...),
				s.libraries.providersIn(environmentKey{f, x.platform, x.Set}, all, keep),
			)
			hosted[in].Local, hosted[in].Earlier = x.local, earlier
			hosted[in].PathsOnly = f.Root()
			s.libraries.addFolders(hosted[in], f, in, x.platform, x.path)
		}
		return hosted[in]
	}
}

// rebound returns the imports of a view, with the versions that the scenario changes.
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
		ref := fix.Reference{Object: v.Path, Symbol: out[i].Name, Version: out[i].Version}
		if version, ok := s.Symver[ref]; ok {
			out[i].Version = version
		}
	}
	return elfobj.NewImports(out...)
}
