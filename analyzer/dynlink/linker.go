package dynlink

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
)

// Linker answers for files of one root what its dynamic linker would do with them. It keeps what it
// has read in memory, so many files of one root cost little more than the first. It is not safe for
// concurrent use.
//
//	l := dynlink.NewLinker(root)
//	answer := l.Resolve("/usr/bin/python3", dynlink.Settings{})
type Linker struct {
	store   *store
	loaders map[string]*glibc
	runs    int
	last    *run
}

// Settings are what the caller of a loader can ask for.
type Settings struct {
	Preload     []string // names or paths; one may hold several, separated by ":" or " "
	LibraryPath string   // LD_LIBRARY_PATH
}

// NewLinker makes a linker of a root.
func NewLinker(root Root) *Linker {
	return &Linker{store: newStore(root), loaders: map[string]*glibc{}}
}

// rules are those of one dynamic linker.
type rules interface {
	// resolve loads r.main, fills the answer and returns the error at which the loader gives up.
	resolve(r *run) error
	// binds finds the first object that satisfies a reference, nil where none does.
	binds(r *run, w want, scopes [][]*loaded) *loaded
	// open is dlopen in a process that r.resolve has started. The error is what dlerror says.
	open(r *run, name string, how Mode, by *loaded) error
}

// Resolve says what the loader does with a file. The path is one of the root; one without a leading
// "/" is below its "/".
func (l *Linker) Resolve(path string, s Settings) *Answer {
	if l.store.held > maxHeld {
		l.store.empty()
		l.loaders = map[string]*glibc{}
	}
	l.runs++
	r := &run{store: l.store, linker: l, settings: s, number: l.runs, answer: newAnswer()}
	l.last = r
	r.asking = path
	o, err := l.store.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		r.answer.Error = "no such file in the root"
		return r.answer
	}
	if err != nil || o.head == nil || o.m == nil && o.damage == nil {
		r.answer.Error = "not a dynamic executable"
		return r.answer
	}
	r.rules, err = l.rulesFor(o)
	if err == nil {
		r.start(o, path, 64)
		err = r.rules.resolve(r)
	}
	if err != nil {
		r.answer.Error = err.Error()
	}
	return r.answer
}

// Why explains a symbol of the file that was resolved last: who refers to it, in load order, and
// who provides it.
func (l *Linker) Why(symbol string) []Reason {
	if l.last == nil || l.last.rules == nil || l.last.main == nil {
		return nil
	}
	return l.last.reasons(symbol)
}

// rulesFor chooses the loader for a file: musl's where the file says so or the root has no other,
// else glibc's.
func (l *Linker) rulesFor(o *object) (rules, error) {
	arch := elfobj.Object{Machine: o.head.Machine, Class: o.head.Class, ByteOrder: "little"}
	if o.head.Big {
		arch.ByteOrder = "big"
	}
	name := arch.Arch()
	if o.m != nil && strings.HasPrefix(o.m.Interp, "/lib/ld-musl-") ||
		l.exists(muslPath(name)) && (!l.exists(interpreters[name]) || ofMusl(o.m)) {
		return &musl{arch: muslArch(name)}, nil
	}
	return l.glibcFor(name, o)
}

// ofMusl tells whether a library was linked with musl's libc, whose names glibc's hasn't.
func ofMusl(m *elfobj.Mapping) bool {
	return m != nil && m.Interp == "" &&
		slices.ContainsFunc(m.Needed, func(d elfobj.Dependency) bool {
			return d.Name == "libc.so" || strings.HasPrefix(d.Name, "libc.musl-") ||
				strings.HasPrefix(d.Name, "ld-musl-")
		})
}

func (l *Linker) exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := l.store.open(path)
	return err == nil
}

