package dwarf

import "fmt"

// Attribute is an attribute that Entry decodes.
type Attribute uint8

// Attributes, without the prefix DW_AT_.
const (
	none Attribute = iota
	Sibling
	Location
	Name
	ByteSize
	BitSize
	BitOffset
	DataBitOffset
	Language
	LowPC
	ConstValue
	Inline
	UpperBound
	Count
	Prototyped
	AbstractOrigin
	Artificial
	CallingConvention
	MemberLocation
	DeclFile
	DeclLine
	Declaration
	Encoding
	External
	Specification
	Type
	Virtuality
	VtableElement
	LinkageName
	Signature
	CompDir
	StmtList
	StrOffsetsBase
	AddrBase
	DwoName
	DwoID
	Alignment
	Import
	Producer
	ExportSymbols
	ObjectPointer
	Ranges
	Defaulted
	Deleted
	attributes
)

// standard maps DW_AT codes to attributes (DWARF 5, section 7.5.4).
var standard = [...]Attribute{
	0x01: Sibling, 0x02: Location, 0x03: Name, 0x0b: ByteSize, 0x0c: BitOffset, 0x0d: BitSize,
	0x10: StmtList, 0x11: LowPC, 0x13: Language, 0x18: Import, 0x1b: CompDir, 0x1c: ConstValue,
	0x20: Inline, 0x25: Producer, 0x27: Prototyped, 0x2f: UpperBound, 0x31: AbstractOrigin,
	0x34: Artificial, 0x36: CallingConvention, 0x37: Count, 0x38: MemberLocation, 0x3a: DeclFile,
	0x3b: DeclLine, 0x3c: Declaration, 0x3e: Encoding, 0x3f: External, 0x47: Specification,
	0x49: Type, 0x4c: Virtuality, 0x4d: VtableElement, 0x55: Ranges, 0x64: ObjectPointer,
	0x69: Signature, 0x6b: DataBitOffset, 0x6e: LinkageName, 0x72: StrOffsetsBase, 0x73: AddrBase,
	0x76: DwoName, 0x88: Alignment, 0x89: ExportSymbols, 0x8a: Deleted, 0x8b: Defaulted,
}

// extension returns the attribute with a code of GNU or MIPS that DWARF 5 adopted under another
// code; 0 if there is none.
func extension(code uint64) Attribute {
	switch code {
	case 0x2007:
		return LinkageName
	case 0x2130:
		return DwoName
	case 0x2131:
		return DwoID
	case 0x2133:
		return AddrBase
	}
	return 0
}

// Forms, DW_FORM_.
const (
	formAddr = 0x01 + iota
	_
	formBlock2
	formBlock4
	formData2
	formData4
	formData8
	formString
	formBlock
	formBlock1
	formData1
	formFlag
	formSdata
	formStrp
	formUdata
	formRefAddr
	formRef1
	formRef2
	formRef4
	formRef8
	formRefUdata
	formIndirect
	formSecOffset
	formExprloc
	formFlagPresent
	formStrx
	formAddrx
	formRefSup4
	formStrpSup
	formData16
	formLineStrp
	formRefSig8
	formImplicitConst
	formLoclistx
	formRnglistx
	formRefSup8
	formStrx1
	formStrx2
	formStrx3
	formStrx4
	formAddrx1
	formAddrx2
	formAddrx3
	formAddrx4
)

const (
	formGNUAddrIndex = 0x1f01
	formGNUStrIndex  = 0x1f02
	formGNURefAlt    = 0x1f20
	formGNUStrpAlt   = 0x1f21
)

// spec is an attribute of an abbreviation.
type spec struct {
	attribute Attribute
	size      uint8 // bytes, for forms with a fixed size in this unit
	form      uint16
}

// abbrev is an abbreviation with properties shared by all entries that use it.
type abbrev struct {
	has      uint64
	tag      Tag
	fixed    int32  // bytes of all attributes if every form has a fixed size, else -1
	sibling  int32  // offset of a 4-byte DW_AT_sibling after fixed-size forms only, else -1
	from, to uint32 // in table.specs
	constant uint32 // index of its first value in table.constants
	children bool
}

// table is an abbreviation table in .debug_abbrev, decoded for one kind of unit.
type table struct {
	dense     []abbrev // by code - 1
	sparse    map[uint64]*abbrev
	specs     []spec
	constants []int64 // values of DW_FORM_implicit_const, in the order of specs
	users     int     // the cache, and units in memory
}

type tableKey struct {
	offset   uint64
	addrSize uint8
	wide     bool // 64-bit DWARF
	v2       bool // in DWARF 2, DW_FORM_ref_addr has the size of an address
}

func (t *table) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	return t.sparse[code]
}

