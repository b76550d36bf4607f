package elftest

import (
	"cmp"
	"debug/elf"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// page is the distance between segments: the largest page size of the known machines (64 KiB on
// aarch64 and ppc64le).
const page = 64 << 10

// Sections with machine code: all functions begin where codeSection does, and initSection is the
// function that the loader calls (DT_INIT).
const (
	codeSection = ".text"
	initSection = ".init"
)

// plan lists the parts of the file in order.
func (w *writer) plan() {
	o := w.o
	word := w.f.wordSize()
	add := func(p part) { w.parts = append(w.parts, &p) }
	const a, wr, x = elf.SHF_ALLOC, elf.SHF_WRITE, elf.SHF_EXECINSTR
	if o.Interp != "" && loadable(o) {
		add(
			part{
				name:  ".interp",
				typ:   elf.SHT_PROGBITS,
				flags: a,
				align: 1,
				bytes: func() []byte { return []byte(o.Interp + "\x00") },
			},
		)
	}
	if (o.BuildID+o.ABITag+o.System != "" || o.ISA|o.ISAUsed != 0 || o.Guards != 0 || o.GoBuildID ||
		o.AndroidAPI != 0) &&
		loadable(o) {
		add(part{name: ".note.gnu", typ: elf.SHT_NOTE, flags: a, align: 4, bytes: w.notes})
	}
	if o.Dynamic {
		add(
			part{
				name:  ".gnu.hash",
				typ:   elf.SHT_GNU_HASH,
				flags: a,
				link:  ".dynsym",
				align: word,
				bytes: w.gnuHash,
			},
		)
		add(
			part{
				name:    ".dynsym",
				typ:     elf.SHT_DYNSYM,
				flags:   a,
				link:    ".dynstr",
				info:    1,
				align:   word,
				entsize: w.f.symbolSize(),
				bytes:   w.dynsym,
			},
		)
		// Directly after the symbols: for an object without exports, the distance between both
		// tables is the only way to count the symbols.
		add(
			part{
				name:  ".dynstr",
				typ:   elf.SHT_STRTAB,
				flags: a,
				align: 1,
				bytes: func() []byte { return w.dynstr },
			},
		)
		if o.HasVersym {
			add(
				part{
					name:    ".gnu.version",
					typ:     elf.SHT_GNU_VERSYM,
					flags:   a,
					link:    ".dynsym",
					align:   2,
					entsize: 2,
					bytes:   w.versym,
				},
			)
		}
		if len(o.VersionDefs) > 0 {
			add(
				part{
					name:  ".gnu.version_d",
					typ:   elf.SHT_GNU_VERDEF,
					flags: a,
					link:  ".dynstr",
					info:  uint32(len(o.VersionDefs)),
					align: word,
					bytes: w.verdef,
				},
			)
		}
		if len(o.VersionNeeds) > 0 {
			add(
				part{
					name:  ".gnu.version_r",
					typ:   elf.SHT_GNU_VERNEED,
					flags: a,
					link:  ".dynstr",
					info:  uint32(len(o.VersionNeeds)),
					align: word,
					bytes: w.verneed,
				},
			)
		}
		w.planRelocs(add)
		if o.RelR {
			add(
				part{
					name:    ".relr.dyn",
					typ:     elf.SHT_PROGBITS,
					flags:   a,
					align:   word,
					entsize: word,
					bytes:   w.relr,
				},
			)
		}
	}
	if loadable(o) {
		add(part{name: codeSection, typ: elf.SHT_PROGBITS, flags: a | x, align: 16, bytes: w.code})
	}
	if b := w.given(initSection); b != nil && loadable(o) {
		add(part{
			name:  initSection,
			typ:   elf.SHT_PROGBITS,
			flags: a | x,
			align: 16,
			bytes: func() []byte { return b },
		})
	}
	w.split = len(w.parts)
	if o.Dynamic {
		var vars, tls uint64
		for _, e := range o.Exports.All() {
			if e.Kind == elfobj.TLS {
				tls += room(e)
			} else {
				vars += room(e)
			}
		}
		add(
			part{
				name:    ".dynamic",
				typ:     elf.SHT_DYNAMIC,
				flags:   a | wr,
				link:    ".dynstr",
				align:   word,
				entsize: 2 * word,
				bytes:   w.dynamic,
			},
		)
		add(
			part{
				name:    ".got",
				typ:     elf.SHT_PROGBITS,
				flags:   a | wr,
				align:   word,
				entsize: word,
				bytes:   w.got,
			},
		)
		if len(w.pltRelocs) > 0 {
			add(
				part{
					name:    ".got.plt",
					typ:     elf.SHT_PROGBITS,
					flags:   a | wr,
					align:   word,
					entsize: word,
					bytes:   func() []byte { return make([]byte, word*w.pltWords) },
				},
			)
		}
		add(
			part{
				name:  ".tbss",
				typ:   elf.SHT_NOBITS,
				flags: a | wr | elf.SHF_TLS,
				align: 16,
				space: tls,
			},
		)
		add(part{name: ".bss", typ: elf.SHT_NOBITS, flags: a | wr, align: 16, space: vars})
	}
	if len(o.Comment) > 0 {
		add(
			part{
				name:    ".comment",
				typ:     elf.SHT_PROGBITS,
				flags:   elf.SHF_MERGE | elf.SHF_STRINGS,
				align:   1,
				entsize: 1,
				bytes:   func() []byte { return []byte(strings.Join(o.Comment, "\x00") + "\x00") },
			},
		)
	}
	for _, s := range o.Sections {
		if s.Data != nil && s.Name != codeSection && s.Name != initSection {
			typ := elf.SectionType(s.Type)
			if typ == elf.SHT_NULL {
				typ = elf.SHT_PROGBITS
			}
			add(part{name: s.Name, typ: typ, align: 8, bytes: func() []byte { return s.Data }})
		}
	}
	var names []byte
	add(
		part{
			name:  ".shstrtab",
			typ:   elf.SHT_STRTAB,
			align: 1,
			bytes: func() []byte { return names },
		},
	)
	names = w.sectionNames()
}

func (w *writer) sectionNames() []byte {
	b := []byte{0}
	for _, p := range w.parts {
		b = append(append(b, p.name...), 0)
	}
	return b
}

// part returns a mapped part by name, or nil.
func (w *writer) part(name string) *part {
	for _, p := range w.parts {
		if p.name == name && p.flags&elf.SHF_ALLOC != 0 {
			return p
		}
	}
	return nil
}

func (w *writer) shndx(want *part) uint16 {
	for i, p := range w.parts {
		if p == want {
			return uint16(i + 1)
		}
	}
	return 0
}

// place sets the offset and address of every part. The parts add strings, so the size of
// .dynstr is known last.
func (w *writer) place() {
	for _, p := range w.parts { // adds the strings
		if p.bytes != nil {
			p.bytes()
		}
	}
	off := w.headerSize()
	base := uint64(0)
	if w.o.Type == "ET_EXEC" {
		base = 0x400000
	}
	for i, p := range w.parts {
		if i == w.split {
			base += page // the next page of the address space, with the same offset in the page
		}
		p.size = p.space
		if p.bytes != nil {
			p.size = uint64(len(p.bytes()))
		}
		off = up(off, p.align)
		p.off = off
		if p.flags&elf.SHF_ALLOC != 0 {
			p.addr = base + off
		}
		if p.typ != elf.SHT_NOBITS {
			off += p.size
		}
	}
}

func (w *writer) headerSize() uint64 {
	eh, ph := uint64(52), uint64(32)
	if w.f.wide {
		eh, ph = 64, 56
	}
	return eh + ph*uint64(len(w.segments()))
}

// segment is a program header that covers consecutive parts.
type segment struct {
	typ         elf.ProgType
	flags       elf.ProgFlag
	first, last *part // nil for PT_GNU_STACK
	header      bool  // starts with the ELF header
	align       uint64
}

func (w *writer) segments() []segment {
	if !loadable(w.o) {
		return nil
	}
	var s []segment
	page := cmp.Or(w.o.MaxPage, page)
	if p := w.part(".interp"); p != nil {
		s = append(s, segment{elf.PT_INTERP, elf.PF_R, p, p, false, 1})
	}
	s = append(
		s,
		segment{elf.PT_LOAD, elf.PF_R | elf.PF_X, w.parts[0], w.parts[w.split-1], true, page},
	)
	if d := w.part(".dynamic"); d != nil {
		s = append(s, segment{elf.PT_LOAD, elf.PF_R | elf.PF_W, d, w.part(".bss"), false, page})
		s = append(s, segment{elf.PT_DYNAMIC, elf.PF_R | elf.PF_W, d, d, false, d.align})
		if t := w.part(".tbss"); t.space > 0 {
			s = append(s, segment{elf.PT_TLS, elf.PF_R, t, t, false, t.align})
		}
	}
	if p := w.part(".note.gnu"); p != nil {
		s = append(s, segment{elf.PT_NOTE, elf.PF_R, p, p, false, 4})
	}
	switch w.o.ExecStack {
	case "yes":
		s = append(s, segment{typ: elf.PT_GNU_STACK, flags: elf.PF_R | elf.PF_W | elf.PF_X, align: 16})
	case "no":
		s = append(s, segment{typ: elf.PT_GNU_STACK, flags: elf.PF_R | elf.PF_W, align: 16})
	}
	return s
}
