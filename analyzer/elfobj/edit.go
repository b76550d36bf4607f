package elfobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Edit is a change of the dynamic section or of the program headers of an ELF file. The zero value
// changes nothing.
type Edit struct {
	RunPath string // the new DT_RUNPATH, which replaces DT_RPATH too; "" = unchanged
	// DT_NEEDED entries: Remove first, then Replace, then Add after the last one.
	Remove  []string
	Replace map[string]string
	Add     []string
	SONAME  string // "" = unchanged
	Interp  string // PT_INTERP of a program; "" = unchanged
	// NoExecStack makes PT_GNU_STACK ask for a stack that is not executable.
	NoExecStack bool
}

// maxGrowth limits the bytes that are added to a program so that its new headers are at the offset
// where older kernels look for them. The data segment of a program is rarely above a megabyte.
const maxGrowth = 64 << 20

// ErrEdit is the reason why an object cannot be edited.
var ErrEdit = errors.New("the file cannot be edited")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrEdit, fmt.Sprintf(format, args...))
}

// Apply returns the edited file. data is not changed; if there is nothing to change, it is
// returned.
//
// What does not fit into the file is placed into a new segment at its end, to which the program
// headers move; nothing that is loaded changes its address. Strings that nothing uses any more stay
// in the old table, because linkers let other strings share their bytes. The function returns
// ErrEdit for an object without a dynamic section that needs one, for damaged headers, and for an
// edit that the loader would reject.
func (e Edit) Apply(data []byte) ([]byte, error) {
	x, err := newEditor(data)
	if err != nil {
		return nil, err
	}
	if e.dynamic() {
		if err := x.readDynamic(); err != nil {
			return nil, err
		}
		if err := x.editDynamic(e); err != nil {
			return nil, err
		}
	}
	if e.NoExecStack {
		x.clearExecStack()
	}
	if e.Interp != "" {
		if err := x.setInterp(e.Interp); err != nil {
			return nil, err
		}
	}
	return x.write(data)
}

// dynamic reports whether the edit changes the dynamic section.
func (e Edit) dynamic() bool {
	return e.RunPath != "" || e.SONAME != "" ||
		len(e.Remove)+len(e.Replace)+len(e.Add) > 0
}

// dynamicEntry is an entry of the dynamic section.
type dynamicEntry struct{ tag, value uint64 }

// editor is a file that is edited.
type editor struct {
	out     []byte // a copy of the file
	order   binary.ByteOrder
	wide    bool
	head    *Head
	headers []Segment
	table   uint64 // offset of the program headers
	changed bool   // a byte of out changed, or one of the following

	moved     bool // the program headers need more room
	entries   []dynamicEntry
	strings   []byte // the table of strings with the new ones
	interp    []byte // a new one that is longer, with its end
	room      int    // entries in the old dynamic section
	at        uint64 // its offset
	edited    bool   // entries changed
	newString bool   // strings has new ones
}

