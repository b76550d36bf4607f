package elfobj

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// Relocatable is the content of an object file (ET_REL) as a linker or the loader of kernel modules
// uses it. Addresses are in a space in which each section has a place of its own.
type Relocatable struct {
	Symbols []ObjectSymbol // defined ones, in table order
	// The file, with the relocations of its debug sections applied.
	Content io.ReaderAt
}

// ObjectSymbol is a symbol that an object file defines.
type ObjectSymbol struct {
	Name       string
	Kind       Kind // "common" for a tentative definition
	Size, Addr uint64
	Local      bool // STB_LOCAL
	Weak       bool
	Unique     bool // STB_GNU_UNIQUE
	Protected  bool // STV_PROTECTED
	Hidden     bool // STV_HIDDEN or STV_INTERNAL: for the objects that it is linked with
	Absolute   bool // Addr is a value and not an address
	ReadOnly   bool // in a section that is not writable
	Section    string
	// Where its content is in the file; 0 if it has none.
	Offset uint64
}

const (
	// sectionAlign is how the sections of an object file are aligned in its addresses.
	sectionAlign = 1 << 12
	firstSection = 1 << 20 // the address of the first one
	// maxPatched limits the debug sections of an object file, in bytes. Those of a kernel module
	// have 20 MB.
	maxPatched = 512 << 20
)

// ReadRelocatable reads an object file. For another one it returns an error that wraps ErrDamaged;
// other errors are those of Read.
func ReadRelocatable(r io.ReaderAt, size int64) (*Object, *Relocatable, error) {
	o, err := Read(r, size)
	if err != nil {
		return nil, nil, err
	}
	f, h, err := readHeader(r, size, &Object{})
	if err != nil {
		return nil, nil, err
	}
	if h.typ != elf.ET_REL {
		return nil, nil, damaged("%s at offset 16 is not an object file", h.typ)
	}
	x := &relocatable{file: f, secs: readSections(f, h), machine: elf.Machine(o.Machine)}
	if err := x.read(); err != nil {
		return nil, nil, err
	}
	content, err := x.patched()
	if err != nil {
		return nil, nil, err
	}
	return o, &Relocatable{x.symbols, content}, nil
}

// relocatable is an object file that is read.
type relocatable struct {
	*file
	machine elf.Machine
	secs    []section
	base    []uint64 // address of each section; 0 for those that are not loaded
	table   int      // index of .symtab
	values  []uint64 // of all symbols in the table, as addresses
	symbols []ObjectSymbol
}

