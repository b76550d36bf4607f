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

// Linker models the dynamic linker for the files of one root. It caches the files that it has
// read, so resolving many files of a root costs little more than the first. It is not safe for
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

// Settings are options of the loader.
type Settings struct {
	Preload     []string // names or paths; one may hold several, separated by ":" or " "
	LibraryPath string   // LD_LIBRARY_PATH
}

// NewLinker returns a linker for a root.
func NewLinker(root Root) *Linker {
	return &Linker{store: newStore(root), loaders: map[string]*glibc{}}
}

// StartIn sets the working folder of processes, an absolute path in the root, from which relative
// search paths start. Without it that is /.
func (l *Linker) StartIn(folder string) { l.store.work = strings.TrimSuffix(folder, "/") }

// rules is the algorithm of one dynamic linker.
type rules interface {
	// resolve loads r.main and sets r.answer. It returns the error with which the loader exits.
	resolve(r *run) error
	// binds returns the first object that satisfies a reference, or nil.
	binds(r *run, w want, scopes [][]*loaded) *loaded
	// open is dlopen in a process that resolve has started. The error is the text of dlerror.
	open(r *run, name string, how Mode, by *loaded) error
}

// Values of Answer.Error for a path that no loader reads.
const (
	NoFile     = "no such file in the root"
	NotDynamic = "not a dynamic executable" // as ldd writes it
)

// Resolve returns what the loader does with a file. A relative path is below the working folder.
func (l *Linker) Resolve(path string, s Settings) *Answer {
	if l.store.held > maxHeld {
		l.store.empty()
		l.loaders = map[string]*glibc{}
	}
	l.runs++
	r := &run{store: l.store, linker: l, settings: s, number: l.runs, answer: NewAnswer()}
	l.last = r
	r.asking = path
	o, err := l.store.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		r.answer.Error = NoFile
		return r.answer
	}
	if err != nil || o.head == nil || o.m == nil && o.damage == nil {
		r.answer.Error = NotDynamic
		return r.answer
	}
	r.answer.Interpreter = l.interpreter(o)
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

// Why returns the references to a symbol in the file that was resolved last, in load order, and
// their providers.
func (l *Linker) Why(symbol string) []Reason {
	if l.last == nil || l.last.rules == nil || l.last.main == nil {
		return nil
	}
	return l.last.reasons(symbol)
}

// rulesFor selects the loader of a file: musl's if the file requires it or the root has no
// other loader, otherwise glibc's.
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

// interpreter returns the loader that a file names, and whether the kernel can start it; nil if it
// names none. The kernel opens a relative path from the working folder (fs/binfmt_elf.c).
func (l *Linker) interpreter(of *object) *Interpreter {
	if of.m == nil || of.m.Interp == "" {
		return nil
	}
	out := &Interpreter{Path: of.m.Interp}
	switch o, err := l.store.open(out.Path); {
	case errors.Is(err, fs.ErrNotExist):
		out.Error = NoInterpreter
	case err != nil:
		out.Error = "it cannot be read"
	case o.head == nil || o.head.Machine != of.head.Machine || o.head.Class != of.head.Class ||
		o.head.Big != of.head.Big:
		out.Error = "it is not an ELF file for the machine of the program"
	}
	return out
}

// ofMusl reports whether a library was linked with musl, whose libc has other names.
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

