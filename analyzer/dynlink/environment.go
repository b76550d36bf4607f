// Package dynlink is the dynamic linker as a function: which library is found for a DT_NEEDED entry, and which library
// provides an imported symbol, in an Environment of platform, packages, artifact and the process that loads it.
//
//	env := dynlink.NewEnvironment("glibc", libraries, host, nil)
//	loading := env.Load(object)
//	bindings := env.Bind(object.Imports, loading.Scope())
//
// It follows glibc's ld.so (elf/dl-load.c, dl-lookup.c, dl-version.c) as far as files that are not installed yet can be followed: paths are those
// below site-packages. It executes nothing and opens nothing.
package dynlink

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/asked"
)

// Environment is everything that a load can find.
type Environment struct {
	Libc  string            // "glibc" or "musl"; "" counts as glibc
	Local map[*Library]bool // of what is in the process already: opened with RTLD_LOCAL, so that only those who list it see its symbols

	host   []*Library            // already in the process: the global scope
	byName map[string][]*Library // SONAME or file name -> libraries, first given first
	musl   *Library              // musl's libc, which answers for libpthread, libm and others too; nil where there is none
	byPath map[string]*Library   // path below site-packages; artifact and packages only

	providers *Providers
	place     map[*Library]int32 // of each library given
	answers   map[ask]answer     // what find said, where what is loaded does not matter
}

type ask struct {
	of   *Library
	name string
}

type answer struct {
	library *Library
	by      FoundBy
}

// NewEnvironment puts libraries in search order: where two answer to one name and no path decides, the first given wins, as
// the first loaded does. host is what the loading process already has, in its global scope but for Local. providers is shared among environments of the same libraries, copies of
// them included; nil: it has its own.
func NewEnvironment(libc string, libraries, host []*Library, providers *Providers) *Environment {
	if providers == nil {
		providers = NewProviders(asked.New(), libraries)
	}
	e := &Environment{Libc: libc, host: host, byName: map[string][]*Library{}, byPath: map[string]*Library{}, providers: providers,
		place: make(map[*Library]int32, len(libraries)), answers: map[ask]answer{}}
	for n, l := range libraries {
		e.place[l] = int32(n)
		for _, n := range l.Names() {
			e.byName[n] = append(e.byName[n], l)
		}
		if l.Kind == FromPlatform && strings.HasPrefix(l.SONAME, "libc.") && (e.musl == nil || l.Known) {
			e.musl = l
		}
		if l.Kind != FromPlatform {
			if _, twice := e.byPath[l.Path]; !twice {
				e.byPath[l.Path] = l
			}
		}
	}
	return e
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
	ByPlatform FoundBy = "platform"
	ByPackage  FoundBy = "loaded first" // no path leads there: it is found because its own package or the artifact loads it before
)

// Missing is a DT_NEEDED entry that nothing answers.
type Missing struct {
	Name     string
	NeededBy *Library
}

// Loading is a root object with everything its load brings in, breadth first as the loader orders it.
type Loading struct {
	Found   []Found
	Missing []Missing
	Hidden  []*Library // in the process already, and seen by those only that list them: see Environment.Local

	host   []*Library
	places []int32  // of what was found, in the environment's list
	set    []uint64 // the same
}

// Has tells whether the load brings a library in, or begins with it.
func (l *Loading) Has(x *Library) bool {
	return slices.ContainsFunc(l.Found, func(f Found) bool { return f.Library == x })
}

// Load follows DT_NEEDED from a root, which is one of the environment's libraries.
func (e *Environment) Load(root *Library) *Loading {
	l := &Loading{set: make([]uint64, (len(e.place)+63)/64)}
	l.host, l.Hidden = e.scopes()
	bySONAME := map[string]*Library{} // the first one of what was loaded
	add := func(f Found) {
		n := e.place[f.Library]
		l.places, l.set[n/64] = append(l.places, n), l.set[n/64]|1<<(n%64)
		if name := f.Library.SONAME; bySONAME[name] == nil {
			bySONAME[name] = f.Library
		}
		l.Found = append(l.Found, f)
	}
	add(Found{Library: root})
	seen := func(x *Library) bool { n := e.place[x]; return l.set[n/64]>>(n%64)&1 == 1 }
	for i := 0; i < len(l.Found); i++ {
		of := l.Found[i].Library
		for _, name := range of.Needed {
			next, by := e.find(name, of, bySONAME)
			switch {
			case next == nil:
				l.Missing = append(l.Missing, Missing{Name: name, NeededBy: of})
			case !seen(next):
				add(Found{Library: next, NeededBy: of, By: by})
			}
		}
	}
	return l
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

// find answers one DT_NEEDED entry: loaded already under that name (native rule: the SONAME decides, no path is looked at),
// then the requester's paths, then the platform, then what packages and the artifact load first.
func (e *Environment) find(name string, of *Library, loaded map[string]*Library) (*Library, FoundBy) {
	if e.Libc == "musl" && foldedIntoMusl(name) && e.musl != nil {
		return e.musl, ByPlatform
	}
	if strings.Contains(name, "/") {
		return e.byPath[strings.TrimPrefix(name, "/")], ByRunPath
	}
	if l := loaded[name]; l != nil {
		return l, ByHost
	}
	key := ask{of, name}
	known, ok := e.answers[key]
	if !ok {
		known.library, known.by = e.search(name, of)
		e.answers[key] = known
	}
	return known.library, known.by
}

// search is the rest of find, which does not depend on what was loaded before.
func (e *Environment) search(name string, of *Library) (*Library, FoundBy) {
	for _, l := range e.host {
		if l.SONAME == name {
			return l, ByHost
		}
	}
	paths, by := of.RunPath, ByRunPath
	if paths == "" {
		paths, by = of.RPath, ByRPath
	}
	for _, dir := range strings.Split(paths, ":") {
		if l := e.byPath[below(dir, of.Path, name)]; l != nil {
			return l, by
		}
	}
	if l := e.named(name, FromPlatform); l != nil {
		return l, ByPlatform
	}
	for _, l := range e.byName[name] {
		return l, ByPackage
	}
	return nil, ""
}

// foldedIntoMusl tells whether musl answers a name itself: libc.so.6 of an object built for glibc is musl too.
func foldedIntoMusl(name string) bool {
	rest, ok := strings.CutPrefix(name, "lib")
	return ok && slices.ContainsFunc(muslReserved[:], func(n string) bool { return strings.HasPrefix(rest, n) })
}

func (e *Environment) named(name string, k Kind) *Library {
	for _, l := range e.byName[name] {
		if l.Kind == k {
			return l
		}
	}
	return nil
}

// below expands $ORIGIN, the only token that leads to a file of a package, and "" for any other directory: those are the build machine's.
func below(dir, object, name string) string {
	dir = strings.Replace(dir, "${ORIGIN}", "$ORIGIN", 1)
	rest, ok := strings.CutPrefix(dir, "$ORIGIN")
	if !ok {
		return ""
	}
	return path.Join(path.Dir(object), rest, name)
}

// Scope is where a symbol of the load is looked up: the process's global scope, then the load itself.
func (l *Loading) Scope() []*Library {
	scope := append([]*Library{}, l.host...)
	for _, f := range l.Found {
		scope = append(scope, f.Library)
	}
	return scope
}

// Union is the scope of a load with those of others behind it, each library once. All are loads of environments of the same libraries.
func Union(own *Loading, others []*Loading) []*Library {
	scope := own.Scope()
	have := slices.Clone(own.set)
	host := map[*Library]bool{}
	for _, h := range own.host {
		host[h] = true
	}
	for _, o := range others {
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