// read reads .symtab.
func (x *relocatable) read() error {
	x.base = make([]uint64, len(x.secs))
	next := uint64(firstSection)
	for i, s := range x.secs {
		if s.flags&elf.SHF_ALLOC != 0 && s.size < 1<<40 {
			x.base[i] = next
			next += (s.size + sectionAlign) &^ (sectionAlign - 1)
		}
	}
	x.table = slices.IndexFunc(x.secs, func(s section) bool { return s.typ == elf.SHT_SYMTAB })
	if x.table < 0 {
		return nil
	}
	s := x.secs[x.table]
	if int(s.link) >= len(x.secs) || x.secs[s.link].size > maxStrings {
		return damaged("the symbol table has no string table that can be read")
	}
	text, err := x.bytes(x.secs[s.link].off, x.secs[s.link].size, "the names of symbols")
	if err != nil {
		return err
	}
	entry := uint64(16)
	if x.wide {
		entry = 24
	}
	if !x.has(s.off, s.size) {
		return truncated("the symbol table should be %d bytes at offset %d", s.size, s.off)
	}
	if s.size/entry > maxSymbols {
		return tooLarge("the number of symbols", s.size/entry, maxSymbols)
	}
	x.values = make([]uint64, 0, s.size/entry)
	spent := 0
	return x.each(s.off, s.size, entry, "the symbol table", func(_ uint64, b []byte) (bool, error) {
		y := x.symbol(b)
		value := uint64(x.order.Uint32(b[4:]))
		if x.wide {
			value = x.order.Uint64(b[8:])
		}
		in := int(y.shndx)
		loaded := y.shndx < elf.SHN_LORESERVE && in < len(x.secs)
		if loaded {
			value += x.base[in]
		}
		x.values = append(x.values, value)
		if y.shndx == elf.SHN_UNDEF || y.typ == elf.STT_SECTION || y.typ == elf.STT_FILE ||
			y.name >= uint64(len(text)) {
			return true, nil
		}
		n := nameLength(text[y.name:])
		if spent += n; n == 0 || spent > textFree+textFactor*len(text) {
			return spent <= textFree+textFactor*len(text), nil
		}
		z := ObjectSymbol{
			Name:      string(text[y.name : y.name+uint64(n)]),
			Kind:      kinds[y.typ], // 4 bits
			Size:      y.size,
			Addr:      value,
			Local:     y.bind == elf.STB_LOCAL,
			Weak:      y.bind == elf.STB_WEAK,
			Unique:    y.bind == bindUnique,
			Protected: y.vis == elf.STV_PROTECTED,
			Hidden:    y.vis == elf.STV_HIDDEN || y.vis == elf.STV_INTERNAL,
			Absolute:  y.shndx == elf.SHN_ABS,
		}
		switch {
		case y.shndx == elf.SHN_COMMON:
			z.Kind, z.Addr = "common", 0
		case loaded:
			in := x.secs[in]
			z.Section, z.ReadOnly = in.name, in.flags&elf.SHF_WRITE == 0
			if off := value - x.base[y.shndx]; in.typ != elf.SHT_NOBITS && off < in.size {
				z.Offset = in.off + off
			}
		}
		x.symbols = append(x.symbols, z)
		return true, nil
	})
}

// absolute are the relocations that store a symbol's address and an addend, by their size in bytes.
var absolute = map[elf.Machine]map[uint32]uint8{
	elf.EM_X86_64:    {1: 8, 10: 4, 11: 4},
	elf.EM_386:       {1: 4},
	elf.EM_AARCH64:   {257: 8, 258: 4},
	elf.EM_ARM:       {2: 4},
	elf.EM_PPC64:     {1: 4, 38: 8},
	elf.EM_PPC:       {1: 4},
	elf.EM_S390:      {4: 4, 22: 8},
	elf.EM_RISCV:     {1: 4, 2: 8},
	elf.EM_LOONGARCH: {1: 4, 2: 8},
	elf.EM_MIPS:      {2: 4, 18: 8},
}

// patched returns the file with the relocations of its debug sections applied.
func (x *relocatable) patched() (io.ReaderAt, error) {
	out := &patches{ReaderAt: x.r}
	total := uint64(0)
	for _, s := range x.secs {
		if s.typ != elf.SHT_RELA && s.typ != elf.SHT_REL || int(s.info) >= len(x.secs) ||
			int(s.link) != x.table {
			continue
		}
		to := x.secs[s.info]
		if !strings.HasPrefix(to.name, ".debug_") || !x.has(to.off, to.size) || to.size == 0 {
			continue
		}
		if to.flags&elf.SHF_COMPRESSED != 0 {
			return nil, damaged("%s is compressed and relocated, which compat does not read", to.name)
		}
		if total += to.size; total > maxPatched {
			return nil, tooLarge("the debug sections", total, maxPatched)
		}
		data, err := x.bytes(to.off, to.size, to.name)
		if err != nil {
			return nil, err
		}
		if err := x.relocate(s, data); err != nil {
			return nil, err
		}
		out.parts = append(out.parts, patch{to.off, data})
	}
	slices.SortFunc(out.parts, func(a, b patch) int { return cmp.Compare(a.off, b.off) })
	return out, nil
}

