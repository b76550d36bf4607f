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
