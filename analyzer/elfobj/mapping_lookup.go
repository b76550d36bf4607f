package elfobj

import (
	"debug/elf"
)

// Definition is a symbol with the name that was looked up. The loader decides whether it binds.
type Definition struct {
	// st_shndx is SHN_UNDEF: a program uses the function's address, or the symbol is not defined.
	Undefined        bool
	Absolute         bool   // SHN_ABS
	Value            bool   // st_value is not 0
	Local            bool   // STB_LOCAL, or another binding that loaders ignore
	HiddenVisibility bool   // STV_HIDDEN or STV_INTERNAL
	Unique           bool   // STB_GNU_UNIQUE
	Type             uint8  // STT_…
	Index            uint16 // version index without the hidden bit; 0 without DT_VERSYM
	Hidden           bool   // the hidden bit
}

// HashGNU returns the hash that DT_GNU_HASH uses.
func HashGNU(name []byte) uint32 {
	h := uint32(5381)
	for _, c := range name {
		h = h*33 + uint32(c)
	}
	return h
}

// HashSysV returns the hash that DT_HASH and version records use.
func HashSysV(name string) uint32 {
	var h uint32
	for i := 0; i < len(name); i++ {
		h = h<<4 + uint32(name[i])
		g := h & 0xf0000000
		h ^= g >> 24
		h &^= g
	}
	return h
}

// Candidates iterates over the definitions of one name, in the order of the hash table.
type Candidates struct {
	m    *Mapping
	name []byte
	hash uint32
	next uint64 // GNU: offset of the next chain word; SysV: the next symbol
	left uint64 // remaining steps, which limits circular chains
	sysv bool
}

// Lookup returns the definitions of a name; hash must be HashGNU(name). There are none if the
// object has no hash table.
func (m *Mapping) Lookup(name []byte, hash uint32) Candidates {
	c := Candidates{m: m, name: name, hash: hash}
	if g := &m.gnu; g.table != nil {
		if g.buckets == 0 {
			return c
		}
		var word uint64
		bits := uint32(64)
		if m.Class == 64 {
			word = m.u64(g.table[uint64(hash/64&(g.bloom-1))*8:])
		} else {
			bits = 32
			word = uint64(m.u32(g.table[uint64(hash/32&(g.bloom-1))*4:]))
		}
		var second uint32
		if g.shift < 32 {
			second = hash >> g.shift
		}
		if word>>(hash%bits)&(word>>(second%bits))&1 == 0 {
			return c
		}
		b := m.u32(g.table[g.bucketAt+4*uint64(hash%g.buckets):])
		if b == 0 || b < g.first {
			return c
		}
		c.next, c.left = g.chainAt+4*uint64(b-g.first), maxSymbols
		return c
	}
	if h := &m.sysv; h.table != nil && h.buckets > 0 {
		c.sysv, c.left = true, h.chains
		c.next = m.hashWord(h.table, h.word, uint64(HashSysV(string(name)))%h.buckets)
	}
	return c
}

// Next returns the symbol index of the next definition. ok is false after the last one.
func (c *Candidates) Next() (symbol uint32, ok bool) {
	if c.left == 0 {
		return 0, false
	}
	m := c.m
	if c.sysv {
		for c.left > 0 && c.next != 0 && c.next < m.sysv.chains {
			s := c.next
			c.next = m.hashWord(m.sysv.table, m.sysv.word, m.sysv.buckets+s)
			c.left--
			if m.named(uint32(s), c.name) {
				return uint32(s), true
			}
		}
		return 0, false
	}
	for c.next+4 <= uint64(len(m.gnu.table)) && c.left > 0 {
		h := m.u32(m.gnu.table[c.next:])
		s := uint32((c.next-m.gnu.chainAt)/4) + m.gnu.first
		c.next += 4
		if h&1 == 1 {
			c.left = 0
		}
		if (h^c.hash)>>1 == 0 && m.named(s, c.name) {
			return s, true
		}
	}
	return 0, false
}

// named reports whether symbol s has the given name.
func (m *Mapping) named(s uint32, name []byte) bool {
	at := uint64(s) * uint64(m.symbolLen)
	if at+uint64(m.symbolLen) > uint64(len(m.dynsym)) {
		return false
	}
	off := uint64(m.u32(m.dynsym[at:]))
	end := off + uint64(len(name))
	return end < uint64(len(m.dynstr)) && string(m.dynstr[off:end]) == string(name) &&
		m.dynstr[end] == 0
}

