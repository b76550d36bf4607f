package elfobj

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

const versionHidden = 0x8000 // VERSYM_HIDDEN: the version is not the default one

// readSymbols sets Imports and Exports. Their names are stored in shared.
func readSymbols(
	m *image,
	d *dynamic,
	t *names,
	v *versions,
	o *Object,
	secs []section,
	shared *Names,
) error {
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
	var index []byte // nil if there is none
	if o.HasVersym {
		const what = "the version index table (DT_VERSYM)"
		at, err := m.table(d.value(elf.DT_VERSYM), 2*n, what)
		if err != nil {
			return err
		}
		versym, err := m.borrow(at, 2*n, what)
		if err != nil {
			return err
		}
		defer versym.Free()
		index = versym.Bytes
	}
	// The first pass counts, so that the lists are allocated with their exact size.
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
	l := newSymbolLists(t, v, shared, imports, exports)
	err = m.each(off, n*entry, entry, what, func(i uint64, b []byte) (bool, error) {
		s := m.symbol(b)
		if i == 0 || !s.bindable() {
			return true, nil
		}
		ndx := uint16(0)
		if index != nil {
			ndx = m.order.Uint16(index[2*i:])
		}
		err := l.add(&s, ndx, uses.get(i))
		if err != nil {
			err = of(fmt.Sprintf("symbol %d", i), err)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	o.Imports, o.Exports = l.numbered()
	return nil
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
	s := symbol{name: uint64(f.order.Uint32(b))}
	rest := b[4:]
	if f.wide {
		s.size = f.order.Uint64(b[16:])
	} else {
		s.size = uint64(f.order.Uint32(b[8:]))
		rest = b[12:]
	}
	s.bind, s.typ = elf.ST_BIND(rest[0]), elf.ST_TYPE(rest[0])
	s.vis, s.shndx = elf.ST_VISIBILITY(rest[1]), elf.SectionIndex(f.order.Uint16(rest[2:]))
	return s
}

func (s *symbol) defined() bool { return s.shndx != elf.SHN_UNDEF }

// bindable reports whether the loader looks the symbol up by name. Hidden and internal symbols
// are bound inside the object.
func (s *symbol) bindable() bool {
	return (s.bind == elf.STB_GLOBAL || s.bind == elf.STB_WEAK || s.bind == bindUnique) &&
		(s.vis == elf.STV_DEFAULT || s.vis == elf.STV_PROTECTED)
}

// symbolLists collects imports and exports.
type symbolLists struct {
	names    *names
	versions *versions
	spelled  uint64 // total length of the names
	imports  *Imports
	exports  *Exports
	imported *numbered[version] // versions of the imports
	exported *numbered[string]  // versions of the exports
}

func newSymbolLists(t *names, v *versions, shared *Names, imports, exports int) *symbolLists {
	return &symbolLists{
		names:    t,
		versions: v,
		imported: newNumbered[version](),
		exported: newNumbered[string](),
		imports: &Imports{
			names: shared,
			rows:  make([]importRow, 0, imports),
		},
		exports: &Exports{names: shared, rows: make([]exportRow, 0, exports)},
	}
}

// add appends a symbol with version index ndx. Until numbered is called, its name is an offset
// in the string table.
func (l *symbolLists) add(s *symbol, ndx uint16, uses Relocs) error {
	name, err := l.names.cut(s.name)
	if err != nil {
		return err
	}
	ver, err := l.versions.find(ndx&^versionHidden, s.defined())
	if err != nil {
		return err
	}
	if ver.name == "" { // the name in a record can be empty: then no version is required
		ver.library = ""
	}
	if err := l.names.charge(uint64(len(ver.name) + len(ver.library))); err != nil {
		return err
	}
	l.spelled += uint64(len(name))
	weak := s.bind == elf.STB_WEAK
	if s.defined() {
		l.exports.rows = append(
			l.exports.rows,
			exportRow{
				uint32(s.name),
				l.exported.of(ver.name),
				halves(s.size),
				uses &^ RelocNone,
				uint8(s.typ),
				ndx&versionHidden != 0,
				weak,
				s.bind == bindUnique,
			},
		)
		return nil
	}
	l.imports.rows = append(
		l.imports.rows,
		importRow{uint32(s.name), l.imported.of(ver), uses, uint8(s.typ), weak},
	)
	return nil
}

// numbered replaces the offsets by numbers in the shared table and returns the lists. It must
// be called after all names were checked. Overlapping names are not copied: they may be many
// times as long as the string table.
func (l *symbolLists) numbered() (*Imports, *Exports) {
	clone := l.spelled <= uint64(len(l.names.text))
	l.imports.versions, l.exports.versions = l.imported.list, l.exported.list
	l.imports.names.fill(func(add func(string, bool) uint32) {
		number := func(at uint32) uint32 {
			text := l.names.text[at:]
			return add(text[:strings.IndexByte(text, 0)], clone)
		}
		for n := range l.imports.rows {
			l.imports.rows[n].name = number(l.imports.rows[n].name)
		}
		for n := range l.exports.rows {
			l.exports.rows[n].name = number(l.exports.rows[n].name)
		}
	})
	return l.imports, l.exports
}

// find returns the version for an index. Indexes 0 and 1 mean no version. A defined symbol can
// use a required version (a copy relocation in a program), and an undefined symbol a version
// that the object defines itself; the library is then "".
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

// kinds is indexed by symbol type (STT_*). The last entry stands for an unknown name.
var kinds = [...]Kind{
	elf.STT_NOTYPE:    NoType,
	elf.STT_OBJECT:    Data,
	elf.STT_FUNC:      Func,
	elf.STT_SECTION:   "section",
	elf.STT_FILE:      "file",
	elf.STT_COMMON:    "common",
	elf.STT_TLS:       TLS,
	7:                 "0x7",
	8:                 "0x8",
	9:                 "0x9",
	elf.STT_GNU_IFUNC: IFunc,
	11:                "0xb",
	12:                "0xc",
	13:                "0xd",
	14:                "0xe",
	15:                "0xf",
	16:                "",
}

// KindNumber returns the symbol type (STT_*) of a Kind, or 16 if there is none.
func KindNumber(k Kind) uint8 {
	if n := slices.Index(kinds[:], k); n >= 0 {
		return uint8(n)
	}
	return uint8(len(kinds) - 1)
}

// ParseKind returns the Kind with a name. ok is false for an unknown name.
func ParseKind(s string) (k Kind, ok bool) {
	return Kind(s), s != "" && slices.Contains(kinds[:], Kind(s))
}
