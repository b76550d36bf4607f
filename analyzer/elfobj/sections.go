package elfobj

import (
	"bytes"
	"debug/elf"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"
)

// section is a section header. Sections are hints: the loader ignores them and any tool may
// change them, so invalid ones are not an error.
type section struct {
	name            string
	typ             elf.SectionType
	flags           elf.SectionFlag
	addr, off, size uint64
	link, info      uint32
}

// readSections reads the section header table. It returns nil if there is none or it is
// invalid.
func readSections(f *file, h *header) []section {
	entry := uint64(40)
	if f.wide {
		entry = 64
	}
	if h.shoff == 0 || uint64(h.shentsize) != entry || !f.has(h.shoff, entry) {
		return nil
	}
	n := uint64(h.shnum)
	// With more than 65,279 sections the count is in the first header; only .o files have so many.
	if n == 0 {
		return nil
	}
	b, err := f.bytes(h.shoff, min(n, maxSections)*entry, "the section header table")
	if err != nil {
		return nil
	}
	c := f.cursor(b)
	secs := make([]section, len(b)/int(entry))
	index := make([]uint32, len(secs))
	for i := range secs {
		s := &secs[i]
		index[i] = c.u32()
		s.typ, s.flags = elf.SectionType(c.u32()), elf.SectionFlag(c.word())
		s.addr, s.off, s.size = c.word(), c.word(), c.word()
		s.link, s.info = c.u32(), c.u32()
		c.word()
		c.word()
	}
	if int(h.shstr) >= len(secs) {
		return nil
	}
	t := secs[h.shstr]
	if t.size > maxSecNames {
		return nil
	}
	text, err := f.bytes(t.off, t.size, "the section names")
	if err != nil {
		return nil
	}
	names := string(text)
	spent := 0
	for i := range secs {
		if uint64(index[i]) >= uint64(len(names)) {
			continue
		}
		s := names[index[i]:]
		if k := strings.IndexByte(s[:min(len(s), maxName)], 0); k >= 0 &&
			spent+k <= textFree+textFactor*len(names) {
			secs[i].name = s[:k]
			spent += k
		}
	}
	return secs
}

// public returns the sections whose contents are inside the file.
func public(f *file, secs []section) []Section {
	var out []Section
	for _, s := range secs {
		if s.typ != elf.SHT_NULL && s.typ != elf.SHT_NOBITS && f.has(s.off, s.size) {
			out = append(out, Section{
				Name: s.name, Type: uint32(s.typ), Offset: s.off, Size: s.size,
				Flags: uint64(s.flags), Addr: s.addr,
			})
		}
	}
	return out
}

// readComment returns the distinct strings of .comment in order.
func readComment(f *file, secs []section) []string {
	var out []string
	for _, s := range secs {
		if s.name != ".comment" || s.typ != elf.SHT_PROGBITS || s.flags&elf.SHF_COMPRESSED != 0 ||
			s.size > maxComment {
			continue
		}
		b, err := f.bytes(s.off, s.size, ".comment")
		if err != nil {
			return nil
		}
		seen := map[string]bool{}
		for c := range strings.SplitSeq(string(b), "\x00") {
			if c != "" && !seen[c] {
				seen[c] = true
				out = append(out, c)
			}
		}
		break
	}
	return slices.Clip(out)
}

// StaticSymbol is an entry of .symtab, which debuggers use and strip removes.
type StaticSymbol struct {
	Name   string
	Local  bool // STB_LOCAL
	Unique bool // STB_GNU_UNIQUE
}

// StaticSymbols returns the symbols in .symtab whose name has one of the prefixes, in table
// order, or nil if there is no such table. It finds the table through section headers, because
// no program header refers to it.
//
// An error wraps ErrNotELF, ErrForeign, ErrTruncated, ErrDamaged or ErrTooLarge, or the error of
// r: the table exists and cannot be read.
func StaticSymbols(r io.ReaderAt, size int64, prefixes ...string) ([]StaticSymbol, error) {
	var out []StaticSymbol
	err := static(r, size, func(y symbol, at []byte) int {
		for _, p := range prefixes {
			if len(at) < len(p) || string(at[:len(p)]) != p {
				continue
			}
			n := nameLength(at)
			if n > 0 {
				out = append(out, StaticSymbol{string(at[:n]), y.bind == elf.STB_LOCAL, y.bind == bindUnique})
			}
			return n
		}
		return 0
	})
	return out, err
}

