// Package dynlink is the dynamic linker as a function: which library is found for a DT_NEEDED
// entry, and which library provides an imported symbol. A Linker answers for the files of a root;
// an Environment for platform, packages, artifact and the process that loads it, most of which are
// no files yet. Both search and load by the same rules.
//
//	env := dynlink.NewEnvironment("glibc", libraries, host, nil)
//	loading := env.Load(object)
//	bindings := env.Bind(object.Imports, loading.Scope())
//
// It follows glibc's ld.so (elf/dl-load.c, dl-lookup.c, dl-version.c) and musl's (ldso/dynlink.c).
// It executes nothing and opens nothing.
package dynlink

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Environment is everything that a load can find. Paths are those below site-packages, or in the
// artifact. It is not safe for concurrent use.
type Environment struct {
	Libc string // "glibc" or "musl"; "" counts as glibc
	// of what is in the process already: opened with RTLD_LOCAL, so that only those who list it see
	// its symbols
	Local map[*Library]bool

	Files       *Files   // what lies in folders of the system besides; nil: nothing
	LibraryPath []string // folders of LD_LIBRARY_PATH, absolute
	// folders of the program's own DT_RPATH, which glibc searches for every object without a
	// DT_RUNPATH
	ProgramPath []string

	host   []*Library            // already in the process: the global scope
	byName map[string][]*Library // SONAME or file name -> libraries, first given first
	byPath map[string]*Library   // as the loader sees it
	// musl's libc, which answers for libpthread, libm and others too; nil where there is none
	musl    *Library
	objects map[*Library]*object
	store   *store
	glibc   *glibc
	loads   int
	run     *run // of the last load, whose memory the next one takes

	providers *Providers
	place     map[*Library]int32 // of each library given
}

// system is where the libraries of a platform lie: no path of an artifact begins like it.
const system = "platform:"

// ordinary is the head that all libraries of an environment have: they are for one machine.
var ordinary = &elfobj.Head{
	Ident:     [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1},
	Class:     64,
	Type:      typeDyn,
	Machine:   62,
	Version:   1,
	PhEntSize: 56,
}

var ordinarySegments = []elfobj.Segment{{Type: ptLoad}, {Type: ptDynamic, FileSize: 16}}

// NewEnvironment puts libraries in search order: where two answer to one name and no path decides,
// the first given wins, as the first loaded does. host is what the loading process already has, in
// its global scope but for Local. providers is shared among environments of the same libraries,
// copies of them included, on one libc; nil: it has its own.
func NewEnvironment(libc string, libraries, host []*Library, providers *Providers) *Environment {
	if providers == nil {
		providers = NewProviders(symindex.New(elfobj.NewNames()), libraries)
	}
	providers.musl = libc == "musl"
	e := &Environment{
		Libc:      libc,
		host:      host,
		byName:    map[string][]*Library{},
		byPath:    map[string]*Library{},
		objects:   map[*Library]*object{},
		providers: providers,
		place:     make(map[*Library]int32, len(libraries)),
	}
	e.store = newStore(nil)
	e.store.known = func(path string) *object {
		at := cleaned(path)
		l := e.byPath[at]
		if l == nil && e.Files != nil {
			l = e.Files.At(at)
		}
		if l == nil {
			return nil
		}
		return e.object(l)
	}
	e.glibc = &glibc{
		store:  e.store,
		minor:  unknownMinor,
		lib:    "lib",
		cpu:    "cpu",
		kind:   ordinary,
		subs:   []string{""},
		cached: map[string]string{},
	}
	for n, l := range libraries {
		e.place[l] = int32(n)
		for _, n := range l.Names() {
			e.byName[n] = append(e.byName[n], l)
			if l.Kind == FromPlatform && e.glibc.cached[n] == "" {
				e.glibc.cached[n] = system + "/" + n
			}
		}
		if l.Kind == FromPlatform && strings.HasPrefix(l.SONAME, "libc.") &&
			(e.musl == nil || l.Known) {
			e.musl = l
		}
		if p := l.place(); e.byPath[p] == nil {
			e.byPath[p] = l
		}
	}
	return e
}

// place is where an environment has a library.
func (l *Library) place() string {
	if l.Kind == FromPlatform {
		return system + "/" + l.Path
	}
	return cleaned("/" + l.Site + "/" + l.Path)
}

// cleaned is a path without "." and "..", "" for one that starts nowhere: in the working folder,
// which no artifact knows.
func cleaned(p string) string {
	if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, system) {
		return ""
	}
	return path.Clean(p)
}

// object is a library as a file would be.
func (e *Environment) object(l *Library) *object {
	o := e.objects[l]
	if o == nil {
		m := &elfobj.Mapping{
			Head:       *ordinary,
			SONAME:     l.SONAME,
			RunPath:    l.RunPath,
			HasRunPath: l.RunPath != "",
		}
		if !m.HasRunPath {
			m.RPath = l.RPath
		}
		m.Needed = make([]elfobj.Dependency, len(l.Needed))
		for i, n := range l.Needed {
			m.Needed[i].Name = n
		}
		o = &object{
			path:     l.place(),
			magic:    true,
			head:     ordinary,
			segments: ordinarySegments,
			m:        m,
			library:  l,
		}
		e.objects[l] = o
	}
	return o
}

// lend answers a name to which no path leads: its own package or the artifact loads such a library
// before.
func (e *Environment) lend(name string) (*object, string) {
	for _, l := range e.byName[name] {
		return e.object(l), l.place()
	}
	return nil, ""
}

