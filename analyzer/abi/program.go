package abi

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// ReadProgram returns what a program uses of a library, as if it were the old library: its imports,
// with the types that the program's debug information declares them with. It is for programs whose
// old library is gone. Of the imports without a version it has those that the library exports, and
// those for which elsewhere, which may be nil, reports that no other library has them. It is nil
// without any.
func ReadProgram(f File, l *Library, elsewhere func(name string) bool) (*Library, error) {
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
			i.Library == "" && has == nil && (i.Weak || elsewhere == nil || elsewhere(i.Name)):
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
		gone := has == nil && copied && elsewhere != nil && !elsewhere(e.Name)
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
	return p, nil
}
