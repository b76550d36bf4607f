package elfobj

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// header is the part of the ELF header that Read needs.
type header struct {
	typ                 elf.Type
	phoff, shoff        uint64
	phnum, shnum, shstr uint16
	shentsize           uint16
}

// progHeader is one entry of the program header table.
type progHeader struct {
	typ                           elf.ProgType
	flags                         elf.ProgFlag
	off, vaddr, filesz, memsz, al uint64
}

const magic = "\x7fELF"

// readHeader reads the ELF header into f, o and the result.
func readHeader(r io.ReaderAt, size int64, o *Object) (*file, *header, error) {
	f := &file{r: r, size: uint64(max(size, 0)), order: binary.LittleEndian}
	if f.size < uint64(len(magic)) {
		return nil, nil, fmt.Errorf("%w: it has %d bytes", ErrNotELF, f.size)
	}
	m, err := f.bytes(0, 4, "the magic number")
	if err != nil {
		return nil, nil, err
	}
	if string(m) != magic {
		return nil, nil, fmt.Errorf("%w: it starts with % x", ErrNotELF, m)
	}
	id, err := f.bytes(0, elf.EI_NIDENT, "the identification")
	if err != nil {
		return nil, nil, err
	}
	n, phentsize := uint64(64), uint16(56)
	switch elf.Class(id[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		f.wide, o.Class = true, 64
	case elf.ELFCLASS32:
		o.Class = 32
		n, phentsize = 52, 32
	default:
		return nil, nil, damaged(
			"class %d at offset 4 is neither 32-bit nor 64-bit",
			id[elf.EI_CLASS],
		)
	}
	switch elf.Data(id[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		o.ByteOrder = "little"
	case elf.ELFDATA2MSB:
		f.order, o.ByteOrder = binary.BigEndian, "big"
	default:
		return nil, nil, damaged(
			"byte order %d at offset 5 is neither little nor big endian",
			id[elf.EI_DATA],
		)
	}
	if id[elf.EI_VERSION] != byte(elf.EV_CURRENT) {
		return nil, nil, damaged(
			"ELF version %d at offset 6; only version 1 exists",
			id[elf.EI_VERSION],
		)
	}
	o.OSABI = id[elf.EI_OSABI]

	b, err := f.bytes(0, n, "the ELF header")
	if err != nil {
		return nil, nil, err
	}
	c := f.cursor(b[elf.EI_NIDENT:])
	h := &header{typ: elf.Type(c.u16())}
	o.Machine = Machine(c.u16())
	c.u32()  // e_version
	c.word() // e_entry
	h.phoff, h.shoff = c.word(), c.word()
	o.EFlags = c.u32()
	c.u16() // e_ehsize
	pe := c.u16()
	h.phnum, h.shentsize, h.shnum, h.shstr = c.u16(), c.u16(), c.u16(), c.u16()
	switch h.typ {
	case elf.ET_REL, elf.ET_EXEC, elf.ET_DYN, elf.ET_CORE:
		o.Type = h.typ.String()
	default:
		return nil, nil, damaged(
			"type %#x at offset 16 is none of relocatable, executable, shared object and core",
			uint16(h.typ),
		)
	}
	// A core file may have more program headers than the field can say, and a .o file has none;
	// neither is loaded.
	if loadable(h) && pe != phentsize {
		return nil, nil, damaged(
			"program headers of %d bytes each (offset %d); ELF%d has %d",
			pe,
			n-10,
			o.Class,
			phentsize,
		)
	}
	return f, h, nil
}

func loadable(h *header) bool { return h.typ == elf.ET_DYN || h.typ == elf.ET_EXEC }

// readProgHeaders reads the program header table of a shared object or an executable.
func readProgHeaders(f *file, h *header) ([]progHeader, error) {
	if h.phnum == 0 {
		return nil, damaged("no program headers, so there is nothing to load")
	}
	// PN_XNUM: the number stands elsewhere; the loader does not know this form
	if h.phnum == 0xffff {
		return nil, damaged("65535 program headers mean an extended table, which no loader accepts")
	}
	n := uint64(32)
	if f.wide {
		n = 56
	}
	b, err := f.bytes(h.phoff, uint64(h.phnum)*n, "the program header table")
	if err != nil {
		return nil, err
	}
	c := f.cursor(b)
	ps := make([]progHeader, h.phnum)
	for i := range ps {
		p := &ps[i]
		p.typ = elf.ProgType(c.u32())
		if f.wide {
			p.flags = elf.ProgFlag(c.u32())
		}
		p.off, p.vaddr = c.word(), c.word()
		c.word() // p_paddr
		p.filesz, p.memsz = c.word(), c.word()
		if !f.wide {
			p.flags = elf.ProgFlag(c.u32())
		}
		p.al = c.word()
	}
	return ps, nil
}
