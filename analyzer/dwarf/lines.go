package dwarf

import (
	"encoding/binary"
	"path"
	"slices"
)

// lines reads the headers of line programs, which contain the names of source files. The programs
// are skipped.
type lines struct {
	order   binary.ByteOrder
	open    func() (content, error) // nil without .debug_line
	content *content                // nil before the first header is read
	failed  error                   // of open
	unused  *fileTable              // its memory can be used again
	unit    Unit                    // for decoding names: a unit whose data is a header
	entry   Entry
}

// maxLineHeader limits the size of a header. That of a source file that includes all of Boost has
// 300 KB.
const maxLineHeader = 16 << 20

// header returns the bytes of a line program's header, from its version field on, in memory if it
// has room, and whether it is 64-bit DWARF.
func (l *lines) header(off uint64, memory []byte) ([]byte, bool, error) {
	if l.content == nil {
		if l.open == nil {
			return nil, false, damaged("no .debug_line")
		}
		c, err := l.open()
		l.content, l.failed, l.open = &c, err, nil
	}
	if l.failed != nil {
		return nil, false, l.failed
	}
	if off >= l.content.size {
		return nil, false, damaged("a line program at offset %#x, after the end of .debug_line", off)
	}
	// the fields up to the length of the header
	head, err := l.content.bytes(".debug_line", memory, off, min(26, l.content.size-off))
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
	out, err := l.content.bytes(".debug_line", memory, off+from, used+n)
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

// fileTable contains the source files of a unit. Names are read on demand.
type fileTable struct {
	header      []byte // of the line program
	memory      []byte // of header, if .debug_line is not in memory
	wide        bool   // the header is 64-bit DWARF
	dirs, files []lineEntry
	names       map[uint64]string
}

func (t *fileTable) name(u *Unit, n uint64) string {
	if n >= uint64(len(t.files)) {
		return ""
	}
	if name, ok := t.names[n]; ok {
		return name
	}
	e := u.lineHeader(t)
	name := e.text(t.files[n].name)
	if name == "" {
		return ""
	}
	if dir := t.files[n].dir; !path.IsAbs(name) && dir < uint64(len(t.dirs)) {
		if d := e.text(t.dirs[dir].name); d != "" {
			name = d + "/" + name
		}
	}
	if !path.IsAbs(name) && u.compDir != "" {
		name = u.compDir + "/" + name
	}
	name = path.Clean(name)
	t.names[n] = name
	return name
}

// lineHeader returns an entry for decoding the values in the header of a line program, whose
// numbers and strings are encoded like those of the unit.
func (u *Unit) lineHeader(t *fileTable) *Entry {
	l := &u.file.lines
	l.unit = *u // the header may be 64-bit DWARF in a 32-bit unit
	l.unit.key.wide, l.unit.data = t.wide, t.header
	l.entry.Unit = &l.unit
	return &l.entry
}

// text returns the string whose decoded value is v.
func (e *Entry) text(v uint64) string {
	e.has, e.v[Name] = 1<<Name, v
	return e.String(Name)
}

// maxFileNames limits the names of one unit.
const maxFileNames = 1 << 16

// readFiles reads the names of a unit's source files. For damaged data it returns the names before
// the damage.
func (u *Unit) readFiles() *fileTable {
	t := u.file.lines.unused
	if u.file.lines.unused = nil; t == nil {
		t = &fileTable{names: map[uint64]string{}}
	}
	t.dirs, t.files = t.dirs[:0], t.files[:0]
	clear(t.names)
	if !u.hasLines && !u.split() {
		return t
	}
	var err error
	if t.header, t.wide, err = u.file.lines.header(u.lineOffset, t.memory); err != nil {
		return t
	}
	if u.file.lines.content.whole == nil {
		t.memory = t.header
	}
	b := &buffer{t.header, 0, u.file.order, false}
	version := b.uint(2)
	if version >= 5 {
		b.uint(2) // address and segment selector size
	}
	if t.wide { // header_length
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
		t.dirs = u.lineTable(b, t, t.dirs)
		t.files = u.lineTable(b, t, t.files)
		return t
	}
	empty := stringInline<<stringKind | uint64(len(t.header)) - 1
	t.dirs = append(t.dirs, lineEntry{name: empty}) // the folder of the compilation
	for len(t.dirs) < maxFileNames && !b.bad {
		at := b.at
		if len(b.cstring()) == 0 {
			break
		}
		t.dirs = append(t.dirs, lineEntry{name: stringInline<<stringKind | at})
	}
	t.files = append(t.files, lineEntry{name: empty}) // file numbers begin with 1
	for len(t.files) < maxFileNames && !b.bad {
		at := b.at
		if len(b.cstring()) == 0 {
			break
		}
		dir := b.uleb()
		b.uleb()
		b.uleb()
		t.files = append(t.files, lineEntry{stringInline<<stringKind | at, dir})
	}
	return t
}

// lineEntry is a folder or file: the decoded value of its name, and its folder.
type lineEntry struct{ name, dir uint64 }

// lineTable reads a folder or file table of DWARF 5, which begins with a description of its
// columns, and appends its entries to out.
func (u *Unit) lineTable(b *buffer, t *fileTable, out []lineEntry) []lineEntry {
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
		return out
	}
	e := u.lineHeader(t)
	out = slices.Grow(out, int(min(n, uint64(len(b.data)))))
	for ; n > 0 && !b.bad; n-- {
		var x lineEntry
		for i := range columns {
			c := &columns[i]
			e.has = 1 << Name
			e.Unit.value(b, &c.spec, c.spec.form, e)
			if b.bad {
				return out
			}
			switch c.content {
			case 1: // DW_LNCT_path
				x.name = e.v[Name]
			case 2: // DW_LNCT_directory_index
				x.dir = e.v[Name]
			}
		}
		out = append(out, x)
	}
	return out
}
