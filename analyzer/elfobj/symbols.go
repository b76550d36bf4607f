package elfobj

import (
	"debug/elf"
	"fmt"
)

const versionHidden = 0x8000 // VERSYM_HIDDEN: the version is not the default one

// readSymbols fills Imports and Exports.
func readSymbols(m *image, d *dynamic, t *names, v *versions, o *Object, secs []section) error {
	if !d.has(elf.DT_SYMTAB) {
		return nil
	}
	entry := m.symbolSize()
	if e := d.value(elf.DT_SYMENT); d.has(elf.DT_SYMENT) && e != entry {
		return damaged("DT_SYMENT is %d; a symbol of ELF%d has %d bytes", e, o.Class, entry)
	}
	n, uses, err := countSymbols(m, d, o, secs)
	if err != nil {
		return err
	}
	o.Local = uses.local
	if n == 0 {
		return nil
	}
	const what = "the symbol table (DT_SYMTAB)"
	off, err := m.table(d.value(elf.DT_SYMTAB), n*entry, what)
	if err != nil {
		return err
	}
	var index []byte
	if o.HasVersym {
		const what = "the version index table (DT_VERSYM)"
		at, err := m.table(d.value(elf.DT_VERSYM), 2*n, what)
		if err != nil {
			return err
		}
		if index, err = m.bytes(at, 2*n, what); err != nil {
			return err
		}
	}
	// Once to count, so that the lists are allocated once and exactly; once to read.
	var imports, exports int
	err = m.each(off, n*entry, entry, what, func(i uint64, b []byte) (bool, error) {
		switch s := m.symbol(b); {
		case i == 0 || !s.bindable():
		case s.defined():
			exports++
		default:
			imports++
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	o.Imports, o.Exports = make([]Import, 0, imports), make([]Export, 0, exports)
	return m.each(off, n*entry, entry, what, func(i uint64, b []byte) (bool, error) {
		s := m.symbol(b)
		if i == 0 || !s.bindable() {
			return true, nil
		}
		ndx := uint16(0)
		if index != nil {
			ndx = m.order.Uint16(index[2*i:])
		}
		err := s.add(o, t, v, ndx, uses.get(i))
		if err != nil {
			err = of(fmt.Sprintf("symbol %d", i), err)
		}
		return true, err
	})
}

// symbol is one entry of the symbol table.
type symbol struct {
	name, size uint64
	bind       elf.SymBind
	vis        elf.SymVis
	typ        elf.SymType
	shndx      elf.SectionIndex
}

func (f *file) symbol(b []byte) symbol {
	c := cursor{f, b}
	s := symbol{name: uint64(c.u32())}
	if !f.wide {
		c.word() // st_value
		s.size = c.word()
	}
	info := c.u8()
	s.bind, s.typ = elf.ST_BIND(info), elf.ST_TYPE(info)
	s.vis, s.shndx = elf.ST_VISIBILITY(c.u8()), elf.SectionIndex(c.u16())
	if f.wide {
		c.word()
		s.size = c.word()
	}
	return s
}

func (s *symbol) defined() bool { return s.shndx != elf.SHN_UNDEF }

// bindable tells whether the loader ever looks for the symbol by name. It binds a hidden one to the object itself, so it
// neither asks others for it nor offers it.
func (s *symbol) bindable() bool {
	return (s.bind == elf.STB_GLOBAL || s.bind == elf.STB_WEAK || s.bind == bindUnique) && (s.vis == elf.STV_DEFAULT || s.vis == elf.STV_PROTECTED)
}

// add appends the symbol, whose version index is ndx, to the imports or exports of o.
func (s *symbol) add(o *Object, t *names, v *versions, ndx uint16, uses Relocs) error {
	name, err := t.get(s.name)
	if err != nil {
		return err
	}
	ver, err := v.find(ndx&^versionHidden, s.defined())
	if err != nil {
		return err
	}
	if ver.name == "" { // a record may have an empty name, and then there is nothing to ask for
		ver.library = ""
	}
	if err := t.charge(uint64(len(ver.name) + len(ver.library))); err != nil {
		return err
	}
	weak := s.bind == elf.STB_WEAK
	if s.defined() {
		o.Exports = append(o.Exports, Export{name, ver.name, ndx&versionHidden != 0, weak, s.bind == bindUnique, uses &^ RelocNone, kindOf(s.typ), s.size})
	} else {
		o.Imports = append(o.Imports, Import{name, ver.name, ver.library, weak, uses, kindOf(s.typ)})
	}
	return nil
}

// find gives the version of an index. 0 and 1 mean none. A defined symbol can use a needed version (a program's copy of
// a library's variable), and an undefined one a version that the object defines itself; then there is no library.
func (v *versions) find(index uint16, defined bool) (version, error) {
	if index < 2 {
		return version{}, nil
	}
	need, needed := v.need[index]
	def, ok := v.def[index]
	switch {
	case defined && ok:
		return version{name: def}, nil
	case defined && needed:
		return version{name: need.name}, nil
	case needed:
		return need, nil
	case ok:
		return version{name: def}, nil
	}
	return version{}, damaged("its version index %d has no record", index)
}

// bindUnique is STB_GNU_UNIQUE; debug/elf has only its range (STB_LOOS).
const bindUnique = elf.SymBind(10)

// Kinds of symbols that an object can import or export by name.
const (
	NoType Kind = "notype"
	Data   Kind = "object"
	Func   Kind = "func"
	TLS    Kind = "tls"
	IFunc  Kind = "ifunc"
)

// kinds is in the order of STT_; the number of "ifunc" is STT_GNU_IFUNC.
var kinds = map[Kind]elf.SymType{NoType: elf.STT_NOTYPE, Data: elf.STT_OBJECT, Func: elf.STT_FUNC, "section": elf.STT_SECTION,
	"file": elf.STT_FILE, "common": elf.STT_COMMON, TLS: elf.STT_TLS, IFunc: 10}

func kindOf(t elf.SymType) Kind {
	switch t {
	case elf.STT_NOTYPE:
		return NoType
	case elf.STT_OBJECT:
		return Data
	case elf.STT_FUNC:
		return Func
	case elf.STT_SECTION:
		return "section"
	case elf.STT_FILE:
		return "file"
	case elf.STT_COMMON:
		return "common"
	case elf.STT_TLS:
		return TLS
	case 10:
		return IFunc
	}
	return unknownKinds[t&15]
}

// unknownKinds saves an allocation for each symbol of a type that has no name.
var unknownKinds = [16]Kind{7: "0x7", 8: "0x8", 9: "0x9", 11: "0xb", 12: "0xc", 13: "0xd", 14: "0xe", 15: "0xf"}