// Locals is the set of the functions and variables that an object defines for itself only, by
// .symtab: those with hidden visibility, static ones, and those that a version script makes local.
// nil = they are not known, because the object is stripped.
type Locals struct {
	hashes []uint32  `compact:"set"` // of the names
	sort   sync.Once `compact:"-"`
}

// maxLocals limits the memory for Locals.
const maxLocals = 200_000

// localHash is the same in every process, because it is stored. It has 32 bits, because the names
// are half of what is stored of a large library: one of 20,000 symbols is found in the largest set
// by mistake. CRC-32 costs a tenth of a cryptographic hash; who makes names with the same sum
// changes only the explanation of a finding about his own library.
func localHash(name []byte) uint32 { return crc32.ChecksumIEEE(name) }

// Has reports whether the set has a symbol. It can be called concurrently.
func (l *Locals) Has(name string) bool {
	if l == nil {
		return false
	}
	l.sort.Do(func() { slices.Sort(l.hashes) }) // few libraries are searched
	_, ok := slices.BinarySearch(l.hashes, localHash([]byte(name)))
	return ok
}

// ReadLocals reads the local symbols of an object; nil if the table cannot be read.
func ReadLocals(r io.ReaderAt, size int64) *Locals {
	var out *Locals
	err := static(r, size, func(y symbol, at []byte) int {
		if out == nil {
			out = &Locals{}
		}
		ofCode := y.typ == elf.STT_FUNC || y.typ == elf.STT_OBJECT || y.typ == elf.STT_GNU_IFUNC
		if y.bind != elf.STB_LOCAL || !y.defined() || !ofCode || len(out.hashes) == maxLocals {
			return 0
		}
		n := nameLength(at)
		if n > 0 {
			out.hashes = append(out.hashes, localHash(at[:n]))
		}
		return n
	})
	if err != nil {
		return nil
	}
	return out
}

// nameLength returns the length of the name at the beginning of some text; 0 for an invalid one.
func nameLength(at []byte) int { return max(bytes.IndexByte(at[:min(len(at), maxName)], 0), 0) }

// static calls yield for the entries of .symtab. at begins with the name of the entry. yield
// returns how many bytes of it it read.
func static(r io.ReaderAt, size int64, yield func(y symbol, at []byte) int) error {
	f, h, err := readHeader(r, size, &Object{})
	if err != nil {
		return err
	}
	secs := readSections(f, h)
	for _, s := range secs {
		if s.typ != elf.SHT_SYMTAB || s.name != ".symtab" {
			continue
		}
		for _, t := range secs {
			if t.typ == elf.SHT_STRTAB && t.name == ".strtab" {
				return f.static(s, t, yield)
			}
		}
	}
	return nil
}

// static reads symbol table s with string table t.
func (f *file) static(s, t section, yield func(y symbol, at []byte) int) error {
	if t.size > maxStrings {
		return tooLarge(".strtab", t.size, maxStrings)
	}
	strtab, err := f.borrow(t.off, t.size, ".strtab")
	if err != nil {
		return err
	}
	defer strtab.Free()
	text := strtab.Bytes
	if !f.has(s.off, s.size) {
		return truncated(
			".symtab should be %d bytes at offset %d, but the file ends at %d",
			s.size,
			s.off,
			f.size,
		)
	}
	entry := uint64(16)
	if f.wide {
		entry = 24
	}
	spent := 0
	return f.each(s.off, s.size, entry, ".symtab", func(_ uint64, b []byte) (bool, error) {
		y := f.symbol(b)
		if y.name >= uint64(len(text)) {
			return true, nil
		}
		if spent += yield(y, text[y.name:]); spent > textFree+textFactor*len(text) {
			return false, errors.Join(
				ErrTooLarge,
				errors.New("the names of .symtab overlap, and expand to more text than the table has"),
			)
		}
		return true, nil
	})
}
