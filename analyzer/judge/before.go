package judge

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Before is whether something loads a library before a module is imported.
type Before struct {
	Loaded bool
	// ForOthers is set if it is loaded with RTLD_GLOBAL, or by another module that needs it. Otherwise
	// the sources may load it for themselves, and the module in a way that is not known.
	ForOthers bool
	// Undecided is why it is not known, as the end of a sentence: "torch_x was not read". "" if it is.
	Undecided string
	// Unread is set if a package that is imported before has the library, or requires the package that
	// has it, and its sources were not read.
	Unread bool
	// Opened is set for a library that the import of a package loads by its path in any case, where
	// the sources do not handle that this fails. The rest is then what happens before that.
	Opened bool
	// Always is set if the import of its package imports the module in any case.
	Always bool
}

// preloads are packages that are known to load all libraries of their dependencies when they are
// imported: torch/__init__.py, _load_global_deps and _preload_cuda_deps.
var preloads = []string{"torch"}

// sources are the Python sources of packages that are installed together, and the modules that
// they import.
type sources struct {
	session *Session
	ctx     context.Context //nolint:containedctx // of a run of the rules, as in Releases
	on      packages.Target
	set     *packageSet
	facts   *facts.Artifact
	*starts
	// The sources of releases that were read, by top-level package or module; nil for one of which
	// they were requested, and could not be read.
	texts map[string]*topTexts
	// by the name under which Python imports them, see facts.ModuleName
	modules   map[string]otherModule
	installed map[string]installedModule
	tops      map[string][]*packages.Release // see providing; nil until it is needed
	// What importLoads found; emptied when more sources are read.
	imports map[importOf]answer
}

// importOf is the question whether the import of a module loads a library.
type importOf struct {
	module  string
	library *dynlink.Library
}

// answer is the result of importLoads.
type answer struct {
	loads     bool
	undecided string
}

// starts are the runs of the sources of an artifact and of those that are installed with it. They
// are the same in all sets of packages and scenarios.
type starts struct {
	of      *facts.Artifact
	arch    string
	program *startup.Index
	tried   map[string]bool // modules that were searched in the installed environment
	runs    map[string][]startup.Run
	opened  map[string]openedAt // by the path of a library
}

// openedAt is what happens before an import loads a library; nil if none does.
type openedAt struct {
	runs    []startup.Run
	certain bool // and the sources do not handle that this fails
}

// otherModule is a module without a source of an artifact that is installed with this one.
type otherModule struct {
	artifact *facts.Artifact
	object   *facts.Object
}

// installedModule is a file of an installed package.
type installedModule struct{ path, release string }

// LoadedBefore reports whether something loads a library of another package before a module of the
// artifact is imported, in each way to import it; or before the sources load another object.
func (p *Pass) LoadedBefore(module *View, l *dynlink.Library) Before {
	s := p.sources
	if s.starts == nil {
		s.read()
	}
	if p.Facts.Sources && (p.Facts.Loads == nil || len(p.Facts.Program) == 0) {
		return Before{Undecided: "the Python sources of the wheel were not read"}
	}
	for {
		runs, opened := s.runsOf(module)
		out := p.beforeIn(runs, l)
		if out.Opened = opened; !out.Unread || !s.readTexts(runs, l) {
			return out
		}
	}
}

// OfOther reports whether a module of an artifact without Python sources is in the folder of
// another package, which Python imports before: PyQt5/QtChart.abi3.so in that of PyQt5.
func (p *Pass) OfOther(module *View) bool {
	s := p.sources
	if s.starts == nil {
		s.read()
	}
	name := facts.ModuleName(module.Path)
	return topOf(name) != name && (s.program.Has(topOf(name)) ||
		slices.ContainsFunc(s.providing(topOf(name)), func(r *packages.Release) bool {
			return r.Name != project(p.Facts)
		}))
}

// runsOf returns what happens in each way to import a module, or before the sources load an object
// by its path, then opened is set.
func (s *sources) runsOf(module *View) (runs []startup.Run, opened bool) {
	if !module.Extension() {
		if o := s.opens(facts.Installed(module.Path)); o.runs != nil {
			return o.runs, o.certain
		}
	}
	return s.startsOf(facts.ModuleName(module.Path)), false
}

