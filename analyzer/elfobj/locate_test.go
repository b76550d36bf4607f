package elfobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// located returns an object with a dynamic section at 0x3000 and a global offset table at 0x3800,
// of a segment whose addresses are 0x1000 above the offsets.
func located(machine elf.Machine) []byte {
	const dynamic, table, above = 0x3000, 0x3800, 0x1000
	out := make([]byte, 0x5000)
	for i := 0x1000; i < len(out); i++ {
		out[i] = byte(i * i >> 3)
	}
	order := binary.LittleEndian
	copy(out, "\x7fELF\x02\x01\x01")
	order.PutUint16(out[16:], uint16(elf.ET_DYN))
	order.PutUint16(out[18:], uint16(machine))
	order.PutUint64(out[32:], 64) // e_phoff
	order.PutUint16(out[54:], 56) // e_phentsize
	order.PutUint16(out[56:], 2)  // e_phnum
	for i, p := range [][3]uint64{
		{uint64(elf.PT_LOAD), 0x1000, 0x4000}, {uint64(elf.PT_DYNAMIC), dynamic, 5 * dynSize},
	} {
		b := out[64+56*i:]
		order.PutUint32(b, uint32(p[0]))
		order.PutUint64(b[8:], p[1])
		order.PutUint64(b[16:], p[1]+above)
		order.PutUint64(b[32:], p[2])
		order.PutUint64(b[40:], p[2])
	}
	for i, e := range [][2]uint64{
		{uint64(elf.DT_NEEDED), 7}, {uint64(elf.DT_STRTAB), 0x200},
		{uint64(elf.DT_PLTGOT), table + above}, {uint64(elf.DT_STRSZ), 99}, {},
	} {
		order.PutUint64(out[dynamic+dynSize*i:], e[0])
		order.PutUint64(out[dynamic+dynSize*i+8:], e[1])
	}
	order.PutUint64(out[table:], dynamic+above)
	return out
}

// TestLocator checks that the offset of a part is found if it has the dynamic section and the
// table, and that nothing is found if that is not certain.
func TestLocator(t *testing.T) {
	object := located(elf.EM_X86_64)
	size := int64(len(object))
	l := NewLocator(object[:0x400], size)
	if l == nil || l.Offset() != 0x3000 {
		t.Fatalf("%+v", l)
	}
	all := func(from, to int64) bool { return true }
	for from, want := range map[int64]bool{0: true, 0x2345: true, 0x3000: true, 0x3001: false} {
		part := object[from:]
		at, ok := l.Find(bytes.NewReader(part), int64(len(part)), all)
		if ok != want || ok && at != from {
			t.Errorf("a part at %#x: %#x, %t", from, at, ok)
		}
	}
	if at, ok := l.Find(bytes.NewReader(object), 0x3804, all); ok {
		t.Errorf("without the table: %#x", at)
	}
	for _, unknown := range []int64{0x3000, 0x3020, 0x304f, 0x3800, 0x3807} {
		at, ok := l.Find(bytes.NewReader(object), size, func(from, to int64) bool {
			return unknown < from || unknown >= to
		})
		if ok {
			t.Errorf("with the byte at %#x not known: %#x", unknown, at)
		}
	}
	twice := bytes.Clone(object) // the table may begin at two places
	copy(twice[0x3810:], twice[0x3800:0x3808])
	copy(twice[0x3810-0x800:], twice[0x3000:0x3000+5*dynSize])
	if at, ok := l.Find(bytes.NewReader(twice[0x100:]), size-0x100, all); ok {
		t.Errorf("two places: %#x", at)
	}
	for _, o := range [][]byte{located(elf.EM_AARCH64), object[:40], nil} {
		if l := NewLocator(o, size); l != nil {
			t.Errorf("%d bytes: %+v", len(o), l)
		}
	}
}

// FuzzLocator checks that what is found in a part of an object is in the object.
func FuzzLocator(f *testing.F) {
	f.Add(located(elf.EM_X86_64), uint16(0x1000), uint16(0))
	f.Add(located(elf.EM_X86_64), uint16(0x2fff), uint16(0x3000))
	f.Fuzz(func(t *testing.T, object []byte, from, unknown uint16) {
		size := int64(len(object))
		l := NewLocator(object[:min(len(object), 2000)], size)
		if l == nil {
			return
		}
		part := object[min(int(from), len(object)):]
		at, ok := l.Find(bytes.NewReader(part), int64(len(part)), func(from, to int64) bool {
			return int64(unknown) < from || int64(unknown) >= to
		})
		start := l.Offset() - at
		if ok && (at < 0 || at+int64(len(part)) > size || start < 0 ||
			!bytes.Contains(part[start:], pltgot)) {
			t.Errorf("at %d of %d bytes, the dynamic section at %d", at, size, start)
		}
	})
}
