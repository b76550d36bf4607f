package dynlink

import (
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// muslReserved are the beginnings of the names that musl's libc answers for itself, after "lib"
// (load_library).
var muslReserved = [...]string{"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."}

// reservedByMusl is the beginning by which musl answers a name itself, "" for another name:
// libc.so.6 of an object built for glibc is musl too.
func reservedByMusl(name string) string {
	rest, ok := strings.CutPrefix(name, "lib")
	for _, n := range muslReserved {
		if ok && strings.HasPrefix(rest, n) {
			return n
		}
	}
	return ""
}

// muslName and muslBuffer are NAME_MAX and the size of load_library's buffer for a path.
const muslName, muslBuffer = 255, 512

// load is load_library. by asks, nil for a preload; how is what to say of where it was found
// instead of the search's own word; tried gets every path that was looked at. nil means that
// nothing was found, or something that can't be loaded.
func (u *musl) load(r *run, name string, by *loaded, how string, tried *[]string) *loaded {
	if name == "" {
		return nil
	}
	if n := reservedByMusl(name); n != "" && u.self != nil {
		if !u.told[n] {
			u.told[n] = true
			r.answer.Objects = append(
				r.answer.Objects,
				LoadedObject{name, u.self.shown, by.shownBy(), foundLoader},
			)
		}
		return u.own(r, by)
	}
	if u.self != nil && name == u.self.path {
		return u.own(r, by)
	}
	var o *object
	found, as := name, foundPath
	if strings.Contains(name, "/") {
		*tried = append(*tried, name)
		o, _ = r.store.open(name)
	} else {
		if l := u.short[name]; l != nil {
			r.share(l, by)
			return l
		}
		if len(name) > muslName {
			return nil
		}
		if o, found, as = u.search(r, name, by, tried); o == nil && r.lent != nil {
			o, found = r.lent(name)
			as = foundLent
		}
	}
	if o == nil {
		return nil
	}
	if l := r.byFile[o]; l != nil {
		if as != foundPath &&
			l.foundBy == foundPath { // by a path before, by its file name from now on
			u.answersTo(l)
		}
		r.share(l, by)
		return l
	}
	file := o
	o = r.store.like(o, found, u.kind)
	if o.m == nil && o.damage == nil || u.taken(r, o) {
		return nil
	}
	if o.damage != nil || !o.m.HasHash() && o.library == nil {
		u.dead = found + " is cut short or damaged, of which the loader dies"
		return nil
	}
	if muslDefines(o.m, named("__libc_start_main")) && muslDefines(o.m, named("stdin")) {
		return u.load(r, "libc.so", by, how, tried) // another libc
	}
	l := r.add(o, name, found, by, as)
	r.byFile[file] = l
	if as != foundPath {
		u.answersTo(l)
	}
	if how != "" {
		l.foundBy = how
	}
	r.scope, r.order = append(r.scope, l), append(r.order, entry{l: l, by: by})
	r.answer.Objects = append(r.answer.Objects, LoadedObject{name, found, by.shownBy(), l.foundBy})
	return l
}

// share brings an object that was there before the load into its scope.
func (r *run) share(l, by *loaded) {
	if l.foundBy == foundHost && !l.reserved {
		l.reserved = true
		r.scope, r.order = append(r.scope, l), append(r.order, entry{l: l, by: by})
	}
}

// answersTo lets an object be found by the name of its file.
func (u *musl) answersTo(l *loaded) {
	name := l.path[strings.LastIndexByte(l.path, '/')+1:]
	if u.short[name] == nil {
		u.short[name] = l
	}
}

// own is musl's libc, which is the loader itself. It is in the scope from when it is asked for.
func (u *musl) own(r *run, by *loaded) *loaded {
	if u.self.names == nil {
		u.self.names, u.self.by = []string{u.self.path}, by
		r.scope, r.order = append(r.scope, u.self), append(r.order, entry{l: u.self, by: by})
	}
	return u.self
}

// taken tells whether a file of fixed addresses wants those of another one.
func (u *musl) taken(r *run, o *object) bool {
	if o.head.Type != typeExec {
		return false
	}
	from, to := o.span()
	for _, l := range r.scope {
		if l.object.head.Type != typeExec {
			continue
		}
		if start, end := l.object.span(); from < end && start < to {
			return true
		}
	}
	return false
}

// search looks along LD_LIBRARY_PATH, then the paths of who asks and of who loaded that, then the
// system's folders.
func (u *musl) search(
	r *run,
	name string,
	by *loaded,
	tried *[]string,
) (o *object, found, how string) {
	walk := func(dirs []string, as string) bool {
		for _, d := range dirs {
			p := d + "/" + name
			if len(p) >= muslBuffer {
				continue
			}
			*tried = append(*tried, p)
			c, err := r.store.open(p)
			if err == nil {
				o, found, how = c, p, as
			}
			if err == nil || !passes(err) {
				return true
			}
		}
		return false
	}
	if walk(r.libPath, foundLibPath) {
		return
	}
	for l := by; l != nil; l = l.by {
		list, as := muslRPath(l)
		if walk(list, as) {
			return
		}
	}
	walk(u.path, foundDefault)
	return
}

// muslRPath is fixup_rpath: the folders of DT_RUNPATH or else DT_RPATH. A token other than $ORIGIN
// voids them all.
func muslRPath(l *loaded) (dirs []string, as string) {
	list, as := l.object.m.RPath, foundRPath
	if l.object.m.HasRunPath {
		list, as = l.object.m.RunPath, foundRunPath
	}
	if !strings.Contains(list, "$") {
		return muslList(list), as
	}
	in := "."
	if i := strings.LastIndexByte(l.shown, '/'); i >= 0 {
		in = l.shown[:i]
	}
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(list, "$")
		b.WriteString(before)
		if !more {
			return muslList(b.String()), as
		}
		var ok bool
		if list, ok = strings.CutPrefix(rest, "ORIGIN"); !ok {
			if list, ok = strings.CutPrefix(rest, "{ORIGIN}"); !ok {
				return nil, as
			}
		}
		b.WriteString(in)
	}
}