// Definition returns the properties of a symbol that Next returned.
func (m *Mapping) Definition(s uint32) Definition {
	b := m.dynsym[s*m.symbolLen:]
	var info, other byte
	var shndx uint16
	var value bool
	if m.Class == 64 {
		info, other, shndx, value = b[4], b[5], m.u16(b[6:]), m.u64(b[8:]) != 0
	} else {
		info, other, shndx, value = b[12], b[13], m.u16(b[14:]), m.u32(b[4:]) != 0
	}
	bind, vis := elf.ST_BIND(info), elf.ST_VISIBILITY(other)
	d := Definition{
		Undefined: shndx == 0, Absolute: elf.SectionIndex(shndx) == elf.SHN_ABS, Value: value,
		Local: bind != elf.STB_GLOBAL && bind != elf.STB_WEAK && bind != bindUnique,
		HiddenVisibility: vis == elf.STV_HIDDEN ||
			vis == elf.STV_INTERNAL, Unique: bind == bindUnique, Type: info & 15,
	}
	if i := 2 * uint64(s); i+2 <= uint64(len(m.versym)) {
		v := m.u16(m.versym[i:])
		d.Index, d.Hidden = v&^versionHidden, v&versionHidden != 0
	}
	return d
}

// Version returns the version for an index; its Hash is 0 if there is none.
func (m *Mapping) Version(index uint16) IndexedVersion {
	if int(index) < len(m.Versions) {
		return m.Versions[index]
	}
	return IndexedVersion{}
}

// gnuTable is DT_GNU_HASH: Bloom filter, buckets and chains (glibc, elf/dl-lookup.c).
type gnuTable struct {
	table                        []byte // starts with the Bloom filter; nil if there is no table
	buckets, first, bloom, shift uint32
	bucketAt, chainAt            uint64 // offsets in table
}

// sysvTable is DT_HASH.
type sysvTable struct {
	table           []byte
	buckets, chains uint64
	word            uint64 // 4; 8 on s390x and alpha
}

// tables reads everything that is not a string in PT_DYNAMIC.
func (m *Mapping) tables(im *image, t *dynTags) error {
	m.symbolLen = uint32(im.symbolSize())
	if t.got(elf.DT_STRTAB) {
		n := t.low[elf.DT_STRSZ]
		if n > maxStrings {
			return tooLarge("DT_STRSZ", n, maxStrings)
		}
		off, err := im.table(t.low[elf.DT_STRTAB], n, "the string table (DT_STRTAB, DT_STRSZ)")
		if err != nil {
			return err
		}
		if m.dynstr, err = im.bytes(off, n, "the string table"); err != nil {
			return err
		}
	}
	symbols, err := m.relocations(im, t)
	if err != nil {
		return err
	}
	if t.gnuHash != 0 {
		n, err := m.readGNUHash(im, t)
		if err != nil {
			return err
		}
		symbols = max(symbols, n)
	} else if t.low[elf.DT_HASH] != 0 {
		n, err := m.readHash(im, t)
		if err != nil {
			return err
		}
		symbols = max(symbols, n)
	}
	if symbols > maxSymbols {
		return tooLarge("the number of dynamic symbols", symbols, maxSymbols)
	}
	if symbols > 0 {
		const what = "the symbol table (DT_SYMTAB)"
		n := symbols * uint64(m.symbolLen)
		off, err := im.table(t.low[elf.DT_SYMTAB], n, what)
		if err != nil {
			return err
		}
		if m.dynsym, err = im.bytes(off, n, what); err != nil {
			return err
		}
	}
	if err := m.longerStrings(im, t); err != nil {
		return err
	}
	if m.HasVersym = t.versym != 0; m.HasVersym && symbols > 0 {
		const what = "the version index table (DT_VERSYM)"
		off, err := im.table(t.versym, 2*symbols, what)
		if err != nil {
			return err
		}
		if m.versym, err = im.bytes(off, 2*symbols, what); err != nil {
			return err
		}
	}
	m.HasVerdef = t.verdef != 0
	if err := m.versionTables(im, t); err != nil {
		return err
	}
	return m.finishReferences(t)
}

