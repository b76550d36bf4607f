package dwarf

import (
	"fmt"
	"iter"
	"slices"
	"sort"
)

// Unit is a compilation, partial or type unit. There may be many, so it is small.
type Unit struct {
	Version   uint16
	TypeUnit  bool
	first     uint8 // position of the entries
	rooted    bool  // the root entry was read, which sets the fields at the end
	partial   bool
	hasLines  bool
	language  uint16
	Signature uint64 // of a type unit
	TypeRef   Ref    // for a type unit, the type that it defines

	section    *unitSection
	file       *file
	start, end uint64 // in the section, from the header to the end
	key        tableKey

	// Set while the unit is in memory. Positions in data are relative to start.
	data  []byte
	table *table
	files *fileTable
	at    int // position of data in section.ring

	strOffsetsBase uint64
	addrBase       uint64
	lineOffset     uint64
	compDir        string
	other          *splitFile // nil if it is not a skeleton unit
}

// splitFile is the file with the entries of a skeleton unit.
type splitFile struct {
	name string // DW_AT_dwo_name
	id   uint64
}

// unitSection is a section of units. Each unit is read when it is needed. Only the last units and
// those that others refer to, type units and partial units, stay in memory. If units are read too
// often, because they refer to each other, the whole section is read into memory.
type unitSection struct {
	content
	file  *file
	types bool // .debug_types

	units  []*Unit // known units, sorted by position
	known  uint64  // end of the known units
	read   uint64  // bytes of units that were read
	recent []*Unit // units in ring, in the order of reading
	large  *Unit   // the last unit that is too large for ring
	memory []byte  // of large
	ring   []byte  // memory for units, which the next ones overwrite
	free   int     // where in ring the next unit begins
	head   [maxHeader]byte
}

const (
	minRing   = 32 << 10  // bytes; the units of C programs have about ten thousand
	maxRing   = 512 << 10 // if units refer to each other, as those of link time optimization
	maxReads  = 16        // how often a section is read by units, on average
	maxHeader = 40        // bytes of a unit header
)

func (s *unitSection) name() string {
	if s.types {
		return ".debug_types"
	}
	return ".debug_info"
}

// next reads the header of the unit after the known ones; nil at the end of the section.
func (s *unitSection) next() (*Unit, error) {
	for s.known < s.size {
		if u, err := s.header(); u != nil || err != nil {
			return u, err
		}
	}
	return nil, nil
}

