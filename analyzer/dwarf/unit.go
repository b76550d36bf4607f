package dwarf

import "fmt"

// Unit is a compilation, partial or type unit.
type Unit struct {
	Version   int
	TypeUnit  bool
	Signature uint64 // of a type unit
	TypeRef   Ref    // for a type unit, the type that it defines

	file       *file
	data       []byte // the section
	types      bool   // data is .debug_types
	start      uint64 // of the header
	first, end uint64 // of the entries
	addrSize   uint8
	wide       bool
	key        tableKey
	table      *table

	rooted         bool // the root entry was read, which sets the fields below
	strOffsetsBase uint64
	addrBase       uint64
	addrs          []byte // .debug_addr; for a split unit, that of the skeleton's file
	alt            *file  // the file to which dwz moved common entries
	lineOffset     uint64
	hasLines       bool
	split          bool // from a .dwo file, whose line table is at offset 0
	compDir        string
	language       uint64
	files          *fileTable
}

// readUnits reads the unit headers of a section.
func (f *file) readUnits(types bool) error {
	data := f.section(types)
	name := ".debug_info"
	i := 0
	if types {
		name, i = ".debug_types", 1
	}
	b := buffer{data, 0, f.order, false}
	for b.at < uint64(len(data)) {
		u := &Unit{file: f, data: data, types: types, start: b.at}
		length := b.uint(4)
		if length == 0xffffffff {
			u.wide = true
			length = b.uint(8)
		}
		if b.bad || length > uint64(len(data))-b.at {
			return damaged(
				"the unit at offset %#x of %s leaves the section, which has %#x bytes",
				u.start,
				name,
				len(data),
			)
		}
		u.end = b.at + length
		if length == 0 { // padding between units of different files
			continue
		}
		offset := uint8(4)
		if u.wide {
			offset = 8
		}
		u.Version = int(b.uint(2))
		kind := uint8(1)
		if types {
			kind = 2
		}
		var abbrevs uint64
		switch {
		case u.Version >= 2 && u.Version <= 4:
			abbrevs, u.addrSize = b.uint(offset), b.u8()
		case u.Version == 5:
			kind, u.addrSize = b.u8(), b.u8()
			abbrevs = b.uint(offset)
			// skeleton and split units have an ID that connects them
			if kind == 4 || kind == 5 {
				b.uint(8)
			}
		default:
			return damaged(
				"the unit at offset %#x of %s has DWARF version %d; versions 2 to 5 are known",
				u.start,
				name,
				u.Version,
			)
		}
		if kind == 2 || kind == 6 {
			u.TypeUnit = true
			u.Signature = b.uint(8)
			at := b.uint(offset)
			if at >= u.end-u.start {
				return damaged(
					"the type unit at offset %#x of %s has its type at %#x, after its end",
					u.start,
					name,
					at,
				)
			}
			u.TypeRef = f.ref(types, u.start+at)
		}
		if u.addrSize != 4 && u.addrSize != 8 && u.addrSize != 2 {
			return damaged(
				"the unit at offset %#x of %s has addresses of %d bytes",
				u.start,
				name,
				u.addrSize,
			)
		}
		if b.bad || b.at > u.end {
			return damaged("the unit header at offset %#x of %s leaves its unit", u.start, name)
		}
		u.first = b.at
		u.key = tableKey{abbrevs, u.addrSize, u.wide, u.Version == 2}
		u.addrs = f.addr
		if len(f.units[i]) == maxUnits {
			return fmt.Errorf("%w: %s has more than %d units", ErrTooLarge, name, maxUnits)
		}
		f.units[i] = append(f.units[i], u)
		b.at = u.end
	}
	return nil
}

// Root returns the root entry of the unit.
func (u *Unit) Root() Ref { return u.file.ref(u.types, u.first) }

// Language returns the unit's DW_AT_language; 0 without one.
func (u *Unit) Language() uint64 { return u.language }

// C reports whether the unit's language is any version of C.
func (u *Unit) C() bool {
	switch u.language {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e: // C89, C, C99, C11, C17, C23
		return true
	}
	return false
}

// Assembler reports whether the unit is assembly (DW_LANG_Mips_Assembler, DW_LANG_Assembly).
func (u *Unit) Assembler() bool { return u.language == 0x8001 || u.language == 0x31 }

// prepare reads the unit's abbreviation table.
func (u *Unit) prepare() error {
	if u.table != nil {
		return nil
	}
	t, err := u.file.table(u.key)
	if err != nil {
		return err
	}
	u.table = t
	return nil
}

// root reads the attributes of the unit's root entry that decoding other entries needs.
func (u *Unit) root(e *Entry) error {
	if u.rooted {
		return nil
	}
	u.rooted = true
	if err := u.decode(u.first, e); err != nil {
		return err
	}
	if e.Has(StrOffsetsBase) {
		u.strOffsetsBase = e.Value(StrOffsetsBase)
	}
	if e.Has(AddrBase) {
		u.addrBase = e.Value(AddrBase)
	}
	if e.Has(StmtList) {
		u.lineOffset, u.hasLines = e.Value(StmtList), true
	}
	u.language = e.Value(Language)
	u.compDir = e.String(CompDir)
	return nil
}
