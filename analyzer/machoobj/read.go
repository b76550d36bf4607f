package machoobj

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Magic numbers of the first four bytes, read as big endian.
const (
	magicFat   = 0xcafebabe
	magicFat64 = 0xcafebabf
	magic32    = 0xcefaedfe // little endian file
	magic64    = 0xcffaedfe
	magic32BE  = 0xfeedface // PowerPC
	magic64BE  = 0xfeedfacf

	magicArchive = 0x213c6172 // !<ar
	magicBitcode = 0xdec0170b
)

// Is reports whether a file starts like a Mach-O file. A Java class file has the same magic number
// as a fat file, followed by its version, which is at least 45.
func Is(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	switch binary.BigEndian.Uint32(head) {
	case magic32, magic64, magic32BE, magic64BE:
		return true
	case magicFat, magicFat64:
		return binary.BigEndian.Uint32(head[4:]) <= maxSlices
	}
	return false
}

// Read reads a thin or fat file of size bytes. It returns an error if the file is not Mach-O or its
// fat header is damaged. A slice that could not be read has its own error.
func Read(r io.ReaderAt, size int64) (*File, error) {
	var head [8]byte
	if size < int64(len(head)) {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrNotMachO, size)
	}
	if _, err := r.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !Is(head[:]) {
		return nil, fmt.Errorf("%w: its first bytes are %x", ErrNotMachO, head[:4])
	}
	magic := binary.BigEndian.Uint32(head[:])
	if magic != magicFat && magic != magicFat64 {
		return &File{Slices: []Slice{readSlice(r, 0, size, "")}}, nil
	}
	return readFat(r, size, magic == magicFat64, binary.BigEndian.Uint32(head[4:]))
}

// readFat reads fat_arch or fat_arch_64 records (mach-o/fat.h), which are big endian.
func readFat(r io.ReaderAt, size int64, wide bool, n uint32) (*File, error) {
	length := 20
	if wide {
		length = 32
	}
	if n == 0 {
		return nil, damaged("the fat header has no slices")
	}
	table := make([]byte, int(n)*length)
	if int64(8+len(table)) > size {
		return nil, truncated("the fat header declares %d slices in %d bytes", n, size)
	}
	if _, err := r.ReadAt(table, 8); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f := &File{Fat: true}
	taken := [][2]uint64{{0, uint64(8 + len(table))}}
	for b := table; len(b) > 0; b = b[length:] {
		arch := archName(binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]))
		from := uint64(binary.BigEndian.Uint32(b[8:]))
		count := uint64(binary.BigEndian.Uint32(b[12:]))
		if wide {
			from, count = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
		}
		if from > uint64(size) || count > uint64(size)-from {
			f.Slices = append(f.Slices, Slice{Arch: arch, Err: truncated(
				"the %s slice has %d bytes at %d, the file has %d", arch, count, from, size)})
			continue
		}
		overlaps := func(t [2]uint64) bool { return from < t[1] && t[0] < from+count }
		if slices.ContainsFunc(taken, overlaps) {
			return nil, damaged("the %s slice overlaps another one or the fat header", arch)
		}
		taken = append(taken, [2]uint64{from, from + count})
		f.Slices = append(f.Slices, readSlice(r, int64(from), int64(count), arch))
	}
	f.shareNames()
	return f, nil
}

// Unread lists the ranges of a file, in order, that Read probably does not need, from the file's
// first bytes: what is between the load commands and __LINKEDIT in slices whose pages are not
// hashed. nil if no load commands are complete in head.
func Unread(head []byte) [][2]int64 {
	if !Is(head) {
		return nil
	}
	magic, n := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if magic != magicFat {
		return unread(head, 0, nil)
	}
	var out [][2]int64
	for b := head[8:]; n > 0 && len(b) >= 20; b, n = b[20:], n-1 {
		if from := int64(binary.BigEndian.Uint32(b[8:])); from < int64(len(head)) {
			out = unread(head[from:], from, out)
		}
	}
	return out
}