// Found is one library of a load: who asked for it, and how it was found.
type Found struct {
	Library  *Library
	NeededBy *Library // nil for the root
	By       FoundBy
}

// FoundBy says how a library was found.
type FoundBy string

const (
	ByHost     FoundBy = "already loaded" // by the process, or by an import that comes first
	ByRunPath  FoundBy = "runpath"
	ByRPath    FoundBy = "rpath"
	ByPath     FoundBy = "library path" // LD_LIBRARY_PATH
	ByPlatform FoundBy = "platform"
	// no path leads there: it is found because its own package or the artifact loads it before
	ByPackage FoundBy = "loaded first"
)

// Missing is a DT_NEEDED entry that nothing answers.
type Missing struct {
	Name     string
	NeededBy *Library
}

// Loading is a root object with everything its load brings in, breadth first as the loader orders
// it.
type Loading struct {
	Found   []Found
	Missing []Missing
	// in the process already, and seen by those only that list them: see Environment.Local
	Hidden []*Library

	host   []*Library
	places []int32  // of what was found, in the environment's list
	set    []uint64 // the same
}

// Has tells whether the load brings a library in, or begins with it.
func (l *Loading) Has(x *Library) bool {
	return slices.ContainsFunc(l.Found, func(f Found) bool { return f.Library == x })
}

// Load follows DT_NEEDED from a root, which is one of the environment's libraries and which the
// process opens as Python opens a module.
func (e *Environment) Load(root *Library) *Loading {
	const usual = 64
	e.loads++
	if e.run == nil {
		e.run = &run{store: e.store, answer: &Answer{}, lent: e.lend}
	}
	r := e.run
	r.number, r.scope, r.order, r.lost = e.loads, r.scope[:0], r.order[:0], nil
	r.start(e.object(root), root.place(), usual)
	r.libPath, r.program = folders(e.LibraryPath), folders(e.ProgramPath)
	for _, h := range e.host {
		if o := e.object(h); r.byFile[o] == nil {
			r.add(o, h.place(), h.place(), nil, foundHost)
		}
	}
	if e.Libc == "musl" { // errors are of reading files, and these libraries are read
		_ = newMusl(r, e.musl, e.object).dependencies(r, 0)
	} else {
		_ = e.glibc.dependencies(r, nil)
	}
	l := &Loading{
		Found:  make([]Found, 0, len(r.order)),
		places: make([]int32, 0, len(r.order)),
		set:    make([]uint64, (e.most()+63)/64),
	}
	l.host, l.Hidden = e.scopes()
	for _, x := range r.order {
		f := Found{Library: x.l.object.library}
		if x.by != nil {
			f.NeededBy, f.By = x.by.object.library, how[x.l.foundBy]
		}
		n := e.placeOf(f.Library)
		l.places, l.set[n/64] = append(l.places, n), l.set[n/64]|1<<(n%64)
		l.Found = append(l.Found, f)
	}
	for _, n := range r.lost {
		l.Missing = append(l.Missing, Missing{n.name, n.by.object.library})
	}
	return l
}

// how are the ways of a Linker in the words of an Environment.
var how = map[string]FoundBy{
	foundHost:    ByHost,
	foundLibPath: ByPath,
	foundRunPath: ByRunPath,
	foundPath:    ByRunPath,
	foundRPath:   ByRPath,
	foundCache:   ByPlatform,
	foundDefault: ByPlatform,
	foundLoader:  ByPlatform,
	foundLent:    ByPackage,
}

// scopes are what the process has in its global scope, and what it has loaded beside.
func (e *Environment) scopes() (global, hidden []*Library) {
	if len(e.Local) == 0 {
		return e.host, nil
	}
	for _, l := range e.host {
		if e.Local[l] {
			hidden = append(hidden, l)
		} else {
			global = append(global, l)
		}
	}
	return global, hidden
}

// Scope is where a symbol of the load is looked up: the process's global scope, then the load
// itself.
func (l *Loading) Scope() []*Library {
	scope := append([]*Library{}, l.host...)
	for _, f := range l.Found {
		scope = append(scope, f.Library)
	}
	return scope
}

// Union is the scope of a load with those of others behind it, each library once. All are loads of
// environments of the same libraries.
func Union(own *Loading, others []*Loading) []*Library {
	scope := own.Scope()
	have := slices.Clone(own.set)
	host := map[*Library]bool{}
	for _, h := range own.host {
		host[h] = true
	}
	for _, o := range others {
		// of an environment that knows more libraries, which come behind
		if more := len(o.set) - len(have); more > 0 {
			have = append(have, make([]uint64, more)...)
		}
		for _, h := range o.host {
			if !host[h] {
				host[h] = true
				scope = append(scope, h)
			}
		}
		fresh := false
		for w := range o.set {
			fresh = fresh || o.set[w]&^have[w] != 0
		}
		if !fresh {
			continue
		}
		for n, f := range o.Found {
			if at := o.places[n]; have[at/64]>>(at%64)&1 == 0 {
				have[at/64] |= 1 << (at % 64)
				scope = append(scope, f.Library)
			}
		}
	}
	return scope
}

// Chain says who needed whom, from the root to a library; nil when it is not part of the load.
func (l *Loading) Chain(to *Library) []*Library {
	for _, f := range l.Found {
		if f.Library == to {
			if f.NeededBy == nil {
				return []*Library{to}
			}
			return append(l.Chain(f.NeededBy), to)
		}
	}
	return nil
}
