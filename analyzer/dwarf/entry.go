package dwarf

import (
	"fmt"
	"math"
)

// Entry is a decoded entry. Strings are read on demand.
type Entry struct {
	Tag      Tag
	Children bool
	Unit     *Unit

	data   *Data
	at     uint64 // position in the unit
	next   uint64 // position after the attributes
	has    uint64 // bit set of attributes
	blocks uint64 // attributes with a block of bytes
	refs   uint64 // attributes with a reference
	v      [attributes]uint64
}

// Ref returns the position of the entry.
func (e *Entry) Ref() Ref { return e.Unit.ref(e.at) }

// Has reports whether the entry has an attribute.
func (e *Entry) Has(a Attribute) bool { return e.has>>a&1 != 0 }

// Value returns the number of an attribute; 0 without the attribute.
func (e *Entry) Value(a Attribute) uint64 {
	if e.has>>a&1 == 0 {
		return 0
	}
	return e.v[a]
}

// Number returns the constant of an attribute. ok is false if it is missing, a block or a
// reference.
func (e *Entry) Number(a Attribute) (v uint64, ok bool) {
	if (e.has&^e.blocks&^e.refs)>>a&1 == 0 {
		return 0, false
	}
	return e.v[a], true
}

// Reference returns the entry that an attribute refers to, by offset or by the signature of a type
// unit; 0 without one.
func (e *Entry) Reference(a Attribute) Ref {
	if (e.has&e.refs)>>a&1 == 0 {
		return 0
	}
	r := Ref(e.v[a])
	if r&signed != 0 {
		r = Ref(0)
		if e.data != nil {
			sig, _ := e.signature(a)
			r, _ = e.data.Signed(sig)
		}
	}
	return r
}

// signed marks a reference by signature; the other bits are the offset of the signature.
const signed = Ref(1) << 63

func (e *Entry) signature(a Attribute) (uint64, bool) {
	b := buffer{e.Unit.bytes(), e.v[a] & refOffset, e.Unit.file.order, false}
	v := b.uint(8)
	return v, !b.bad
}

// Kinds of string positions, in the highest byte of a value.
const (
	stringInline = iota
	stringStr
	stringLine
	stringIndex
	stringAlt
)

const stringKind = 56

// Bytes returns the text of a string attribute without copying it; nil without the attribute. The
// text is valid until an entry of another unit is read.
func (e *Entry) Bytes(a Attribute) []byte {
	if e.has>>a&1 == 0 {
		return nil
	}
	u, v := e.Unit, e.v[a]
	at := v & (1<<stringKind - 1)
	var b buffer
	switch v >> stringKind {
	case stringInline:
		b.data = u.bytes()
	case stringStr:
		b.data = u.file.str
	case stringLine:
		b.data = u.file.lineStr
	case stringAlt:
		if u.file.alt == nil {
			return nil
		}
		b.data = u.file.alt.str
	case stringIndex:
		size := uint8(4)
		if u.key.wide {
			size = 8
		}
		x := buffer{u.file.strOffsets, u.strOffsetsBase + at*uint64(size), u.file.order, false}
		at, b.data = x.uint(size), u.file.str
		if x.bad {
			return nil
		}
	}
	b.at = at
	text := b.cstring()
	if u.file.text -= len(text); u.file.text < 0 {
		return nil
	}
	return text
}

// String returns a copy of the text of a string attribute.
func (e *Entry) String(a Attribute) string { return string(e.Bytes(a)) }

// Flag reports whether a flag is set.
func (e *Entry) Flag(a Attribute) bool { return e.has>>a&1 != 0 && e.v[a] != 0 }

// block returns the bytes of a block or expression.
func (e *Entry) block(a Attribute) []byte {
	if (e.has&e.blocks)>>a&1 == 0 {
		return nil
	}
	at, n := e.v[a]>>blockSize, e.v[a]&maxBlock
	b := buffer{e.Unit.bytes(), at, e.Unit.file.order, false}
	return b.take(n)
}

const (
	blockSize = 16
	maxBlock  = 1<<blockSize - 1
)

