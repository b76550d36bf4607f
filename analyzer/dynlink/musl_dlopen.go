package dynlink

import (
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

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
			func(ref elfobj.Reference) bool { return how.Lazy && !x.object.m.BindNow && u.deferrable(r, x, ref) },
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
