package dynlink

import "github.com/compat-app/compat/analyzer/elfobj"

// Types of symbols that check_match looks at.
const (
	sttNoType, sttObject, sttFunc, sttCommon, sttTLS, sttIFunc = 0, 1, 2, 5, 6, 10

	sttAllowed = 1<<sttNoType | 1<<sttObject | 1<<sttFunc | 1<<sttCommon | 1<<sttTLS | 1<<sttIFunc
)

// want is a reference with its version.
type want struct {
	name    []byte
	hash    uint32
	version elfobj.IndexedVersion // Hash 0: none
	class   elfobj.Class
}

func wanted(m *elfobj.Mapping, r elfobj.Reference) want {
	w := want{name: m.Name(r), hash: r.Hash, class: r.Class}
	if r.Version != 0 {
		w.version = m.Version(r.Version)
	}
	return w
}

// defines is one step of do_lookup_x (glibc, elf/dl-lookup.c): whether a reference binds to this
// object. bare tells that the object has the symbol and no DT_VERSYM while a version is asked for,
// which older loaders refuse with an assertion where the object is the one named.
func defines(m *elfobj.Mapping, w want) (yes, bare bool) {
	c := m.Lookup(w.name, w.hash)
	defaults := 0
	var only elfobj.Definition
	for {
		s, ok := c.Next()
		if !ok {
			break
		}
		d := m.Definition(s)
		if !d.Value && !d.Absolute && d.Type != sttTLS ||
			w.class&elfobj.ClassPLT != 0 && d.Undefined ||
			1<<d.Type&sttAllowed == 0 {
			continue
		}
		versioned := w.version.Hash != 0
		if !m.HasVersym {
			return !d.HiddenVisibility && !d.Local, versioned
		}
		v := m.Version(d.Index)
		o := elfobj.Offer{
			SameVersion: v.Hash == w.version.Hash &&
				v.Name == w.version.Name, Unversioned: versioned && v.Hash == 0, Oldest: d.Index <= 2,
			Hidden: d.Hidden, Versioned: versioned, Strict: w.version.Hidden,
		}
		switch o.Match() {
		case elfobj.Matches:
			return !d.HiddenVisibility && !d.Local, false
		case elfobj.DefaultVersion:
			defaults++
			only = d
		}
	}
	return defaults == 1 && !only.HiddenVisibility && !only.Local, false
}

// foreign are the references that the object itself does not satisfy. Which object of the scope
// satisfies a reference depends on the order; whether any does, does not, and an object is always
// in its own scope.
func foreign(m *elfobj.Mapping) []elfobj.Reference {
	var out []elfobj.Reference
	for _, r := range m.References {
		if r.Class&elfobj.ClassCopy == 0 {
			if d := m.Definition(r.Symbol); !d.Undefined || d.Value {
				if yes, _ := defines(m, wanted(m, r)); yes {
					continue
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// bindings remembers who satisfied the references of an object in an earlier scope: in a scope with
// the same providers nothing needs to be looked up again.
type bindings struct {
	by   []*object // per foreign reference; nil: nobody
	uses []*object // the distinct ones
	open []int     // references that nobody satisfied
	ok   bool
	in   int // the scope that the object is part of: one number per run
	mark int
}

// undefined gives the references of an object that nothing in the scope satisfies, weak ones
// included.
func (r *run) undefined(l *loaded) []elfobj.Reference {
	o := l.object
	b := &o.bound
	if len(o.foreign) == 0 {
		return nil
	}
	if l.cut > 0 {
		return r.undefinedCut(l)
	}
	again := b.ok
	for _, p := range b.uses {
		again = again && p.bound.in == r.number
	}
	if !again {
		if b.by == nil {
			b.by = make([]*object, len(o.foreign))
			r.store.held += 8 * len(b.by)
		}
		b.uses, b.open = b.uses[:0], b.open[:0]
		r.store.marks++
		near := r.near(l)
		for i, ref := range o.foreign {
			p := b.by[i]
			if p == nil || p.bound.in != r.number ||
				p == r.main.object && ref.Class&elfobj.ClassCopy != 0 {
				p = r.provider(wanted(o.m, ref), near)
				b.by[i] = p
			}
			switch {
			case p == nil:
				b.open = append(b.open, i)
			case p.bound.mark != r.store.marks:
				p.bound.mark = r.store.marks
				b.uses = append(b.uses, p)
			}
		}
		b.ok = true
	}
	var out []elfobj.Reference
	for _, i := range b.open {
		if !again || r.provider(wanted(o.m, o.foreign[i]), nil) == nil {
			out = append(out, o.foreign[i])
		}
	}
	return out
}

// undefinedCut is undefined for an object whose table of versions the loader has cut short.
func (r *run) undefinedCut(l *loaded) []elfobj.Reference {
	var out []elfobj.Reference
	for _, ref := range l.object.foreign {
		w := wanted(l.object.m, ref)
		if ref.Version >= l.cut {
			w.version = l.beyond[ref.Version]
		}
		if r.provider(w, nil) == nil {
			out = append(out, ref)
		}
	}
	return out
}

// near are the objects that an object needs directly, where most of what it refers to is.
func (r *run) near(l *loaded) []*object {
	r.direct = r.direct[:0]
	for _, d := range l.object.m.Needed {
		if n := r.asked[d.Name]; n != nil && n.object != nil && n.reserved && n != r.main {
			r.direct = append(r.direct, n.object)
		}
	}
	return r.direct
}

// provider finds some object of the scope that satisfies a reference. It begins with the library
// that the version names, with what served the last reference to that name, and with those near,
// and ends with the main program: what it finds then is likely to hold in other scopes too.
func (r *run) provider(w want, near []*object) *object {
	hint := &r.hints[w.hash%hints]
	if o := *hint; o != nil {
		if yes, _ := defines(o.m, w); yes {
			return o
		}
	}
	if w.version.Library != "" {
		if l := r.asked[w.version.Library]; l != nil && l.object != nil && l.reserved &&
			l != r.main {
			if yes, _ := defines(l.object.m, w); yes {
				*hint = l.object
				return l.object
			}
		}
	}
	for _, o := range near {
		if yes, _ := defines(o.m, w); yes {
			*hint = o
			return o
		}
	}
	for _, l := range r.scope {
		if l != r.main {
			if yes, _ := defines(l.object.m, w); yes {
				*hint = l.object
				return l.object
			}
		}
	}
	if w.class&elfobj.ClassCopy == 0 {
		if yes, _ := defines(r.main.object.m, w); yes {
			return r.main.object
		}
	}
	return nil
}

// first finds who satisfies a reference, in the loader's order. refused is the object at which an
// older loader fails an assertion.
func (r *run) first(w want, scopes [][]*loaded) (provider, refused *loaded) {
	for _, scope := range scopes {
		for _, l := range scope {
			if l == r.main && w.class&elfobj.ClassCopy != 0 {
				continue
			}
			yes, bare := defines(l.object.m, w)
			if bare && w.version.Library != "" && l.calledBy(w.version.Library) {
				return nil, l
			}
			if yes {
				return l, nil
			}
		}
	}
	return nil, nil
}