// unread appends the range of the slice that begins at offset from with head, unless it is before
// the last one.
func unread(head []byte, from int64, ranges [][2]int64) [][2]int64 {
	i := &image{r: io.NewSectionReader(bytes.NewReader(head), 0, int64(len(head))),
		size: uint64(len(head))}
	start, n, length, err := i.header()
	if err != nil || !i.wide || i.hashesPages() || start+length > i.size {
		return ranges
	}
	le := binary.LittleEndian
	for b := head[start : start+length]; n > 0 && len(b) >= 8; n-- {
		size := le.Uint32(b[4:])
		if size < 8 || uint64(size) > uint64(len(b)) {
			break
		}
		if le.Uint32(b) == cmdSegment64 && size >= 48 && fixed(b[8:24]) == "__LINKEDIT" {
			first, last := from+int64(start+length), from+int64(min(le.Uint64(b[40:]), math.MaxInt32))
			if last > first && (len(ranges) == 0 || first >= ranges[len(ranges)-1][1]) {
				ranges = append(ranges, [2]int64{first, last})
			}
			break
		}
		b = b[size:]
	}
	return ranges
}

// shareNames replaces the names of symbols in later slices by equal ones of the first slice, so
// that most are in memory once.
func (f *File) shareNames() {
	first := f.Slices[0].Object
	if first == nil || len(f.Slices) == 1 {
		return
	}
	names := make(map[string]string, len(first.Exports)+len(first.Imports))
	for i := range first.Exports {
		names[first.Exports[i].Name] = first.Exports[i].Name
	}
	for i := range first.Imports {
		names[first.Imports[i].Name] = first.Imports[i].Name
	}
	share := func(name *string) {
		if same, ok := names[*name]; ok {
			*name = same
		} else {
			*name = strings.Clone(*name) // of a text with all names of its slice
		}
	}
	for _, s := range f.Slices[1:] {
		if s.Object == nil {
			continue
		}
		for i := range s.Object.Exports {
			share(&s.Object.Exports[i].Name)
		}
		for i := range s.Object.Imports {
			share(&s.Object.Imports[i].Name)
		}
	}
}

