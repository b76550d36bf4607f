package abi

// Complete gives C++ classes that a library only declares the definition of another library of the
// same build: compilers write a class that has no virtual table in a library as a declaration, and
// the library that implements it has all of it. A class of a source file, and one that several
// libraries define with other sizes, stays declared.
func Complete(all []*Library) {
	type definition struct {
		l  *Library
		id TypeID
	}
	defined := map[string]definition{}
	for _, l := range all {
		for id := range l.Types {
			t := &l.Types[id]
			if !t.composite() || t.Declared || t.Private || t.Name == "" {
				continue
			}
			switch d, ok := defined[t.Name]; {
			case !ok:
				defined[t.Name] = definition{l, TypeID(id)}
			case d.l != nil && d.l.Types[d.id].Size != t.Size:
				defined[t.Name] = definition{}
			}
		}
	}
	for _, l := range all {
		from := map[*Library]*importer{}
		for id := 1; id < len(l.Types); id++ { // including those that are added
			d := defined[l.Types[id].Name]
			if t := &l.Types[id]; !t.Declared || !t.Class || d.l == nil || d.l == l {
				continue
			}
			if from[d.l] == nil {
				from[d.l] = &importer{from: d.l, to: l, ids: map[TypeID]TypeID{}}
			}
			from[d.l].define(TypeID(id), d.id)
		}
	}
}

// importer copies types of one library to another one.
type importer struct {
	from, to *Library
	ids      map[TypeID]TypeID // by type of from
	work     []TypeID          // of from, copied without the types that they refer to
}

// define makes a declared type the copy of a type.
func (i *importer) define(declared, id TypeID) {
	i.ids[id] = declared
	i.work = append(i.work, id)
	for len(i.work) > 0 && len(i.to.Types) < maxTypes {
		at := i.work[len(i.work)-1]
		i.work = i.work[:len(i.work)-1]
		t := i.from.Types[at].mapped(i.intern)
		i.to.Types[i.ids[at]] = t
	}
}

// intern returns the copy of a type, which define completes.
func (i *importer) intern(id TypeID) TypeID {
	if id == 0 {
		return 0
	}
	if have, ok := i.ids[id]; ok {
		return have
	}
	if len(i.to.Types) >= maxTypes {
		return 0
	}
	have := TypeID(len(i.to.Types))
	i.to.Types = append(i.to.Types, Type{Kind: Unknown})
	i.ids[id] = have
	i.work = append(i.work, id)
	return have
}
