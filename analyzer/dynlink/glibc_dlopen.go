package dynlink

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// open implements dl_open_worker (glibc, elf/dl-open.c).
func (g *glibc) open(r *run, name string, how Mode, by *loaded) error {
	if name == "" {
		return nil // the program itself
	}
	count := len(r.all)
	l, err := g.mapObject(r, name, by, false)
	switch {
	case err != nil:
		return err
	case len(r.all) > count && how.NoLoad:
		return &failure{NotLoaded}
	case len(r.all) > count:
		l.by = nil // the caller of dlopen is not the l_loader
	}
	if l.list == nil {
		if err := g.enter(r, l, how, r.all[:count:count]); err != nil {
			return err
		}
	}
	if how.Global {
		for _, x := range l.list {
			if !x.global {
				x.global = true
				r.scope = append(r.scope, x)
			}
		}
	}
	return nil
}

// enter loads the dependencies of a library, and relocates the new objects from the last to the
// first.
func (g *glibc) enter(r *run, l *loaded, how Mode, before []*loaded) error {
	before = slices.Clone(before)
	for _, x := range r.all {
		x.reserved = false
	}
	l.reserved = true
	list, err := g.searchList(r, l, nil)
	if err != nil {
		return err
	}
	own := make([]*loaded, 0, len(list))
	for _, e := range list {
		own = append(own, e.l)
	}
	fresh := slices.DeleteFunc(
		slices.Clone(own),
		func(x *loaded) bool { return slices.Contains(before, x) },
	)
	if err := g.versions(r, fresh); err != nil {
		return err
	}
	if vs := r.answer.MissingVersions; len(vs) > 0 {
		return &failure{
			vs[0].Library + ": version `" + vs[0].Version + "' not found (required by " + vs[0].RequiredBy +
				")",
		}
	}
	for _, x := range fresh {
		x.scopes = [][]*loaded{slices.Clip(r.scope), own}
		if how.DeepBind {
			slices.Reverse(x.scopes)
		}
		if x.object.m.Symbolic {
			x.scopes = slices.Insert(x.scopes, 0, []*loaded{x})
		}
	}
	for _, x := range slices.Backward(fresh) {
		for _, ref := range x.object.m.References {
			if _, refused := r.first(wanted(x.object.m, ref), x.scopes); refused != nil &&
				g.minor <= 40 {
				return refusal(x, ref, refused)
			}
		}
		r.undefinedIn(x, func(ref elfobj.Reference) bool {
			return how.Lazy && !x.object.m.BindNow && ref.Class&elfobj.ClassPLT != 0 &&
				x.object.m.Definition(ref.Symbol).Type != sttTLS
		})
	}
	if u := r.answer.Undefined; len(u) > 0 {
		text := u[0].Object + ": undefined symbol: " + u[0].Symbol
		if u[0].Version != "" {
			text += ", version " + u[0].Version
		}
		return &failure{text}
	}
	l.list = own
	return nil
}

// unique returns the process-wide definition of a unique symbol (STB_GNU_UNIQUE), wherever it
// was looked up first. It returns l if l's own definition is not unique.
func (r *run) unique(l *loaded, w want) *loaded {
	is := func(m *elfobj.Mapping) bool {
		c := m.Lookup(w.name, w.hash)
		for s, ok := c.Next(); ok; s, ok = c.Next() {
			if d := m.Definition(s); d.Unique && !d.Undefined {
				return true
			}
		}
		return false
	}
	if !is(l.object.m) {
		return l
	}
	return r.all[slices.IndexFunc(r.all, func(x *loaded) bool {
		return x == l || x.object != nil && is(x.object.m)
	})]
}
