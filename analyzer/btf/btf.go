// Package btf reads BTF, the compact type information of the Linux kernel, which gcc and clang can
// also write for C programs (section .BTF), and its relative CTF (section .ctf).
//
//	units, err := btf.Parse(section, binary.LittleEndian)
//	unit, err := btf.ParseCTF(section, binary.LittleEndian, symbols, 1<<20)
//
// A Unit contains the types of one source file; a linker concatenates the sections of several
// files. BTF contains types only, not symbols.
//
// The input is untrusted. Every offset and count is checked against the section. Types refer to
// each other by index, which Parse checks, so callers need not. Types may contain each other in
// cycles.
//
// Format: Linux, Documentation/bpf/btf.rst and include/uapi/linux/btf.h.
package btf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrDamaged is wrapped by every error.
var ErrDamaged = errors.New("damaged BTF")

// Kind is a BTF_KIND_ value.
type Kind uint8

// Kinds of types.
const (
	Int Kind = 1 + iota
	Pointer
	Array
	Struct
	Union
	Enum
	Forward
	Typedef
	Volatile
	Const
	Restrict
	Func
	Prototype
	Variable
	DataSection
	Float
	DeclTag
	TypeTag
	Enum64
)

// Unit contains the types of one source file. Types[0] is void.
type Unit struct{ Types []Type }

// Type is a type. The meaning of most fields depends on Kind.
type Type struct {
	Kind     Kind
	Name     string
	Size     uint32 // of Int, Struct, Union, Enum, Float
	Type     uint32 // the referenced type, return type or element type
	Count    uint32 // of Array
	Encoding uint8  // of Int: bit 0 signed, bit 1 character, bit 2 boolean
	Bits     uint8  // of Int
	Flag     bool   // Forward: it is a union; Enum: it is signed
	Members  []Member
}

// Member is a member of a structure or union, a parameter, or an enumerator.
type Member struct {
	Name   string
	Type   uint32
	Offset uint32 // in bits
	Bits   uint32 // size of a bit-field, else 0
	Value  int64  // of an enumerator
}

const (
	magic      = 0xeb9f
	headerSize = 24
)

// Parse reads a section .BTF.
func Parse(section []byte, order binary.ByteOrder) ([]Unit, error) {
	var units []Unit
	for len(section) >= headerSize {
		if order.Uint16(section) != magic {
			if len(units) > 0 && len(bytes.Trim(section, "\x00")) == 0 {
				break // padding
			}
			return nil, fmt.Errorf("%w: no magic number", ErrDamaged)
		}
		word := func(i int) uint64 { return uint64(order.Uint32(section[4+4*i:])) }
		head, size := word(0), uint64(len(section))
		types, strings := head+word(1), head+word(3)
		typesEnd, stringsEnd := types+word(2), strings+word(4)
		if section[2] != 1 || head < headerSize || typesEnd > size || stringsEnd > size {
			return nil, fmt.Errorf("%w: its header names bytes after its end", ErrDamaged)
		}
		p := parser{
			order:   order,
			types:   section[types:typesEnd],
			strings: section[strings:stringsEnd],
		}
		u, err := p.unit()
		if err != nil {
			return nil, err
		}
		units = append(units, u)
		section = section[max(typesEnd, stringsEnd):]
	}
	return units, nil
}

type parser struct {
	order     binary.ByteOrder
	types     []byte
	strings   []byte
	bad       bool
	nameBytes int // total length of the names read
}

// maxNameBytes limits the total length of names, which may overlap: as a multiple of the string
// table.
const maxNameBytes = 64

func (p *parser) u32() uint32 {
	if len(p.types) < 4 {
		p.bad = true
		return 0
	}
	v := p.order.Uint32(p.types)
	p.types = p.types[4:]
	return v
}

func (p *parser) name() string {
	at := uint64(p.u32())
	if at == 0 && len(p.strings) == 0 {
		return ""
	}
	name, ok := textAt(p.strings, at)
	p.nameBytes += len(name)
	p.bad = p.bad || !ok || p.nameBytes > maxNameBytes*len(p.strings)
	return name
}

// textAt returns a string of a table; false if it is not inside.
func textAt(table []byte, at uint64) (string, bool) {
	if at >= uint64(len(table)) {
		return "", false
	}
	text, _, ok := bytes.Cut(table[at:], []byte{0})
	return string(text), ok
}

// unit reads all types and checks their references.
func (p *parser) unit() (Unit, error) {
	u := Unit{Types: make([]Type, 1)}
	for len(p.types) > 0 && !p.bad {
		u.Types = append(u.Types, p.read())
	}
	if p.bad {
		return u, fmt.Errorf("%w: type %d leaves the section", ErrDamaged, len(u.Types)-1)
	}
	return u, u.check()
}

// check returns an error if a type refers to one that does not exist.
func (u *Unit) check() error {
	n := uint32(len(u.Types))
	for i, t := range u.Types {
		bad := t.Type >= n
		for _, m := range t.Members {
			bad = bad || m.Type >= n
		}
		if bad {
			return fmt.Errorf("%w: type %d refers to a type that does not exist", ErrDamaged, i)
		}
	}
	return nil
}

// read reads one type.
func (p *parser) read() Type {
	t := Type{Name: p.name()}
	info := p.u32()
	count := info & 0xffff
	t.Kind, t.Flag = Kind(info>>24&0x1f), info>>31 != 0
	last := p.u32()
	switch t.Kind {
	case Int, Struct, Union, Enum, DataSection, Float, Enum64:
		t.Size = last
	case Forward: // unused; gcc leaves it undefined
	default:
		t.Type = last
	}
	switch t.Kind {
	case Int:
		v := p.u32()
		t.Encoding, t.Bits = uint8(v>>24&0xf), uint8(v)
	case Array:
		t.Type = p.u32()
		p.u32() // index type
		t.Count = p.u32()
	case Struct, Union:
		for ; count > 0 && !p.bad; count-- {
			m := Member{Name: p.name(), Type: p.u32(), Offset: p.u32()}
			if t.Flag {
				m.Bits, m.Offset = m.Offset>>24, m.Offset&0xffffff
			}
			t.Members = append(t.Members, m)
		}
	case Enum:
		for ; count > 0 && !p.bad; count-- {
			t.Members = append(t.Members, Member{Name: p.name(), Value: int64(int32(p.u32()))})
		}
	case Enum64:
		for ; count > 0 && !p.bad; count-- {
			m := Member{Name: p.name()}
			m.Value = int64(uint64(p.u32()) | uint64(p.u32())<<32)
			t.Members = append(t.Members, m)
		}
	case Prototype:
		for ; count > 0 && !p.bad; count-- {
			t.Members = append(t.Members, Member{Name: p.name(), Type: p.u32()})
		}
	case Variable, DeclTag:
		p.u32()
	case DataSection:
		for ; count > 0 && !p.bad; count-- {
			p.u32()
			p.u32()
			p.u32()
		}
	case Pointer, Forward, Typedef, Volatile, Const, Restrict, Func, Float, TypeTag:
	default:
		p.bad = true // unknown, so its length is unknown too
	}
	return t
}