// relocate applies the relocations of a section to the bytes of a debug section. Those that store
// something else than an address, such as the distance of two labels, are left out.
func (x *relocatable) relocate(s section, data []byte) error {
	if !x.has(s.off, s.size) {
		return truncated("%s should be %d bytes at offset %d", s.name, s.size, s.off)
	}
	word := x.wordSize()
	entry := 2 * word
	if s.typ == elf.SHT_RELA {
		entry += word
	}
	sizes := absolute[x.machine]
	return x.each(s.off, s.size, entry, s.name, func(_ uint64, b []byte) (bool, error) {
		c := x.cursor(b)
		at, info := c.word(), c.word()
		sym, typ := info>>8, uint32(info&0xff)
		if x.wide {
			sym, typ = info>>32, uint32(info)
		}
		n := sizes[typ]
		if n == 0 || at > uint64(len(data)) || uint64(n) > uint64(len(data))-at ||
			sym >= uint64(len(x.values)) {
			return true, nil
		}
		v := x.values[sym]
		switch {
		case s.typ == elf.SHT_RELA:
			v += c.word()
		case n == 4:
			v += uint64(x.order.Uint32(data[at:]))
		default:
			v += x.order.Uint64(data[at:])
		}
		if n == 4 {
			x.order.PutUint32(data[at:], uint32(v))
		} else {
			x.order.PutUint64(data[at:], v)
		}
		return true, nil
	})
}

// patches is a file of which parts are replaced, sorted by their offsets.
type patches struct {
	io.ReaderAt
	parts []patch
}

type patch struct {
	off  uint64
	data []byte
}

// ReadAt implements io.ReaderAt.
func (p *patches) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, off)
	from, to := uint64(off), uint64(off)+uint64(n)
	first := sort.Search(len(p.parts), func(i int) bool {
		return p.parts[i].off+uint64(len(p.parts[i].data)) > from
	})
	for _, x := range p.parts[first:] {
		low, high := max(from, x.off), min(to, x.off+uint64(len(x.data)))
		if low >= high {
			break
		}
		copy(b[low-from:high-from], x.data[low-x.off:])
	}
	return n, err
}

// ArchiveMember is an object file in a static library.
type ArchiveMember struct {
	Name    string
	Content *io.SectionReader
}

const (
	archiveMagic = "!<arch>\n"
	memberHeader = 60
	// maxMembers limits the members of a static library. libLLVM's largest has 300.
	maxMembers = 64 << 10
)

// IsArchive reports whether a file begins as a static library does.
func IsArchive(head []byte) bool { return strings.HasPrefix(string(head), archiveMagic) }

// Archive returns the members of a static library (ar(5), with the long names of GNU), without its
// index. An error wraps ErrTruncated, ErrDamaged or ErrTooLarge, or the error of r.
func Archive(r io.ReaderAt, size int64) ([]ArchiveMember, error) {
	f := &file{r: r, size: uint64(size)}
	var out []ArchiveMember
	names := ""
	for at := uint64(len(archiveMagic)); at+memberHeader <= f.size; {
		b, err := f.bytes(at, memberHeader, "the header of a member")
		if err != nil {
			return nil, err
		}
		length := uint64(0)
		if _, err := fmt.Sscanf(string(b[48:58]), "%d", &length); err != nil ||
			string(b[58:]) != "`\n" {
			return nil, damaged("the header of a member at offset %d", at)
		}
		at += memberHeader
		if !f.has(at, length) {
			return nil, truncated("a member should be %d bytes at offset %d", length, at)
		}
		name := strings.TrimRight(string(b[:16]), " ")
		switch long, ok := strings.CutPrefix(name, "/"); {
		case name == "//":
			if length > maxStrings {
				return nil, tooLarge("the names of members", length, maxStrings)
			}
			text, err := f.bytes(at, length, "the names of members")
			if err != nil {
				return nil, err
			}
			names = string(text)
		case name == "/" || name == "/SYM64/" || strings.HasPrefix(name, "__.SYMDEF"):
		default:
			if n := 0; ok {
				if _, err := fmt.Sscanf(long, "%d", &n); err == nil && n >= 0 && n < len(names) {
					name, _, _ = strings.Cut(names[n:min(len(names), n+maxName)], "/\n")
				}
			}
			if len(out) == maxMembers {
				return nil, tooLarge("the number of members", maxMembers+1, maxMembers)
			}
			out = append(out, ArchiveMember{
				strings.TrimSuffix(name, "/"), io.NewSectionReader(r, int64(at), int64(length)),
			})
		}
		at += length + length%2
	}
	return out, nil
}