// table returns the abbreviation table of a unit, from a cache if possible.
func (f *file) table(k tableKey) (*table, error) {
	if t := f.tables[k]; t != nil {
		return t, nil
	}
	if k.offset >= f.abbrev.size {
		return nil, damaged(
			"abbreviations at offset %#x of .debug_abbrev, which has %#x bytes",
			k.offset,
			f.abbrev.size,
		)
	}
	room := f.abbrev.size - k.offset
	for n := min(tablePart, room); ; n = min(4*n, room) { // the length of a table is not known
		data, err := f.abbrev.bytes(".debug_abbrev", f.part, k.offset, n)
		if err != nil {
			return nil, err
		}
		if f.abbrev.whole == nil {
			f.part = data
		}
		t, whole, err := f.decodeTable(k, data)
		if err != nil {
			return nil, err
		}
		if whole {
			if len(f.tables) >= maxTables {
				for _, old := range f.tables {
					f.release(old)
				}
				clear(f.tables)
			}
			t.users++
			f.tables[k] = t
			return t, nil
		}
		if n == room {
			return nil, damaged("abbreviations at offset %#x of .debug_abbrev leave the section",
				k.offset)
		}
	}
}

// release ends one use of a table. The memory of a table without users is used again.
func (f *file) release(t *table) {
	if t.users--; t.users == 0 {
		f.unused = append(f.unused, t)
	}
}

// tablePart is how many bytes of a table are read first. Most tables have less.
const tablePart = 4 << 10

// decodeTable decodes the table at the start of data. whole is false if data ends before it.
func (f *file) decodeTable(k tableKey, data []byte) (t *table, whole bool, err error) {
	b := buffer{data, 0, f.order, false}
	specs, dense, constants := f.specs[:0], f.dense[:0], f.constants[:0]
	var sparse map[uint64]*abbrev
	for {
		code := b.uleb()
		if code == 0 || b.bad {
			break
		}
		a := abbrev{
			tag: Tag(b.uleb()), children: b.u8() != 0, sibling: -1,
			from: uint32(len(specs)), constant: uint32(len(constants)),
		}
		for {
			at, form := b.uleb(), b.uleb()
			var value int64
			if form == formImplicitConst {
				value = b.sleb()
			}
			if at == 0 && form == 0 || b.bad {
				break
			}
			if form > 0xffff {
				return nil, false, damaged("form %#x in .debug_abbrev", form)
			}
			s := spec{attribute: attribute(at), form: uint16(form)}
			var ok bool
			s.size, ok = fixedSize(form, k)
			// An attribute without bytes takes time in each entry, and a section can have millions
			// of entries, so it is stored only if Entry decodes it, and once.
			if ok && s.size == 0 && (s.attribute == none || a.has>>s.attribute&1 != 0) {
				continue
			}
			if form == formImplicitConst {
				constants = append(constants, value)
			}
			if s.attribute == Sibling && form == formRef4 && a.fixed >= 0 {
				a.sibling = a.fixed
			}
			if !ok {
				a.fixed = -1
			} else if a.fixed >= 0 {
				a.fixed += int32(s.size)
			}
			a.has |= 1 << s.attribute
			specs = append(specs, s)
		}
		a.to = uint32(len(specs))
		if code == uint64(len(dense))+1 {
			dense = append(dense, a)
			continue
		}
		if sparse == nil {
			sparse = map[uint64]*abbrev{}
		}
		own := a // so that only these are allocated one by one
		sparse[code] = &own
	}
	f.specs, f.dense, f.constants = specs, dense, constants
	f.decoded += len(specs) + len(dense) + len(sparse)
	if uint64(f.decoded) > maxRepeated*f.abbrev.size+minRoom {
		return nil, false, fmt.Errorf(
			"%w: units whose abbreviations overlap in .debug_abbrev", ErrTooLarge,
		)
	}
	if b.bad {
		return nil, false, nil
	}
	t = &table{}
	if n := len(f.unused); n > 0 {
		t, f.unused = f.unused[n-1], f.unused[:n-1]
	}
	t.sparse = sparse
	t.specs, t.dense = append(t.specs[:0], specs...), append(t.dense[:0], dense...)
	t.constants = append(t.constants[:0], constants...)
	return t, true, nil
}

// maxTables limits the tables in the cache. Most units have their own one, or share that of the
// unit before.
const maxTables = 8

// maxRepeated limits how often the bytes of .debug_abbrev are decoded on average. Tables that
// several units share are decoded once.
const maxRepeated = 8

// attribute returns the attribute with a DW_AT code; none if Entry does not decode it.
func attribute(code uint64) Attribute {
	if code < uint64(len(standard)) {
		return standard[code]
	}
	return extension(code)
}

// fixedSize returns the size in bytes of a form that does not depend on its value.
func fixedSize(form uint64, k tableKey) (uint8, bool) {
	offset := uint8(4)
	if k.wide {
		offset = 8
	}
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0, true
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1, true
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2, true
	case formStrx3, formAddrx3:
		return 3, true
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4, true
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8, true
	case formData16:
		return 16, true
	case formAddr:
		return k.addrSize, true
	case formStrp, formLineStrp, formStrpSup, formSecOffset, formGNURefAlt, formGNUStrpAlt:
		return offset, true
	case formRefAddr:
		if k.v2 {
			return k.addrSize, true
		}
		return offset, true
	}
	return 0, false
}
