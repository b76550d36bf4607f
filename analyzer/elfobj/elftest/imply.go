package elftest

import "github.com/compat-app/compat/analyzer/elfobj"

import "slices"

// implyVersions adds the missing version records of the symbols, as a linker would.
func implyVersions(o *elfobj.Object) {
	i := implier{
		o:     o,
		needs: map[versionKey]bool{},
		first: map[string]int{},
		defs:  map[string]bool{},
	}
	for k, n := range o.VersionNeeds {
		i.library(n.Library, k)
		for _, v := range n.Versions {
			i.needs[versionKey{n.Library, v.Name}] = true
		}
	}
	base := false
	for _, d := range o.VersionDefs {
		// The base record contains the object's own name. A version may have the same name
		// (libnvJitLink.so.12).
		i.defs[d.Name] = i.defs[d.Name] || !d.Base
		base = base || d.Base
	}
	for _, m := range o.Imports.All() {
		switch {
		case m.Version == "":
		case m.Library == "":
			i.def(m.Version)
		default:
			i.need(m.Library, m.Version)
		}
	}
	for _, e := range o.Exports.All() {
		if e.Version != "" {
			i.def(e.Version)
		}
	}
	for k := 0; k < len(o.VersionDefs); k++ { // def appends to VersionDefs
		for _, p := range o.VersionDefs[k].Parents {
			i.def(p)
		}
	}
	if len(o.VersionDefs) > 0 && o.SONAME != "" && !base {
		o.VersionDefs = slices.Insert(o.VersionDefs, 0, elfobj.VersionDef{Name: o.SONAME, Base: true})
	}
}

type implier struct {
	o     *elfobj.Object
	needs map[versionKey]bool
	first map[string]int // index in VersionNeeds by library
	defs  map[string]bool
}

func (i *implier) library(name string, k int) {
	if _, ok := i.first[name]; !ok {
		i.first[name] = k
	}
}

func (i *implier) need(library, name string) {
	key := versionKey{library, name}
	if i.needs[key] {
		return
	}
	i.needs[key] = true
	i.library(library, len(i.o.VersionNeeds))
	k := i.first[library]
	if k == len(i.o.VersionNeeds) {
		i.o.VersionNeeds = append(i.o.VersionNeeds, elfobj.VersionNeed{Library: library})
	}
	i.o.VersionNeeds[k].Versions = append(i.o.VersionNeeds[k].Versions,
		elfobj.NeededVersion{Name: name})
}

func (i *implier) def(name string) {
	if !i.defs[name] {
		i.defs[name] = true
		i.o.VersionDefs = append(i.o.VersionDefs, elfobj.VersionDef{Name: name})
	}
}

// implyRelocs sets Relocs of the imports that have none to what Write writes.
func implyRelocs(o *elfobj.Object, imports []elfobj.Import) {
	usual := usualRelocs(o)
	for n := range imports {
		if i := &imports[n]; i.Relocs == 0 {
			i.Relocs = usual(i.Kind)
		}
	}
}

// usualRelocs returns the default kind of relocation for an import: a pointer that is set while
// loading. A thread-local import has no such pointer.
func usualRelocs(o *elfobj.Object) func(elfobj.Kind) elfobj.Relocs {
	way := elfobj.RelocNone
	for _, w := range []elfobj.Relocs{elfobj.RelocGlobDat, elfobj.RelocWord} {
		if way == elfobj.RelocNone && relocType(o, w) != 0 {
			way = w
		}
	}
	return func(k elfobj.Kind) elfobj.Relocs {
		if k == elfobj.TLS {
			return elfobj.RelocNone
		}
		return way
	}
}

// impliedVersym reports whether an object with such records has a DT_VERSYM.
func impliedVersym(o *elfobj.Object) bool {
	return len(o.VersionNeeds)+len(o.VersionDefs) > 0
}

// unrecorded returns a version of a symbol without a version record, or "". An export may have
// a needed version (a copy relocation in a program).
func unrecorded(o *elfobj.Object) string {
	records := map[versionKey]bool{}
	names := map[string]bool{"": true}
	for _, n := range o.VersionNeeds {
		for _, v := range n.Versions {
			records[versionKey{n.Library, v.Name}], names[v.Name] = true, true
		}
	}
	for _, d := range o.VersionDefs {
		if !d.Base {
			records[versionKey{"", d.Name}], names[d.Name] = true, true
		}
	}
	for _, i := range o.Imports.All() {
		if i.Version != "" && !records[versionKey{i.Library, i.Version}] {
			return i.Name + "@" + i.Version
		}
	}
	for _, e := range o.Exports.All() {
		if !names[e.Version] {
			return e.Name + "@" + e.Version
		}
	}
	return ""
}
