package elfobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

// Locator finds the dynamic section in a part of an object, of which the offset is not known. It is
// certain of it by two addresses: the global offset table begins with that of the dynamic section,
// which has that of the table (DT_PLTGOT). So linkers for x86_64 write it.
type Locator struct {
	size    int64
	dynamic Segment
	loads   []Segment
}

// NewLocator returns a locator by the first bytes of an object; nil if it cannot find anything.
func NewLocator(head []byte, size int64) *Locator {
	r := bytes.NewReader(head)
	h, err := ReadHead(r, int64(len(head)), nil)
	if err != nil || h.Machine != Machine(elf.EM_X86_64) || h.Class != 64 {
		return nil
	}
	segments, err := h.Segments(r, int64(len(head)))
	if err != nil {
		return nil
	}
	l := &Locator{size: size}
	for _, s := range segments {
		switch elf.ProgType(s.Type) {
		case elf.PT_DYNAMIC:
			l.dynamic = s
		case elf.PT_LOAD:
			l.loads = append(l.loads, s)
		}
	}
	d := l.dynamic
	if d.FileSize < 2*dynSize || d.Offset >= uint64(size) || d.FileSize > uint64(size)-d.Offset ||
		d.Addr == 0 {
		return nil
	}
	return l
}

// dynSize is the size in bytes of an entry of the dynamic section.
const dynSize = 16

// Offset returns the offset of the dynamic section in the object.
func (l *Locator) Offset() int64 { return int64(l.dynamic.Offset) }

// Find returns the offset of a part of an object. It is false unless exactly one is possible.
func (l *Locator) Find(
	part io.ReaderAt, size int64, known func(from, to int64) bool,
) (offset int64, ok bool) {
	address := binary.LittleEndian.AppendUint64(nil, l.dynamic.Addr)
	var tables, entries []place // of the table, and of the entry with its address, as far as is known
	const piece, overlap = 1 << 20, dynSize
	b := make([]byte, piece)
	for at := int64(0); at < size; at += piece - overlap {
		n, _ := part.ReadAt(b[:min(piece, size-at)], at)
		tables = occurrences(tables, b[:n], address, at, func([]byte) (int64, bool) { return 0, true })
		entries = occurrences(entries, b[:n], pltgot, at, l.table)
	}
	for _, e := range entries {
		for _, t := range tables {
			start := t.at - e.table + l.Offset() // of the dynamic section in the part
			end := start + int64(l.dynamic.FileSize)
			if start < 0 || e.at < start || e.at+dynSize > end || (e.at-start)%dynSize != 0 ||
				!known(start, end) || !known(t.at, t.at+8) {
				continue
			}
			at := l.Offset() - start
			if ok && at != offset || at < 0 || at > l.size-size {
				return 0, false
			}
			offset, ok = at, true
		}
	}
	return offset, ok
}

// pltgot is the tag of the entry with the address of the global offset table.
var pltgot = binary.LittleEndian.AppendUint64(nil, uint64(elf.DT_PLTGOT))

// place is a position in a part, and for an entry the offset of its table in the file.
type place struct{ at, table int64 }

// maxPlaces limits the pairs that Find compares.
const maxPlaces = 1000

// occurrences adds the positions of a text in b, which begins at an offset, if a function accepts
// what is there.
func occurrences(
	out []place, b, text []byte, offset int64, accept func(b []byte) (table int64, ok bool),
) []place {
	for at := 0; len(out) < maxPlaces; at++ {
		i := bytes.Index(b[at:], text)
		if i < 0 {
			break
		}
		at += i
		p := offset + int64(at)
		if table, ok := accept(b[at:]); ok && (len(out) == 0 || p > out[len(out)-1].at) {
			out = append(out, place{p, table})
		}
	}
	return out
}

// table returns the offset in the file to which an entry leads; false if it is not after the
// dynamic section.
func (l *Locator) table(entry []byte) (offset int64, ok bool) {
	if len(entry) < dynSize {
		return 0, false
	}
	address := binary.LittleEndian.Uint64(entry[8:])
	for _, s := range l.loads {
		if address > l.dynamic.Addr && address >= s.Addr && address-s.Addr < s.FileSize {
			return int64(s.Offset + (address - s.Addr)), true
		}
	}
	return 0, false
}
