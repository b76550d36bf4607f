package peobj

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
)

// Sizes and offsets of the "PE Format" page.
const (
	dosHeader     = 64
	coffHeader    = 20
	sectionHeader = 40
	directory     = 8 // address and size

	magic32 = 0x10b
	magic64 = 0x20b
)

// Indexes of data directories.
const (
	dirExport, dirImport, dirResource, dirLoadConfig, dirDelay, dirCLR = 0, 1, 2, 10, 13, 14

	directories = 16
)

// Characteristics of the COFF header: IMAGE_FILE_DLL and IMAGE_FILE_EXECUTABLE_IMAGE.
const (
	flagDLL   = 0x2000
	flagImage = 0x0002
)

// machines are the names of machine types of the "PE Format" page. A machine that is not listed is
// named by its number, and no Windows that compat checks runs it.
var machines = lazy.Value[map[uint16]string]{New: func() map[uint16]string {
	return map[uint16]string{
		0x14c:  X86,
		0x8664: Amd64,
		0xaa64: ARM64,
		0x1c0:  ARM,
		0x1c2:  ARM,
		0x1c4:  ARM,
	}
}}

// header is the parsed headers.
type header struct {
	machine  uint16
	flags    uint16
	wide     bool
	base     uint64
	dirs     [directories]struct{ rva, size uint64 }
	sections []section
	align    uint64
	headers  uint64
	versions [3]string // linker, operating system, subsystem
}

