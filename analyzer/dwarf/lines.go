package dwarf

import (
	"encoding/binary"
	"path"
)

// lines reads the headers of line programs, which contain the names of source files. The programs
// are skipped.
type lines struct {
	order   binary.ByteOrder
	open    func() (content, error) // nil without .debug_line
	content *content                // nil before the first header is read
	failed  error                   // of open
}

// maxLineHeader limits the size of a header. That of a source file that includes all of Boost has
// 300 KB.
const maxLineHeader = 16 << 20

// header returns the bytes of a line program's header, from its version field on, and whether it is
// 64-bit DWARF.
func (l *lines) header(off uint64) ([]byte, bool, error) {
	if l.open == nil {
		return nil, false, damaged("no .debug_line")
	}
	if l.content == nil {
		c, err := l.open()
		l.content, l.failed = &c, err
	}
	if l.failed != nil {
		return nil, false, l.failed
	}
	if off >= l.content.size {
		return nil, false, damaged("a line program at offset %#x, after the end of .debug_line", off)
	}
	// the fields up to the length of the header
	head, err := l.content.bytes(".debug_line", off, min(26, l.content.size-off))
	if err != nil {
		return nil, false, err
	}
	b := buffer{head, 0, l.order, false}
	wide, width := false, uint8(4)
	length := b.uint(4)
	if length == 0xffffffff {
		wide, width, length = true, 8, b.uint(8)
	}
	from := b.at
	if b.uint(2) >= 5 {
		b.take(2) // address and segment selector size
	}
	n := b.uint(width)
	used := b.at - from
	if b.bad || length < used || n > length-used || n > maxLineHeader ||
		n > l.content.size-off-b.at {
		return nil, false, damaged("a line program whose header has %d bytes of %d", n, length)
	}
	out, err := l.content.bytes(".debug_line", off+from, used+n)
	return out, wide, err
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
	if wide { // header_length
		b.take(8)
	} else {
		b.take(4)
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
