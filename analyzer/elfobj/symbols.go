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
	n, err := countSymbols(m, d, o, secs)
	if err != nil || n == 0 {
		return err
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
	r := m.stream(off, n*entry)
	b := make([]byte, entry)
	for i := range n {
		if err := next(r, b, off+i*entry, what); err != nil {
			return err
		}
		ndx := uint16(0)
		if index != nil {
			ndx = m.order.Uint16(index[2*i:])
		}
		if i == 0 {
			continue
		}
		if err := v.symbol(m.cursor(b), t, ndx, i, o); err != nil {
			return err
		}
	}
	return nil
}

// symbol adds one symbol to o, if the loader ever looks at it by name.
func (v *versions) symbol(c *cursor, t *names, ndx uint16, i uint64, o *Object) error {
	name := uint64(c.u32())
	var size uint64
	if !c.f.wide {
		c.word() // st_value
		size = c.word()
	}
	info, other, shndx := c.u8(), c.u8(), elf.SectionIndex(c.u16())
	if c.f.wide {
		c.word()
		size = c.word()
	}
	bind := elf.ST_BIND(info)
	if bind != elf.STB_GLOBAL && bind != elf.STB_WEAK && bind != bindUnique {
		return nil
	}
	// The loader binds a hidden symbol to the object itself, so it neither asks others for it nor offers it.
	if vis := elf.ST_VISIBILITY(other); vis == elf.STV_HIDDEN || vis == elf.STV_INTERNAL {
		return nil
	}
	s, err := t.get(name, fmt.Sprintf("symbol %d", i))
	if err != nil {
		return err
	}
	defined := shndx != elf.SHN_UNDEF
	ver, err := v.find(ndx&^versionHidden, defined)
	if err != nil {
		return damaged("symbol %d: %v", i, err)
	}
	if err := t.charge(uint64(len(ver.name) + len(ver.library))); err != nil {
		return err
	}
	if defined {
		o.Exports = append(o.Exports, Export{s, ver.name, ndx&versionHidden != 0, bind == elf.STB_WEAK, bind == bindUnique, kindOf(elf.ST_TYPE(info)), size})
	} else {
		o.Imports = append(o.Imports, Import{s, ver.name, ver.library, bind == elf.STB_WEAK, kindOf(elf.ST_TYPE(info))})
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
	return version{}, fmt.Errorf("its version index %d has no record", index)
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
