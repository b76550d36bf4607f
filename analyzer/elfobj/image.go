package elfobj

import (
	"debug/elf"
	"strings"
)

// image is the object as the loader maps it: address ranges that are backed by bytes of the file.
type image struct {
	*file
	loads []progHeader // PT_LOAD in table order
}

// mapSegments checks every PT_LOAD. The kernel maps a segment that runs beyond the end of the file
// and the process dies of SIGBUS at its first use, so such a file counts as truncated.
func mapSegments(f *file, ps []progHeader) (*image, error) {
	m := &image{file: f}
	for i, p := range ps {
		if p.typ != elf.PT_LOAD {
			continue
		}
		if p.filesz > 0 && !f.has(p.off, p.filesz) {
			return nil, truncated(
				"segment %d (PT_LOAD) should be %d bytes at offset %d, and the file ends at %d",
				i,
				p.filesz,
				p.off,
				f.size,
			)
		}
		if end := p.vaddr + max(p.memsz, p.filesz); end < p.vaddr || (!f.wide && end > 1<<32) {
			return nil, damaged(
				"segment %d (PT_LOAD) at address %#x with %d bytes wraps around the address space",
				i,
				p.vaddr,
				max(p.memsz, p.filesz),
			)
		}
		m.loads = append(m.loads, p)
	}
	return m, nil
}

// mapUnit is the smallest size in which any loader maps (getpagesize(2); AArch64 and POWER also
// know larger ones).
const mapUnit = 4096

// mapped is where the bytes of the file that a segment maps begin, in memory and in the file, and
// how many there are. Segments are mapped by whole pages, so the file's bytes beside one in its
// first and last page are there too: patchelf puts tables just behind a segment's end. Where the
// segment is longer in memory than in the file, the kernel clears what follows its own bytes.
func (m *image) mapped(p progHeader) (addr, off, n uint64) {
	if p.filesz == 0 || p.off%mapUnit != p.vaddr%mapUnit {
		return p.vaddr, p.off, p.filesz
	}
	lead := p.vaddr % mapUnit
	addr, off, n = p.vaddr-lead, p.off-lead, lead+p.filesz
	if p.memsz <= p.filesz {
		n = min((n+mapUnit-1)/mapUnit*mapUnit, m.size-off)
	}
	return addr, off, n
}

// at gives the file offset of an address and how many bytes follow there. ok is false where no
// PT_LOAD has bytes at it. Where segments overlap the later one counts, as with mmap; what only
// shares a page with a segment comes last.
func (m *image) at(addr uint64) (off, n uint64, ok bool) {
	for _, own := range []bool{true, false} {
		for i := len(m.loads) - 1; i >= 0; i-- {
			p := m.loads[i]
			if own && (addr < p.vaddr || addr-p.vaddr >= p.filesz) {
				continue
			}
			if start, from, length := m.mapped(p); addr >= start && addr-start < length {
				d := addr - start
				return from + d, length - d, true
			}
		}
	}
	return 0, 0, false
}

// table gives the offset of n bytes at an address that a dynamic tag names.
func (m *image) table(addr, n uint64, what string) (uint64, error) {
	off, have, ok := m.at(addr)
	if !ok {
		return 0, damaged("%s at address %#x lies in no segment", what, addr)
	}
	if n > have {
		return 0, damaged(
			"%s of %d bytes at offset %d leaves its segment, which has %d bytes there",
			what,
			n,
			off,
			have,
		)
	}
	return off, nil
}

// names is the dynamic string table. Every string of an object is cut from it, under one budget.
type names struct {
	text   string
	budget uint64
}

// readNames reads DT_STRTAB. An object without one has no names, and any use of one is an error.
func readNames(m *image, d *dynamic) (*names, error) {
	if !d.has(elf.DT_STRTAB) {
		return &names{}, nil
	}
	n := d.value(elf.DT_STRSZ)
	off, err := m.table(d.value(elf.DT_STRTAB), n, "the string table (DT_STRTAB, DT_STRSZ)")
	if err != nil {
		return nil, err
	}
	if n > maxStrings {
		return nil, tooLarge("DT_STRSZ", n, maxStrings)
	}
	// The strings are cut from one Go string; a Builder saves the second copy that a conversion
	// would make.
	var b strings.Builder
	b.Grow(int(n))
	const what = "the string table"
	if err := m.each(off, n&^(chunkSize-1), chunkSize, what, func(_ uint64, c []byte) (bool, error) { b.Write(c); return true, nil }); err != nil {
		return nil, err
	}
	rest, err := m.bytes(off+n&^(chunkSize-1), n&(chunkSize-1), what)
	if err != nil {
		return nil, err
	}
	b.Write(rest)
	return &names{b.String(), textFree + textFactor*n}, nil
}

// get is a copy of the string at off, so that the table can go. The caller says in its error whose
// name it was.
func (t *names) get(off uint64) (string, error) {
	s, err := t.cut(off)
	return strings.Clone(s), err
}

// cut is the string at off, a part of the table.
func (t *names) cut(off uint64) (string, error) {
	if off >= uint64(len(t.text)) {
		return "", damaged("a name at byte %d of the string table, which has %d", off, len(t.text))
	}
	s := t.text[off:min(off+maxName+1, uint64(len(t.text)))]
	i := strings.IndexByte(s, 0)
	if i < 0 && len(s) > maxName {
		return "", damaged(
			"a name at byte %d of the string table that is longer than %d bytes",
			off,
			maxName,
		)
	}
	if i < 0 {
		return "", damaged("a name at byte %d of the string table that does not end", off)
	}
	if err := t.charge(uint64(i)); err != nil {
		return "", err
	}
	return s[:i], nil
}

// charge takes n bytes of text from the budget.
func (t *names) charge(n uint64) error {
	if n > t.budget {
		return damaged(
			"strings that overlap: a string table of %d bytes spells more than %d bytes of names",
			len(t.text),
			textFree+textFactor*len(t.text),
		)
	}
	t.budget -= n
	return nil
}
