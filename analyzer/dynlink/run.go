package dynlink

import (
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// run is one load: the state that the loader has in memory.
type run struct {
	store    *store
	linker   *Linker
	rules    rules
	settings Settings
	answer   *Answer
	asking   string
	number   int

	main *loaded
	all  []*loaded // in the order of the link map list
	// the main program's search list, without what was not found
	scope []*loaded
	order []entry // the same with who asked first
	lost  []lost  // every need that nothing answers
	// who answers where no path leads to a file; nil: nobody
	lent func(name string) (o *object, path string)
	// who answers to a name: names asked by, and SONAMEs
	known map[string]*loaded
	// who was asked for by a name: what DT_VERNEED is matched with
	asked   map[string]*loaded
	byFile  map[*object]*loaded
	libPath []string // LD_LIBRARY_PATH as folders
	program []string // of an Environment: DT_RPATH of the program that loads main
	missing map[string]bool
	direct  []*object      // see near
	hints   [hints]*object // who served the last reference of a hash; never the main program
	opening bool           // the program runs, and opens a library
	// an object without DT_VERSYM is named by a DT_VERNEED: the order of lookups can matter
	bare bool
}

// lost is a need that nothing answers.
type lost struct {
	name string
	by   *loaded
}

const hints = 1 << 10

// loaded is one object of a load (glibc: struct link_map).
type loaded struct {
	object   *object
	path     string   // as found: l_name; "" of the main program
	shown    string   // as printed
	names    []string // as asked by
	by       *loaded  // who asked first; nil: nobody
	foundBy  string
	origin   string // $ORIGIN
	fake     bool   // not found
	reserved bool   // part of the search list
	// version indexes from here on mean nothing, see versions; 0: all do
	cut    uint16
	beyond map[uint16]elfobj.IndexedVersion // what the loader reads there

	list   []*loaded   // of one that was opened: its search list
	scopes [][]*loaded // of a process: where its references were looked up
	global bool        // of a process: part of the global scope
	direct []*loaded   // of musl: what its needs led to

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

// start puts the main program into a fresh load of about so many objects. What is left of an
// earlier load is cleared away.
func (r *run) start(o *object, asked string, size int) {
	if r.known == nil {
		r.known, r.asked = make(map[string]*loaded, size), make(map[string]*loaded, size)
		r.byFile, r.missing = make(map[*object]*loaded, size), map[string]bool{}
		r.all = make([]*loaded, 0, size)
	}
	clear(r.known)
	clear(r.asked)
	clear(r.byFile)
	clear(r.missing)
	r.main = &loaded{object: o, shown: asked, origin: origin(asked), reserved: true}
	r.all = append(r.all[:0], r.main)
	r.byFile[o] = r.main
	r.name(r.main, "")
	r.name(r.main, asked)
	if o.m != nil && o.m.SONAME != "" {
		r.known[o.m.SONAME] = r.main
	}
}

// add puts a new object into the load.
func (r *run) add(o *object, name, found string, by *loaded, how string) *loaded {
	l := o.again
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
		o.again = l
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

// name adds a name by which an object was asked for.
func (r *run) name(l *loaded, name string) {
	l.names = append(l.names, name)
	r.index(l, name)
}

func (r *run) index(l *loaded, name string) {
	if _, ok := r.asked[name]; !ok {
		r.asked[name] = l
	}
	if l.fake {
		return
	}
	if _, ok := r.known[name]; !ok {
		r.known[name] = l
	}
}

// originOf is $ORIGIN of an object: the folder of the path by which it was opened, links
// unresolved.
func (l *loaded) originOf() string {
	if l.origin == "" {
		l.origin = origin(l.path)
	}
	return l.origin
}

func origin(p string) string {
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	dir := p[:strings.LastIndexByte(p, '/')]
	if dir == "" {
		return "/"
	}
	return dir
}

// shownBy is the name of who asked.
func (l *loaded) shownBy() string {
	if l == nil {
		return ""
	}
	return l.shown
}

// chain says who needed whom, from the file that was asked for to an object.
func (l *loaded) chain() []string {
	if l == nil {
		return nil
	}
	return append(l.by.chain(), l.shown)
}

// reportUndefined fills in the symbols that nothing defines.
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

// scopesOf is where the references of an object are looked up.
func (r *run) scopesOf(l *loaded) [][]*loaded {
	if l.scopes != nil {
		return l.scopes
	}
	return [][]*loaded{r.scope}
}

// reasons lists who refers to a symbol, in the order of loading, and who provides it.
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
