package elfobj

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/compat-app/compat/internal/buffers"
)

// file decodes the bytes of an object. Its methods check every offset and length.
type file struct {
	r     io.ReaderAt
	size  uint64
	wide  bool // ELFCLASS64
	order binary.ByteOrder
}

// has reports whether the n bytes at off are inside the file.
func (f *file) has(off, n uint64) bool { return n <= f.size && off <= f.size-n }

// bytes reads n bytes at off. The caller limits n; it is also limited by the file's size.
func (f *file) bytes(off, n uint64, what string) ([]byte, error) {
	if err := f.inside(off, n, what); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, f.read(b, off, what)
}

// borrow is like bytes, in memory that the caller frees. It is nil if there is an error.
func (f *file) borrow(off, n uint64, what string) (*buffers.Buffer, error) {
	if err := f.inside(off, n, what); err != nil {
		return nil, err
	}
	b := buffers.Get(int(n))
	if err := f.read(b.Bytes, off, what); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}

func (f *file) inside(off, n uint64, what string) error {
	if f.has(off, n) {
		return nil
	}
	return truncated(
		"%s should be %d bytes at offset %d, but the file ends at %d",
		what,
		n,
		off,
		f.size,
	)
}

func (f *file) read(b []byte, off uint64, what string) error {
	if m, err := f.r.ReadAt(b, int64(off)); m < len(b) {
		return readError(err, off+uint64(m), what)
	}
	return nil
}

// each reads n bytes at off in large chunks and calls yield for each entry of the given size
// until yield returns false. An incomplete last entry is skipped. yield must not keep the
// entry.
func (f *file) each(
	off, n, entry uint64,
	what string,
	yield func(i uint64, b []byte) (more bool, err error),
) error {
	buffer := buffers.Get(int(min(n/entry, max(chunkSize/entry, 1)) * entry))
	defer buffer.Free()
	chunk := buffer.Bytes
	for i := uint64(0); i < n/entry; {
		b := chunk[:min(uint64(len(chunk)), (n/entry-i)*entry)]
		at := off + i*entry
		if m, err := f.r.ReadAt(b, int64(at)); m < len(b) {
			return readError(err, at+uint64(m), what)
		}
		for ; len(b) > 0; b, i = b[entry:], i+1 {
			if more, err := yield(i, b[:entry]); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// chunkSize is how many bytes of a table are read at once.
const chunkSize = 64 << 10

// readError adds the place of a failed read. If r ends early, the size passed to Read was
// wrong.
func readError(err error, off uint64, what string) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return truncated("%s: the file ends at offset %d", what, off)
	}
	return fmt.Errorf("read %s at offset %d: %w", what, off, err)
}

// wordSize returns the size of an address: 4 or 8.
func (f *file) wordSize() uint64 {
	if f.wide {
		return 8
	}
	return 4
}

// cursor decodes consecutive fields. The caller must have checked the number of bytes.
type cursor struct {
	f *file
	b []byte
}

func (f *file) cursor(b []byte) *cursor { return &cursor{f, b} }

func (c *cursor) take(n int) []byte {
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u16() uint16 { return c.f.order.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return c.f.order.Uint32(c.take(4)) }

// word reads an address, offset or size: 4 bytes in ELF32, 8 in ELF64.
func (c *cursor) word() uint64 {
	if c.f.wide {
		return c.f.order.Uint64(c.take(8))
	}
	return uint64(c.u32())
}

// Errors of Read. Every error wraps exactly one of them, or the error of the io.ReaderAt.
var (
	ErrNotELF = errors.New("not an ELF file") // no magic number; also for an empty file
	// A header, segment or table is not inside the file.
	ErrTruncated = errors.New("truncated ELF file")
	// Two fields contradict each other, or an offset or index is invalid.
	ErrDamaged  = errors.New("damaged ELF file")
	ErrTooLarge = errors.New("ELF file exceeds a limit") // a table is larger than its limit below
	// It is for no machine, and its type is of a processor: a compiled OpenCL kernel of Intel, for
	// example, which only the driver reads.
	ErrForeign = errors.New("ELF file not supported")
)

// Limits that do not follow from the size of the file. Each is far above the maximum in 3,200
// objects of Debian 12. Together they keep the memory for one object below 300 MB, whatever the
// size of its file.
const (
	maxTags = 64 << 10 // entries of PT_DYNAMIC; the largest seen has 45
	// Dynamic symbols. node has 75,000; the largest machine learning libraries have 750,000.
	maxSymbols = 2 << 20
	maxStrings = 128 << 20 // bytes of DT_STRTAB
	maxName    = 64 << 10  // bytes of one string
	// Verneed, Vernaux, Verdef and Verdaux records together; the largest seen has 163.
	maxRecords  = 64 << 10
	maxSections = 64 << 10 // section headers; a linked object has about 40
	maxSecNames = 16 << 20 // bytes of the section name table
	// Bytes of PT_INTERP: PATH_MAX, the limit of the kernel (fs/binfmt_elf.c).
	maxInterp  = 4096
	maxNotes   = 1 << 20  // bytes of all PT_NOTE segments together
	maxComment = 64 << 10 // bytes of .comment
)

// Names may overlap (a linker stores "bar" as the end of "foobar"), so a small string table can
// expand to a huge amount of text. All names of an object together may have textFactor times
// the size of the table, plus textFree for objects with few version names that every symbol
// uses. The maximum in 3,200 objects of Debian 12 is a factor of 3.7 (libncursesw).
const (
	textFactor = 16
	textFree   = 1 << 20
)

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, a...))
}