// Platform is the root as a target on an architecture: the libraries that its loader finds by their
// names alone, and what those need. name is what reports call it. It returns an error where the
// root has no loader for the architecture.
func (l *Linker) Platform(name, arch string) (*platform.Platform, error) {
	r := &run{store: l.store, linker: l, answer: &Answer{}}
	r.main = &loaded{object: &object{m: &elfobj.Mapping{}}}
	t := &target{linker: l, run: r, by: map[string]*loaded{"": r.main}}
	libc := "glibc"
	var version string
	switch gnu, own := interpreters[arch], muslPath(arch); {
	case l.exists(gnu):
		g := l.loader(arch)
		if g.object == nil {
			return nil, fmt.Errorf("%s, the loader for %s, can't be read", gnu, arch)
		}
		g.kind = g.object.head
		t.search = func(name string, by *loaded) (*object, string) {
			if path.Base(g.path) == name {
				return g.object, g.path
			}
			o, found, _, _ := g.search(r, name, by, nil)
			return o, found
		}
		version = "2." + strconv.Itoa(g.minor)
	case l.exists(own):
		libc, version = "musl", "1.2"
		o, err := l.store.open(own)
		if err != nil || o.m == nil {
			return nil, fmt.Errorf("%s, the loader for %s, can't be read", own, arch)
		}
		u := &musl{
			arch: muslArch(arch),
			kind: o.head,
			self: &loaded{object: o, path: own, shown: own, foundBy: foundLoader},
		}
		u.path = u.folders(r)
		t.search = func(name string, by *loaded) (*object, string) {
			if reservedByMusl(name) != "" {
				return o, own
			}
			o, found, _ := u.search(r, name, by, new([]string))
			return o, found
		}
	default:
		return nil, fmt.Errorf("there is no loader for %s, neither %s nor %s", arch, gnu, own)
	}
	return platform.Unpacked(name, arch, libc, version, t.find), nil
}

// target finds libraries in a root for no program in particular.
type target struct {
	linker *Linker
	run    *run
	by     map[string]*loaded // libraries that were found, by the name asked for
	search func(name string, by *loaded) (*object, string)
}

// find is platform.Unpacked's question.
func (t *target) find(soname, by string) *elfobj.Object {
	asks := t.by[by]
	if asks == nil || soname == "" {
		return nil
	}
	o, found := t.search(soname, asks)
	if o == nil || o.m == nil {
		return nil
	}
	read := ReadObject(t.linker.store.root, rooted(found))
	if read == nil {
		return nil
	}
	t.by[soname] = &loaded{object: o, path: found, shown: found, by: asks}
	return read
}

// Answer is what a loader makes of one file: the document of `compat ldd`.
type Answer struct {
	Objects         []LoadedObject   `json:"objects"`
	NotFound        []NotFound       `json:"not_found"`
	MissingVersions []MissingVersion `json:"missing_versions"`
	Undefined       []Undefined      `json:"undefined"`
	// why the loader gives up, in its own words; the lists are what it had said by then
	Error string `json:"error,omitempty"`
}

func newAnswer() *Answer {
	return &Answer{
		Objects:         []LoadedObject{},
		NotFound:        []NotFound{},
		MissingVersions: []MissingVersion{},
		Undefined:       []Undefined{},
	}
}

// LoadedObject is one object that is loaded, under the name that the loader prints.
type LoadedObject struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	NeededBy string `json:"needed_by"`
	// "rpath", "library-path", "runpath", "cache", "default", "path", "preload" or "loader"
	FoundBy string `json:"found_by"`
}

// NotFound is a need that nothing answers.
type NotFound struct {
	Name     string   `json:"name"`
	NeededBy string   `json:"needed_by"`
	Searched []string `json:"searched"` // paths, in the order of the search
}

// MissingVersion is a version node that the library which was found does not define.
type MissingVersion struct {
	Version    string `json:"version"`
	Library    string `json:"library"`
	RequiredBy string `json:"required_by"`
}

// Undefined is a symbol that nothing in the scope defines.
type Undefined struct {
	Symbol  string `json:"symbol"`
	Version string `json:"version"` // "" where the reference has none
	Object  string `json:"object"`
}

// Reason says who asked for a symbol and who provides it.
type Reason struct {
	Object   string   // who refers to it
	Version  string   // under which version
	Weak     bool     // nobody need provide it
	Provider string   // "" where nobody does
	Chain    []string // from the file asked for to the provider, each needed by the one before
}

// FoundBy values of LoadedObject.
const (
	foundRPath   = "rpath"
	foundLibPath = "library-path"
	foundRunPath = "runpath"
	foundCache   = "cache"
	foundDefault = "default"
	foundPath    = "path"
	foundPreload = "preload"
	foundLoader  = "loader"
	foundLent    = "lent" // of an Environment only: no path leads there
	foundHost    = "host" // of an Environment only: in the process before
)

// failure is an error at which a loader gives up; its text is what the loader prints.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

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
