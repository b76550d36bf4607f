// Package dynlink models the dynamic linker: which library is loaded for a DT_NEEDED entry, and
// which library provides an imported symbol. A Linker uses the files below a root folder. An
// Environment uses libraries of a platform, of packages, of the artifact and of the loading
// process, most of which are not available as files. Both use the same search and load
// algorithms.
//
//	env := dynlink.NewEnvironment("glibc", libraries, host, nil)
//	loading := env.Load(object)
//	bindings := env.Bind(object.Imports, loading.Scope(), object.VersionNeeds)
//
// The algorithms follow glibc's ld.so (elf/dl-load.c, dl-lookup.c, dl-version.c) and musl's
// ldso/dynlink.c. The package executes nothing and opens no files itself.
package dynlink

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/symindex"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Environment is the set of libraries that a load can find. Paths are relative to site-packages
// or to the artifact. It is not safe for concurrent use.
type Environment struct {
	Libc string // "glibc" or "musl"; "" counts as glibc
	// The libraries of the process that were opened with RTLD_LOCAL: only objects that list them in
	// DT_NEEDED see their symbols.
	Local map[*Library]bool

	Files       *Files   // libraries in other folders of the system; nil if there are none
	LibraryPath []string // folders of LD_LIBRARY_PATH, absolute
	// PathsOnly is set if the libraries are files of one system: then only search paths lead to them,
	// and no package has loaded another one before.
	PathsOnly bool
	// Absolute folders of the program's DT_RPATH, which glibc searches for every object without a
	// DT_RUNPATH.
	ProgramPath []string

	// Earlier reports whether something may load a library that no search path leads to before it is
	// needed. Nil: that of every package may be.
	Earlier func(*Library) bool

	host   []*Library            // already loaded in the process, in its global scope
	byName map[string][]*Library // libraries by SONAME and by file name, in search order
	byPath map[string]*Library   // by the path that the loader sees
	// musl's libc, which is also libpthread, libm and others; nil if there is none
	musl    *Library
	objects map[*Library]*object
	store   *store
	glibc   *glibc
	loads   int
	run     *run // state of the last load, reused by the next one

	providers *Providers
	place     map[*Library]int32 // number of each library
}

// system is the folder of a platform's libraries. No path in an artifact starts with it.
const system = "platform:"

// defaultHead is the ELF header of all libraries in an environment: they have the same machine.
var defaultHead = &elfobj.Head{
	Ident:     [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1},
	Class:     64,
	Type:      typeDyn,
	Machine:   62,
	Version:   1,
	PhEntSize: 56,
}

var defaultSegments = []elfobj.Segment{{Type: ptLoad}, {Type: ptDynamic, FileSize: 16}}

// NewEnvironment returns an environment. libraries are in search order: if several have a name
// and no path decides, the first one is used, because it is loaded first. A library that is listed
// again counts once. host are the libraries that the process has already loaded; they are in its
// global scope unless they are in Local. providers can be shared by environments with the same libc
// whose libraries have the same exports; nil creates a new one.
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
		kind:   defaultHead,
		subs:   []string{""},
		cached: map[string]string{},
	}
	for _, l := range libraries {
		if _, again := e.place[l]; again {
			continue
		}
		e.place[l] = int32(len(e.place))
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
	for _, l := range libraries {
		for _, at := range l.Links {
			if n := path.Base(at); !slices.Contains(e.byName[n], l) {
				e.byName[n] = append(e.byName[n], l)
			}
			if p := cleaned("/" + at); e.byPath[p] == nil {
				e.byPath[p] = l
			}
		}
	}
	return e
}

// place returns the path of a library in an environment.
func (l *Library) place() string {
	if l.Kind == FromPlatform {
		return system + "/" + l.Path
	}
	if l.Site == "" {
		return cleaned("/" + l.Path)
	}
	return cleaned(Installed("/"+l.Site, l.Path))
}

// dataFolder matches the data folders of a wheel, which are installed elsewhere (PEP 427).
var dataFolder = lazyregexp.New(`^[^/]+\.data/(purelib|platlib|scripts|data)/`)

// Folders below "/" in which wheels are installed. How many folders are above site-packages decides
// where a run path with ".." leads.
const (
	Prefix = "prefix"
	Site   = Prefix + "/lib/python/site-packages"
)

// Installed returns the path of a member of a wheel after installation. site is the path of
// site-packages, which is three folders below the prefix.
func Installed(site, member string) string {
	m := dataFolder.FindStringSubmatch(member)
	if m == nil {
		return path.Join(site, member)
	}
	rest := member[len(m[0]):]
	switch m[1] {
	case "scripts":
		return path.Join(site, "../../../bin", rest)
	case "data":
		return path.Join(site, "../../..", rest)
	}
	return path.Join(site, rest)
}

// cleaned returns a path without "." and "..". It returns "" for a relative path, because the
// working folder is not known.
func cleaned(p string) string {
	if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, system) {
		return ""
	}
	return path.Clean(p)
}

