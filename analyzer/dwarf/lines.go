package dwarf

import (
	"encoding/binary"
	"io"
	"path"
)

// lines reads the headers of line programs, which contain the names of source files. The programs
// are skipped.
type lines struct {
	in      File
	section Section
	order   binary.ByteOrder
	headers map[uint64][]byte // by offset, for a compressed section
	failed  error
}

// maxLineHeader limits the size of a header. That of a source file that includes all of Boost has
// 300 KB.
const maxLineHeader = 16 << 20

// header returns the bytes of a line program's header, from its version field on, and whether it is
// 64-bit DWARF.
func (l *lines) header(off uint64) ([]byte, bool, error) {
	if l.in.Content == nil {
		return nil, false, damaged("no .debug_line")
	}
	if l.section.compressed() {
		if l.headers == nil {
			l.failed = l.scan()
		}
		b, ok := l.headers[off]
		if !ok {
			if l.failed != nil {
				return nil, false, l.failed
			}
			return nil, false, damaged("no line program at offset %#x", off)
		}
		return b[1:], b[0] == 1, nil
	}
	if off >= l.section.Size {
		return nil, false, damaged("a line program at offset %#x, after the end of .debug_line", off)
	}
	b, _, err := readLineHeader(
		io.NewSectionReader(l.in.Content, int64(l.section.Offset+off), int64(l.section.Size-off)),
		l.order,
	)
	if err != nil {
		return nil, false, err
	}
	return b[1:], b[0] == 1, nil
}

// scan stores the headers of a compressed section.
func (l *lines) scan() error {
	l.headers = map[uint64][]byte{}
	r, size, err := l.section.open(l.in, l.order)
	if err != nil {
		return err
	}
	if size > maxSection {
		return damaged("%s has %d bytes", l.section.Name, size)
	}
	r = io.LimitReader(r, int64(size))
	for off := uint64(0); off < size; {
		b, total, err := readLineHeader(r, l.order)
		if err != nil {
			return err
		}
		l.headers[off] = b
		off += total
	}
	return nil
}

// readLineHeader returns a header after a byte that is 1 for 64-bit DWARF. If r is a stream, it
// also skips the program.
func readLineHeader(r io.Reader, order binary.ByteOrder) (header []byte, total uint64, err error) {
	var b [26]byte
	read := func(n int) bool {
		if err == nil {
			_, err = io.ReadFull(r, b[:n])
		}
		return err == nil
	}
	wide, width := byte(0), uint64(4)
	if !read(4) {
		return nil, 0, damaged("a line program ends early")
	}
	length, head := uint64(order.Uint32(b[:])), uint64(4)
	if length == 0xffffffff {
		if !read(8) {
			return nil, 0, damaged("a line program ends early")
		}
		wide, width, length, head = 1, 8, order.Uint64(b[:]), 12
	}
	if !read(2) {
		return nil, 0, damaged("a line program ends early")
	}
	version, used := order.Uint16(b[:]), uint64(2)
	out := []byte{wide, b[0], b[1]}
	if version >= 5 {
		if !read(2) {
			return nil, 0, damaged("a line program ends early")
		}
		used += 2
		out = append(out, b[0], b[1])
	}
	if !read(int(width)) {
		return nil, 0, damaged("a line program ends early")
	}
	used += width
	n := uint64(order.Uint32(b[:]))
	if wide == 1 {
		n = order.Uint64(b[:])
	}
	if length < used || n > length-used || n > maxLineHeader {
		return nil, 0, damaged("a line program whose header has %d bytes of %d", n, length)
	}
	from := len(out)
	out = append(out, make([]byte, n)...)
	if _, err := io.ReadFull(r, out[from:]); err != nil {
		return nil, 0, damaged("the header of a line program ends early: %v", err)
	}
	if _, whole := r.(*io.SectionReader); !whole {
		if _, err := io.CopyN(io.Discard, r, int64(length-used-n)); err != nil {
			return nil, 0, damaged("a line program ends early: %v", err)
		}
	}
	return out, head + length, nil
}

