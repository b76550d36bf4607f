package dwarf

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/compat-app/compat/internal/inflate"
	"github.com/klauspost/compress/zstd"
)

// Limits for one library: decompressed sections can be a thousand times as large as the file.
const (
	maxSection = 512 << 20
	maxTotal   = 1 << 30
	maxRatio   = 64 // of a compressed section; zlib achieves 8 for real debug information
	minRoom    = 1 << 20

	// Strings and lists of entries may overlap, so a small file can describe a very large amount of
	// them. The total read is limited in proportion to the sections; real files need a tenth.
	perByte   = 8
	textFree  = 128 << 20
	stepsFree = 4 << 20
	maxUnits  = 1 << 18 // compilation and type units of a section
)

// File is an ELF file. The caller has checked that each section is inside the file.
type File struct {
	Content  io.ReaderAt
	Sections []Section
	Class    int // 32 or 64: the class of compression headers
}

// Section is an ELF section.
type Section struct {
	Name         string
	Offset, Size uint64
	Compressed   bool // SHF_COMPRESSED
}

// file contains the debug sections of one file.
type file struct {
	order      binary.ByteOrder
	sections   [2]unitSection // .debug_info, and .debug_types with the type units of DWARF 4
	abbrev     content
	str        []byte
	lineStr    []byte
	strOffsets []byte
	addr       []byte
	lines      lines
	tables     map[tableKey]*table // the last maxTables
	unused     []*table            // tables whose memory can be used again
	part       []byte              // buffers for decoding a table
	dense      []abbrev
	specs      []spec
	constants  []int64
	compDir    string // of the unit read last
	decoded    int    // number of specs in all tables
	text       int    // bytes of strings that may still be read
	steps      int    // entries that may still be decoded
	number     int    // index in Data.files
	skeleton   *Unit  // for a split debug file, the unit that names it
	alt        *file  // the file to which dwz moved common entries
	err        error  // the first error of reading a unit again
}

// open reads the needed sections, except those with units. A skeleton selects the section names of
// a split debug file.
func open(
	in File,
	order binary.ByteOrder,
	skeleton *Unit,
	budget *uint64,
	scratch func() (Scratch, error),
) (*file, error) {
	f := &file{order: order, tables: map[tableKey]*table{}, skeleton: skeleton}
	inflater := sync.OnceValue(inflate.NewReader) // one for all sections
	suffix := ""
	if skeleton != nil {
		suffix = ".dwo"
	}
	for _, s := range []struct {
		name    string
		whole   *[]byte
		content *content
	}{
		{"info", nil, &f.sections[0].content}, {"types", nil, &f.sections[1].content},
		{"abbrev", nil, &f.abbrev}, {"str", &f.str, nil}, {"line_str", &f.lineStr, nil},
		{"str_offsets", &f.strOffsets, nil}, {"addr", &f.addr, nil},
	} {
		sec, ok := in.find("debug_"+s.name+suffix, order)
		if !ok {
			continue
		}
		r, size, err := sec.open(in, order, inflater)
		if err != nil {
			return nil, err
		}
		if size > maxSection || size > *budget {
			return nil, fmt.Errorf("%w: %s has %d bytes", ErrTooLarge, sec.Name, size)
		}
		*budget -= size
		if s.whole != nil {
			*s.whole, err = readAll(r, sec.Name, size)
		} else {
			*s.content, err = sec.content(in, r, size, scratch)
		}
		if err != nil {
			return nil, err
		}
	}
	f.sections[0].file, f.sections[1].file = f, f
	f.sections[1].types = true
	f.text = perByte*(len(f.str)+len(f.lineStr)) + textFree
	f.steps = perByte*int(f.sections[0].size+f.sections[1].size) + stepsFree
	if sec, ok := in.find("debug_line"+suffix, order); ok {
		f.lines = lines{order: order, open: func() (content, error) {
			r, size, err := sec.open(in, order, inflater)
			if err != nil {
				return content{}, err
			}
			if size > maxSection {
				return content{}, fmt.Errorf("%w: %s has %d bytes", ErrTooLarge, sec.Name, size)
			}
			return sec.content(in, r, size, scratch)
		}}
	}
	return f, nil
}

// content is a decompressed section, which is read in parts.
type content struct {
	size  uint64
	from  io.ReaderAt // nil if all of it is in memory
	whole []byte
}

// maxWhole is how large a compressed section may be, in bytes, to be decompressed in memory
// although there is scratch storage.
const maxWhole = 64 << 10

// content returns the content of a section whose decompressed bytes r returns.
func (s Section) content(
	in File,
	r io.Reader,
	size uint64,
	scratch func() (Scratch, error),
) (content, error) {
	c := content{size: size}
	var err error
	switch {
	case !s.compressed():
		c.from = io.NewSectionReader(in.Content, int64(s.Offset), int64(s.Size))
	case scratch == nil || size <= maxWhole:
		c.whole, err = readAll(r, s.Name, size)
	default:
		c.from, err = store(r, s.Name, size, scratch)
	}
	return c, err
}

