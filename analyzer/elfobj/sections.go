package elfobj

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"slices"
	"strings"
)

// section is a section header. Sections are hints: the loader ignores them and any tool may
// change them, so invalid ones are not an error.
type section struct {
	name            string
	typ             elf.SectionType
	flags           elf.SectionFlag
	addr, off, size uint64
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
		c.u32()
		c.u32()
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
// An error wraps ErrNotELF, ErrTruncated, ErrDamaged or ErrTooLarge, or the error of r: the
// table exists and cannot be read.
func StaticSymbols(r io.ReaderAt, size int64, prefixes ...string) ([]StaticSymbol, error) {
	f, h, err := readHeader(r, size, &Object{})
	if err != nil {
		return nil, err
	}
	secs := readSections(f, h)
	for _, s := range secs {
		if s.typ != elf.SHT_SYMTAB || s.name != ".symtab" {
			continue
		}
		for _, t := range secs {
			if t.typ == elf.SHT_STRTAB && t.name == ".strtab" {
				return f.static(s, t, prefixes)
			}
		}
	}
	return nil, nil
}

// static reads symbol table s with string table t.
func (f *file) static(s, t section, prefixes []string) ([]StaticSymbol, error) {
	if t.size > maxStrings {
		return nil, tooLarge(".strtab", t.size, maxStrings)
	}
	text, err := f.bytes(t.off, t.size, ".strtab")
	if err != nil {
		return nil, err
	}
	if !f.has(s.off, s.size) {
		return nil, truncated(
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
	var out []StaticSymbol
	spent := 0
	err = f.each(s.off, s.size, entry, ".symtab", func(_ uint64, b []byte) (bool, error) {
		y := f.symbol(b)
		if y.name >= uint64(len(text)) {
			return true, nil
		}
		at := text[y.name:]
		for _, p := range prefixes {
			if len(at) < len(p) || string(at[:len(p)]) != p {
				continue
			}
			n := bytes.IndexByte(at[:min(len(at), maxName)], 0)
			if n < 0 {
				return true, nil
			}
			if spent += n; spent > textFree+textFactor*len(text) {
				return false, errors.Join(
					ErrTooLarge,
					errors.New("the names of .symtab overlap, and expand to more text than the table has"),
				)
			}
			out = append(out, StaticSymbol{string(at[:n]), y.bind == elf.STB_LOCAL, y.bind == bindUnique})
			break
		}
		return true, nil
	})
	return out, err
}
