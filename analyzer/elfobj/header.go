package elfobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// header contains the fields of the ELF header that Read needs.
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

// readHeader reads the ELF header. It sets the fields of o that the header contains.
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
		return nil, nil, damaged("class %d at offset 4 is neither 32-bit nor 64-bit", id[elf.EI_CLASS])
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
	b, err := f.bytes(0, n, "the ELF header")
	if err != nil {
		return nil, nil, err
	}
	c := f.cursor(b[elf.EI_NIDENT:])
	h := &header{typ: elf.Type(c.u16())}
	o.Machine = Machine(c.u16())
	if h.typ >= elf.ET_LOPROC && o.Machine == Machine(elf.EM_NONE) {
		return nil, nil, fmt.Errorf("%w: it is for no machine, and of type %#x of a processor",
			ErrForeign, uint16(h.typ))
	}
	if id[elf.EI_VERSION] != byte(elf.EV_CURRENT) {
		return nil, nil, damaged("ELF version %d at offset 6; only version 1 exists", id[elf.EI_VERSION])
	}
	o.OSABI = id[elf.EI_OSABI]
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
			"type %#x at offset 16 is not relocatable, executable, shared object or core",
			uint16(h.typ),
		)
	}
	// A core file may have more program headers than e_phnum can hold, and a .o file has none;
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
		return nil, damaged("no program headers")
	}
	// PN_XNUM: the count is in the first section header; the loader does not support this.
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

// Head is the ELF header, not validated: every loader has its own checks and error messages.
type Head struct {
	Ident     [16]byte // e_ident
	Class     int      // 32 or 64; 0 if EI_CLASS is neither
	Big       bool     // EI_DATA is big endian
	Type      uint16   // e_type: 2 is ET_EXEC, 3 is ET_DYN
	Machine   Machine
	Version   uint32 // e_version
	Flags     uint32 // e_flags
	PhEntSize uint16
	PhNum     uint16
	phoff     uint64
	first     []byte // the bytes that were read; usually they include the program headers
}

// Segment is one program header.
type Segment struct {
	// 1 is PT_LOAD, 2 is PT_DYNAMIC, 3 is PT_INTERP, 4 is PT_NOTE
	Type                                   uint32
	Flags                                  uint32
	Offset, Addr, FileSize, MemSize, Align uint64
	physical                               uint64 // p_paddr
}

// headRead is how many bytes ReadHead reads, like glibc's struct filebuf: enough for the header
// and the program headers of nearly all files.
const headRead = 1024

// ReadHead reads the ELF header. It returns ErrTruncated if the file is shorter than the header
// of its class, and ErrNotELF if the magic number is wrong. The caller checks everything else.
// If kind is not nil, its class, byte order and machine replace those of the file, as in a
// loader that does not check them.
func ReadHead(r io.ReaderAt, size int64, kind *Head) (*Head, error) {
	b := make([]byte, min(max(size, 0), headRead))
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return nil, readError(err, uint64(n), "the ELF header")
	}
	h := &Head{first: b}
	copy(h.Ident[:], b)
	if len(b) < 52 {
		return nil, truncated("it has %d bytes; an ELF header has 52 or 64", len(b))
	}
	class, data := elf.Class(h.Ident[elf.EI_CLASS]), elf.Data(h.Ident[elf.EI_DATA])
	if kind != nil {
		class, data = elf.Class(kind.Ident[elf.EI_CLASS]), elf.Data(kind.Ident[elf.EI_DATA])
	} else if string(b[:4]) != magic {
		return nil, ErrNotELF
	}
	wide := false
	switch class {
	case elf.ELFCLASS64:
		h.Class, wide = 64, true
		if len(b) < 64 {
			return nil, truncated("it has %d bytes; an ELF header of 64 bits has 64", len(b))
		}
	case elf.ELFCLASS32:
		h.Class = 32
	default:
		return h, nil
	}
	f := &file{wide: wide, order: binary.LittleEndian}
	if h.Big = data == elf.ELFDATA2MSB; h.Big {
		f.order = binary.BigEndian
	}
	c := f.cursor(b[16:])
	h.Type, h.Machine, h.Version = c.u16(), Machine(c.u16()), c.u32()
	c.word() // e_entry
	h.phoff = c.word()
	c.word() // e_shoff
	h.Flags = c.u32()
	c.u16() // e_ehsize
	h.PhEntSize, h.PhNum = c.u16(), c.u16()
	if kind != nil {
		h.Machine = kind.Machine
	}
	return h, nil
}

