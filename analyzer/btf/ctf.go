package btf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
)

// Symbols are what a section .ctf refers to instead of repeating it.
type Symbols struct {
	Functions []string // names of the STT_FUNC symbols that .dynsym defines, in its order
	Objects   []string // names of its STT_OBJECT symbols
	Strings   []byte   // contents of .dynstr
}

// Constants of include/ctf.h of GNU binutils.
const (
	ctfMagic        = 0xdff2
	ctfVersion      = 4 // CTF_VERSION_3
	ctfHeaderSize   = 52
	ctfArchiveMagic = 0x8b47f2a4d7623eeb

	ctfCompressed  = 1
	ctfNewFunction = 2 // the list of functions has the form that is read here
	ctfDynamic     = 8 // the lists of symbols have the order of .dynsym

	ctfExternal  = 1 << 31 // of a name: it is in the string table of the symbols
	ctfChild     = 1 << 31 // of a type: it is in the same dictionary, not in the parent
	ctfSizeFlag  = 1<<32 - 1
	ctfLarge     = 1 << 29 // structures of this size have wide offsets
	maxCTFMember = 1 << 16 // dictionaries of an archive
)

// Kinds of CTF types.
const (
	ctfInteger = 1 + iota
	ctfFloat
	ctfPointer
	ctfArray
	ctfFunction
	ctfStruct
	ctfUnion
	ctfEnum
	ctfForward
	ctfTypedef
	ctfVolatile
	ctfConst
	ctfRestrict
	ctfSlice
)

// ParseCTF reads a section .ctf, which gcc -gctf and GNU ld write, as the equivalent BTF types. The
// section may be an archive, in which a parent has the types that all source files share; maxSize
// limits its size in bytes after decompression. Only version 3 of the format is read; the error
// for another one wraps ErrDamaged too.
//
// Format: GNU binutils, include/ctf.h and libctf/ctf-archive.c.
func ParseCTF(section []byte, order binary.ByteOrder, s Symbols, maxSize int) (Unit, error) {
	u := Unit{Types: make([]Type, 1)}
	dicts, err := dictionaries(section)
	if err != nil {
		return u, err
	}
	names := maxNameBytes * (len(section) + len(s.Strings))
	for n, d := range dicts {
		if err := u.addCTF(d, n == 0, order, s, &maxSize, &names); err != nil {
			return u, err
		}
	}
	if err := u.check(); err != nil {
		return u, err
	}
	u.slices()
	return u, nil
}

// slices replaces the types of bit-fields. CTF has types for them, with an offset and a size in
// bits; read makes these a Const with Flag.
func (u *Unit) slices() {
	for _, t := range u.Types {
		if t.Kind != Struct && t.Kind != Union {
			continue
		}
		for i := range t.Members {
			m := &t.Members[i]
			if x := u.Types[m.Type]; x.Kind == Const && x.Flag {
				m.Type, m.Bits, m.Offset = x.Type, uint32(x.Bits), m.Offset+x.Count
			}
		}
	}
}

// dictionaries returns the dictionaries of an archive, the parent first, or the only one.
func dictionaries(b []byte) ([][]byte, error) {
	le := binary.LittleEndian // in archives of all machines
	if len(b) < 40 || le.Uint64(b) != ctfArchiveMagic {
		return [][]byte{b}, nil
	}
	size, count, start := uint64(len(b)), le.Uint64(b[16:]), le.Uint64(b[32:])
	if count > maxCTFMember || 40+16*count > size || start > size {
		return nil, fmt.Errorf("%w: an archive of %d dictionaries", ErrDamaged, count)
	}
	var dicts [][]byte
	for k := range count {
		at := le.Uint64(b[40+16*k+8:])
		if at > size-start || size-start-at < 8 {
			return nil, fmt.Errorf("%w: dictionary %d is outside of the section", ErrDamaged, k)
		}
		part := b[start+at:]
		length := le.Uint64(part)
		if length > uint64(len(part)-8) || length < ctfHeaderSize {
			return nil, fmt.Errorf("%w: dictionary %d is cut off", ErrDamaged, k)
		}
		part = part[8 : 8+length]
		if [4]byte(part[8:]) == [4]byte{} { // no name of a parent: it is the parent
			dicts = append([][]byte{part}, dicts...)
		} else {
			dicts = append(dicts, part)
		}
	}
	return dicts, nil
}