// beforeIn is LoadedBefore for the ways to import the module.
func (p *Pass) beforeIn(runs []startup.Run, l *dynlink.Library) Before {
	out := Before{Always: len(runs) == 1 && runs[0].Certain}
	loaded, forOthers := 0, 0
	for _, r := range runs {
		one := p.during(r, l)
		if one.ForOthers {
			forOthers++
		}
		if one.Loaded {
			loaded++
		} else if one.Undecided != "" {
			out.Undecided, out.Unread = one.Undecided, one.Unread
		}
	}
	if loaded == len(runs) {
		return Before{Loaded: true, ForOthers: forOthers == len(runs)}
	}
	if loaded > 0 && out.Undecided == "" {
		out.Undecided = "only some of the Python files that import the module load it first"
	}
	return out
}

// during reports whether the events before an import load a library.
func (p *Pass) during(r startup.Run, l *dynlink.Library) (out Before) {
	for _, e := range r.Events {
		loads, why := false, ""
		switch {
		case e.Name == "" && e.Load:
			why = "the name of a library that it loads is computed"
		case e.Name == "":
			why = "the name of a module that it imports is computed"
		case e.Load && e.At != "" && startup.SameStem(e.Name, l.Names()[0]):
			loads, why = p.sources.fileLoads(e, l)
		case e.Load:
			file := slices.Contains(l.Names(), e.Name)
			loads = file || !strings.Contains(e.Name, ".so") && startup.SameStem(e.Name, l.Names()[0])
			if !loads && startup.SameStem(e.Name, l.Names()[0]) {
				why = "it loads " + e.Name
			}
		default:
			loads, why = p.sources.importLoads(e.Name, l)
			if !loads && why == "" {
				why = p.sources.unread(e.Name, l)
				out.Unread = out.Unread || why != "" && (!e.May || p.sources.mayRead(e.Name))
			}
		}
		switch {
		case loads && !e.May:
			return Before{Loaded: true, ForOthers: e.Global || !e.Load}
		case loads:
			out.Undecided = "it is loaded only under a condition"
		case why != "":
			out.Undecided = why
		}
	}
	return out
}

// fileLoads reports whether the file that a source loads is a library, or a copy of it, or why that
// is not known.
func (s *sources) fileLoads(e startup.Event, l *dynlink.Library) (loads bool, undecided string) {
	if facts.Installed(l.Path) == e.At {
		return true, ""
	}
	known := false
	inFolder := func(member string) bool {
		top, _, _ := strings.Cut(e.At, "/")
		return strings.HasPrefix(member, top+"/")
	}
	for _, a := range append(slices.Clone(s.others()), s.facts) {
		for _, o := range a.Objects {
			at := facts.Installed(o.Path)
			known = known || inFolder(at)
			if at == e.At {
				return o.SONAME != "" && slices.Contains(l.Names(), o.SONAME), ""
			}
		}
	}
	for r := range s.set.All() {
		for i := range r.Libraries {
			at := r.Libraries[i].Path
			known = known || inFolder(at)
			if at == e.At {
				return slices.Contains(l.Names(), r.Libraries[i].SONAME), ""
			}
		}
	}
	if !known {
		return false, "it loads " + e.At
	}
	return false, ""
}

// MayOpen reports whether a Python source of the artifact may load an object as a library, or an
// object has its name as a constant. It is true if the sources were not read.
func (p *Pass) MayOpen(v *View) bool {
	names := v.Library.Names()
	f := p.Facts
	return len(f.Program) == 0 || f.Loads == nil || f.Loads.Opaque() ||
		f.Program.MayLoad(facts.Installed(v.Path), names...) ||
		slices.ContainsFunc(p.Views, func(u *View) bool { return u.NamesAny(names...) })
}

// others returns the artifacts that are installed with this one.
func (s *sources) others() []*facts.Artifact {
	return s.session.othersOf(s.facts, s.set.platform)
}

