package dynlink

import "github.com/compat-app/compat/analyzer/elfobj"

// Symbol types that check_match uses.
const (
	sttNoType, sttObject, sttFunc, sttCommon, sttTLS, sttIFunc = 0, 1, 2, 5, 6, 10

	sttAllowed = 1<<sttNoType | 1<<sttObject | 1<<sttFunc | 1<<sttCommon | 1<<sttTLS | 1<<sttIFunc
)

// want is a reference and its version.
type want struct {
	name    []byte
	hash    uint32
	version elfobj.IndexedVersion // Hash 0: no version
	class   elfobj.Class
}

func wanted(m *elfobj.Mapping, r elfobj.Reference) want {
	w := want{name: m.Name(r), hash: r.Hash, class: r.Class}
	if r.Version != 0 {
		w.version = m.Version(r.Version)
	}
	return w
}

// defines implements a step of do_lookup_x (glibc, elf/dl-lookup.c): whether a reference binds
// to this object. unversioned reports that the reference requires a version and the object
// defines the symbol but has no DT_VERSYM; older loaders fail an assertion if it is the
// required library.
func defines(m *elfobj.Mapping, w want) (yes, unversioned bool) {
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

// foreign returns the references that the object does not satisfy itself. Which object
// satisfies a reference depends on the scope's order, but not whether one does, and an object
// is always in its own scope.
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

// bindings caches the providers of an object's references in an earlier scope. If a scope has
// the same providers, nothing is looked up again.
type bindings struct {
	by   []*object // per foreign reference; nil: none
	uses []*object // the distinct providers
	open []int     // unsatisfied references
	ok   bool
	in   int // number of the run in whose scope the object is
	mark int
}

// undefined returns the references of an object that nothing in the scope satisfies, including
// weak ones.
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
		near := r.directNeeds(l)
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

// undefinedCut is undefined for an object whose version table is too short in the loader.
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

// directNeeds returns the direct dependencies of an object, which define most of its
// references.
func (r *run) directNeeds(l *loaded) []*object {
	r.direct = r.direct[:0]
	for _, d := range l.object.m.Needed {
		if n := r.requested[d.Name]; n != nil && n.object != nil && n.reserved && n != r.main {
			r.direct = append(r.direct, n.object)
		}
	}
	return r.direct
}

// provider returns an object of the scope that satisfies a reference. It first tries the
// library of the version, the last provider of that name and the direct dependencies, and the
// main program last: such a result is likely to be valid in other scopes too.
func (r *run) provider(w want, near []*object) *object {
	hint := &r.hints[w.hash%hints]
	if o := *hint; o != nil {
		if yes, _ := defines(o.m, w); yes {
			return o
		}
	}
	if w.version.Library != "" {
		if l := r.requested[w.version.Library]; l != nil && l.object != nil && l.reserved &&
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

// first returns the first object that satisfies a reference, in the loader's order. refused is
// the object for which an older loader fails an assertion.
func (r *run) first(w want, scopes [][]*loaded) (provider, refused *loaded) {
	for _, scope := range scopes {
		for _, l := range scope {
			if l == r.main && w.class&elfobj.ClassCopy != 0 {
				continue
			}
			yes, unversioned := defines(l.object.m, w)
			if unversioned && w.version.Library != "" && l.calledBy(w.version.Library) {
				return nil, l
			}
			if yes {
				return l, nil
			}
		}
	}
	return nil, nil
}
