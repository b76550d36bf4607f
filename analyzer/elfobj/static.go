package elfobj

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
)

// StaticSymbol is an entry of .symtab, the table that debuggers read and strip removes.
type StaticSymbol struct {
	Name   string
	Local  bool // STB_LOCAL
	Unique bool // STB_GNU_UNIQUE
}

// StaticSymbols reads the symbols of .symtab whose name begins with one of the prefixes, in table
// order; nil where there is no such table. It goes by section headers, since nothing else leads
// there.
//
// An error wraps ErrNotELF, ErrTruncated, ErrDamaged or ErrTooLarge, or the error of r: the table
// is there and can't be read.
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

// static reads the symbols of one table and its strings.
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
			".symtab should be %d bytes at offset %d, and the file ends at %d",
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
					errors.New(
						"the names of .symtab overlap, and make more text than the table has",
					),
				)
			}
			out = append(
				out,
				StaticSymbol{string(at[:n]), y.bind == elf.STB_LOCAL, y.bind == bindUnique},
			)
			break
		}
		return true, nil
	})
	return out, err
}