// Read reads a PE file of the given size as the loader maps it. It reads only the ranges that it
// needs, so r may be a file of hundreds of megabytes.
//
// An error wraps ErrNotPE, ErrTruncated, ErrDamaged or ErrTooLarge, or is an error of r. Slices of
// the result are never nil.
func Read(r io.ReaderAt, size int64) (*Object, error) {
	m := &image{r: r, size: uint64(max(size, 0)), pages: map[uint64][]byte{}}
	m.symbols, m.text = min(m.size/4, maxSymbols), textFactor*m.size+textFree
	h, err := readHeader(m)
	if err != nil {
		return nil, err
	}
	for _, s := range h.sections {
		if s.off > m.size || s.raw > m.size-s.off {
			return nil, truncated(
				"a section has %d bytes at offset %d, but the file ends at %d",
				s.raw,
				s.off,
				m.size,
			)
		}
	}
	m.sections, m.headers, m.flat = h.sections, min(h.headers, m.size), h.align < 0x1000
	o := &Object{
		Machine: machines.Get()[h.machine], Bits: 32, DLL: h.flags&flagDLL != 0,
		Imports: []DLL{}, Exports: []Export{}, Assemblies: []string{},
		Linker: h.versions[0], OperatingSystem: h.versions[1], Subsystem: h.versions[2],
	}
	if h.wide {
		o.Bits = 64
	}
	if o.Machine == "" {
		o.Machine = fmt.Sprintf("0x%x", h.machine)
	}
	for _, step := range []func(*image, *header, *Object) error{
		readManaged, readImports, readDelayImports, readExports, readLoadConfig, readManifest,
	} {
		if err := step(m, h, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// readHeader reads the DOS, COFF and optional headers and the section table.
func readHeader(m *image) (*header, error) {
	b := make([]byte, dosHeader)
	if m.size < dosHeader {
		if m.size >= 2 && m.read(b[:2], 0, "the DOS header") == nil && string(b[:2]) == "MZ" {
			return nil, truncated("it has %d bytes", m.size)
		}
		return nil, ErrNotPE
	}
	if err := m.read(b, 0, "the DOS header"); err != nil {
		return nil, err
	}
	if string(b[:2]) != "MZ" {
		return nil, ErrNotPE
	}
	at := uint64(little.Uint32(b[60:]))
	if at > m.size || m.size-at < 4+coffHeader {
		return nil, truncated("the PE header should be at offset %d, but the file ends at %d", at, m.size)
	}
	b = make([]byte, 4+coffHeader)
	if err := m.read(b, at, "the PE header"); err != nil {
		return nil, err
	}
	if string(b[:4]) != "PE\x00\x00" {
		return nil, fmt.Errorf("%w: a DOS program without a PE header", ErrNotPE)
	}
	h := &header{machine: little.Uint16(b[4:]), flags: little.Uint16(b[22:])}
	count, length := uint64(little.Uint16(b[6:])), uint64(little.Uint16(b[20:]))
	if count > maxSections {
		return nil, tooLarge("the number of sections", count, maxSections)
	}
	at += 4 + coffHeader
	all := length + count*sectionHeader
	if all > m.size-at {
		return nil, truncated("the section table ends at offset %d, and the file at %d", at+all, m.size)
	}
	b = make([]byte, all)
	if err := m.read(b, at, "the section table"); err != nil {
		return nil, err
	}
	if err := h.optional(b[:length]); err != nil {
		return nil, err
	}
	h.table(b[length:])
	return h, nil
}

// optional reads the optional header, which every image has.
func (h *header) optional(b []byte) error {
	if len(b) < 2 {
		return damaged("it has no optional header: an object file, not an image")
	}
	fixed := 96
	switch little.Uint16(b) {
	case magic32:
	case magic64:
		fixed, h.wide = 112, true
	default:
		return damaged("the optional header begins with 0x%x", little.Uint16(b))
	}
	if len(b) < fixed {
		return damaged("the optional header has %d bytes", len(b))
	}
	if h.wide {
		h.base = little.Uint64(b[24:])
	} else {
		h.base = uint64(little.Uint32(b[28:]))
	}
	h.align, h.headers = uint64(little.Uint32(b[32:])), uint64(little.Uint32(b[60:]))
	h.versions = [3]string{
		fmt.Sprintf("%d.%d", b[2], b[3]), version(b[40:]), version(b[48:]),
	}
	n := min(uint64(little.Uint32(b[fixed-4:])), directories, uint64(len(b)-fixed)/directory)
	for i := range n {
		d := b[uint64(fixed)+i*directory:]
		h.dirs[i].rva, h.dirs[i].size = uint64(little.Uint32(d)), uint64(little.Uint32(d[4:]))
	}
	return nil
}

func version(b []byte) string {
	return fmt.Sprintf("%d.%d", little.Uint16(b), little.Uint16(b[2:]))
}

// table reads the section headers.
func (h *header) table(b []byte) {
	const page = 0x1000
	for ; len(b) >= sectionHeader; b = b[sectionHeader:] {
		s := section{
			start: uint64(little.Uint32(b[12:])), size: uint64(little.Uint32(b[8:])),
			off: uint64(little.Uint32(b[20:])), raw: uint64(little.Uint32(b[16:])),
		}
		if s.size == 0 { // written by old linkers
			s.size = s.raw
		}
		s.size = (s.size + page - 1) / page * page
		if s.off == 0 {
			s.raw = 0
		}
		if h.align >= page {
			s.off = s.off / 0x200 * 0x200 // the loader rounds down too
		}
		s.raw = min(s.raw, s.size)
		h.sections = append(h.sections, s)
	}
}

// Unread lists the ranges of a file, in order, that Read probably does not need, from the file's
// first bytes: sections without a table that it reads. nil if head is not a complete PE header.
func Unread(head []byte) [][2]int64 {
	m := &image{
		r:     strings.NewReader(string(head)),
		size:  uint64(len(head)),
		pages: map[uint64][]byte{},
	}
	h, err := readHeader(m)
	if err != nil {
		return nil
	}
	var out [][2]int64
	for _, s := range h.sections {
		if s.raw > 0 && !h.reads(s) {
			out = append(out, [2]int64{int64(s.off), int64(s.off + s.raw)})
		}
	}
	slices.SortFunc(out, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	apart := out[:0]
	for _, x := range out {
		if len(apart) == 0 || x[0] >= apart[len(apart)-1][1] {
			apart = append(apart, x)
		}
	}
	return apart
}

// reads reports whether a section contains a table that Read reads.
func (h *header) reads(s section) bool {
	for _, d := range []int{dirExport, dirImport, dirResource, dirLoadConfig, dirDelay, dirCLR} {
		if rva := h.dirs[d].rva; rva >= s.start && rva-s.start < s.size {
			return true
		}
	}
	return false
}
