package main

import (
	"bytes"
	"encoding/binary"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Linkers put .dynsym, .dynstr, .gnu.version, .gnu.version_d and .gnu.version_r in this order at
// the beginning of a library. The dynamic section with their offsets is after the code. fromHead
// finds these tables by their structure in the beginning of a 64-bit little-endian library, and
// reads them as elfobj reads a complete file. ok is false if the head is too short or is no such
// library: all tables must be consistent.
func fromHead(head []byte) (o *elfobj.Object, ok bool) {
	t, ok := findTables(head)
	if !ok {
		return nil, false
	}
	o, err := elfobj.Read(bytes.NewReader(t.file(head)), int64(t.end+fileTail(t.count)))
	return o, err == nil && o.Exports.Len() > 0
}

// tables are the offsets in a head. A need or defs of 0 means that there is none.
type tables struct {
	sym, count      int
	str, strEnd     int
	versym          int
	defs, defCount  int
	need, needCount int
	end             int // behind all of them

	defined, needed map[uint16]bool // the numbers of the versions
}

const hiddenVersion = 0x8000

const symSize, dynSize, phSize, ehSize = 24, 16, 56, 64

func findTables(head []byte) (t tables, ok bool) {
	at := bytes.Index(head, []byte("\x00libc.so.6\x00"))
	if at < 0 || len(head) < ehSize || head[4] != 2 || head[5] != 1 {
		return t, false
	}
	text := func(j int) bool {
		return j > 0 && j < len(head) &&
			(head[j] >= ' ' && head[j] < 0x7f || head[j] == 0 && head[j-1] != 0)
	}
	t.str, t.strEnd = at, at+1
	for text(t.str) {
		t.str--
	}
	for text(t.strEnd) {
		t.strEnd++
	}
	for t.sym = t.str - symSize; ; t.sym -= symSize {
		if t.sym < ehSize {
			return t, false
		}
		s := head[t.sym : t.sym+symSize]
		name, info, other := binary.LittleEndian.Uint32(s), s[4], s[5]
		if bind := info >> 4; int(name) >= t.strEnd-t.str || bind > 2 && bind != 10 ||
			info&15 > 10 ||
			other > 3 {
			return t, false
		}
		t.count++
		if name == 0 && bytes.Count(s, []byte{0}) == symSize {
			break
		}
	}
	t.versym = aligned(t.strEnd, 2)
	next := aligned(t.versym+2*t.count, 8)
	if next+20 > len(head) || t.count < 2 {
		return t, false
	}
	t.defined, t.needed = map[uint16]bool{
		1: true,
	}, map[uint16]bool{
		0: true,
		1: true,
	} // 0 local, 1 global
	if n, end := t.chain(head, next, true); n > 0 {
		t.defs, t.defCount, next = next, n, aligned(end, 8)
	}
	n, end := t.chain(head, next, false)
	t.need, t.needCount, t.end = next, n, aligned(end, 8)
	return t, n > 0 && t.versioned(head)
}

// versioned reports whether .gnu.version is consistent with the symbols: the first has no
// version, a definition that is not local has a defined version, and a reference has a needed
// one.
func (t *tables) versioned(head []byte) bool {
	for i := range t.count {
		s := head[t.sym+i*symSize:]
		version, local, section := binary.LittleEndian.Uint16(
			head[t.versym+2*i:],
		)&^hiddenVersion, s[4]>>4 == 0, binary.LittleEndian.Uint16(s[6:])
		switch {
		case i == 0 && version != 0,
			section == 0 && !t.needed[version],
			section != 0 && !local && !t.defined[version]:
			return false
		}
	}
	return true
}

// chain counts the records of .gnu.version_d or .gnu.version_r; 0 if there are none. Each name must
// have the hash that its record contains.
func (t *tables) chain(head []byte, at int, defs bool) (n, end int) {
	u16 := func(i int) int { return int(binary.LittleEndian.Uint16(head[i:])) }
	u32 := func(i int) int { return int(binary.LittleEndian.Uint32(head[i:])) }
	left := 1 << 15 // records: as many versions as there can be
	for {
		const record, defAux, needAux = 20, 8, 16
		if at < 0 || at+record > len(head) || u16(at) != 1 {
			return 0, 0
		}
		aux, next, count := u32(at+8), u32(at+12), u16(at+2)
		if defs {
			aux, next, count = u32(at+12), u32(at+16), u16(at+6)
		}
		for a := at + aux; count > 0; count-- {
			if left--; left < 0 || a < at || a+needAux > len(head) {
				return 0, 0
			}
			name, hash, size, step := u32(a), u32(at+8), defAux, u32(a+4)
			if !defs {
				name, hash, size, step = u32(a+8), u32(a), needAux, u32(a+12)
			}
			first := !defs || a == at+aux // of a definition the others are its parents
			if s, ok := t.string(head, name); !ok || first && elfHash(s) != uint32(hash) {
				return 0, 0
			}
			if !defs {
				t.needed[binary.LittleEndian.Uint16(head[a+6:])&^hiddenVersion] = true
			}
			end = max(end, a+size)
			a += step
		}
		if defs {
			t.defined[binary.LittleEndian.Uint16(head[at+4:])&^hiddenVersion] = true
		}
		n++
		if next == 0 {
			return n, end
		}
		if left--; left < 0 {
			return 0, 0
		}
		at += next
	}
}

func (t *tables) string(head []byte, offset int) (string, bool) {
	if offset <= 0 || offset >= t.strEnd-t.str {
		return "", false
	}
	s := head[t.str+offset : t.strEnd]
	end := bytes.IndexByte(s, 0)
	if end <= 0 {
		return "", false
	}
	return string(s[:end]), true
}

// elfHash is the hash of the System V ABI.
func elfHash(name string) uint32 {
	var h uint32
	for i := range len(name) {
		h = h<<4 + uint32(name[i])
		g := h & 0xf0000000
		h ^= g >> 24
		h &^= g
	}
	return h
}

func aligned(n, to int) int { return (n + to - 1) / to * to }

const tags = 12

// fileTail is the size of what file appends to the head: a hash table with the number of symbols,
// a dynamic section and two program headers.
func fileTail(count int) int { return aligned(4*(3+count), 8) + tags*dynSize + 2*phSize }

// file returns a library with the head's tables only, and a dynamic section with their offsets.
func (t *tables) file(head []byte) []byte {
	le := binary.LittleEndian
	out := append(make([]byte, 0, t.end+fileTail(t.count)), head[:min(t.end, len(head))]...)
	out = append(out, make([]byte, t.end-len(out))...)
	hash := len(out)
	out = le.AppendUint32(le.AppendUint32(le.AppendUint32(out, 1), uint32(t.count)), 0)
	out = append(out, make([]byte, 4*t.count)...)
	out = append(out, make([]byte, aligned(len(out), 8)-len(out))...)
	dynamic := len(out)
	for _, d := range [tags][2]int{{4, hash}, {5, t.str}, {6, t.sym}, {10, t.strEnd - t.str},
		{11, symSize}, {0x6ffffff0, t.versym}, {0x6ffffffe, t.need}, {0x6fffffff, t.needCount},
		{0x6ffffffc, t.defs}, {0x6ffffffd, t.defCount}} {
		if d[1] != 0 {
			out = le.AppendUint64(le.AppendUint64(out, uint64(d[0])), uint64(d[1]))
		}
	}
	out = append(out, make([]byte, dynamic+tags*dynSize-len(out))...)
	headers := len(out)
	total := t.end + fileTail(t.count)
	// PT_LOAD, PT_DYNAMIC: type, offset and address, size
	for _, p := range [2][3]int{{1, 0, total}, {2, dynamic, tags * dynSize}} {
		out = le.AppendUint32(le.AppendUint32(out, uint32(p[0])), 6)
		for _, v := range []int{p[1], p[1], p[1], p[2], p[2], 8} {
			out = le.AppendUint64(out, uint64(v))
		}
	}
	le.PutUint64(out[32:], uint64(headers)) // e_phoff
	le.PutUint64(out[40:], 0)               // e_shoff
	le.PutUint16(out[54:], phSize)
	le.PutUint16(out[56:], 2)
	for i := 58; i < ehSize; i++ {
		out[i] = 0
	}
	return out
}