// all iterates over the units of the section, each in memory.
func (s *unitSection) all() iter.Seq2[*Unit, error] {
	return func(yield func(*Unit, error) bool) {
		for i := 0; ; i++ {
			for i == len(s.units) {
				if u, err := s.next(); err != nil {
					yield(nil, err)
					return
				} else if u == nil {
					return
				}
			}
			u := s.units[i]
			if err := u.load(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(u, nil) {
				return
			}
		}
	}
}

// header reads the next unit header; the unit is nil for padding between units.
func (s *unitSection) header() (*Unit, error) {
	f := s.file
	u := &Unit{section: s, file: f, start: s.known}
	room := s.size - s.known
	data, err := s.bytes(s.name(), s.head[:], u.start, min(maxHeader, room))
	if err != nil {
		return nil, err
	}
	b := buffer{data, 0, f.order, false}
	length := b.uint(4)
	if length == 0xffffffff {
		u.key.wide = true
		length = b.uint(8)
	}
	if b.bad || length > room-b.at {
		return nil, damaged(
			"the unit at offset %#x of %s leaves the section, which has %#x bytes",
			u.start,
			s.name(),
			s.size,
		)
	}
	u.end = u.start + b.at + length
	if length == 0 { // padding between units of different files
		s.known = u.end
		return nil, nil
	}
	if err := u.parse(&b); err != nil {
		return nil, err
	}
	if len(s.units) == maxUnits {
		return nil, fmt.Errorf("%w: %s has more than %d units", ErrTooLarge, s.name(), maxUnits)
	}
	s.units = append(s.units, u)
	s.known = u.end
	return u, nil
}

// parse decodes the fields of the unit header after its length.
func (u *Unit) parse(b *buffer) error {
	name := u.section.name()
	offset := uint8(4)
	if u.key.wide {
		offset = 8
	}
	u.Version = uint16(b.uint(2))
	kind := uint8(1)
	if u.section.types {
		kind = 2
	}
	switch {
	case u.Version >= 2 && u.Version <= 4:
		u.key.offset, u.key.addrSize = b.uint(offset), b.u8()
	case u.Version == 5:
		kind, u.key.addrSize = b.u8(), b.u8()
		u.key.offset = b.uint(offset)
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
		u.TypeRef = u.ref(at)
	}
	if u.key.addrSize != 4 && u.key.addrSize != 8 && u.key.addrSize != 2 {
		return damaged(
			"the unit at offset %#x of %s has addresses of %d bytes",
			u.start,
			name,
			u.key.addrSize,
		)
	}
	if b.bad || b.at > u.end-u.start {
		return damaged("the unit header at offset %#x of %s leaves its unit", u.start, name)
	}
	u.first = uint8(b.at) // at most maxHeader
	u.key.v2 = u.Version == 2
	if u.split() {
		if u.Version >= 5 {
			u.strOffsetsBase = 8 // after the header of .debug_str_offsets.dwo
			if u.key.wide {
				u.strOffsetsBase = 16
			}
		}
		u.addrBase = u.file.skeleton.addrBase
	}
	return nil
}

// load reads the unit into memory, and drops old units.
func (u *Unit) load() error {
	s := u.section
	if u.data != nil {
		return nil
	}
	if s.read += u.end - u.start; s.read > maxReads*s.size && s.whole == nil {
		all, err := s.bytes(s.name(), nil, 0, s.size)
		if err != nil {
			return err
		}
		s.whole = all
	}
	table, err := u.file.table(u.key)
	if err != nil {
		return err
	}
	table.users++
	u.table = table
	if s.whole != nil {
		u.data = s.whole[u.start:u.end:u.end]
		return u.root()
	}
	data := s.place(u.end - u.start)
	if err := s.readAt(s.name(), data, u.start); err != nil {
		u.drop()
		return err
	}
	u.data = data
	if err := u.root(); err != nil {
		u.drop()
		return err
	}
	switch {
	case u.TypeUnit || u.partial:
		u.data = slices.Clone(data)
	case len(data) > len(s.ring)/2:
		s.large = u
	default:
		u.at = s.free
		s.recent = append(s.recent, u)
		s.free += len(data)
	}
	return nil
}

// place returns memory for a unit of n bytes, and drops the units that were there.
func (s *unitSection) place(n uint64) []byte {
	size := min(minRing, s.size)
	if s.read > 2*s.known { // units were read twice, on average
		size = min(maxRing, s.size)
	}
	if uint64(len(s.ring)) < size {
		for len(s.recent) > 0 {
			s.forget()
		}
		s.ring, s.free = make([]byte, size), 0
	}
	if n > uint64(len(s.ring)/2) {
		if s.large != nil {
			s.large.drop()
			s.large = nil
		}
		s.memory = slices.Grow(s.memory[:0], int(n))[:n]
		return s.memory
	}
	// Units are in ring in the order of reading, so the oldest one is the next in the way.
	if s.free+int(n) > len(s.ring) {
		for len(s.recent) > 0 && s.recent[0].at >= s.free {
			s.forget()
		}
		s.free = 0
	}
	end := s.free + int(n)
	for len(s.recent) > 0 && s.recent[0].at < end && s.recent[0].at+len(s.recent[0].data) > s.free {
		s.forget()
	}
	return s.ring[s.free:end:end]
}

// forget drops the oldest unit in ring.
func (s *unitSection) forget() {
	s.recent[0].drop()
	s.recent = s.recent[1:]
}

// drop removes the unit from memory.
func (u *Unit) drop() {
	u.file.release(u.table)
	if u.files != nil {
		u.file.lines.unused = u.files
	}
	u.data, u.table, u.files = nil, nil, nil
}

// find returns the unit that contains a position of the section; nil without one.
func (s *unitSection) find(at uint64) (*Unit, error) {
	for s.known <= at {
		if u, err := s.next(); u == nil || err != nil {
			return nil, err
		}
	}
	k := sort.Search(len(s.units), func(k int) bool { return s.units[k].end > at })
	if k == len(s.units) || at < s.units[k].start+uint64(s.units[k].first) {
		return nil, nil
	}
	return s.units[k], nil
}

// bytes returns the bytes of the unit; nil if they cannot be read, which Data.Err reports.
func (u *Unit) bytes() []byte {
	if u.data == nil {
		if err := u.load(); err != nil && u.file.err == nil {
			u.file.err = err
		}
	}
	return u.data
}

// ref returns the position of the entry at a position of the unit.
func (u *Unit) ref(at uint64) Ref { return u.file.ref(u.section.types, u.start+at) }

// Root returns the root entry of the unit.
func (u *Unit) Root() Ref { return u.ref(uint64(u.first)) }

// Contains reports whether an entry is in the unit.
func (u *Unit) Contains(r Ref) bool { return r >= u.ref(0) && r < u.ref(u.end-u.start) }

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

// split reports whether the unit is from a .dwo file, whose line table is at offset 0.
func (u *Unit) split() bool { return u.file.skeleton != nil }

// root reads the attributes of the unit's root entry that decoding other entries needs.
func (u *Unit) root() error {
	if u.rooted {
		return nil
	}
	u.rooted = true
	var e Entry
	if err := u.decode(uint64(u.first), &e); err != nil {
		return err
	}
	u.partial = e.Tag == TagPartialUnit
	if e.Has(StrOffsetsBase) {
		u.strOffsetsBase = e.Value(StrOffsetsBase)
	}
	if e.Has(AddrBase) {
		u.addrBase = e.Value(AddrBase)
	}
	if e.Has(StmtList) {
		u.lineOffset, u.hasLines = e.Value(StmtList), true
	}
	u.language = uint16(e.Value(Language))
	if dir := e.Bytes(CompDir); string(dir) != u.file.compDir {
		u.file.compDir = string(dir)
	}
	u.compDir = u.file.compDir
	if name := e.String(DwoName); name != "" {
		u.other = &splitFile{name, e.Value(DwoID)}
	}
	if u.compDir == "" && u.split() {
		u.compDir = u.file.skeleton.compDir
	}
	return nil
}