// longerStrings reads the string table again if a name is beyond DT_STRSZ, which the loader does
// not use.
func (m *Mapping) longerStrings(im *image, t *dynTags) error {
	n := uint64(len(m.dynstr))
	short := n > 0 && m.dynstr[n-1] != 0
	for at := 0; at < len(m.dynsym) && !short; at += int(m.symbolLen) {
		short = uint64(m.u32(m.dynsym[at:])) >= n
	}
	for _, d := range t.order {
		short = short || d.off >= n
	}
	addr := t.low[elf.DT_STRTAB]
	off, _, ok := im.at(addr)
	if !short || !ok || !t.got(elf.DT_STRTAB) {
		return nil
	}
	tables := []uint64{t.gnuHash, t.versym, t.verneed, t.verdef}
	for _, tag := range stringNeighbors {
		if tag < elf.DynTag(len(t.low)) {
			tables = append(tables, t.low[tag])
		}
	}
	var err error
	m.dynstr, err = im.bytes(off, max(n, im.stringRoom(addr, tables)), "the string table")
	return err
}

func (m *Mapping) u32(b []byte) uint32 {
	if m.Big {
		return uint32(b[3]) | uint32(b[2])<<8 | uint32(b[1])<<16 | uint32(b[0])<<24
	}
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func (m *Mapping) u16(b []byte) uint16 {
	if m.Big {
		return uint16(b[1]) | uint16(b[0])<<8
	}
	return uint16(b[0]) | uint16(b[1])<<8
}

func (m *Mapping) u64(b []byte) uint64 {
	if m.Big {
		return uint64(m.u32(b))<<32 | uint64(m.u32(b[4:]))
	}
	return uint64(m.u32(b)) | uint64(m.u32(b[4:]))<<32
}

// readGNUHash returns the number of symbols that the table covers.
func (m *Mapping) readGNUHash(im *image, t *dynTags) (uint64, error) {
	const what = "the hash table (DT_GNU_HASH)"
	off, n, err := t.window(im, t.gnuHash, 4*(4*maxSymbols), what)
	if err != nil {
		return 0, err
	}
	if n < 16 {
		return 0, damaged("%s of %d bytes at offset %d", what, n, off)
	}
	b, err := im.bytes(off, n, what)
	if err != nil {
		return 0, err
	}
	g := gnuTable{
		buckets: m.u32(b),
		first:   m.u32(b[4:]),
		bloom:   m.u32(b[8:]),
		shift:   m.u32(b[12:]),
		table:   b[16:],
	}
	g.bucketAt = uint64(g.bloom) * im.wordSize()
	g.chainAt = g.bucketAt + 4*uint64(g.buckets)
	if g.chainAt > uint64(len(g.table)) || g.bloom&(g.bloom-1) != 0 || g.bloom == 0 {
		return 0, damaged(
			"%s at offset %d: %d words of filter and %d buckets in %d bytes",
			what,
			off,
			g.bloom,
			g.buckets,
			n,
		)
	}
	var last uint64
	for i := uint64(0); i < uint64(g.buckets); i++ {
		last = max(last, uint64(m.u32(g.table[g.bucketAt+4*i:])))
	}
	if last >= uint64(g.first) && last > 0 {
		at := g.chainAt + 4*(last-uint64(g.first))
		for ; at+4 <= uint64(len(g.table)); at += 4 {
			last++
			if m.u32(g.table[at:])&1 == 1 {
				at += 4
				break
			}
		}
		g.table = g.table[:min(at, uint64(len(g.table)))]
	}
	m.gnu = g
	return last, nil
}

func (m *Mapping) readHash(im *image, t *dynTags) (uint64, error) {
	const what = "the hash table (DT_HASH)"
	w := uint64(4)
	if mach := elf.Machine(m.Machine); im.wide && (mach == elf.EM_S390 || mach == elf.EM_ALPHA) {
		w = 8
	}
	off, err := im.table(t.low[elf.DT_HASH], 2*w, what)
	if err != nil {
		return 0, err
	}
	b, err := im.bytes(off, 2*w, what)
	if err != nil {
		return 0, err
	}
	h := sysvTable{word: w}
	h.buckets, h.chains = m.hashWord(b, w, 0), m.hashWord(b, w, 1)
	if h.buckets > maxSymbols || h.chains > maxSymbols {
		return 0, tooLarge("the size of DT_HASH", max(h.buckets, h.chains), maxSymbols)
	}
	n := (h.buckets + h.chains) * w
	if off, err = im.table(t.low[elf.DT_HASH], 2*w+n, what); err != nil {
		return 0, err
	}
	if h.table, err = im.bytes(off+2*w, n, what); err != nil {
		return 0, err
	}
	m.sysv = h
	return h.chains, nil
}

func (m *Mapping) hashWord(b []byte, w, i uint64) uint64 {
	if w == 8 {
		return m.u64(b[8*i:])
	}
	return uint64(m.u32(b[4*i:]))
}
