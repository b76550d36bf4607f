package dynlink

import (
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// musl1 is musl's ldso (1.2.x, ldso/dynlink.c): no versions, no cache, RPATH and RUNPATH alike and both inherited.
type musl1 struct {
	arch string // "x86_64"
	path []string
	self *loaded
}

// muslArch is musl's own name of an architecture, as in ld-musl-armhf.so.1.
func muslArch(arch string) string {
	switch arch {
	case "i686":
		return "i386"
	case "armv7l":
		return "armhf"
	case "ppc64le":
		return "powerpc64le"
	}
	return arch
}

// muslReserved are those that musl's libc contains itself (load_library).
var muslReserved = []string{"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."}

func (u *musl1) resolve(r *run) error {
	if r.main.object.damage != nil {
		return &failure{r.asking + ": Not a valid dynamic program"}
	}
	ldso := "/lib/ld-musl-" + u.arch + ".so.1"
	u.path = u.folders(r)
	o, err := r.store.open(ldso)
	if err != nil || o.m == nil {
		return &failure{"the root has no loader " + ldso}
	}
	u.self = &loaded{object: o, path: ldso, shown: ldso, foundBy: foundLoader, names: []string{ldso}}
	r.libPath = strings.FieldsFunc(r.settings.LibraryPath, func(c rune) bool { return c == ':' || c == '\n' })
	if o == r.main.object {
		u.self = r.main
	}
	r.scope = []*loaded{r.main}
	seen := map[*loaded]bool{r.main: true}
	join := func(l *loaded) {
		if l != nil && !seen[l] {
			seen[l] = true
			r.scope = append(r.scope, l)
			r.answer.Objects = append(r.answer.Objects, LoadedObject{l.names[0], l.shown, l.by.shownBy(), l.foundBy})
		}
	}
	for _, list := range r.settings.Preload {
		for _, name := range strings.FieldsFunc(list, func(c rune) bool { return c == ':' || c == ' ' }) {
			join(u.load(r, name, r.main, true))
		}
	}
	for i := 0; i < len(r.scope); i++ {
		l := r.scope[i]
		if l == u.self && l != r.main {
			continue
		}
		for _, d := range l.object.m.Needed {
			if d.Kind == elfobj.Need {
				join(u.load(r, d.Name, l, false))
			}
		}
	}
	if !seen[u.self] { // the loader is libc, and always last
		u.self.by = r.main
		join(u.self)
	}
	for _, l := range r.scope {
		l.object.bound.in = r.number
	}
	for _, l := range r.scope {
		if l == u.self {
			continue
		}
		for _, ref := range l.object.m.References {
			w := wanted(l.object.m, ref)
			if !ref.Weak && u.provider(r, w) == nil {
				r.answer.Undefined = append(r.answer.Undefined, Undefined{string(w.name), "", l.shown})
			}
		}
	}
	r.answer.Undefined = distinct(r.answer.Undefined)
	return nil
}

// provider is find_sym2: the first definition that is not hidden by its version index.
func (u *musl1) provider(r *run, w want) *loaded {
	for _, l := range r.scope {
		if l == r.main && w.class&elfobj.ClassCopy != 0 {
			continue
		}
		c := l.object.m.Lookup(w.name, w.hash)
		for {
			s, ok := c.Next()
			if !ok {
				break
			}
			d := l.object.m.Definition(s)
			if d.Hidden && l.object.m.HasVersym || d.Undefined && (w.class&elfobj.ClassPLT != 0 || d.Type == sttTLS) || !d.Value && d.Type != sttTLS || 1<<d.Type&sttAllowed == 0 || d.Local || d.Unseen {
				continue
			}
			return l
		}
	}
	return nil
}

// load is load_library. nil means that nothing was found, which is in the answer then.
func (u *musl1) load(r *run, name string, by *loaded, preload bool) *loaded {
	if rest, ok := strings.CutPrefix(name, "lib"); ok {
		for _, n := range muslReserved {
			if strings.HasPrefix(rest, n) {
				return u.own(by, name)
			}
		}
	}
	if name == "ld-musl-"+u.arch+".so.1" || name == "libc.musl-"+u.arch+".so.1" {
		return u.own(by, name)
	}
	how, found := foundPath, name
	var o *object
	var tried []string
	if strings.Contains(name, "/") {
		o, _ = r.store.open(name)
		tried = []string{name}
	} else {
		for _, l := range r.all { // only what was found by a search answers to its file name
			if l.foundBy != foundPath && l != r.main && l.names[0] == name && !l.fake {
				return l
			}
		}
		o, found, how, tried = u.search(r, name, by)
	}
	if o == nil || o.m == nil || o.head.Type != typeDyn && o.head.Type != typeExec {
		if !r.missing[name] && !preload {
			r.missing[name] = true
			r.answer.NotFound = append(r.answer.NotFound, NotFound{name, by.shown, tried})
		}
		return nil
	}
	if o == u.self.object {
		return u.own(by, name)
	}
	if l := r.byFile[o]; l != nil {
		return l
	}
	if preload {
		how = foundPreload
	}
	return r.add(o, name, found, by, how)
}

// own is musl's libc, which is the loader itself; it prints under the name that was asked for first.
func (u *musl1) own(by *loaded, name string) *loaded {
	if u.self.by == nil && u.self != by {
		u.self.by, u.self.names = by, []string{name}
	}
	return u.self
}

// search looks along LD_LIBRARY_PATH, then the paths of who asks and of who loaded that, then the system's folders.
func (u *musl1) search(r *run, name string, by *loaded) (o *object, found, how string, tried []string) {
	walk := func(dirs []string, as string) bool {
		for _, d := range dirs {
			p := d + "/" + name
			tried = append(tried, p)
			c, err := r.store.open(p)
			if err == nil {
				o, found, how = c, p, as
				return true
			}
			if !passes(err) && r.store.folder(d) {
				return true
			}
		}
		return false
	}
	if walk(r.libPath, foundLibPath) {
		return
	}
	for l := by; l != nil; l = l.by {
		as, list := foundRPath, l.object.m.RPath
		if l.object.m.HasRunPath {
			as, list = foundRunPath, l.object.m.RunPath
		}
		if list == "" {
			continue
		}
		list = strings.ReplaceAll(strings.ReplaceAll(list, "${ORIGIN}", l.originOf()), "$ORIGIN", l.originOf())
		if strings.Contains(list, "$") {
			continue // an unknown token voids the whole path (fixup_rpath)
		}
		if walk(strings.Split(list, ":"), as) {
			return
		}
	}
	walk(u.path, foundDefault)
	return
}

// folders reads /etc/ld-musl-ARCH.path, which replaces the built-in list where it exists.
func (u *musl1) folders(r *run) []string {
	if b := r.store.text("/etc/ld-musl-"+u.arch+".path", 1<<20); b != nil {
		return strings.FieldsFunc(string(b), func(c rune) bool { return c == ':' || c == '\n' })
	}
	return []string{"/lib", "/usr/local/lib", "/usr/lib"}
}

func (u *musl1) why(r *run, symbol string) []Reason { return r.reasons(symbol, false) }
