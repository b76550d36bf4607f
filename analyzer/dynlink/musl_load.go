package dynlink

import (
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// muslReserved are prefixes of library names, after "lib", that musl maps to its own libc
// (load_library).
var muslReserved = [...]string{"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."}

// reservedByMusl returns the prefix with which a name is mapped to musl's libc, or "". For
// example, libc.so.6 in an object built for glibc becomes musl's libc.
func reservedByMusl(name string) string {
	rest, ok := strings.CutPrefix(name, "lib")
	for _, n := range muslReserved {
		if ok && strings.HasPrefix(rest, n) {
			return n
		}
	}
	return ""
}

// muslName and muslBuffer are NAME_MAX and the size of the path buffer in load_library.
const muslName, muslBuffer = 255, 512

// load implements load_library. by is the object that needs the library, nil for a preload; how
// replaces how it was found, if not ""; the paths that were tried are appended to tried. nil
// means that nothing was found, or that it cannot be loaded.
func (u *musl) load(r *run, name string, by *loaded, how string, tried *[]string) *loaded {
	if name == "" {
		return nil
	}
	if n := reservedByMusl(name); n != "" && u.self != nil {
		if !u.listed[n] {
			u.listed[n] = true
			r.answer.Objects = append(
				r.answer.Objects,
				LoadedObject{name, u.self.shown, by.shownBy(), foundLoader},
			)
		}
		return u.libc(r, by)
	}
	if u.self != nil && name == u.self.path {
		return u.libc(r, by)
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
		if o, found, as = u.search(r, name, by, tried); o == nil && r.loadedEarlier != nil {
			o, found = r.loadedEarlier(name)
			as = foundEarlier
		}
	}
	if o == nil {
		return nil
	}
	if l := r.byFile[o]; l != nil {
		if as != foundPath &&
			l.foundBy == foundPath { // loaded by path before; found by its file name from now on
			u.registerName(l)
		}
		r.share(l, by)
		return l
	}
	file := o
	o = r.store.readAs(o, found, u.kind)
	if o.m == nil && o.damage == nil || u.addressesTaken(r, o) {
		return nil
	}
	if o.damage != nil || !o.m.HasHash() && o.library == nil {
		u.crash = found + " is truncated or damaged, which crashes the loader"
		return nil
	}
	if muslDefines(o.m, named("__libc_start_main")) && muslDefines(o.m, named("stdin")) {
		return u.load(r, "libc.so", by, how, tried) // another copy of libc
	}
	l := r.add(o, name, found, by, as)
	r.byFile[file] = l
	if as != foundPath {
		u.registerName(l)
	}
	if how != "" {
		l.foundBy = how
	}
	r.scope, r.order = append(r.scope, l), append(r.order, entry{l: l, by: by})
	r.answer.Objects = append(r.answer.Objects, LoadedObject{name, found, by.shownBy(), l.foundBy})
	return l
}

// share adds an object that was in the process before the load to the load's scope.
func (r *run) share(l, by *loaded) {
	if l.foundBy == foundHost && !l.reserved {
		l.reserved = true
		r.scope, r.order = append(r.scope, l), append(r.order, entry{l: l, by: by})
	}
}

// registerName makes an object findable by the name of its file.
func (u *musl) registerName(l *loaded) {
	name := l.path[strings.LastIndexByte(l.path, '/')+1:]
	if u.short[name] == nil {
		u.short[name] = l
	}
}

// libc returns musl's libc, which is the loader itself. It joins the scope at its first use.
func (u *musl) libc(r *run, by *loaded) *loaded {
	if u.self.names == nil {
		u.self.names, u.self.by = []string{u.self.path}, by
		r.scope, r.order = append(r.scope, u.self), append(r.order, entry{l: u.self, by: by})
	}
	return u.self
}

// addressesTaken reports whether a file with fixed addresses overlaps another one.
func (u *musl) addressesTaken(r *run, o *object) bool {
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

// search searches LD_LIBRARY_PATH, then the paths of the object that needs the library and of
// those that loaded it, then the default folders.
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
			if err == nil || !searchContinues(err) {
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

// muslRPath implements fixup_rpath: the folders of DT_RUNPATH or else DT_RPATH. If it contains
// a token other than $ORIGIN, there are none.
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

// folders reads the path file etc/ld-musl-ARCH.path in the prefix of the loader, which replaces
// the built-in list if it exists.
func (u *musl) folders(r *run) []string {
	prefix := ""
	if u.self.path[0] == '/' {
		prefix = u.self.path[:strings.LastIndexByte(u.self.path, '/')]
		prefix = prefix[:max(strings.LastIndexByte(prefix, '/'), 0)]
	}
	file := prefix + "/etc/ld-musl-" + u.arch + ".path"
	if _, err := r.store.open(file); err != nil && notThere(err) {
		return muslFolders
	}
	return muslList(string(r.store.text(file, 1<<20)))
}

// muslFolders is the built-in list of folders.
var muslFolders = []string{"/lib", "/usr/local/lib", "/usr/lib"}

// muslList splits a list of folders and drops empty ones.
func muslList(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ':' || c == '\n' })
}

// open models musl's dlopen (ldso/dynlink.c): it searches as if the program had the dependency.
// New objects see all global symbols, the library and its dependencies.
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
	case u.crash != "":
		return &failure{u.crash}
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
	if len(r.missingNeeds) > 0 {
		gone := r.missingNeeds[0]
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
	for _, x := range append([]*loaded{l}, dependenciesOf(l)...) {
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

// why returns musl's message about a library that could not be loaded.
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

// dependenciesOf returns what an object needs, breadth first (extend_bfs_deps).
func dependenciesOf(l *loaded) []*loaded {
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

// deferrable reports whether all relocations that refer to a symbol are of the kinds that
// prepare_lazy defers: calls, and addresses in the GOT.
func (u *musl) deferrable(r *run, l *loaded, ref elfobj.Reference) bool {
	o := ReadObject(r.store.root, r.store.rooted(l.path))
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