// Address returns the address of a variable or function: DW_AT_low_pc, or a location that is one
// address. ok is false without one.
func (e *Entry) Address() (addr uint64, ok bool) {
	if v, ok := e.Number(LowPC); ok {
		return v, true
	}
	x := e.block(Location)
	if len(x) < 2 {
		return 0, false
	}
	b := buffer{x, 1, e.Unit.file.order, false}
	switch x[0] {
	case 0x03: // DW_OP_addr
		addr = b.uint(e.Unit.key.addrSize)
	case 0xa1, 0xfb: // DW_OP_addrx, DW_OP_GNU_addr_index
		if addr, ok = e.Unit.address(b.uleb()); !ok {
			return 0, false
		}
	default:
		return 0, false
	}
	return addr, !b.bad && b.at == uint64(len(x))
}

// address returns an entry of .debug_addr.
func (u *Unit) address(index uint64) (uint64, bool) {
	in := u.file
	if u.split() { // then that of the skeleton's file
		in = in.skeleton.file
	}
	b := buffer{in.addr, u.addrBase + index*uint64(u.key.addrSize), u.file.order, false}
	if index > math.MaxUint32 {
		return 0, false
	}
	v := b.uint(u.key.addrSize)
	return v, !b.bad
}

// Offset returns a member's offset in bytes: a constant, or the operand of DW_OP_plus_uconst. ok is
// false if it is computed at run time, as for a virtual base.
func (e *Entry) Offset() (uint64, bool) {
	if !e.Has(MemberLocation) {
		return 0, true
	}
	if v, ok := e.Number(MemberLocation); ok {
		return v, true
	}
	return e.operand(MemberLocation, 0x23)
}

// Slot returns a virtual function's index in the virtual table. ok is false without one.
func (e *Entry) Slot() (uint64, bool) {
	if v, ok := e.Number(VtableElement); ok {
		return v, true
	}
	return e.operand(VtableElement, 0x10)
}

// operand returns the operand of an expression that consists of one operation.
func (e *Entry) operand(a Attribute, operation byte) (uint64, bool) {
	x := e.block(a)
	if len(x) < 2 || x[0] != operation {
		return 0, false
	}
	b := buffer{x, 1, e.Unit.file.order, false}
	v := b.uleb()
	return v, !b.bad && b.at == uint64(len(x))
}

// BigEndian reports whether the file is big endian.
func (e *Entry) BigEndian() bool { return e.Unit.file.order.Uint16([]byte{1, 0}) != 1 }

// decode reads the entry at an offset of the unit's section. Tag is 0 at the end of a list.
func (u *Unit) decode(off uint64, e *Entry) error {
	if u.file.steps--; u.file.steps < 0 {
		return fmt.Errorf("%w: lists of entries that overlap", ErrTooLarge)
	}
	b := buffer{u.bytes(), off, u.file.order, false}
	if b.data == nil {
		return u.file.err
	}
	e.Unit, e.at, e.has, e.blocks, e.refs = u, off, 0, 0, 0
	code := b.uleb()
	if code == 0 {
		e.Tag, e.Children, e.next = 0, false, b.at
		if b.bad {
			return u.damaged(off)
		}
		return nil
	}
	a := u.table.get(code)
	if a == nil {
		return damaged("the entry at offset %#x uses abbreviation %d, which is not defined",
			u.start+off, code)
	}
	e.Tag, e.Children, e.has = a.tag, a.children, a.has
	constant := a.constant
	for i := a.from; i < a.to; i++ {
		s := &u.table.specs[i]
		if s.form == formImplicitConst {
			e.v[s.attribute] = uint64(u.table.constants[constant])
			constant++
			continue
		}
		if s.attribute == none {
			if !b.skip(u, s) {
				return u.damaged(off)
			}
			continue
		}
		u.value(&b, s, s.form, e)
	}
	e.next = b.at
	if b.bad {
		return u.damaged(off)
	}
	return nil
}

func (u *Unit) damaged(off uint64) error {
	return damaged("the entry at offset %#x leaves its unit, which ends at %#x", u.start+off, u.end)
}

