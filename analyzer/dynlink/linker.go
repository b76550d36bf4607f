package dynlink

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
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
			return d.Name == "libc.so" || strings.HasPrefix(d.Name, "libc.musl-") || strings.HasPrefix(d.Name, "ld-musl-")
		})
}

func (l *Linker) exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := l.store.open(path)
	return err == nil
}
