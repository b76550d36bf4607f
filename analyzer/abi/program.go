package abi

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// ReadProgram returns what a program uses of a library, as if it were the old library: its imports,
// with the types that the program's debug information declares them with. It is for programs whose
// old library is gone. Of the imports without a version it has those that the library exports, and
// those that no other library has which the program needs. find is Options.Find for the program. It
// is nil without any.
func ReadProgram(
	f File, l *Library, find func(soname string, by *Needed) *Needed,
) (*Library, error) {
	o, err := elfobj.Read(f.Content, f.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	p := &Library{
		Name:     f.Name,
		SONAME:   l.SONAME,
		BuildID:  o.BuildID,
		Machine:  o.Machine.String(),
		Class:    o.Class,
		Order:    o.ByteOrder,
		EFlags:   o.EFlags,
		Versym:   true,
		Evidence: EvidenceSymbols,
		Needed:   []string{},
		Versions: []string{},
		Partial:  true,
		program:  o,

		Undefined: []string{},
	}
	others := follow(find, nil, slices.DeleteFunc(slices.Clone(o.Needed), func(n string) bool {
		return n == l.SONAME
	}))
	elsewhere := func(name string) bool { return len(others.unread) > 0 || others.has(name, "") }
	exported := map[string]*Symbol{}
	for i := range l.Symbols {
		exported[l.Symbols[i].Name] = &l.Symbols[i]
	}
	for _, v := range o.VersionNeeds {
		for _, n := range v.Versions {
			if v.Library == l.SONAME {
				p.Versions = append(p.Versions, n.Name)
			}
		}
	}
	add := func(s Symbol) {
		p.Symbols = append(p.Symbols, s)
	}
	for _, i := range o.Imports.All() {
		has := exported[i.Name]
		switch {
		case i.Library != "" && i.Library != l.SONAME,
			i.Library == "" && has == nil && (i.Weak || elsewhere(i.Name)):
			continue
		}
		s := Symbol{Name: i.Name, Version: i.Version, Kind: i.Kind}
		if s.Kind == elfobj.NoType && has != nil {
			s.Kind = has.Kind
		}
		add(s)
	}
	// variables that the program has a copy of, and typeinfo of what it catches
	for _, e := range o.Exports.All() {
		has, copied := exported[e.Name], e.Relocs&elfobj.RelocCopy != 0
		gone := has == nil && copied && !elsewhere(e.Name)
		if gone || has != nil && e.Kind == has.Kind && isVariable(e.Kind) {
			add(Symbol{
				Name: e.Name, Version: e.Version, Kind: e.Kind, Size: e.Size, Weak: e.Weak && !copied,
				Copied: copied,
			})
		}
	}
	if len(p.Symbols) == 0 {
		return nil, nil
	}
	if err := p.readTypes(f, o, nil, nil); err != nil {
		p.withoutTypes(err)
	}
	if len(others.unread) > 0 {
		p.Problems = append(p.Problems, fmt.Sprintf(
			"libraries that %s needs were not found and may have symbols that %s lacks: %s",
			f.Name, l.Name, listed(others.unread, maxListed)))
	}
	return p, nil
}