func newEditor(data []byte) (*editor, error) {
	r, size := bytes.NewReader(data), int64(len(data))
	head, err := ReadHead(r, size, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	x := &editor{
		out: slices.Clone(data), order: binary.LittleEndian, wide: head.Class == 64, head: head,
		table: head.phoff,
	}
	switch elf.Data(head.Ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		x.order = binary.BigEndian
	default:
		return nil, refuse("its byte order is unknown")
	}
	switch kind := elf.Type(head.Type); {
	case head.Class == 0:
		return nil, refuse("its class is unknown")
	case elf.Machine(head.Machine) == elf.EM_MIPS:
		return nil, refuse("the MIPS loader reads addresses in the dynamic section")
	case kind != elf.ET_DYN && kind != elf.ET_EXEC:
		return nil, refuse("it is not a shared library or program")
	case head.PhEntSize != phEntSize(head.Class) || head.PhNum == 0 || head.PhNum == 0xffff:
		return nil, refuse("its program headers are damaged")
	}
	if x.headers, err = head.Segments(r, size); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	for _, h := range x.headers {
		if h.FileSize > 0 && !x.inside(h.Offset, h.FileSize) || h.Addr+h.MemSize < h.Addr {
			return nil, refuse("a segment is outside of the file")
		}
	}
	return x, nil
}

// putTable writes the program headers, their place and their number.
func (x *editor) putTable() {
	offsetAt, countAt := 28, 44
	if x.wide {
		offsetAt, countAt = 32, 56
	}
	x.putWord(x.out[offsetAt:], x.table)
	x.order.PutUint16(x.out[countAt:], uint16(len(x.headers)))
	b := x.out[x.table:]
	for _, h := range x.headers {
		x.order.PutUint32(b, h.Type)
		flagsAt, words := 24, []int{4, 8, 12, 16, 20, 28}
		if x.wide {
			flagsAt, words = 4, []int{8, 16, 24, 32, 40, 48}
		}
		x.order.PutUint32(b[flagsAt:], h.Flags)
		for i, v := range []uint64{h.Offset, h.Addr, h.physical, h.FileSize, h.MemSize, h.Align} {
			x.putWord(b[words[i]:], v)
		}
		b = b[phEntSize(x.head.Class):]
	}
}

func (x *editor) inside(offset, n uint64) bool {
	size := uint64(len(x.out))
	return n <= size && offset <= size-n
}

// word reads an address or a size.
func (x *editor) word(b []byte) uint64 {
	if x.wide {
		return x.order.Uint64(b)
	}
	return uint64(x.order.Uint32(b))
}

// putWord writes an address or a size.
func (x *editor) putWord(b []byte, v uint64) {
	if x.wide {
		x.order.PutUint64(b, v)
	} else {
		x.order.PutUint32(b, uint32(v))
	}
}

// wordSize is the size of an address in bytes.
func (x *editor) wordSize() uint64 {
	if x.wide {
		return 8
	}
	return 4
}

// find returns the first program header of a kind, or nil.
func (x *editor) find(kind elf.ProgType) *Segment {
	i := slices.IndexFunc(x.headers, func(h Segment) bool { return h.Type == uint32(kind) })
	if i < 0 {
		return nil
	}
	return &x.headers[i]
}

// offsetOf returns the offset in the file of n loaded bytes.
func (x *editor) offsetOf(address, n uint64) (uint64, bool) {
	for _, h := range x.headers {
		if h.Type == uint32(elf.PT_LOAD) && address >= h.Addr && address-h.Addr <= h.FileSize &&
			n <= h.FileSize-(address-h.Addr) {
			return h.Offset + address - h.Addr, true
		}
	}
	return 0, false
}

func (x *editor) readDynamic() error {
	h := x.find(elf.PT_DYNAMIC)
	if h == nil {
		return refuse("it has no dynamic section")
	}
	size := 2 * x.wordSize()
	x.at, x.room = h.Offset, int(h.FileSize/size)
	for n := range uint64(x.room) {
		b := x.out[h.Offset+n*size:]
		d := dynamicEntry{x.word(b), x.word(b[x.wordSize():])}
		if elf.DynTag(d.tag) == elf.DT_NULL {
			break
		}
		x.entries = append(x.entries, d)
	}
	if len(x.entries) == x.room {
		return refuse("its dynamic section does not end")
	}
	address, hasTable := x.value(elf.DT_STRTAB)
	length, hasSize := x.value(elf.DT_STRSZ)
	offset, ok := x.offsetOf(address, length)
	if !hasTable || !hasSize || !ok {
		return refuse("its table of strings is damaged")
	}
	if length == 0 || x.out[offset+length-1] != 0 {
		return refuse("its table of strings does not end")
	}
	x.strings = slices.Clone(x.out[offset : offset+length])
	return nil
}

// value returns the first entry with a tag.
func (x *editor) value(tag elf.DynTag) (uint64, bool) {
	for _, d := range x.entries {
		if elf.DynTag(d.tag) == tag {
			return d.value, true
		}
	}
	return 0, false
}

// text returns a string of the table.
func (x *editor) text(offset uint64) string {
	if offset >= uint64(len(x.strings)) {
		return ""
	}
	s, _, _ := bytes.Cut(x.strings[offset:], []byte{0})
	return string(s)
}

// offset returns the offset of a string in the table, to which it is added if necessary.
func (x *editor) offset(s string) uint64 {
	text := append([]byte(s), 0)
	if i := bytes.Index(x.strings, text); i >= 0 {
		return uint64(i)
	}
	x.newString = true
	at := len(x.strings)
	x.strings = append(x.strings, text...)
	return uint64(at)
}

func (x *editor) editDynamic(e Edit) error {
	versions, err := x.versionFiles()
	if err != nil {
		return err
	}
	before := slices.Clone(x.entries)
	x.entries = nil
	last := 0 // after the last DT_NEEDED entry
	named := false
	for _, d := range before {
		switch elf.DynTag(d.tag) {
		case elf.DT_NEEDED:
			name := x.text(d.value)
			if slices.Contains(e.Remove, name) {
				if len(versions[name]) > 0 {
					return refuse("symbols have versions of %s", name)
				}
				continue
			}
			if to, ok := e.Replace[name]; ok {
				d.value = x.offset(to)
				for _, at := range versions[name] {
					x.order.PutUint32(x.out[at:], uint32(d.value))
				}
			}
			last = len(x.entries) + 1
		case elf.DT_SONAME:
			if e.SONAME != "" {
				d.value, named = x.offset(e.SONAME), true
			}
		case elf.DT_RPATH, elf.DT_RUNPATH:
			if e.RunPath != "" {
				continue
			}
		}
		x.entries = append(x.entries, d)
	}
	var added []dynamicEntry
	for _, name := range e.Add {
		if !slices.ContainsFunc(x.entries, func(d dynamicEntry) bool {
			return elf.DynTag(d.tag) == elf.DT_NEEDED && x.text(d.value) == name
		}) {
			added = append(added, dynamicEntry{uint64(elf.DT_NEEDED), x.offset(name)})
		}
	}
	x.entries = slices.Insert(x.entries, last, added...)
	if e.SONAME != "" && !named {
		x.entries = append(x.entries, dynamicEntry{uint64(elf.DT_SONAME), x.offset(e.SONAME)})
	}
	if e.RunPath != "" {
		x.entries = append(x.entries, dynamicEntry{uint64(elf.DT_RUNPATH), x.offset(e.RunPath)})
	}
	x.edited = !slices.Equal(before, x.entries)
	x.changed = x.changed || x.edited
	x.moved = x.moved || x.newString || len(x.entries) >= x.room
	return nil
}

// versionFiles returns the offsets of the fields that name the library of required symbol versions,
// by that name.
func (x *editor) versionFiles() (map[string][]uint64, error) {
	address, ok := x.value(elf.DT_VERNEED)
	count, _ := x.value(elf.DT_VERNEEDNUM)
	out := map[string][]uint64{}
	if !ok {
		return out, nil
	}
	const size = 16
	for range min(count, uint64(len(x.out)/size)) {
		at, ok := x.offsetOf(address, size)
		if !ok {
			return nil, refuse("its symbol versions are damaged")
		}
		name := x.text(uint64(x.order.Uint32(x.out[at+4:])))
		out[name] = append(out[name], at+4)
		next := uint64(x.order.Uint32(x.out[at+12:]))
		if next == 0 {
			break
		}
		address += next
	}
	return out, nil
}

func (x *editor) clearExecStack() {
	h := x.find(elf.PT_GNU_STACK)
	if h == nil {
		x.headers = append(x.headers, Segment{
			Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16,
		})
		x.moved, x.changed = true, true
		return
	}
	if h.Flags&uint32(elf.PF_X) != 0 {
		h.Flags &^= uint32(elf.PF_X)
		x.changed = true
	}
}

func (x *editor) setInterp(to string) error {
	h := x.find(elf.PT_INTERP)
	if h == nil {
		return refuse("it names no interpreter")
	}
	text := append([]byte(to), 0)
	x.changed = true
	if uint64(len(text)) > h.FileSize {
		x.interp, x.moved = text, true
		return nil
	}
	field := x.out[h.Offset : h.Offset+h.FileSize]
	clear(field)
	copy(field, text)
	x.place(h, elf.SHT_PROGBITS, h.Offset, h.Addr, uint64(len(text)))
	return nil
}

// place changes where a segment and its section are.
func (x *editor) place(h *Segment, kind elf.SectionType, offset, address, size uint64) {
	x.placeSection(kind, h.Addr, offset, address, size)
	h.physical += address - h.Addr
	h.Offset, h.Addr, h.FileSize, h.MemSize = offset, address, size, size
}

// placeSection changes where the section of a kind is that is loaded at an address. A file without
// section headers has none.
func (x *editor) placeSection(kind elf.SectionType, from, offset, address, size uint64) {
	at, length, countAt := x.word(x.out[32:]), uint64(40), 48
	words := []int{12, 16, 20} // address, offset and size
	if x.wide {
		at, length, countAt = x.word(x.out[40:]), 64, 60
		words = []int{16, 24, 32}
	}
	for n := range uint64(x.order.Uint16(x.out[countAt:])) {
		if !x.inside(at+n*length, length) {
			return
		}
		b := x.out[at+n*length:]
		if x.order.Uint32(b[4:]) == uint32(kind) && x.word(b[words[0]:]) == from {
			for i, v := range []uint64{address, offset, size} {
				x.putWord(b[words[i]:], v)
			}
			return
		}
	}
}

// pageSize returns the size of the largest pages that systems of the machine have.
func (x *editor) pageSize() uint64 {
	switch elf.Machine(x.head.Machine) {
	case elf.EM_AARCH64, elf.EM_PPC64, elf.EM_LOONGARCH:
		return 0x10000
	}
	return 0x1000
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// write returns the edited file.
func (x *editor) write(data []byte) ([]byte, error) {
	if !x.changed {
		return data, nil
	}
	if x.moved {
		if err := x.extend(); err != nil {
			return nil, err
		}
	} else if x.edited {
		x.putEntries(x.out[x.at:], x.room)
	}
	x.putTable()
	return x.out, nil
}

// putEntries writes the dynamic section, and ends it with DT_NULL up to a number of entries.
func (x *editor) putEntries(b []byte, room int) {
	size := 2 * x.wordSize()
	clear(b[:uint64(room)*size])
	for _, d := range x.entries {
		x.putWord(b, d.tag)
		x.putWord(b[x.wordSize():], d.value)
		b = b[size:]
	}
}

// extend adds a segment with the program headers, the table of strings, the dynamic section and the
// path of the interpreter, as far as they need more room.
func (x *editor) extend() error {
	offset, address, err := x.free()
	if err != nil {
		return err
	}
	segment := Segment{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R), Offset: offset,
		Addr: address, physical: address, Align: x.pageSize()}
	last := 0
	for i, h := range x.headers {
		if h.Type == uint32(elf.PT_LOAD) {
			last = i + 1
		}
	}
	x.headers = slices.Insert(x.headers, last, segment)
	const align = 16
	size := uint64(0) // of the segment so far
	next := func(n uint64) (offset, address uint64) {
		at := roundUp(size, align)
		size = at + n
		return segment.Offset + at, segment.Addr + at
	}
	table := uint64(len(x.headers)) * uint64(phEntSize(x.head.Class))
	tableAt, tableAddress := next(table)
	if h := x.find(elf.PT_PHDR); h != nil {
		x.place(h, elf.SHT_NULL, tableAt, tableAddress, table)
	}
	var parts []part
	if x.newString {
		n := uint64(len(x.strings))
		at, address := next(n)
		parts = append(parts, part{at, x.strings})
		x.moveStrings(at, address, n)
	}
	if entries := len(x.entries) + 1; x.edited && entries > x.room {
		n := uint64(entries) * 2 * x.wordSize()
		at, address := next(n)
		b := make([]byte, n)
		x.putEntries(b, entries)
		parts = append(parts, part{at, b})
		x.place(x.find(elf.PT_DYNAMIC), elf.SHT_DYNAMIC, at, address, n)
		x.headers[last].Flags |= uint32(elf.PF_W) // the loader may write DT_DEBUG and addresses
	} else if x.edited {
		x.putEntries(x.out[x.at:], x.room)
	}
	if x.interp != nil {
		at, address := next(uint64(len(x.interp)))
		parts = append(parts, part{at, x.interp})
		x.place(x.find(elf.PT_INTERP), elf.SHT_PROGBITS, at, address, uint64(len(x.interp)))
	}
	x.headers[last].FileSize, x.headers[last].MemSize = size, size
	if !x.wide && address+size > 1<<32 {
		return refuse("its address space is full")
	}
	x.out = append(x.out, make([]byte, offset+size-uint64(len(x.out)))...)
	for _, p := range parts {
		copy(x.out[p.offset:], p.bytes)
	}
	x.table = tableAt
	return nil
}

// part is the content of the new segment at an offset of the file.
type part struct {
	offset uint64
	bytes  []byte
}

// moveStrings changes where the table of strings is.
func (x *editor) moveStrings(offset, address, size uint64) {
	for i := range x.entries {
		d := &x.entries[i]
		switch elf.DynTag(d.tag) {
		case elf.DT_STRTAB:
			x.placeSection(elf.SHT_STRTAB, d.value, offset, address, size)
			d.value = address
		case elf.DT_STRSZ:
			d.value = size
		}
	}
}

// free returns where a new segment can be. Kernels before Linux 5.18 look for the headers of a
// program at the address that belongs to their offset if the whole file were one segment.
func (x *editor) free() (offset, address uint64, _ error) {
	page := x.pageSize()
	size := uint64(len(x.out))
	var end uint64
	first := x.find(elf.PT_LOAD)
	if first == nil {
		return 0, 0, refuse("nothing of it is loaded")
	}
	for _, h := range x.headers {
		if h.Type == uint32(elf.PT_LOAD) {
			end = max(end, h.Addr+h.MemSize)
		}
	}
	if end > 1<<62 || len(x.headers) > 1000 {
		return 0, 0, refuse("its program headers are damaged")
	}
	end = roundUp(end, page)
	if x.find(elf.PT_PHDR) == nil && x.find(elf.PT_INTERP) == nil {
		const align = 16
		offset = roundUp(size, align)
		return offset, end + offset%page, nil
	}
	base := first.Addr - first.Offset
	offset = max(roundUp(size, page), end-base)
	if base%page != 0 || first.Addr < first.Offset || offset-size > maxGrowth {
		return 0, 0, refuse("there is no space for the headers of a program")
	}
	return offset, offset + base, nil
}
