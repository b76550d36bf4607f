package abi

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/btf"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// maxBTF limits the size of the section. That of a Linux kernel has 6 MB.
const maxBTF = 128 << 20

// readBTF reads types from .BTF or .ctf, for a library without DWARF. Both have no names of source
// files, so no type is private.
func (l *Library) readBTF(f File, o *elfobj.Object) error {
	if l.Form == Module {
		return nil // it continues the BTF of the kernel, which is in another file
	}
	order := l.byteOrder()
	var units []btf.Unit
	b, err := contents(o, f.Content, ".BTF", maxBTF)
	switch {
	case err != nil:
		return err
	case b != nil:
		l.Evidence = EvidenceBTF
		if units, err = btf.Parse(b, order); err != nil {
			return err
		}
	default:
		if b, err = contents(o, f.Content, ".ctf", maxBTF); b == nil || err != nil {
			return err
		}
		symbols := btf.Symbols{}
		if symbols.Strings, err = contents(o, f.Content, ".dynstr", maxBTF); err != nil {
			return err
		}
		for _, e := range o.Exports.All() {
			switch e.Kind {
			case elfobj.Func:
				symbols.Functions = append(symbols.Functions, e.Name)
			case elfobj.Data:
				symbols.Objects = append(symbols.Objects, e.Name)
			}
		}
		l.Evidence = EvidenceCTF
		u, err := btf.ParseCTF(b, order, symbols, maxBTF)
		if err != nil {
			return err
		}
		units = []btf.Unit{u}
		l.reportConflicts(u)
	}
	l.Types = []Type{{Kind: Void}}
	symbols := map[string]int{}
	for i := range l.Symbols {
		symbols[l.Symbols[i].Name] = i
	}
	for _, u := range units {
		t := btfTypes{l: l, u: u, ids: make([]TypeID, len(u.Types))}
		t.read(symbols)
		if t.deep {
			return errTooDeep
		}
	}
	return nil
}

// reportConflicts adds a problem for the types that several source files define differently. The
// linker makes them declarations in the shared dictionary, and does not record which definition a
// function uses.
func (l *Library) reportConflicts(u btf.Unit) {
	declared := map[string]bool{}
	for _, t := range u.Types {
		if t.Kind == btf.Forward {
			declared[t.Name] = true
		}
	}
	var names []string
	for _, t := range u.Types {
		if (t.Kind == btf.Struct || t.Kind == btf.Union) && declared[t.Name] {
			names = append(names, t.Name)
			delete(declared, t.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	which := names[0]
	if more := len(names) - 1; more > 0 {
		which += fmt.Sprintf(" and %d more types", more)
	}
	l.Problems = append(l.Problems,
		which+" in .ctf of "+l.Name+", which source files define differently")
}

// btfTypes converts the types of one source file.
type btfTypes struct {
	l    *Library
	u    btf.Unit
	ids  []TypeID // by index in u; 0 if not converted yet
	deep bool     // more than maxSteps qualifiers and typedefs in a row
}

// read sets the types of functions and variables. The types that they use are appended to a list
// and read from there.
func (t *btfTypes) read(symbols map[string]int) {
	for n := range t.u.Types {
		x := &t.u.Types[n]
		i, ok := symbols[x.Name]
		if !ok || x.Kind != btf.Func && x.Kind != btf.Variable || t.l.Symbols[i].Type != 0 {
			continue
		}
		first := len(t.l.Types)
		id := t.intern(x.Type, "")
		t.l.Symbols[i].Type = id
		for ; first < len(t.l.Types); first++ { // intern appends the types that a body uses
			t.body(TypeID(first))
		}
	}
}

// intern returns the type with an index, without qualifiers and typedefs. body reads its members
// later.
func (t *btfTypes) intern(n uint32, typedef string) TypeID {
	for step := 0; ; step++ {
		if step == maxSteps {
			t.deep = true
			return 0
		}
		x := &t.u.Types[n]
		switch x.Kind {
		case btf.Typedef:
			typedef = x.Name
			n = x.Type
			continue
		case btf.Const, btf.Volatile, btf.Restrict, btf.TypeTag, btf.Func:
			n = x.Type
			continue
		}
		break
	}
	if n == 0 || t.ids[n] != 0 {
		return t.ids[n]
	}
	x := &t.u.Types[n]
	name := x.Name
	if name == "" {
		name = typedef
	}
	id := TypeID(len(t.l.Types))
	t.ids[n] = id
	t.l.Types = append(
		t.l.Types,
		Type{
			Kind:     kindOfBTF(x),
			Name:     name,
			Size:     uint64(x.Size),
			Declared: x.Kind == btf.Forward,
			Line:     n,
		},
	)
	return id
}

// value is intern for the type of a value. The compiler writes void for what the format does not
// have, such as vectors.
func (t *btfTypes) value(n uint32) TypeID {
	id := t.intern(n, "")
	if id == 0 {
		id = TypeID(len(t.l.Types))
		t.l.Types = append(t.l.Types, Type{Kind: Unknown})
	}
	return id
}

func kindOfBTF(x *btf.Type) Kind {
	switch x.Kind {
	case btf.Int, btf.Float:
		return Base
	case btf.Pointer:
		return Pointer
	case btf.Array:
		return Array
	case btf.Struct:
		return Struct
	case btf.Union:
		return Union
	case btf.Forward:
		if x.Flag {
			return Union
		}
		return Struct
	case btf.Enum, btf.Enum64:
		return Enum
	case btf.Prototype:
		return Function
	}
	return Unknown
}

// body reads the contents of a type. Until then, Line holds its index in the unit.
func (t *btfTypes) body(id TypeID) {
	out := t.l.Types[id]
	x := &t.u.Types[out.Line]
	out.Line = 0
	switch x.Kind {
	case btf.Int:
		out.Encoding = map[uint8]uint8{
			0: encodingUnsigned, 1: encodingSigned, 2: encodingUnsigChar, 3: encodingSignedChar,
			4: encodingBool,
		}[x.Encoding]
	case btf.Float:
		out.Encoding = encodingFloat
	case btf.Pointer:
		out.Elem, out.Size = t.intern(x.Type, ""), uint64(t.l.Class/8)
	case btf.Array:
		out.Elem, out.Counts = t.value(x.Type), []int64{int64(x.Count)}
		if x.Count == 0 { // of an array without a length
			out.Counts[0] = -1
		}
	case btf.Struct, btf.Union:
		for _, m := range x.Members {
			offset, bits := uint64(m.Offset), m.Bits
			if in := &t.u.Types[m.Type]; !x.Flag && in.Kind == btf.Int &&
				uint32(in.Bits) != 8*in.Size {
				bits = uint32(in.Bits)
			}
			out.Members = append(
				out.Members,
				Member{Name: m.Name, Offset: offset, Bits: bits, Type: t.value(m.Type)},
			)
		}
	case btf.Enum, btf.Enum64:
		for _, m := range x.Members {
			v := uint64(m.Value)
			if x.Size > 0 && x.Size < 8 {
				v &= 1<<(8*x.Size) - 1
			}
			out.Enumerators = append(out.Enumerators, Enumerator{m.Name, int64(v)})
		}
	case btf.Prototype:
		out.Elem = t.intern(x.Type, "")
		for i, m := range x.Members {
			if i == len(x.Members)-1 && m.Type == 0 && m.Name == "" {
				out.Variadic = true
				break
			}
			out.Params = append(out.Params, Param{m.Name, t.value(m.Type)})
		}
	}
	t.l.Types[id] = out
}