// addCTF adds the types and symbols of a dictionary. left is how many bytes it may have, names how
// many the names from the string table of the symbols may have.
func (u *Unit) addCTF(d []byte, parent bool, order binary.ByteOrder, s Symbols,
	left, names *int) error {
	if len(d) < ctfHeaderSize || order.Uint16(d) != ctfMagic || d[2] != ctfVersion {
		return fmt.Errorf("%w: no CTF of version 3", ErrDamaged)
	}
	flags := d[3]
	// The parts are consecutive. Their offsets are those of the words 4 to 10 of the header.
	var at [8]uint64
	for i := range at {
		at[i] = uint64(order.Uint32(d[4+4*(4+i):]))
	}
	at[7] += at[6] // its word is the size of the string table
	for i := range at[1:] {
		if at[i] > at[i+1] {
			return fmt.Errorf("%w: its header names parts in the wrong order", ErrDamaged)
		}
	}
	if flags&ctfNewFunction == 0 && at[1] != at[2] {
		return fmt.Errorf("%w: its list of functions is that of an older version", ErrDamaged)
	}
	if at[7] > uint64(*left) {
		return fmt.Errorf("%w: it is longer than the limit", ErrDamaged)
	}
	*left -= int(at[7])
	d = d[ctfHeaderSize:]
	if flags&ctfCompressed != 0 {
		z, err := zlib.NewReader(bytes.NewReader(d))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		d = make([]byte, at[7])
		if _, err = io.ReadFull(z, d); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if at[7] > uint64(len(d)) {
		return fmt.Errorf("%w: its header names bytes after its end", ErrDamaged)
	}
	first := uint32(len(u.Types) - 1)
	part := func(n int) ctfParser {
		return ctfParser{
			parser:   parser{order: order, types: d[at[n]:at[n+1]], strings: d[at[6]:at[7]]},
			external: s.Strings, names: names, parent: parent, first: first,
		}
	}
	types := part(5)
	for types.more() {
		u.Types = append(u.Types, types.read())
	}
	bad := types.bad
	for n, kind := range []Kind{Variable, Func} {
		types, index := part(n), part(n+2)
		inOrder := [][]string{s.Objects, s.Functions}[n]
		if len(index.types) == 0 && flags&ctfDynamic == 0 {
			continue // in the order of .symtab, which a shared library need not have
		}
		for i := 0; types.more(); i++ {
			x := Type{Kind: kind, Type: types.id()}
			switch {
			case len(index.types) > 0:
				x.Name = index.name()
			case i < len(inOrder):
				x.Name = inOrder[i]
			}
			if x.Name != "" && x.Type != 0 {
				u.Types = append(u.Types, x)
			}
		}
		bad = bad || types.bad || index.bad
	}
	variables := part(4)
	for variables.more() {
		x := Type{Kind: Variable, Name: variables.name(), Type: variables.id()}
		u.Types = append(u.Types, x)
	}
	if bad || variables.bad {
		return fmt.Errorf("%w: type %d leaves the section", ErrDamaged, len(u.Types)-1)
	}
	return nil
}

// ctfParser reads a part of a dictionary.
type ctfParser struct {
	parser
	external []byte
	names    *int   // how many bytes further names from external may have
	parent   bool   // the dictionary has no parent
	first    uint32 // index of the last type before those of the dictionary
}

func (p *ctfParser) name() string {
	if len(p.types) < 4 || p.order.Uint32(p.types)&ctfExternal == 0 {
		return p.parser.name()
	}
	name, ok := textAt(p.external, uint64(p.u32()&^ctfExternal))
	*p.names -= len(name)
	p.bad = p.bad || !ok || *p.names < 0
	return name
}

// id reads the number of a type and returns its index in the unit.
func (p *ctfParser) id() uint32 {
	n := p.u32()
	if n&ctfChild != 0 {
		p.bad = p.bad || p.parent
		return p.first + n&^ctfChild
	}
	return n
}

// more reports whether something is left and could be read so far.
func (p *ctfParser) more() bool { return len(p.types) > 0 && !p.bad }

func (p *ctfParser) u16() uint16 {
	if len(p.types) < 2 {
		p.bad = true
		return 0
	}
	v := p.order.Uint16(p.types)
	p.types = p.types[2:]
	return v
}

// read reads one type.
func (p *ctfParser) read() Type {
	t := Type{Name: p.name()}
	info := p.u32()
	kind, count := info>>26, info&(1<<25-1)
	size := uint64(0)
	switch kind {
	case ctfFunction, ctfPointer, ctfTypedef, ctfVolatile, ctfConst, ctfRestrict:
		t.Type = p.id()
	default:
		if size = uint64(p.u32()); size == ctfSizeFlag {
			size = uint64(p.u32()) << 32
			size |= uint64(p.u32())
		}
		t.Size = uint32(size)
		p.bad = p.bad || size > ctfSizeFlag
	}
	switch kind {
	case ctfInteger:
		v := p.u32()
		t.Kind, t.Encoding, t.Bits = Int, uint8(v>>24&0xf), uint8(v)
		if t.Size == 0 {
			t.Kind = Typedef // of void
		}
	case ctfFloat:
		t.Kind = Float
		p.u32()
	case ctfPointer:
		t.Kind = Pointer
	case ctfArray:
		t.Kind, t.Type = Array, p.id()
		p.u32() // index type
		t.Count = p.u32()
	case ctfFunction:
		t.Kind = Prototype
		for range count {
			if p.bad {
				break
			}
			t.Members = append(t.Members, Member{Type: p.id()})
		}
		if count%2 == 1 {
			p.u32() // padding
		}
	case ctfStruct, ctfUnion:
		t.Kind, t.Flag = Struct, true
		if kind == ctfUnion {
			t.Kind = Union
		}
		for ; count > 0 && !p.bad; count-- {
			m := Member{Name: p.name(), Offset: p.u32(), Type: p.id()}
			if size >= ctfLarge {
				p.bad = p.bad || m.Offset != 0 // of 512 MiB and more
				m.Offset = p.u32()
			}
			t.Members = append(t.Members, m)
		}
	case ctfEnum:
		t.Kind = Enum
		for ; count > 0 && !p.bad; count-- {
			t.Members = append(t.Members, Member{Name: p.name(), Value: int64(int32(p.u32()))})
		}
	case ctfForward:
		t.Kind, t.Flag, t.Size = Forward, size == ctfUnion, 0
	case ctfTypedef:
		t.Kind = Typedef
	case ctfVolatile, ctfConst, ctfRestrict:
		t.Kind = Const
	case ctfSlice:
		t.Kind, t.Type = Const, p.id()
		t.Count, t.Bits, t.Flag = uint32(p.u16()), uint8(p.u16()), true // see slices
	default:
		p.bad = true // unknown, so its length is unknown too
	}
	return t
}