// bytes returns n bytes of the section with a name from a position. If the section is not in
// memory, they are in the given memory, which grows as necessary.
func (c *content) bytes(name string, memory []byte, at, n uint64) ([]byte, error) {
	if c.whole != nil {
		return c.whole[at : at+n : at+n], nil
	}
	b := slices.Grow(memory[:0], int(n))[:n]
	return b, c.readAt(name, b, at)
}

// readAt reads bytes of the section, which is not in memory.
func (c *content) readAt(name string, b []byte, at uint64) error {
	if n, err := c.from.ReadAt(b, int64(at)); n < len(b) {
		return damaged("%s ends before offset %#x: %v", name, at+uint64(len(b)), err)
	}
	return nil
}

// store writes a decompressed section to a scratch file.
func store(
	r io.Reader,
	name string,
	size uint64,
	scratch func() (Scratch, error),
) (io.ReaderAt, error) {
	to, err := scratch()
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(to, io.LimitReader(r, int64(size)))
	if err != nil || uint64(n) < size {
		return nil, damaged("%s ends after %d of %d bytes: %v", name, n, size, err)
	}
	return to, nil
}

// readAll reads a decompressed section.
func readAll(r io.Reader, name string, size uint64) ([]byte, error) {
	b := make([]byte, size)
	if n, err := io.ReadFull(r, b); err != nil {
		return nil, damaged("%s ends after %d of %d bytes: %v", name, n, size, err)
	}
	return b, nil
}

// find returns the section .NAME, or .zNAME, the older form of compression.
func (in File) find(name string, _ binary.ByteOrder) (Section, bool) {
	for _, s := range in.Sections {
		if s.Name == "."+name || s.Name == ".z"+name {
			return s, true
		}
	}
	return Section{}, false
}

// compressed reports whether the section is compressed in the file.
func (s Section) compressed() bool { return s.Compressed || len(s.Name) > 1 && s.Name[1] == 'z' }

// open returns a reader of the decompressed section, and its size. The reader is valid until the
// one of inflater is used again.
func (s Section) open(
	in File,
	order binary.ByteOrder,
	inflater func() *inflate.Reader,
) (io.Reader, uint64, error) {
	raw := io.NewSectionReader(in.Content, int64(s.Offset), int64(s.Size))
	if !s.compressed() {
		return raw, s.Size, nil
	}
	var head [24]byte
	method, skip := uint32(1), 12
	var size uint64
	n, err := raw.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read %s: %w", s.Name, err)
	}
	if n < skip {
		return nil, 0, damaged("%s has %d bytes, less than a compression header", s.Name, s.Size)
	}
	switch {
	case !s.Compressed:
		if !bytes.HasPrefix(head[:], []byte("ZLIB")) {
			return nil, 0, damaged("%s does not start with ZLIB", s.Name)
		}
		size = binary.BigEndian.Uint64(head[4:])
	case in.Class == 64:
		skip = 24
		method, size = order.Uint32(head[:]), order.Uint64(head[8:])
	default:
		method, size = order.Uint32(head[:]), uint64(order.Uint32(head[4:]))
	}
	if n < skip {
		return nil, 0, damaged("%s has %d bytes, less than a compression header", s.Name, s.Size)
	}
	if size > maxRatio*s.Size+minRoom {
		return nil, 0, fmt.Errorf(
			"%w: %s would grow from %d to %d bytes",
			ErrTooLarge,
			s.Name,
			s.Size,
			size,
		)
	}
	rest := io.NewSectionReader(in.Content, int64(s.Offset)+int64(skip), int64(s.Size)-int64(skip))
	switch method {
	case 1:
		var zlib [2]byte // RFC 1950, without a dictionary
		if n, err := rest.Read(zlib[:]); n < len(zlib) || zlib[0]&0xf != 8 || zlib[1]&0x20 != 0 ||
			binary.BigEndian.Uint16(zlib[:])%31 != 0 {
			return nil, 0, damaged("%s does not start with a zlib header: %v", s.Name, err)
		}
		z := inflater()
		z.Reset(rest)
		return z, size, nil
	case 2:
		z, err := zstd.NewReader(
			rest,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(64<<20),
		)
		if err != nil {
			return nil, 0, damaged("%s: %v", s.Name, err)
		}
		return z.IOReadCloser(), size, nil
	}
	return nil, 0, damaged(
		"%s is compressed by method %d, which is neither zlib nor zstd",
		s.Name,
		method,
	)
}

// HasInfo reports whether a file has a .debug_info section.
func (in File) HasInfo() bool {
	s, ok := in.find("debug_info", nil)
	return ok && s.Size > 0
}

// Alternate returns the path and the build ID (hex) of the file named in .gnu_debugaltlink; ""
// without one.
func (in File) Alternate() (path, buildID string) {
	for _, s := range in.Sections {
		if s.Name != ".gnu_debugaltlink" || s.Size > 4096 {
			continue
		}
		b := make([]byte, s.Size)
		if n, err := in.Content.ReadAt(b, int64(s.Offset)); n < len(b) && err != nil {
			return "", ""
		}
		name, id, _ := bytes.Cut(b, []byte{0})
		return string(name), hex.EncodeToString(id)
	}
	return "", ""
}