// Platform returns the root as a target platform for an architecture: the libraries that its
// loader finds by name, and their dependencies. name is used in reports. It returns an error if
// the root has no loader for the architecture.
func (l *Linker) Platform(name, arch string) (*platform.Platform, error) {
	r := &run{store: l.store, linker: l, answer: &Answer{}}
	r.main = &loaded{object: &object{m: &elfobj.Mapping{}}}
	t := &target{
		run:  r,
		by:   map[string]*loaded{"": r.main},
		read: func(at string) *elfobj.Object { return ReadObject(l.store.root, l.store.rooted(at)) },
	}
	libc := "glibc"
	var version string
	switch gnu, own := interpreters[arch], muslPath(arch); {
	case l.exists(gnu):
		g := l.loader(arch)
		if g.object == nil {
			return nil, fmt.Errorf("%s, the loader for %s, cannot be read", gnu, arch)
		}
		g.kind = g.object.head
		t.ofGlibc(g)
		version = "2." + strconv.Itoa(g.minor)
	case l.exists(own):
		libc, version = "musl", muslVersion
		o, err := l.store.open(own)
		if err != nil || o.m == nil {
			return nil, fmt.Errorf("%s, the loader for %s, cannot be read", own, arch)
		}
		u := &musl{
			arch: muslArch(arch),
			kind: o.head,
			self: &loaded{object: o, path: own, shown: own, foundBy: foundLoader},
		}
		u.path = u.folders(r)
		t.ofMusl(u)
	default:
		return nil, fmt.Errorf("there is no loader for %s, neither %s nor %s", arch, gnu, own)
	}
	return platform.Unpacked(name, arch, libc, version, t.files()), nil
}

// muslVersion is the version of musl in a root, whose files do not contain it.
const muslVersion = "1.2"

// target searches libraries in a root, independently of a program.
type target struct {
	run    *run
	by     map[string]*loaded // libraries that were found, by name
	search func(name string, by *loaded) (*object, string)
	read   func(path string) *elfobj.Object
}

// ofGlibc makes the target search like a loader of glibc.
func (t *target) ofGlibc(g *glibc) {
	t.search = func(name string, by *loaded) (*object, string) {
		if path.Base(g.path) == name {
			return g.object, g.path
		}
		o, found, _, _ := g.search(t.run, name, by, nil)
		return o, found
	}
}

// ofMusl makes the target search like musl's loader, which has the C library itself.
func (t *target) ofMusl(u *musl) {
	t.search = func(name string, by *loaded) (*object, string) {
		if reservedByMusl(name) != "" {
			return u.self.object, u.self.path
		}
		o, found, _ := u.search(t.run, name, by, new([]string))
		return o, found
	}
}

func (t *target) files() *platform.Files { return &platform.Files{Find: t.find, Open: t.read} }

// find is Find of platform.Files.
func (t *target) find(soname, by string) (read *elfobj.Object, at string) {
	requester := t.by[by]
	if requester == nil || soname == "" {
		return nil, ""
	}
	o, found := t.search(soname, requester)
	if o == nil || o.m == nil {
		return nil, ""
	}
	if read = t.read(found); read == nil {
		return nil, ""
	}
	t.by[soname] = &loaded{object: o, path: found, shown: found, by: requester}
	return read, found
}

// Answer is the result for one file, and the JSON output of `compat ldd`.
type Answer struct {
	Objects         []LoadedObject   `json:"objects"`
	NotFound        []NotFound       `json:"not_found"`
	MissingVersions []MissingVersion `json:"missing_versions"`
	Undefined       []Undefined      `json:"undefined"`
	// Names of Settings.Preload and of ld.so.preload that were not loaded. The loader of glibc prints
	// a message and loads the program without them, and so does musl's without a message.
	Ignored []string `json:"ignored_preloads,omitempty"`
	// The loader that a program names; nil for a library.
	Interpreter *Interpreter `json:"interpreter,omitempty"`
	// The error message with which the loader exits. The lists contain what was found before.
	Error string `json:"error,omitempty"`
}

// NewAnswer returns an Answer with empty lists, which JSON shows as [].
func NewAnswer() *Answer {
	return &Answer{
		Objects:         []LoadedObject{},
		NotFound:        []NotFound{},
		MissingVersions: []MissingVersion{},
		Undefined:       []Undefined{},
	}
}

// LoadedObject is a loaded object with the name that the loader prints.
type LoadedObject struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	NeededBy string `json:"needed_by"`
	// "rpath", "library-path", "runpath", "cache", "default", "path", "preload" or "loader"
	FoundBy string `json:"found_by"`
}