// folders reads the path file, which replaces the built-in list where it exists:
// /etc/ld-musl-ARCH.path beside the folder of the loader.
func (u *musl) folders(r *run) []string {
	prefix := ""
	if u.self.path[0] == '/' {
		prefix = u.self.path[:strings.LastIndexByte(u.self.path, '/')]
		prefix = prefix[:max(strings.LastIndexByte(prefix, '/'), 0)]
	}
	file := prefix + "/etc/ld-musl-" + u.arch + ".path"
	if _, err := r.store.open(file); err != nil && notThere(err) {
		return []string{"/lib", "/usr/local/lib", "/usr/lib"}
	}
	return muslList(string(r.store.text(file, 1<<20)))
}

// muslList splits a list of folders; empty ones don't count.
func muslList(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ':' || c == '\n' })
}

// open is musl's dlopen (ldso/dynlink.c): it searches as if the program had the need, and all that
// it relocates sees all that is global, the library and what that needs.
func (u *musl) open(r *run, name string, how Mode, _ *loaded) (err error) {
	if name == "" {
		return &failure{"Error loading shared library : Invalid argument"}
	}
	global := slices.Clip(r.scope)
	defer func() {
		if err != nil {
			maps.DeleteFunc(
				u.short,
				func(_ string, l *loaded) bool { return slices.Contains(r.scope[len(global):], l) },
			)
		}
	}()
	l := u.load(r, name, r.main, "", new([]string))
	from := len(global)
	switch {
	case u.dead != "":
		return &failure{u.dead}
	case how.NoLoad && (l == nil || len(r.scope) > from):
		return &failure{"Library " + name + " is not already loaded"}
	case l == nil:
		return &failure{"Error loading shared library " + name + u.why(r, name, r.main)}
	}
	if l == u.self {
		r.scope = global
		return nil
	}
	if err := u.dependencies(r, from); err != nil {
		return err
	}
	if len(r.lost) > 0 {
		gone := r.lost[0]
		return &failure{
			"Error loading shared library " + gone.name + u.why(
				r,
				gone.name,
				gone.by,
			) + " (needed by " + gone.by.shown + ")",
		}
	}
	fresh := r.scope[from:]
	all := global
	for _, x := range append([]*loaded{l}, below(l)...) {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	for _, x := range fresh {
		x.scopes = [][]*loaded{all}
		r.undefinedIn(
			x,
			func(ref elfobj.Reference) bool {
				return how.Lazy && !x.object.m.BindNow && u.deferrable(r, x, ref)
			},
		)
	}
	if f := r.answer.Undefined; len(f) > 0 {
		return &failure{
			"Error relocating " + f[0].Object + ": " + f[0].Symbol + ": symbol not found",
		}
	}
	r.scope = global
	if how.Global {
		r.scope = all
	}
	return nil
}

// why is what musl says of a library that it did not load.
func (u *musl) why(r *run, name string, by *loaded) string {
	var o *object
	if strings.Contains(name, "/") {
		o, _ = r.store.open(name)
	} else {
		o, _, _ = u.search(r, name, by, new([]string))
	}
	if o != nil {
		return ": Exec format error"
	}
	return ": No such file or directory"
}

// below is what an object needs, breadth first (extend_bfs_deps).
func below(l *loaded) []*loaded {
	out := slices.Clone(l.direct)
	for i := 0; i < len(out); i++ {
		for _, d := range out[i].direct {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// deferrable tells whether all relocations that refer to a symbol are of the kinds that
// prepare_lazy leaves for later: calls, and addresses in the GOT.
func (u *musl) deferrable(r *run, l *loaded, ref elfobj.Reference) bool {
	o := ReadObject(r.store.root, rooted(l.path))
	if o == nil {
		return false
	}
	name := string(l.object.m.Name(ref))
	for _, i := range o.Imports.All() {
		if i.Name == name {
			return i.Relocs&^(elfobj.RelocJumpSlot|elfobj.RelocGlobDat) == 0
		}
	}
	return false
}
