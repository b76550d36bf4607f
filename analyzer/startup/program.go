package startup

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Program is the Python sources of one or several packages, by the name that ReadModule returns.
type Program map[string]*Module

// Event is something that happens while modules are imported.
type Event struct {
	// The path of a module without a source ("pkg/_module", "torch/nn"), which may also be a function
	// or a class; or the name of a library that is loaded: a file name, or a part of it. "" if it is
	// computed.
	Name    string
	At      string // the path of a library, relative to site-packages; "" if it is not known
	Load    bool
	May     bool // it happens under a condition
	Handled bool // the sources handle that it fails
	// The symbols of what is loaded are visible to all that is loaded later (RTLD_GLOBAL), perhaps
	// only under a condition.
	Global bool
}

// Run is what happens when modules are imported.
type Run struct {
	Events []Event
	// Reached is set if a module was imported at the end. If not, Events are those of the whole
	// import.
	Reached bool
	Certain bool // it is imported in any case
	Handled bool // and the sources handle that this fails
}

// Import imports a module until another one is imported. It stops there only if that is certain.
func (p Program) Import(name, until string) Run {
	w := p.walk(until, p.early())
	w.module(name, step{})
	return w.Run
}

// Opened returns what the import of a package opens with RTLD_GLOBAL, perhaps only under a
// condition: file names of libraries and, with a slash, paths of modules; and all that happens
// then.
func (p Program) Opened(name string) (opened []string, events []Event) {
	events = p.Import(name, "").Events
	for _, e := range events {
		if e.Global && e.Name != "" && !slices.Contains(opened, e.Name) {
			opened = append(opened, e.Name)
		}
	}
	return opened, events
}

// Index is a program in which the sources that import a module or load a library are found without
// reading all of them. It is safe for concurrent use, except with Add.
type Index struct {
	program   Program
	importers map[string][]importer // by module
	openers   map[string][]string   // sources, by the path of a library that they load
	early     []string              // .pth files
}

// importer is a source, or a function in it, that imports something.
type importer struct {
	source string
	body   *body
}

// Index returns an index of a program, which must not be changed any more except by Add.
func (p Program) Index() *Index {
	x := &Index{p, map[string][]importer{}, map[string][]string{}, p.early()}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		x.add(name, p[name])
	}
	return x
}

// Has reports whether the program has a module.
func (x *Index) Has(name string) bool { return x.program[name] != nil }

// Program returns the program, which the caller may change.
func (x *Index) Program() Program { return maps.Clone(x.program) }

// Add adds a module to the program.
func (x *Index) Add(name string, m *Module) {
	x.program[name] = m
	x.add(name, m)
}

func (x *Index) add(name string, m *Module) {
	for _, b := range m.bodies() {
		for _, s := range b.steps {
			if s.do == loadsLibrary && s.at != "" {
				all := x.openers[s.at]
				if n := len(all); n == 0 || all[n-1] != name {
					x.openers[s.at] = append(all, name)
				}
			}
			if s.do != importsModule || s.name == "" || x.program.never(s) {
				continue
			}
			// importing pkg/sub/module imports pkg/sub too
			for at := s.name; at != ""; at = at[:max(0, strings.LastIndexByte(at, '/'))] {
				all := x.importers[at]
				if n := len(all); n == 0 || all[n-1].body != b {
					x.importers[at] = append(all, importer{name, b})
				}
			}
		}
	}
}

// Starts returns what happens in each way to import a module with a source or without one: if its
// package imports it in any case, this one; otherwise for each source that imports it; and if there
// is none, when it is imported by itself.
func (x *Index) Starts(module string) []Run {
	var first Run
	if pkg := path.Dir(module); pkg != "." {
		w := x.walk(module)
		w.module(pkg, step{})
		first = w.Run
	}
	if first.Reached && first.Certain {
		return []Run{first}
	}
	var out []Run
	for _, i := range x.importers[module] {
		w := x.walk(module)
		w.any = true
		w.module(i.source, step{})
		w.body(x.program[i.source], i.body, step{})
		out = append(out, w.Run)
	}
	if out == nil {
		return []Run{first}
	}
	return out
}

// Needs reports whether the import of a package imports a module too, and fails if that does. A
// module with a source of the same name is not needed: Python imports the source where it does not
// import the module.
func (p Program) Needs(pkg, module string) bool {
	r := p.Import(pkg, module)
	return pkg != module && p[module] == nil && r.Reached && r.Certain && !r.Handled
}

// maxWork limits the number of steps that a walk executes.
const maxWork = 100_000

