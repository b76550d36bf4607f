package abi

import (
	"sort"

	"github.com/compat-app/compat/analyzer/dwarf"
)

// scope is a namespace or type that contains other entries.
type scope struct {
	from, to dwarf.Ref
	name     string
}

// qualified returns the name of an entry with its namespaces and classes; "" for an unnamed one.
func (b *builder) qualified(e *dwarf.Entry) (string, error) {
	if ref := e.Reference(dwarf.Specification); ref != 0 { // the declaration is in the namespace
		var decl dwarf.Entry
		if err := b.s.d.Entry(ref, &decl); err != nil {
			return "", err
		}
		if decl.Reference(dwarf.Specification) == 0 {
			return b.qualified(&decl)
		}
	}
	name := b.string(e.Bytes(dwarf.Name))
	if name == "" || e.Unit.C() {
		return name, nil
	}
	path := make([]byte, 0, 128)
	at, inside := e.Ref(), e.Unit.Root()
	for range maxScopes {
		list, err := b.inside(inside)
		if err != nil {
			return "", err
		}
		i := sort.Search(len(list), func(i int) bool { return list[i].from >= at }) - 1
		if i < 0 || list[i].to <= at {
			break
		}
		path = append(path, list[i].name...)
		path = append(path, "::"...)
		inside = list[i].from
	}
	return b.string(append(path, name...)), nil
}

// inside lists the scopes directly inside an entry.
func (b *builder) inside(ref dwarf.Ref) ([]scope, error) {
	scopes := b.known(ref).scopes
	if list, ok := scopes[ref]; ok {
		return list, nil
	}
	var e dwarf.Entry
	if err := b.s.d.Entry(ref, &e); err != nil {
		return nil, err
	}
	var list []scope
	open := false
	c := b.s.d.Children(&e)
	for c.Next() {
		if open {
			list[len(list)-1].to, open = c.Ref(), false
		}
		switch c.Tag {
		case dwarf.TagNamespace,
			dwarf.TagModule,
			dwarf.TagClass,
			dwarf.TagStruct,
			dwarf.TagUnion,
			dwarf.TagSubprogram:
		default:
			continue
		}
		if !c.Children {
			continue
		}
		name := c.Bytes(dwarf.Name)
		if name == nil {
			name = []byte("(unnamed)")
		}
		list = append(list, scope{from: c.Ref(), name: b.string(name)})
		open = true
	}
	if open {
		list[len(list)-1].to = c.End()
	}
	scopes[ref] = list
	return list, c.Err()
}