// Interpreter is the loader that a program names (PT_INTERP). The kernel starts it.
type Interpreter struct {
	Path string `json:"path"`
	// Why the kernel does not start it, nor the program; "" if it does. The lists of the Answer are
	// those of the loader of the root, as ldd runs it.
	Error string `json:"error,omitempty"`
}

// NoInterpreter is the value of Interpreter.Error for a file that does not exist.
const NoInterpreter = "not found"

// NotFound is a dependency that was not found.
type NotFound struct {
	Name     string   `json:"name"`
	NeededBy string   `json:"needed_by"`
	Searched []string `json:"searched"` // paths in search order
}

// MissingVersion is a required version that the library does not define.
type MissingVersion struct {
	Version    string `json:"version"`
	Library    string `json:"library"`
	RequiredBy string `json:"required_by"`
}

// Undefined is a symbol that no object in the scope defines.
type Undefined struct {
	Symbol  string `json:"symbol"`
	Version string `json:"version"` // "" if the reference has no version
	Object  string `json:"object"`
}

// Reason is a reference to a symbol and its provider.
type Reason struct {
	Object   string   // the object that refers to it
	Version  string   // the required version
	Weak     bool     // a weak reference, which need not be satisfied
	Provider string   // "" if there is none
	Chain    []string // from the resolved file to the provider, each needed by the one before
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
	foundEarlier = "loaded earlier" // in an Environment: on no search path
	foundHost    = "host"           // in an Environment: already in the process
)

// failure is an error with which a loader exits, with the text that it prints.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// Process is a running program as its loader knows it. Open models dlopen; libraries stay
// loaded.
//
//	p, answer := l.Start("/usr/bin/python3", dynlink.Settings{})
//	opened := p.Open("/usr/lib/python3/dist-packages/_cffi_backend.so", dynlink.Mode{}, "")
//
// It is valid until the next Resolve or Start of its Linker.
type Process struct {
	run *run // nil: it did not start
}

// Mode is the mode of dlopen. The zero value is RTLD_NOW | RTLD_LOCAL, as in Python's import.
type Mode struct {
	// RTLD_LAZY instead of RTLD_NOW: functions are looked up at their first call, which is not part
	// of the answer.
	Lazy   bool
	Global bool // RTLD_GLOBAL: libraries opened later see its symbols and those of its dependencies
	// RTLD_DEEPBIND: its own symbols precede those of the global scope. Ignored by musl.
	DeepBind bool
	NoLoad   bool // RTLD_NOLOAD: only if it is already loaded
}

// NotLoaded is the error of an Open with NoLoad if the library is not loaded. glibc's dlopen
// returns NULL without an error in this case.
const NotLoaded = "not loaded"

// NotStarted is the error of Open if the program did not start.
const NotStarted = "the program does not start"

// Start starts a program. It does not start if the answer has an error or anything is missing,
// as with LD_BIND_NOW.
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
	// The kernel has mapped the program, so that its loader doesn't know its file.
	delete(r.byFile, r.main.object)
	delete(r.known, path)
	return &Process{r}, a
}

// Open models dlopen of a name or path. by is the path of the calling object as shown in an
// Answer; "" is the program. The answer contains the new objects of the process. On an error
// there are none, and the text is that of dlerror, which mentions only the first undefined
// symbol.
func (p *Process) Open(name string, how Mode, by string) *Answer {
	r := p.run
	if r == nil {
		a := NewAnswer()
		a.Error = NotStarted
		return a
	}
	r.answer, r.missingNeeds = NewAnswer(), nil
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
		r.unload(before)
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

// Why is like Linker.Why, for the current state of the process.
func (p *Process) Why(symbol string) []Reason {
	if p.run == nil {
		return nil
	}
	return p.run.reasons(symbol)
}

// unload removes the objects that are not in before from the process.
func (r *run) unload(before map[*loaded]bool) {
	gone := func(l *loaded) bool { return !before[l] }
	r.all = slices.DeleteFunc(r.all, gone)
	for _, names := range []map[string]*loaded{r.known, r.requested} {
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

// undefinedIn reports the references of an object that nothing in its scopes satisfies, except
// those for which later returns true because they are bound at the first call.
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
