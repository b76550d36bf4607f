package elftest

import (
	"debug/elf"
)

// emit writes headers and parts. All addresses must be set.
func (w *writer) emit() []byte {
	b := w.out()
	segments := w.segments()
	last := w.parts[len(w.parts)-1]
	shoff := up(last.off+last.size, 8)
	if w.o.NoSections {
		shoff = 0
	}
	w.elfHeader(b, len(segments), shoff)
	for _, s := range segments {
		w.progHeader(b, s)
	}
	for _, p := range w.parts {
		if p.typ == elf.SHT_NOBITS {
			continue
		}
		b.Write(make([]byte, p.off-uint64(b.Len())))
		b.Write(p.bytes())
	}
	if w.o.NoSections {
		return b.Bytes()
	}
	b.Write(make([]byte, shoff-uint64(b.Len())))
	w.sectionHeader(b, 0, &part{})
	name := uint32(1)
	for _, p := range w.parts {
		w.sectionHeader(b, name, p)
		name += uint32(len(p.name)) + 1
	}
	return b.Bytes()
}

func (w *writer) elfHeader(b *out, segments int, shoff uint64) {
	o := w.o
	b.WriteString(magic)
	class, phentsize, shentsize, ehsize := elf.ELFCLASS32, 32, 40, 52
	if w.f.wide {
		class, phentsize, shentsize, ehsize = elf.ELFCLASS64, 56, 64, 64
	}
	data := elf.ELFDATA2LSB
	if o.ByteOrder == "big" {
		data = elf.ELFDATA2MSB
	}
	b.Write([]byte{byte(class), byte(data), byte(elf.EV_CURRENT), o.OSABI, 0, 0, 0, 0, 0, 0, 0, 0})
	types := map[string]elf.Type{
		"ET_DYN":  elf.ET_DYN,
		"ET_EXEC": elf.ET_EXEC,
		"ET_REL":  elf.ET_REL,
		"ET_CORE": elf.ET_CORE,
	}
	b.u16(uint16(types[o.Type]))
	b.u16(uint16(o.Machine))
	b.u32(uint32(elf.EV_CURRENT))
	entry, phoff := uint64(0), uint64(0)
	if t := w.part(".text"); t != nil && (o.Type == "ET_EXEC" || o.Interp != "") {
		entry = t.addr
	}
	if segments > 0 {
		phoff = uint64(ehsize)
	}
	b.word(entry)
	b.word(phoff)
	b.word(shoff)
	b.u32(o.EFlags)
	sections, names := len(w.parts)+1, len(w.parts)
	if w.o.NoSections {
		sections, names = 0, 0
	}
	for _, n := range []int{ehsize, phentsize, segments, shentsize, sections, names} {
		b.u16(uint16(n))
	}
}

func (w *writer) progHeader(b *out, s segment) {
	var off, addr, filesz, memsz uint64
	if s.first != nil {
		off, addr = s.first.off, s.first.addr
		if s.header {
			addr -= off
			off = 0
		}
		end := s.last.off
		if s.last.typ != elf.SHT_NOBITS {
			end += s.last.size
		}
		filesz, memsz = end-off, s.last.addr+s.last.size-addr
	}
	b.u32(uint32(s.typ))
	if w.f.wide {
		b.u32(uint32(s.flags))
	}
	for _, v := range []uint64{off, addr, addr, filesz, memsz} {
		b.word(v)
	}
	if !w.f.wide {
		b.u32(uint32(s.flags))
	}
	b.word(s.align)
}

func (w *writer) sectionHeader(b *out, name uint32, p *part) {
	b.u32(name)
	b.u32(uint32(p.typ))
	for _, v := range []uint64{uint64(p.flags), p.addr, p.off, p.size} {
		b.word(v)
	}
	link := uint16(0)
	if p.link != "" {
		link = w.shndx(w.part(p.link))
	}
	b.u32(uint32(link))
	b.u32(p.info)
	b.word(p.align)
	b.word(p.entsize)
}

func (w *writer) dynamic() []byte {
	o, b := w.o, w.out()
	tag := func(t elf.DynTag, v uint64) {
		b.word(uint64(t))
		b.word(v)
	}
	str := func(t elf.DynTag, s string) {
		if s != "" {
			tag(t, uint64(w.str(s)))
		}
	}
	for _, n := range o.Needed {
		tag(elf.DT_NEEDED, uint64(w.str(n)))
	}
	str(elf.DT_SONAME, o.SONAME)
	str(elf.DT_RPATH, o.RPath)
	str(elf.DT_RUNPATH, o.RunPath)
	// table adds the tags of a section; more are those of its size and entry size.
	table := func(name string, addr elf.DynTag, more ...elf.DynTag) {
		p := w.part(name)
		if p == nil {
			return
		}
		tag(addr, p.addr)
		for i, v := range []uint64{p.size, p.entsize}[:len(more)] {
			tag(more[i], v)
		}
	}
	table(initSection, elf.DT_INIT)
	table(".gnu.hash", elf.DT_GNU_HASH)
	table(".dynstr", elf.DT_STRTAB, elf.DT_STRSZ)
	table(".dynsym", elf.DT_SYMTAB)
	tag(elf.DT_SYMENT, w.f.symbolSize())
	table(".rela.dyn", elf.DT_RELA, elf.DT_RELASZ, elf.DT_RELAENT)
	table(".rel.dyn", elf.DT_REL, elf.DT_RELSZ, elf.DT_RELENT)
	if len(w.pltRelocs) > 0 {
		table(".got.plt", elf.DT_PLTGOT)
		table(".rela.plt", elf.DT_JMPREL, elf.DT_PLTRELSZ)
		table(".rel.plt", elf.DT_JMPREL, elf.DT_PLTRELSZ)
		kind := elf.DT_REL
		if w.relocAddends() {
			kind = elf.DT_RELA
		}
		tag(elf.DT_PLTREL, uint64(kind))
	}
	table(".relr.dyn", dtRelr, 35, 37) // DT_RELRSZ, DT_RELRENT
	table(".gnu.version", elf.DT_VERSYM)
	table(".gnu.version_d", elf.DT_VERDEF)
	if n := len(o.VersionDefs); n > 0 {
		tag(elf.DT_VERDEFNUM, uint64(n))
	}
	table(".gnu.version_r", elf.DT_VERNEED)
	if n := len(o.VersionNeeds); n > 0 {
		tag(elf.DT_VERNEEDNUM, uint64(n))
	}
	if o.Flags != 0 {
		tag(elf.DT_FLAGS, o.Flags)
	}
	if o.Flags1 != 0 {
		tag(elf.DT_FLAGS_1, o.Flags1)
	}
	if o.Type == "ET_EXEC" || o.Interp != "" {
		tag(elf.DT_DEBUG, 0)
	}
	tag(elf.DT_NULL, 0)
	return b.Bytes()
}