// walk executes sources.
type walk struct {
	Run
	program Program
	until   string
	// opens is called for each load of a library by a module, and stops if it returns true. nil for
	// nothing.
	opens   func(*Module, step) bool
	again   bool            // execute a module or function again where more depends on it
	uses    bool            // a body uses a library
	guarded bool            // the sources handle that this fails
	any     bool            // stop wherever it is imported
	begun   map[string]bool // modules and functions; true: in any case
	work    int
	done    bool
	global  bool              // modules are loaded with RTLD_GLOBAL
	setIn   map[statement]int // the branch of a statement in which that was set
}

// statement is an if or try statement of a body.
type statement struct {
	in   *body
	fork int
}

// early returns the .pth files, which Python executes when it starts.
func (p Program) early() (out []string) {
	for name := range p {
		if strings.HasSuffix(name, ".pth") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (p Program) walk(until string, early []string) *walk {
	w := &walk{program: p, until: until, begun: map[string]bool{}, work: maxWork,
		setIn: map[statement]int{}}
	for _, name := range early {
		w.one(name, step{})
	}
	return w
}

func (x *Index) walk(until string) *walk { return x.program.walk(until, x.early) }

// module imports a module: first its packages.
func (w *walk) module(name string, how step) {
	for end := 0; end < len(name) && !w.done; end++ {
		if next := strings.IndexByte(name[end:], '/'); next >= 0 {
			end += next
		} else {
			end = len(name)
		}
		w.one(name[:end], how)
	}
}

func (w *walk) one(name string, how step) {
	m := w.program[name]
	if name == w.until && m == nil && (!w.Reached || !how.may) {
		w.Reached, w.Certain, w.Handled = true, !how.may, how.handled
		if w.done = w.any || !how.may; w.done {
			return
		}
	}
	if w.before(name, how) {
		return
	}
	if m == nil {
		w.Events = append(w.Events, Event{
			Name: name, May: how.may, Handled: how.handled, Global: w.global,
		})
		return
	}
	w.body(m, &m.top, how)
}

// before reports whether a module or function was executed before, in any case if it is now.
func (w *walk) before(name string, how step) bool {
	if w.again {
		name += []string{"", "?", "??"}[how.kept]
	}
	certain, before := w.begun[name]
	w.begun[name] = certain || !how.may
	return before && (certain || how.may)
}

func (w *walk) body(m *Module, b *body, how step) {
	// A module that uses what another one loads is lost too, even if its import is handled.
	w.uses = w.uses || b.uses && (how.kept == keptNever || !m.loads())
	for _, s := range b.steps {
		if w.work--; w.work < 0 && !w.done {
			w.Events = append(w.Events, Event{May: true})
			w.done = true
		}
		if w.done {
			return
		}
		if w.program.never(s) {
			continue
		}
		s.may, s.handled = w.program.may(s) || how.may, s.handled || how.handled
		s.guarded = s.guarded || how.guarded || b.guarded
		if b.raises {
			s.kept = keptNever
		}
		s.kept = max(s.kept, how.kept)
		before := w.global
		switch {
		case s.do == callsFunction:
			w.call(s, 0)
		case s.do == setsFlags:
			w.global = s.global
		case s.do == loadsLibrary && w.opens != nil && w.opens(m, s):
			w.done = true
			return
		case s.do == loadsLibrary || s.name == "":
			load := s.do == loadsLibrary
			w.Events = append(w.Events,
				Event{s.name, s.at, load, s.may, s.handled, s.global || !load && w.global})
		default:
			w.module(s.name, s)
		}
		w.branch(statement{b, s.fork}, s.arm, before)
	}
}

// branch handles how modules are loaded after a step in a branch of a statement: what one branch
// sets, another one does not set back, because only one of them is executed.
func (w *walk) branch(of statement, arm int, before bool) {
	if of.fork == 0 || before == w.global {
		return
	}
	if w.global {
		w.setIn[of] = arm
	} else if set, ok := w.setIn[of]; ok && set != arm {
		w.global = true
	}
}

// call executes a function, or the methods of a class. One that is not found may be an attribute.
func (w *walk) call(s step, depth int) {
	const most = 8 // modules that import it from another one
	for at := s.name; depth < most && path.Dir(at) != "."; at = path.Dir(at) {
		m := w.program[path.Dir(at)]
		if m == nil {
			continue
		}
		f := m.functions[path.Base(at)]
		if from, ok := m.names[path.Base(at)]; f == nil && ok && from != at {
			s.name = from + strings.TrimPrefix(s.name, at)
			w.call(s, depth+1)
			return
		}
		if f != nil && !w.before(at+"()", s) {
			w.body(m, f, s)
		}
		return
	}
}
