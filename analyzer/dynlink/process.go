package dynlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Process is a program that has started: what its loader has in memory. It answers what dlopen
// would do there, one library after the other.
//
//	p, answer := l.Start("/usr/bin/python3", dynlink.Settings{})
//	opened := p.Open("/usr/lib/python3/dist-packages/_cffi_backend.so", dynlink.Mode{}, "")
//
// It ends when its Linker is asked for another file.
type Process struct {
	run *run // nil: it has not started
}

// Mode is how dlopen is called; its zero value is RTLD_NOW | RTLD_LOCAL, as Python opens a module.
type Mode struct {
	// RTLD_LAZY in place of RTLD_NOW: what is only called is looked up at the first call, which is
	// beyond this answer
	Lazy   bool
	Global bool // RTLD_GLOBAL: what is opened later sees its symbols, and those of what it needs
	// RTLD_DEEPBIND: its own symbols before those of the global scope. musl does not know it
	DeepBind bool
	NoLoad   bool // RTLD_NOLOAD: only if it is there already
}

// NotLoaded is the error of an Open with NoLoad where the library isn't there. glibc's dlopen
// returns NULL then, without an error.
const NotLoaded = "not loaded"

// NotStarted is the error of every Open of a program that does not start.
const NotStarted = "the program does not start"

// Start starts a program. It does not start where the answer has an error or something that is
// missing, as under LD_BIND_NOW.
func (l *Linker) Start(path string, s Settings) (*Process, *Answer) {
	a := l.Resolve(path, s)
	if a.Error != "" || len(a.NotFound)+len(a.MissingVersions)+len(a.Undefined) > 0 {
		return &Process{}, a
	}
	r := l.last
	r.opening = true
	for _, o := range r.scope {
		o.global = true
	}
	r.main.list = r.scope
	delete(
		r.byFile,
		r.main.object,
	) // the kernel has mapped the program, so that its loader doesn't know its file
	delete(r.known, path)
	return &Process{r}, a
}

// Open is dlopen of a name or path. by is the path of the object that calls it, as an Answer shows
// it; "" is the program. The answer has what comes into the process. With an error nothing has: its
// text is what dlerror says, the first of the undefined symbols standing for all.
func (p *Process) Open(name string, how Mode, by string) *Answer {
	r := p.run
	if r == nil {
		a := newAnswer()
		a.Error = NotStarted
		return a
	}
	r.answer, r.lost = newAnswer(), nil
	before := make(map[*loaded]bool, len(r.all))
	caller := r.main
	for _, l := range r.all {
		before[l] = true
		if l.path == by && by != "" {
			caller = l
		}
	}
	global := r.scope
	if err := r.rules.open(r, name, how, caller); err != nil {
		r.answer.Error, r.answer.Objects = err.Error(), []LoadedObject{}
		r.forget(before)
		r.scope = global
		return r.answer
	}
	r.answer.Objects = []LoadedObject{}
	for _, l := range r.all {
		if !before[l] {
			r.answer.Objects = append(
				r.answer.Objects,
				LoadedObject{l.names[0], l.shown, l.by.shownBy(), l.foundBy},
			)
		}
	}
	return r.answer
}

// Why is Linker.Why for the whole process as it is now.
func (p *Process) Why(symbol string) []Reason {
	if p.run == nil {
		return nil
	}
	return p.run.reasons(symbol)
}

// forget takes back what came into the process.
func (r *run) forget(before map[*loaded]bool) {
	gone := func(l *loaded) bool { return !before[l] }
	r.all = slices.DeleteFunc(r.all, gone)
	for _, names := range []map[string]*loaded{r.known, r.asked} {
		for n, l := range names {
			if gone(l) {
				delete(names, n)
			}
		}
	}
	for o, l := range r.byFile {
		if gone(l) {
			delete(r.byFile, o)
		}
	}
}

// undefinedIn reports the references of an object that nothing in its scopes satisfies. later tells
// of a reference that it is left to the first call.
func (r *run) undefinedIn(l *loaded, later func(elfobj.Reference) bool) {
	m := l.object.m
	for _, ref := range l.object.foreign {
		if ref.Weak || r.rules.binds(r, wanted(m, ref), l.scopes) != nil || later(ref) {
			continue
		}
		r.answer.Undefined = append(
			r.answer.Undefined,
			Undefined{string(m.Name(ref)), m.Version(ref.Version).Name, l.shown},
		)
	}
}
