package dynlink

import (
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// run is the state of one load.
type run struct {
	store    *store
	linker   *Linker
	rules    rules
	settings Settings
	answer   *Answer
	asking   string
	number   int

	main *loaded
	all  []*loaded // in link map order
	// The main program's search list, without missing libraries.
	scope        []*loaded
	order        []entry       // the same with the object that needed each first
	missingNeeds []missingNeed // every dependency that was not found
	// Finds a library that is on no search path; nil if there are none.
	loadedEarlier func(name string) (o *object, path string)
	// Objects by requested name and by SONAME.
	known map[string]*loaded
	// Objects by requested name, which DT_VERNEED is matched with.
	requested map[string]*loaded
	byFile    map[*object]*loaded
	libPath   []string // LD_LIBRARY_PATH as folders
	program   []string // in an Environment: DT_RPATH of the program that loads main
	missing   map[string]bool
	direct    []*object      // buffer of directNeeds
	hints     [hints]*object // the last provider by hash of the name; never the main program
	opening   bool           // the program is running and opens a library
	// DT_VERNEED refers to an object without DT_VERSYM: the order of lookups can matter.
	unversioned bool
}

// missingNeed is a dependency that was not found.
type missingNeed struct {
	name string
	by   *loaded
}

const hints = 1 << 10

// loaded is an object of a load (glibc: struct link_map).
type loaded struct {
	object   *object
	path     string   // l_name: the path where it was found; "" for the main program
	shown    string   // name in the output
	names    []string // requested names
	by       *loaded  // the object that needed it first, or nil
	foundBy  string
	origin   string // $ORIGIN
	fake     bool   // not found
	reserved bool   // in the search list
	// Version indexes from here on are not in the loader's table, see overreads; 0: all are.
	cut    uint16
	beyond map[uint16]elfobj.IndexedVersion // what the loader reads instead

	list   []*loaded   // for an opened library: its search list
	scopes [][]*loaded // in a process: where its references were looked up
	global bool        // in a process: in the global scope
	direct []*loaded   // for musl: its direct dependencies

	rpath, runpath         []string
	rpathDone, runpathDone bool
}

func (l *loaded) calledBy(name string) bool {
	if l.path == name {
		return true
	}
	for _, n := range l.names {
		if n == name {
			return true
		}
	}
	return false
}

// start begins a load with the main program, and clears the state of the previous load. size is
// the expected number of objects.
func (r *run) start(o *object, requested string, size int) {
	if r.known == nil {
		r.known, r.requested = make(map[string]*loaded, size), make(map[string]*loaded, size)
		r.byFile, r.missing = make(map[*object]*loaded, size), map[string]bool{}
		r.all = make([]*loaded, 0, size)
	}
	clear(r.known)
	clear(r.requested)
	clear(r.byFile)
	clear(r.missing)
	r.main = &loaded{object: o, shown: requested, origin: r.store.origin(requested), reserved: true}
	r.all = append(r.all[:0], r.main)
	r.byFile[o] = r.main
	r.name(r.main, "")
	r.name(r.main, requested)
	if o.m != nil && o.m.SONAME != "" {
		r.known[o.m.SONAME] = r.main
	}
}

// add adds a new object to the load.
func (r *run) add(o *object, name, found string, by *loaded, how string) *loaded {
	l := o.previous
	if l == nil || l.path != found {
		l = &loaded{object: o}
	}
	*l = loaded{
		object:      o,
		path:        found,
		shown:       found,
		by:          by,
		foundBy:     how,
		names:       l.names[:0],
		origin:      l.origin,
		rpath:       l.rpath,
		runpath:     l.runpath,
		rpathDone:   l.rpathDone,
		runpathDone: l.runpathDone,
	}
	if o.library != nil {
		o.previous = l
	}
	r.all = append(r.all, l)
	r.byFile[o] = l
	r.name(l, name)
	if found != name {
		r.index(l, found)
	}
	if o.m.SONAME != "" {
		if _, ok := r.known[o.m.SONAME]; !ok {
			r.known[o.m.SONAME] = l
		}
	}
	return l
}

// name adds a name with which an object was requested.
func (r *run) name(l *loaded, name string) {
	l.names = append(l.names, name)
	r.index(l, name)
}

func (r *run) index(l *loaded, name string) {
	if _, ok := r.requested[name]; !ok {
		r.requested[name] = l
	}
	if l.fake {
		return
	}
	if _, ok := r.known[name]; !ok {
		r.known[name] = l
	}
}

// originOf returns $ORIGIN of an object: the folder of the path with which it was opened, with
// unresolved links.
func (l *loaded) originOf(s *store) string {
	if l.origin == "" {
		l.origin = s.origin(l.path)
	}
	return l.origin
}

func (s *store) origin(p string) string {
	p = s.rooted(p)
	dir := p[:strings.LastIndexByte(p, '/')]
	if dir == "" {
		return "/"
	}
	return dir
}

// shownBy returns the name of the object that needed it.
func (l *loaded) shownBy() string {
	if l == nil {
		return ""
	}
	return l.shown
}

// chain returns the names from the resolved file to an object, each needed by the one before.
func (l *loaded) chain() []string {
	if l == nil {
		return nil
	}
	return append(l.by.chain(), l.shown)
}

// reportUndefined adds the undefined symbols to the answer.
func (r *run) reportUndefined() {
	for _, l := range r.all {
		if l.object == nil || !l.reserved || l.foundBy == foundLoader {
			continue
		}
		m := l.object.m
		for _, ref := range r.undefined(l) {
			if !ref.Weak {
				r.answer.Undefined = append(
					r.answer.Undefined,
					Undefined{string(m.Name(ref)), m.Version(ref.Version).Name, l.shown},
				)
			}
		}
	}
	r.answer.Undefined = distinct(r.answer.Undefined)
}

func distinct[T comparable](in []T) []T {
	seen := make(map[T]bool, len(in))
	out := in[:0]
	for _, t := range in {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// scopesOf returns the scopes in which the references of an object are looked up.
func (r *run) scopesOf(l *loaded) [][]*loaded {
	if l.scopes != nil {
		return l.scopes
	}
	return [][]*loaded{r.scope}
}

// reasons returns the references to a symbol in load order, and their providers.
func (r *run) reasons(symbol string) []Reason {
	var out []Reason
	for _, l := range r.all {
		if l.object == nil || l.object.m == nil {
			continue
		}
		m := l.object.m
		for _, ref := range m.References {
			if string(m.Name(ref)) != symbol {
				continue
			}
			w := wanted(m, ref)
			reason := Reason{Object: l.shown, Version: w.version.Name, Weak: ref.Weak}
			if p := r.rules.binds(r, w, r.scopesOf(l)); p != nil {
				reason.Provider, reason.Chain = p.shown, p.chain()
			}
			out = append(out, reason)
			break
		}
	}
	return out
}
