package elfobj

import (
	"debug/elf"
)

// gnuTable is DT_GNU_HASH as bytes: bloom filter, buckets and chains (glibc, elf/dl-lookup.c).
type gnuTable struct {
	table                        []byte // from the bloom filter on; nil: there is none
	buckets, first, bloom, shift uint32
	bucketAt, chainAt            uint64 // offsets in table
}

// sysvTable is DT_HASH.
type sysvTable struct {
	table           []byte
	buckets, chains uint64
	word            uint64 // 4; 8 on s390x and alpha
}

// tables reads everything that is not a string of PT_DYNAMIC itself.
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

// readGNUHash gives the number of symbols that the table speaks of.
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