// object returns a library in the form of a file that was read.
func (e *Environment) object(l *Library) *object {
	o := e.objects[l]
	if o == nil {
		m := &elfobj.Mapping{
			Head:       *defaultHead,
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
			head:     defaultHead,
			segments: defaultSegments,
			m:        m,
			library:  l,
		}
		e.objects[l] = o
	}
	return o
}

// loadedEarlier finds a library that no search path contains, by name: its own package or the
// artifact loads it before it is needed. If several have the name, it is one whose file has it
// too: a copy with another file name is what a package bundles for itself.
func (e *Environment) loadedEarlier(name string) (*object, string) {
	var other *Library
	for _, l := range e.byName[name] {
		switch {
		case e.Earlier != nil && !e.Earlier(l):
		case path.Base(l.Path) == name:
			return e.object(l), l.place()
		case other == nil:
			other = l
		}
	}
	if other == nil {
		return nil, ""
	}
	return e.object(other), other.place()
}

// Found is a library of a load, which object needed it first, and how it was found.
type Found struct {
	Library  *Library
	NeededBy *Library // nil for the root
	By       FoundBy
}

// FoundBy is how a library was found.
type FoundBy string

const (
	ByHost     FoundBy = "already loaded" // by the process, or by an earlier import
	ByRunPath  FoundBy = "runpath"
	ByRPath    FoundBy = "rpath"
	ByPath     FoundBy = "library path" // LD_LIBRARY_PATH
	ByPlatform FoundBy = "platform"
	// Not on any search path: its own package or the artifact loads it earlier.
	ByPackage FoundBy = "loaded first"
)

// Missing is a DT_NEEDED entry for which no library was found.
type Missing struct {
	Name     string
	NeededBy *Library
}

// Loading is an object with all libraries that it loads, breadth first like the loader's list.
type Loading struct {
	Found   []Found
	Missing []Missing
	// Already in the process, but only visible to objects that need them: see Environment.Local.
	Hidden []*Library

	host   []*Library
	places []int32  // numbers of the libraries in Found
	set    []uint64 // the same numbers as a bit set
}

// Has reports whether the load includes library x.
func (l *Loading) Has(x *Library) bool {
	return slices.ContainsFunc(l.Found, func(f Found) bool { return f.Library == x })
}

// Load follows DT_NEEDED from a root library, which the process opens as Python opens an
// extension module. root must be one of the environment's libraries.
func (e *Environment) Load(root *Library) *Loading {
	const usual = 64
	e.loads++
	if e.run == nil {
		e.run = &run{store: e.store, answer: &Answer{}}
		if !e.PathsOnly {
			e.run.loadedEarlier = e.loadedEarlier
		}
	}
	r := e.run
	r.number, r.scope, r.order, r.missingNeeds = e.loads, r.scope[:0], r.order[:0], nil
	r.start(e.object(root), root.place(), usual)
	r.libPath, r.program = folders(e.LibraryPath), folders(e.ProgramPath)
	for _, h := range e.host {
		if o := e.object(h); r.byFile[o] == nil {
			r.add(o, h.place(), h.place(), nil, foundHost)
		}
	}
	if e.Libc == "musl" { // errors are I/O errors, which cannot occur here
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
			f.NeededBy, f.By = x.by.object.library, foundByOf[x.l.foundBy]
		}
		n := e.placeOf(f.Library)
		l.places, l.set[n/64] = append(l.places, n), l.set[n/64]|1<<(n%64)
		l.Found = append(l.Found, f)
	}
	for _, n := range r.missingNeeds {
		l.Missing = append(l.Missing, Missing{n.name, n.by.object.library})
	}
	return l
}

// foundByOf maps the values of LoadedObject.FoundBy.
var foundByOf = map[string]FoundBy{
	foundHost:    ByHost,
	foundLibPath: ByPath,
	foundRunPath: ByRunPath,
	foundPath:    ByRunPath,
	foundRPath:   ByRPath,
	foundCache:   ByPlatform,
	foundDefault: ByPlatform,
	foundLoader:  ByPlatform,
	foundEarlier: ByPackage,
}

// scopes splits the libraries of the process into its global scope and the others.
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

// Scope returns the libraries in which symbols of the load are looked up: the process's global
// scope, then the load itself.
func (l *Loading) Scope() []*Library {
	scope := append([]*Library{}, l.host...)
	for _, f := range l.Found {
		scope = append(scope, f.Library)
	}
	return scope
}

// Union returns the scope of a load followed by the libraries of other loads, without
// duplicates. All loads must belong to environments with the same libraries.
func Union(own *Loading, others []*Loading) []*Library {
	scope := own.Scope()
	have := slices.Clone(own.set)
	host := map[*Library]bool{}
	for _, h := range own.host {
		host[h] = true
	}
	for _, o := range others {
		// from an environment with more libraries, whose numbers are larger
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

// Chain returns the libraries from the root to library to, each needed by the one before. It
// returns nil if the load does not include to.
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