// readSlice reads a slice; arch is its architecture in the fat header, "" in a thin file.
func readSlice(r io.ReaderAt, from, size int64, arch string) Slice {
	i := &image{r: io.NewSectionReader(r, from, size), size: uint64(size)}
	o, err := i.read()
	if err != nil {
		return Slice{Arch: cmpOr(arch, i.arch), Err: err}
	}
	o.Imports, o.Exports = slices.Clone(o.Imports), slices.Clone(o.Exports) // without spare room
	if arch != "" && arch != o.Arch {
		return Slice{Arch: arch, Err: damaged(
			"the slice is for %s in the fat header, for %s in its own header",
			arch, o.Arch)}
	}
	return Slice{Arch: o.Arch, Object: o}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// image is the state of reading a slice.
type image struct {
	r    *io.SectionReader
	size uint64
	arch string
	o    *Object

	wide   bool              // 64 bits
	tables map[uint32][]byte // load commands to process last, by number
}

// table reads count bytes at an offset of the slice.
func (i *image) table(off, count uint64, what string) ([]byte, error) {
	if off > i.size || count > i.size-off {
		return nil, truncated("%s has %d bytes at %d, the slice has %d", what, count, off, i.size)
	}
	if count > maxTable {
		return nil, tooLarge("the size of "+what, count, maxTable)
	}
	b := make([]byte, count)
	if _, err := i.r.ReadAt(b, int64(off)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// header reads the header into i.o, and returns the offset, number and size in bytes of the load
// commands.
func (i *image) header() (start uint64, n uint32, length uint64, err error) {
	head, err := i.table(0, min(32, i.size), "the header")
	if err != nil {
		return 0, 0, 0, err
	}
	if len(head) < 28 {
		return 0, 0, 0, truncated("the slice has %d bytes", i.size)
	}
	switch binary.BigEndian.Uint32(head) {
	case magic64:
		i.wide = true
	case magic32:
	case magicArchive, magicBitcode:
		return 0, 0, 0, fmt.Errorf("%w: a static library or bitcode, which is never loaded", ErrForeign)
	case magic32BE, magic64BE:
		i.arch = archName(binary.BigEndian.Uint32(head[4:]), 0)
		return 0, 0, 0, fmt.Errorf("%w: big endian, for %s", ErrForeign, i.arch)
	default:
		return 0, 0, 0, damaged("the slice does not begin with a Mach-O header")
	}
	le := binary.LittleEndian
	cpu, flags := le.Uint32(head[4:]), le.Uint32(head[24:])
	i.arch = archName(cpu, le.Uint32(head[8:]))
	number := le.Uint32(head[12:])
	kind, ok := fileTypes.Get()[number]
	switch {
	case number == 0 || number > lastFileType:
		return 0, 0, 0, damaged("there is no file type %d", number)
	case !ok:
		return 0, 0, 0, fmt.Errorf("%w: its file type is %d", ErrForeign, number)
	}
	i.o = &Object{Arch: i.arch, Type: kind, TwoLevel: flags&flagTwoLevel != 0,
		ThreadLocals: flags&flagThreadLocals != 0, Needed: []Needed{}, RunPaths: []string{},
		Imports: []Import{}, Exports: []Export{}}
	start = 28
	if i.wide {
		start = 32
	}
	return start, le.Uint32(head[16:]), uint64(le.Uint32(head[20:])), nil
}

func (i *image) read() (*Object, error) {
	start, n, length, err := i.header()
	if err != nil {
		return nil, err
	}
	if !i.o.Type.Loadable() {
		return i.o, nil // it is never loaded, so its tables do not matter
	}
	if length > maxCommands {
		return nil, tooLarge("the size of the load commands", length, maxCommands)
	}
	commands, err := i.table(start, length, "the list of load commands")
	if err != nil {
		return nil, err
	}
	if err := i.commands(commands, n); err != nil {
		return nil, err
	}
	if err := i.symbols(); err != nil {
		return nil, err
	}
	return i.o, i.signature()
}

// Bits of the header's flags.
const (
	flagTwoLevel     = 0x80
	flagThreadLocals = 0x800000
)

// symbols sets Imports and Exports.
func (i *image) symbols() error {
	info := i.tables[cmdDyldInfo]
	chained, trie := i.tables[cmdChainedFixups], i.tables[cmdExportsTrie]
	var err error
	switch {
	case chained != nil:
		i.o.Fixups = Chained
		err = i.chained(chained)
	case info != nil:
		i.o.Fixups = Opcodes
		err = i.opcodes(info)
	}
	if err == nil && (info != nil || trie != nil) {
		command := trie
		if command == nil {
			command = info[32:]
		}
		off, count := place(command)
		err = i.trie(off, count)
	}
	if err != nil || (chained != nil || info != nil) && (info != nil || trie != nil) {
		return err
	}
	if i.tables[cmdSymtab] == nil {
		return nil
	}
	return i.symtab(chained == nil && info == nil, trie == nil && info == nil)
}

// place reads a file offset and a size.
func place(b []byte) (off, count uint64) {
	le := binary.LittleEndian
	return uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
}

// cursor reads a table. Reading past its end sets bad.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) u8() byte {
	if c.at >= len(c.b) {
		c.bad = true
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// uleb reads an unsigned LEB128 number of up to 64 bits.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		b := c.u8()
		if c.bad || shift > 63 || shift == 63 && b > 1 {
			c.bad = true
			return 0
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

// count reads a number that must fit into an int.
func (c *cursor) count() int {
	n := c.uleb()
	if n > math.MaxInt32 {
		c.bad = true
		return 0
	}
	return int(n)
}

// text reads up to a NUL byte. The result aliases the table.
func (c *cursor) text() []byte {
	rest := c.b[min(c.at, len(c.b)):]
	n := slices.Index(rest, 0)
	if n < 0 || n > maxName {
		c.bad = true
		return nil
	}
	c.at += n + 1
	return rest[:n]
}