// Segments reads the program headers. The caller must have checked PhEntSize. It returns
// ErrTruncated if the table is not inside the file.
func (h *Head) Segments(r io.ReaderAt, size int64) ([]Segment, error) {
	f := h.file(r, size)
	n := uint64(32)
	if f.wide {
		n = 56
	}
	total := n * uint64(h.PhNum)
	var b []byte
	if h.phoff <= uint64(len(h.first)) && total <= uint64(len(h.first))-h.phoff {
		b = h.first[h.phoff:]
	} else {
		var err error
		if b, err = f.bytes(h.phoff, total, "the program header table"); err != nil {
			return nil, err
		}
	}
	c := f.cursor(b)
	out := make([]Segment, h.PhNum)
	for i := range out {
		p := &out[i]
		p.Type = c.u32()
		if f.wide {
			p.Flags = c.u32()
		}
		p.Offset, p.Addr, p.physical = c.word(), c.word(), c.word()
		p.FileSize, p.MemSize = c.word(), c.word()
		if !f.wide {
			p.Flags = c.u32()
		}
		p.Align = c.word()
	}
	return out, nil
}

func (h *Head) file(r io.ReaderAt, size int64) *file {
	f := &file{r: r, size: uint64(max(size, 0)), wide: h.Class == 64, order: binary.LittleEndian}
	if h.Big {
		f.order = binary.BigEndian
	}
	return f
}

// KernelNote returns the minimum Linux version in NT_GNU_ABI_TAG as 0xMMmmpp, or 0 if there is
// no such note.
func (h *Head) KernelNote(r io.ReaderAt, size int64, segments []Segment) uint32 {
	f, ps, o := h.file(r, size), make([]progHeader, 0, 4), Object{}
	for _, s := range segments {
		if elf.ProgType(s.Type) == elf.PT_NOTE {
			ps = append(ps, progHeader{typ: elf.PT_NOTE, off: s.Offset, filesz: s.FileSize, al: s.Align})
		}
	}
	readNotes(f, ps, &o)
	n, err := ParseABITag(o.ABITag)
	if err != nil || n[0] != 0 {
		return 0
	}
	return n[1]&0xff<<16 | n[2]&0xff<<8 | n[3]&0xff
}

// Code returns the parts of a file that contain only machine code, as pairs of start and end
// offsets in ascending order. head is the beginning of the file. They are the executable
// segments that overlap no other segment: half of most objects, and nothing that Read needs. It
// returns nil if the program headers are not inside head or are damaged; Read reports the
// reason.
func Code(head []byte) [][2]int64 {
	size := int64(len(head))
	h, err := ReadHead(bytes.NewReader(head), size, nil)
	if err != nil || h.Class == 0 || h.PhNum == 0 || h.PhEntSize != phEntSize(h.Class) {
		return nil
	}
	segments, err := h.Segments(bytes.NewReader(head), size)
	if err != nil {
		return nil
	}
	var out [][2]int64
	for i, s := range segments {
		if !s.code() || overlaps(segments, i) {
			continue
		}
		if n := len(out); n > 0 && int64(s.Offset) < out[n-1][1] {
			return nil // not in ascending order; no linker writes that
		}
		out = append(out, [2]int64{int64(s.Offset), int64(s.Offset + s.FileSize)})
	}
	return out
}

func phEntSize(class int) uint16 {
	if class == 64 {
		return 56
	}
	return 32
}

// Executable reports whether s is loaded as machine code.
func (s *Segment) Executable() bool {
	return elf.ProgType(s.Type) == elf.PT_LOAD && elf.ProgFlag(s.Flags)&elf.PF_X != 0
}

// code reports whether s is an executable segment that does not start at offset 0, where the
// headers are.
func (s *Segment) code() bool {
	return s.Executable() &&
		s.Offset > 0 &&
		s.Offset < 1<<62 &&
		s.FileSize < 1<<62
}

// overlaps reports whether another segment shares bytes of the file with segment n.
func overlaps(segments []Segment, n int) bool {
	one := &segments[n]
	for i, s := range segments {
		if i != n && s.FileSize > 0 && s.Offset < one.Offset+one.FileSize &&
			(one.Offset < s.Offset || one.Offset-s.Offset < s.FileSize) {
			return true
		}
	}
	return false
}
