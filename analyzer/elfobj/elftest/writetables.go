package elftest

import (
	"debug/elf"
	"encoding/hex"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// code returns the machine code of a function that returns 0.
func (w *writer) code() []byte {
	if b := w.given(codeSection); b != nil {
		return b
	}
	b := make([]byte, 16)
	switch elf.Machine(w.o.Machine) {
	case elf.EM_X86_64, elf.EM_386:
		copy(b, []byte{0x31, 0xc0, 0xc3}) // xor eax, eax; ret
	case elf.EM_AARCH64:
		copy(b, []byte{0x00, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6}) // mov w0, #0; ret
	}
	return b
}

// given returns the bytes of a section of the object, or nil.
func (w *writer) given(name string) []byte {
	for _, s := range w.o.Sections {
		if s.Name == name {
			return s.Data
		}
	}
	return nil
}

func (w *writer) notes() []byte {
	b := w.out()
	note := func(typ uint32, desc []byte) {
		b.u32(4)
		b.u32(uint32(len(desc)))
		b.u32(typ)
		b.WriteString("GNU\x00")
		b.Write(desc)
		b.Write(make([]byte, up(uint64(len(desc)), 4)-uint64(len(desc))))
	}
	if w.o.BuildID != "" {
		id, _ := hex.DecodeString(w.o.BuildID) // validated by check
		note(noteBuildID, id)
	}
	if w.o.ABITag != "" {
		d := w.out()
		n, _ := elfobj.ParseABITag(w.o.ABITag) // validated by check
		for _, v := range n {
			d.u32(v)
		}
		note(noteABITag, d.Bytes())
	}
	guards, bits, _ := w.o.Guards.Property(w.o.Machine) // validated by check
	d := w.out()
	for _, p := range []struct{ typ, value uint32 }{
		{guards, bits},
		{propertyISANeeded, w.o.ISA},
		{propertyISAUsed, w.o.ISAUsed},
	} {
		if p.value != 0 {
			d.u32(p.typ)
			d.u32(4)
			d.u32(p.value)
			d.Write(make([]byte, up(uint64(d.Len()), uint64(w.o.Class/8))-uint64(d.Len())))
		}
	}
	if d.Len() > 0 {
		note(noteProperty, d.Bytes())
	}
	if s := w.o.System; s != "" {
		b.u32(uint32(len(s)) + 1)
		b.u32(0)
		b.u32(1)
		b.WriteString(s + "\x00")
		b.Write(make([]byte, -b.Len()&3))
	}
	if api := w.o.AndroidAPI; api != 0 {
		b.u32(8)
		b.u32(4)
		b.u32(1)
		b.WriteString("Android\x00")
		b.u32(uint32(api))
	}
	if w.o.GoBuildID {
		b.u32(4)
		b.u32(0)
		b.u32(noteGoBuildID)
		b.WriteString("Go\x00\x00")
	}
	return b.Bytes()
}

// gnuHash writes a table with one bucket, so that the symbols can keep their order.
func (w *writer) gnuHash() []byte {
	b := w.out()
	first := uint32(1 + w.o.Imports.Len())
	b.u32(1) // buckets
	b.u32(first)
	b.u32(1) // words of the Bloom filter
	b.u32(5) // shift of the Bloom filter
	if w.o.Exports.Len() == 0 {
		b.word(0)
		b.u32(0)
		return b.Bytes()
	}
	b.word(1<<64 - 1) // every name may be present
	b.u32(first)
	for i, e := range w.o.Exports.All() {
		h := gnuHash(e.Name) &^ 1
		if i == w.o.Exports.Len()-1 {
			h |= 1
		}
		b.u32(h)
	}
	return b.Bytes()
}

func gnuHash(s string) uint32 {
	h := uint32(5381)
	for i := range len(s) {
		h = h*33 + uint32(s[i])
	}
	return h
}

// sysvHash returns the hash that version records use (System V ABI, "Hash Table").
func sysvHash(s string) uint32 {
	var h uint32
	for i := range len(s) {
		h = h<<4 + uint32(s[i])
		g := h & 0xf0000000
		h = (h ^ g>>24) &^ g
	}
	return h
}

func (w *writer) dynsym() []byte {
	b := w.out()
	symbol := func(name string, bind elf.SymBind, kind elfobj.Kind, shndx uint16, value, size uint64) {
		info := elf.ST_INFO(bind, symType(kind))
		b.u32(w.str(name))
		if w.f.wide {
			b.u8(info)
			b.u8(0)
			b.u16(shndx)
			b.word(value)
			b.word(size)
			return
		}
		b.word(value)
		b.word(size)
		b.u8(info)
		b.u8(0)
		b.u16(shndx)
	}
	symbol("", elf.STB_LOCAL, elfobj.NoType, 0, 0, 0)
	for _, i := range w.o.Imports.All() {
		symbol(i.Name, bindOf(i.Weak, false), i.Kind, 0, 0, 0)
	}
	text, data, tls := w.part(".text"), w.part(".bss"), w.part(".tbss")
	at := w.rooms()
	for i, e := range w.o.Exports.All() {
		bind := bindOf(e.Weak, e.Unique)
		switch e.Kind {
		case elfobj.TLS:
			symbol(e.Name, bind, e.Kind, w.shndx(tls), at[i], e.Size)
		case elfobj.Func, elfobj.IFunc, "":
			symbol(e.Name, bind, e.Kind, w.shndx(text), text.addr, e.Size)
		default:
			symbol(e.Name, bind, e.Kind, w.shndx(data), data.addr+at[i], e.Size)
		}
	}
	return b.Bytes()
}

// rooms returns the offset of each exported variable in .bss or .tbss, 0 for functions.
func (w *writer) rooms() []uint64 {
	at := make([]uint64, w.o.Exports.Len())
	var used, usedTLS uint64
	for i, e := range w.o.Exports.All() {
		switch e.Kind {
		case elfobj.TLS:
			at[i] = usedTLS
			usedTLS += room(e)
		case elfobj.Func, elfobj.IFunc, "":
		default:
			at[i] = used
			used += room(e)
		}
	}
	return at
}

// room returns the size reserved for a variable. Sizes are limited to a page, because nothing
// is stored there.
func room(e elfobj.Export) uint64 { return up(min(max(e.Size, 8), 4096), 16) }

func bindOf(weak, unique bool) elf.SymBind {
	switch {
	case weak:
		return elf.STB_WEAK
	case unique:
		return bindUnique
	}
	return elf.STB_GLOBAL
}

// symType returns the symbol type of a kind, and STT_FUNC for "".
func symType(k elfobj.Kind) elf.SymType {
	if k == "" {
		return elf.STT_FUNC
	}
	return elf.SymType(elfobj.KindNumber(k))
}

func (w *writer) versym() []byte {
	b := w.out()
	b.u16(0)
	for _, list := range [][]uint16{w.importIndex, w.exportIndex} {
		for _, n := range list {
			b.u16(n)
		}
	}
	return b.Bytes()
}

func (w *writer) verneed() []byte {
	b := w.out()
	for i, n := range w.o.VersionNeeds {
		b.u16(1)
		b.u16(uint16(len(n.Versions)))
		b.u32(w.str(n.Library))
		b.u32(16)
		b.u32(link(i, len(w.o.VersionNeeds), 16+16*len(n.Versions)))
		for k, v := range n.Versions {
			b.u32(sysvHash(v.Name))
			b.u16(flag(v.Weak, elf.VER_FLG_WEAK))
			b.u16(w.index[versionKey{n.Library, v.Name}])
			b.u32(w.str(v.Name))
			b.u32(link(k, len(n.Versions), 16))
		}
	}
	return b.Bytes()
}

func (w *writer) verdef() []byte {
	b := w.out()
	for i, d := range w.o.VersionDefs {
		index := uint16(1)
		if !d.Base {
			index = w.index[versionKey{"", d.Name}]
		}
		b.u16(1)
		b.u16(flag(d.Base, elf.VER_FLG_BASE) | flag(d.Weak, elf.VER_FLG_WEAK))
		b.u16(index)
		b.u16(uint16(1 + len(d.Parents)))
		b.u32(sysvHash(d.Name))
		b.u32(20)
		b.u32(link(i, len(w.o.VersionDefs), 20+8*(1+len(d.Parents))))
		for k, name := range append([]string{d.Name}, d.Parents...) {
			b.u32(w.str(name))
			b.u32(link(k, 1+len(d.Parents), 8))
		}
	}
	return b.Bytes()
}

// link returns the distance to the next record, 0 for the last one.
func link(i, n, size int) uint32 {
	if i == n-1 {
		return 0
	}
	return uint32(size)
}

func flag(on bool, f elf.DynamicVersionFlag) uint16 {
	if on {
		return uint16(f)
	}
	return 0
}