// read collects the sources of the artifact and of those that are installed with it.
func (s *sources) read() {
	arch := s.set.platform.Arch
	s.starts = s.session.starts
	if s.starts == nil || s.of != s.facts || s.arch != arch {
		program := startup.Program{}
		for _, a := range append(slices.Clone(s.others()), s.facts) {
			maps.Copy(program, a.Program)
		}
		s.starts = &starts{
			of: s.facts, arch: arch, program: program.Index(), tried: map[string]bool{},
			runs: map[string][]startup.Run{}, opened: map[string]openedAt{},
		}
		s.session.starts = s.starts
	}
	s.texts = map[string]*topTexts{}
	s.imports = map[importOf]answer{}
	s.modules, s.installed = map[string]otherModule{}, map[string]installedModule{}
	for _, a := range slices.Backward(s.others()) {
		for _, o := range slices.Backward(a.Objects) { // of several, the first counts
			if o.Arch() == arch && o.Extension() {
				s.modules[facts.ModuleName(o.Path)] = otherModule{a, o}
			}
		}
	}
	k := s.session.judge.conda
	for _, r := range slices.Backward(slices.Collect(s.set.All())) {
		if k == nil || k.installed(r.Name) == nil {
			continue
		}
		for i := range slices.Backward(r.Libraries) {
			at := r.Libraries[i].Path
			s.installed[facts.ModuleName(at)] = installedModule{at, r.Name}
		}
	}
}

// startsOf returns what happens in each way to import a module. Sources of an installed environment
// are read when they are imported.
func (s *sources) startsOf(module string) []startup.Run {
	runs, known := s.runs[module]
	for more := !known; more; {
		runs, more = s.program.Starts(module), false
		for _, r := range runs {
			more = s.findAll(r) || more
		}
	}
	s.runs[module] = runs
	return runs
}

// opens is startsOf for an object that the sources load by its path; see startup.Index.Opens.
func (s *sources) opens(at string) openedAt {
	o, known := s.opened[at]
	for more := !known; more; {
		before, ok := s.program.Opens(at)
		if o = (openedAt{nil, ok}); before.Reached {
			o.runs = []startup.Run{before}
		}
		more = s.findAll(before)
	}
	s.opened[at] = o
	return o
}

// findAll reads the sources of what a run imports, as find does.
func (s *sources) findAll(r startup.Run) (more bool) {
	for _, e := range r.Events {
		more = !e.Load && s.find(e.Name) || more
	}
	return more
}

// find reads the source of a module in the installed environment. It returns false if there is none
// or it was read before.
func (s *sources) find(name string) bool {
	const most = 2000 // sources
	k := s.session.judge.options.Conda
	if k == nil || s.tried[name] || len(s.tried) > most || s.program.Has(name) {
		return false
	}
	s.tried[name] = true
	for _, file := range []string{name + "/__init__.py", name + ".py"} {
		if text := k.Text(path.Join(k.Site, file)); text != nil {
			on := startup.System{Name: "linux", Machine: s.set.platform.Arch}
			if _, m := startup.ReadModule(file, string(text), on); m != nil {
				s.program.Add(name, m)
				clear(s.imports)
				return true
			}
		}
	}
	return false
}

// importLoads reports whether the import of a module without a source loads a library, or why that
// is not known. name may also be that of a function. The ways to import a module share most of what
// they import, so each is looked up once.
func (s *sources) importLoads(name string, l *dynlink.Library) (loads bool, undecided string) {
	key := importOf{name, l}
	a, known := s.imports[key]
	if !known {
		a.loads, a.undecided = s.lookUpImport(name, l)
		s.imports[key] = a
	}
	return a.loads, a.undecided
}

// lookUpImport is importLoads for a module and a library that were not looked up before.
func (s *sources) lookUpImport(name string, l *dynlink.Library) (loads bool, undecided string) {
	for _, v := range s.set.views {
		if v.imported.name == name {
			return s.loadedBy(v.Object, v.Library, nil, l)
		}
	}
	if m, ok := s.modules[name]; ok {
		var own []*dynlink.Library
		for _, x := range m.artifact.Objects {
			own = append(own, s.session.libraries.ofObject(m.artifact, x))
		}
		return s.loadedBy(m.object, s.session.libraries.ofObject(m.artifact, m.object), own, l)
	}
	if m, ok := s.installed[name]; ok {
		return s.installedLoads(m.path, m.release, l)
	}
	if r, at := s.published(name); r != nil {
		return s.publishedLoads(r, at, l)
	}
	top := topOf(name)
	id := cmp.Or(l.Package.Name, l.Wheel.Name)
	return slices.Contains(preloads, top) && !s.program.Has(top) && s.requires(top, id), ""
}