// FileName returns the source file of DW_AT_decl_file with its folder as the compiler wrote it; ""
// if it is not known.
func (e *Entry) FileName() string {
	if !e.Has(DeclFile) {
		return ""
	}
	u := e.Unit
	if u.files == nil {
		u.files = u.readFiles()
	}
	return u.files.name(u, e.v[DeclFile])
}

// fileTable contains the source files of a unit. Full names are built on demand.
type fileTable struct {
	dirs, files []lineEntry
	names       map[uint64]string
}

func (t *fileTable) name(u *Unit, n uint64) string {
	if n >= uint64(len(t.files)) || len(t.files[n].name) == 0 {
		return ""
	}
	if name, ok := t.names[n]; ok {
		return name
	}
	name := string(t.files[n].name)
	if dir := t.files[n].dir; !path.IsAbs(name) && dir < uint64(len(t.dirs)) {
		if d := string(t.dirs[dir].name); d != "" {
			name = d + "/" + name
		}
	}
	if !path.IsAbs(name) && u.compDir != "" {
		name = u.compDir + "/" + name
	}
	name = path.Clean(name)
	if t.names == nil {
		t.names = map[uint64]string{}
	}
	t.names[n] = name
	return name
}

// maxFileNames limits the names of one unit.
const maxFileNames = 1 << 16

// readFiles reads the names of a unit's source files. For damaged data it returns the names before
// the damage.
func (u *Unit) readFiles() *fileTable {
	t := &fileTable{}
	if !u.hasLines && !u.split() {
		return t
	}
	data, wide, err := u.file.lines.header(u.lineOffset)
	if err != nil {
		return t
	}
	b := &buffer{data, 0, u.file.order, false}
	version := b.uint(2)
	if version >= 5 {
		b.uint(2) // address and segment selector size
	}
	b.u8() // minimum_instruction_length
	if version >= 4 {
		b.u8() // maximum_operations_per_instruction
	}
	b.take(3) // default_is_stmt, line_base, line_range
	if n := b.u8(); n > 0 {
		b.take(uint64(n) - 1) // standard_opcode_lengths
	}
	if version >= 5 {
		t.dirs = u.lineTable(b, wide)
		t.files = u.lineTable(b, wide)
		return t
	}
	t.dirs = []lineEntry{{name: []byte(u.compDir)}}
	for len(t.dirs) < maxFileNames && !b.bad {
		d := b.cstring()
		if len(d) == 0 {
			break
		}
		t.dirs = append(t.dirs, lineEntry{name: d})
	}
	t.files = []lineEntry{{}} // file numbers begin with 1
	for len(t.files) < maxFileNames && !b.bad {
		name := b.cstring()
		if len(name) == 0 {
			break
		}
		dir := b.uleb()
		b.uleb()
		b.uleb()
		t.files = append(t.files, lineEntry{name, dir})
	}
	return t
}

type lineEntry struct {
	name []byte
	dir  uint64
}

// lineTable reads a folder or file table of DWARF 5, which begins with a description of its
// columns.
func (u *Unit) lineTable(b *buffer, wide bool) []lineEntry {
	type column struct {
		content uint64
		spec    spec
	}
	columns := make([]column, b.u8())
	for i := range columns {
		columns[i] = column{b.uleb(), spec{attribute: Name, form: uint16(b.uleb())}}
	}
	n := b.uleb()
	if n > maxFileNames || len(columns) == 0 || b.bad {
		b.bad = true
		return nil
	}
	header := *u // the header may be 64-bit DWARF in a 32-bit unit
	header.wide, header.key.wide, header.data = wide, wide, b.data
	out := make([]lineEntry, 0, min(n, uint64(len(b.data))))
	e := Entry{Unit: &header}
	for ; n > 0 && !b.bad; n-- {
		var x lineEntry
		for i := range columns {
			c := &columns[i]
			e.has = 1 << Name
			header.value(b, &c.spec, c.spec.form, &e)
			if b.bad {
				return out
			}
			switch c.content {
			case 1: // DW_LNCT_path
				x.name = e.Bytes(Name)
			case 2: // DW_LNCT_directory_index
				x.dir = e.v[Name]
			}
		}
		out = append(out, x)
	}
	return out
}
