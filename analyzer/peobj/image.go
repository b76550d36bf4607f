package peobj

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var little = binary.LittleEndian

// image is a PE file as the loader maps it. Addresses are relative to the image base (RVA), and are
// untrusted.
type image struct {
	r        io.ReaderAt
	size     uint64
	headers  uint64 // bytes mapped at address 0
	sections []section
	flat     bool // section alignment below a page, so addresses are file offsets

	pages   map[uint64][]byte
	symbols uint64 // remaining budget
	text    uint64 // remaining budget
}

// section maps a part of the file to an address. Bytes after raw are zero.
type section struct {
	start, size uint64 // addresses
	off, raw    uint64 // in the file
}

const (
	pageSize = 16 << 10
	maxPages = 256 // cached pages: 4 MB
)

// place returns the file offset of an address, the number of bytes there, and the number of zero
// bytes that follow.
func (m *image) place(rva uint64) (off, n, zeros uint64, ok bool) {
	if m.flat {
		return rva, m.size - min(rva, m.size), 0, rva < m.size
	}
	if rva < m.headers {
		return rva, m.headers - rva, 0, true
	}
	for _, s := range m.sections {
		if rva < s.start || rva-s.start >= s.size {
			continue
		}
		at := rva - s.start
		if at >= s.raw {
			return 0, 0, s.size - at, true
		}
		return s.off + at, s.raw - at, s.size - s.raw, true
	}
	return 0, 0, 0, false
}

// bytes reads n bytes at an address. The caller limits n.
func (m *image) bytes(rva, n uint64, what string) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	off, have, zeros, ok := m.place(rva)
	if !ok || n > have+zeros {
		return nil, damaged("%s at 0x%x, %d bytes, is in no section", what, rva, n)
	}
	b := make([]byte, n)
	if have > 0 {
		if err := m.read(b[:min(n, have)], off, what); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// read fills b from the file through a page cache: tables and names are close to each other.
func (m *image) read(b []byte, off uint64, what string) error {
	for len(b) > 0 {
		p, err := m.page(off/pageSize, what)
		if err != nil {
			return err
		}
		at := off % pageSize
		if at >= uint64(len(p)) {
			return truncated("%s: the file ends at %d", what, m.size)
		}
		n := copy(b, p[at:])
		b, off = b[n:], off+uint64(n)
	}
	return nil
}

func (m *image) page(number uint64, what string) ([]byte, error) {
	if p := m.pages[number]; p != nil {
		return p, nil
	}
	if len(m.pages) >= maxPages {
		clear(m.pages)
	}
	off := number * pageSize
	if off >= m.size {
		return nil, truncated("%s: the file ends at %d", what, m.size)
	}
	p := make([]byte, min(pageSize, m.size-off))
	if n, err := m.r.ReadAt(p, int64(off)); n < len(p) {
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, truncated("%s: the file ends at %d", what, off+uint64(n))
		}
		return nil, fmt.Errorf("read %s at offset %d: %w", what, off, err)
	}
	m.pages[number] = p
	return p, nil
}

// name reads a string up to its NUL byte and takes its length from the budget.
func (m *image) name(rva uint64, what string) (string, error) {
	off, have, zeros, ok := m.place(rva)
	if !ok {
		return "", damaged("%s at 0x%x is in no section", what, rva)
	}
	var out []byte
	for have > 0 {
		p, err := m.page(off/pageSize, what)
		if err != nil {
			return "", err
		}
		b := p[min(off%pageSize, uint64(len(p))):]
		b = b[:min(uint64(len(b)), have, maxName+1)]
		i := bytes.IndexByte(b, 0)
		if i >= 0 {
			out, zeros = append(out, b[:i]...), 1
			break
		}
		out = append(out, b...)
		off, have = off+uint64(len(b)), have-uint64(len(b))
		if len(out) > maxName {
			return "", tooLarge("the length of "+what, uint64(len(out)), maxName)
		}
		if len(b) == 0 {
			break
		}
	}
	if zeros == 0 {
		return "", damaged("%s at 0x%x does not end with a NUL byte", what, rva)
	}
	if uint64(len(out)) > m.text {
		return "", damaged(
			"the names of symbols overlap so often that they are longer than %d times the file",
			textFactor,
		)
	}
	m.text -= uint64(len(out))
	return string(out), nil
}

// charge takes n symbols from the budget.
func (m *image) charge(n uint64, what string) error {
	if n > m.symbols {
		return damaged(
			"%s has more symbols than the file has room for, or more than %d",
			what,
			maxSymbols,
		)
	}
	m.symbols -= n
	return nil
}