// value decodes one attribute.
func (u *Unit) value(b *buffer, s *spec, form uint16, e *Entry) {
	a := s.attribute
	bit := uint64(1) << a
	var v uint64
	switch form {
	case formData1, formFlag, formData2, formData4, formData8, formSecOffset, formAddr:
		v = b.uint(s.sizeOf(form, u))
	case formUdata, formLoclistx, formRnglistx:
		v = b.uleb()
	case formSdata:
		v = uint64(b.sleb())
	case formFlagPresent:
		v = 1
	case formStrp:
		v = stringStr<<stringKind | b.uint(s.sizeOf(form, u))
	case formLineStrp:
		v = stringLine<<stringKind | b.uint(s.sizeOf(form, u))
	case formString:
		v = stringInline<<stringKind | b.at
		b.cstring()
	case formStrpSup, formGNUStrpAlt:
		v = stringAlt<<stringKind | b.uint(s.sizeOf(form, u))
	case formStrx, formGNUStrIndex:
		v = stringIndex<<stringKind | b.uleb()&math.MaxUint32
	case formStrx1, formStrx2, formStrx3, formStrx4:
		v = stringIndex<<stringKind | b.uint(s.sizeOf(form, u))
	case formRef1, formRef2, formRef4, formRef8:
		v = uint64(u.ref(b.uint(s.sizeOf(form, u))))
		e.refs |= bit
	case formRefUdata:
		v = uint64(u.ref(b.uleb()))
		e.refs |= bit
	case formRefAddr:
		v = uint64(u.file.ref(false, b.uint(s.sizeOf(form, u))))
		e.refs |= bit
	case formRefSup4, formRefSup8, formGNURefAlt:
		v = b.uint(s.sizeOf(form, u))
		e.refs |= bit
		if u.file.alt == nil { // there is a reference, but its file was not found
			v = 0
			break
		}
		v = uint64(u.file.alt.ref(false, v))
	case formRefSig8:
		v = uint64(signed) | b.at
		e.refs |= bit
		b.take(8)
	case formAddrx, formGNUAddrIndex, formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		if form == formAddrx || form == formGNUAddrIndex {
			v = b.uleb()
		} else {
			v = b.uint(s.sizeOf(form, u))
		}
		var ok bool
		if v, ok = u.address(v); !ok {
			e.has &^= bit
		}
	case formBlock1, formBlock2, formBlock4, formBlock, formExprloc:
		n := b.length(form)
		v = b.at<<blockSize | min(n, maxBlock)
		e.blocks |= bit
		b.take(n)
	case formData16:
		b.take(16)
		e.has &^= bit
	case formIndirect:
		f := b.uleb()
		if f == formIndirect || f == formImplicitConst || f > 0xffff {
			b.bad = true
			return
		}
		u.value(b, &spec{attribute: a, form: uint16(f)}, uint16(f), e)
		return
	default:
		b.bad = true
	}
	e.v[a] = v
}

// sizeOf returns the size of a form with a fixed size.
func (s *spec) sizeOf(form uint16, u *Unit) uint8 {
	if s.form == form && s.size != 0 {
		return s.size
	}
	n, _ := fixedSize(uint64(form), u.key)
	return n
}

// length reads the length of a block.
func (b *buffer) length(form uint16) uint64 {
	switch form {
	case formBlock1:
		return b.uint(1)
	case formBlock2:
		return b.uint(2)
	case formBlock4:
		return b.uint(4)
	}
	return b.uleb()
}

// skip skips an attribute.
func (b *buffer) skip(u *Unit, s *spec) bool {
	form := s.form
	if form == formIndirect {
		f := b.uleb()
		if f == formIndirect || f > 0xffff {
			return false
		}
		form = uint16(f)
	}
	switch form {
	case formFlagPresent, formImplicitConst:
	case formString:
		b.cstring()
	case formUdata,
		formStrx,
		formAddrx,
		formLoclistx,
		formRnglistx,
		formRefUdata,
		formGNUAddrIndex,
		formGNUStrIndex,
		formSdata:
		b.uleb()
	case formBlock1, formBlock2, formBlock4, formBlock, formExprloc:
		b.take(b.length(form))
	default:
		n := s.sizeOf(form, u)
		if n == 0 {
			return false
		}
		b.take(uint64(n))
	}
	return !b.bad
}
