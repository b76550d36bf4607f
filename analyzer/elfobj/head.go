package elfobj

import (
	"debug/elf"
	"encoding/binary"
	"io"
)

// Head is the start of an ELF file with nothing judged: each loader has its own rules and words for
// what is wrong with it.
type Head struct {
	Ident     [16]byte // e_ident
	Class     int      // 32 or 64; 0 where EI_CLASS says neither
	Big       bool     // EI_DATA says big endian
	Type      uint16   // e_type: 2 is ET_EXEC, 3 is ET_DYN
	Machine   Machine
	Version   uint32 // e_version
	Flags     uint32 // e_flags
	PhEntSize uint16
	PhNum     uint16
	phoff     uint64
	first     []byte // the bytes that were read, for the program headers in them
}

// Segment is one program header.
type Segment struct {
	// 1 is PT_LOAD, 2 is PT_DYNAMIC, 3 is PT_INTERP, 4 is PT_NOTE
	Type                                   uint32
	Flags                                  uint32
	Offset, Addr, FileSize, MemSize, Align uint64
}

// headRead is how much of a file ReadHead takes at once: like glibc's struct filebuf, header and
// program headers of nearly all files.
const headRead = 1024

// ReadHead reads the ELF header. It returns ErrTruncated for a file that is shorter than the header
// of its class, and ErrNotELF where the magic number is another. Everything else that may be wrong
// is left to the caller. With a kind the class, byte order and machine are those of kind, whatever
// the file says, as for a loader that looks at none of them.
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

// Segments reads the program headers. The caller has checked PhEntSize. It returns ErrTruncated
// where the table lies beyond the file's end.
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
		p.Offset, p.Addr = c.word(), c.word()
		c.word() // p_paddr
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

// KernelNote is the oldest Linux that NT_GNU_ABI_TAG accepts, as 0xMMmmpp; 0 where there is no such
// note.
func (h *Head) KernelNote(r io.ReaderAt, size int64, segments []Segment) uint32 {
	f, ps, o := h.file(r, size), make([]progHeader, 0, 4), Object{}
	for _, s := range segments {
		if elf.ProgType(s.Type) == elf.PT_NOTE {
			ps = append(
				ps,
				progHeader{typ: elf.PT_NOTE, off: s.Offset, filesz: s.FileSize, al: s.Align},
			)
		}
	}
	readNotes(f, ps, &o)
	n, err := ParseABITag(o.ABITag)
	if err != nil || n[0] != 0 {
		return 0
	}
	return n[1]&0xff<<16 | n[2]&0xff<<8 | n[3]&0xff
}