// unread returns why it is not known what the import of a module loads: the sources of its package
// were not read, and it has a library or requires the package that does, or the module may be one
// without a source, which the history does not have. "" if they were.
func (s *sources) unread(name string, l *dynlink.Library) string {
	top, first := topOf(name), topOf(l.Path)
	switch t := s.texts[top]; {
	case t != nil && (t.others[name] != "" || t.release.Abridged && !s.program.Has(name)):
		return strings.ReplaceAll(name, "/", ".") + " was not read"
	case t != nil, s.program.Has(top):
		return ""
	}
	id := cmp.Or(l.Package.Name, l.Wheel.Name)
	if top == first && id != "" && !s.isRead(id) {
		return "the sources of " + id + " were not read"
	}
	for _, r := range s.providing(top) {
		if !s.isRead(r.Name) && s.requires(r.Name, id) {
			return "the sources of " + r.Name + " were not read"
		}
	}
	return ""
}

// providing returns the releases of the set that have a top-level package or module: the one with
// its name, or else those with libraries in its folder, as opencv-python has cv2/cv2.abi3.so.
func (s *sources) providing(top string) []*packages.Release {
	if r := s.set.Release(pkgmeta.Normalize(top)); r != nil {
		return []*packages.Release{r}
	}
	if s.tops == nil {
		s.tops = map[string][]*packages.Release{}
		for r := range s.set.All() {
			for i := range r.Libraries {
				name, _, _ := strings.Cut(facts.ModuleName(r.Libraries[i].Path), "/")
				if all := s.tops[name]; len(all) == 0 || all[len(all)-1] != r {
					s.tops[name] = append(all, r)
				}
			}
		}
	}
	return s.tops[top]
}

// isRead reports whether the sources of a package are known.
func (s *sources) isRead(name string) bool {
	conda := s.session.judge.conda
	return conda != nil && conda.installed(name) != nil ||
		slices.ContainsFunc(s.others(), func(a *facts.Artifact) bool { return project(a) == name })
}

// requires reports whether a package of the set requires another one, also indirectly.
func (s *sources) requires(name, other string) bool {
	seen := []string{name}
	for i := 0; i < len(seen); i++ {
		if seen[i] == other {
			return true
		}
		if r := s.set.Release(seen[i]); r != nil {
			for _, q := range r.Requires {
				if !slices.Contains(seen, q.Name) {
					seen = append(seen, q.Name)
				}
			}
		}
	}
	return false
}

// installedLoads is importLoads for a module of a package in the installed environment.
func (s *sources) installedLoads(file, name string, l *dynlink.Library) (bool, string) {
	k := s.session.judge.options.Conda
	o := k.Open(path.Join(k.Site, file))
	if o == nil {
		return false, path.Base(file) + " was not read"
	}
	root := dynlink.FromObject(file, o)
	root.Site = k.Site
	return s.loadedWith(root, o.Imports.Any(loadsOthers),
		s.session.libraries.ofRelease(s.session.judge.conda.installed(name)), l)
}

// loadedBy reports whether a module loads a library that its search path leads to. own are the
// libraries of its package. A module that imports others may load any.
func (s *sources) loadedBy(
	o *facts.Object,
	root *dynlink.Library,
	own []*dynlink.Library,
	l *dynlink.Library,
) (loads bool, undecided string) {
	return s.loadedWith(root, o.Loads || o.Imports.Any(importsModule), own, l)
}

// importsModule reports whether a function of Python imports a module.
func importsModule(name string) bool { return strings.HasPrefix(name, "PyImport_Import") }

// loadsOthers reports whether a function imports a module or opens a library. It is used for
// modules of which only the imports were read.
func loadsOthers(name string) bool { return importsModule(name) || name == "dlopen" }

// loadedWith is loadedBy for a module of which it is known whether it may load others.
func (s *sources) loadedWith(
	root *dynlink.Library,
	others bool,
	own []*dynlink.Library,
	l *dynlink.Library,
) (loads bool, undecided string) {
	all := slices.Concat([]*dynlink.Library{root}, own, s.set.all)
	e := dynlink.NewEnvironment(s.set.platform.Libc, all, nil,
		dynlink.NewProviders(symindex.New(elfobj.NewNames()), all))
	loading := e.Load(root)
	for _, f := range loading.Found {
		if f.Library.Path == l.Path && f.By != dynlink.ByPackage {
			return true, ""
		}
	}
	if others {
		return false, path.Base(root.Path) + " may import other modules"
	}
	return false, ""
}