// of adds to an error what it is about.
func of(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

func truncated(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrTruncated, fmt.Sprintf(format, a...))
}

func tooLarge(what string, n, limit uint64) error {
	return fmt.Errorf("%w: %s is %d, more than the %d that compat reads", ErrTooLarge, what, n, limit)
}

// image is an object as the loader maps it.
type image struct {
	*file
	loads []progHeader // PT_LOAD in table order
}

// mapSegments checks every PT_LOAD. The kernel maps a segment that extends beyond the end of
// the file, but accessing it kills the process with SIGBUS, so such a file is truncated.
func mapSegments(f *file, ps []progHeader) (*image, error) {
	m := &image{file: f}
	for i, p := range ps {
		if p.typ != elf.PT_LOAD {
			continue
		}
		if p.filesz > 0 && !f.has(p.off, p.filesz) {
			return nil, truncated(
				"segment %d (PT_LOAD) should be %d bytes at offset %d, but the file ends at %d",
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

// mapUnit is the smallest page size of any supported machine. AArch64 and POWER also have
// larger pages.
const mapUnit = 4096

// mapped returns the address, file offset and number of the bytes of the file that are mapped
// for a segment. Whole pages are mapped, so the bytes before and after the segment in its first
// and last page are accessible too; patchelf stores tables just after the end of a segment. If
// memsz is larger than filesz, the kernel clears the bytes after filesz.
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

// at returns the file offset for an address, and the number of mapped bytes from there. ok is
// false if no PT_LOAD maps file contents there. If segments overlap, the last one wins, as with
// mmap; bytes that are only in the same page as a segment have the lowest priority.
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

// maxJoined limits the segments of one table. patchelf adds one segment, in front of or after the
// others.
const maxJoined = 8

// reach is at for a table that may continue in the next segment, if that follows in memory and in
// the file.
func (m *image) reach(addr uint64) (off, n uint64, ok bool) {
	off, n, ok = m.at(addr)
	for range maxJoined {
		next, more, follows := m.at(addr + n)
		if !ok || !follows || next != off+n {
			break
		}
		n += more
	}
	return off, n, ok
}

// dynamic returns where the entries of PT_DYNAMIC are. They may continue in the next segment, if
// patchelf put the first one in front of the others; p_filesz says so, which the loader ignores.
func (m *image) dynamic(addr, filesz uint64) (off, n uint64, err error) {
	off, n, ok := m.at(addr)
	if !ok {
		return 0, 0, damaged("PT_DYNAMIC at address %#x is not in a segment", addr)
	}
	if filesz > n {
		off, n, _ = m.reach(addr)
	}
	return off, n, nil
}

// table returns the file offset of the n bytes at an address in a dynamic tag.
func (m *image) table(addr, n uint64, what string) (uint64, error) {
	off, have, ok := m.reach(addr)
	if !ok {
		return 0, damaged("%s at address %#x is not in a segment", what, addr)
	}
	if n > have {
		return 0, damaged(
			"%s of %d bytes at offset %d exceeds its segment, which has %d bytes there",
			what,
			n,
			off,
			have,
		)
	}
	return off, nil
}

// names is the dynamic string table. The length of all names read from it is limited by budget.
type names struct {
	text   string
	budget uint64
	// rest returns the table without regard to DT_STRSZ, which the loader does not use. It is nil
	// once called.
	rest func() (string, error)
}

// readNames reads DT_STRTAB. In an object without one, any use of a name is an error.
func readNames(m *image, d *dynamic) (*names, error) {
	if !d.has(elf.DT_STRTAB) {
		return &names{}, nil
	}
	n, addr := d.value(elf.DT_STRSZ), d.value(elf.DT_STRTAB)
	off, err := m.table(addr, n, "the string table (DT_STRTAB, DT_STRSZ)")
	if err != nil {
		return nil, err
	}
	if n > maxStrings {
		return nil, tooLarge("DT_STRSZ", n, maxStrings)
	}
	text, err := m.text(off, n)
	if err != nil {
		return nil, err
	}
	return &names{text: text, budget: textFree + textFactor*n, rest: func() (string, error) {
		var tables []uint64
		for _, tag := range stringNeighbors {
			tables = append(tables, d.value(tag))
		}
		return m.text(off, max(n, m.stringRoom(addr, tables)))
	}}, nil
}

// stringNeighbors are the tags with addresses that may follow the string table.
var stringNeighbors = []elf.DynTag{
	elf.DT_SYMTAB, elf.DT_HASH, elf.DT_GNU_HASH, elf.DT_VERSYM, elf.DT_VERNEED, elf.DT_VERDEF,
	elf.DT_RELA, elf.DT_REL, elf.DT_JMPREL, elf.DT_INIT, elf.DT_FINI, elf.DT_PLTGOT, dtRelr,
}

// stringRoom returns the number of bytes that the string table at addr may have: up to the next of
// the tables, or to the end of its segment.
func (m *image) stringRoom(addr uint64, tables []uint64) uint64 {
	_, n, _ := m.reach(addr)
	for _, t := range tables {
		if t > addr {
			n = min(n, t-addr)
		}
	}
	return min(n, maxStrings)
}

// text returns n bytes of the string table. The names are substrings of one string. A Builder
// avoids the copy of a conversion from []byte.
func (m *image) text(off, n uint64) (string, error) {
	var b strings.Builder
	b.Grow(int(n))
	const what = "the string table"
	if err := m.each(off, n&^(chunkSize-1), chunkSize, what, func(_ uint64, c []byte) (bool, error) {
		b.Write(c)
		return true, nil
	}); err != nil {
		return "", err
	}
	rest, err := m.bytes(off+n&^(chunkSize-1), n&(chunkSize-1), what)
	if err != nil {
		return "", err
	}
	b.Write(rest)
	return b.String(), nil
}

// get returns a copy of the string at off, so that the table can be freed. The caller adds to
// the error whose name it is.
func (t *names) get(off uint64) (string, error) {
	s, err := t.cut(off)
	return strings.Clone(s), err
}

// cut returns the string at off as a substring of the table.
func (t *names) cut(off uint64) (string, error) {
	s, i := t.find(off)
	if i < 0 && len(s) <= maxName && t.rest != nil {
		text, err := t.rest()
		if err != nil {
			return "", err
		}
		t.text, t.rest = text, nil
		s, i = t.find(off)
	}
	if off >= uint64(len(t.text)) {
		return "", damaged("a name at byte %d of the string table, which has %d", off, len(t.text))
	}
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

// find returns the table from off, at most one byte more than a name may have, and the length of
// the name there; -1 if it does not end.
func (t *names) find(off uint64) (s string, n int) {
	size := uint64(len(t.text))
	if off >= size {
		return "", -1
	}
	s = t.text[off:min(off+maxName+1, size)]
	return s, strings.IndexByte(s, 0)
}

// charge subtracts n bytes from the budget.
func (t *names) charge(n uint64) error {
	if n > t.budget {
		return damaged(
			"overlapping strings: a string table of %d bytes expands to more than %d bytes of names",
			len(t.text),
			textFree+textFactor*len(t.text),
		)
	}
	t.budget -= n
	return nil
}
