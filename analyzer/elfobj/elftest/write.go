package elftest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// Write returns an ELF file for o. Read returns an equal object (except for Sections), and
// debug/elf, readelf, linkers and the dynamic linker accept the file. All classes and byte
// orders are supported. Functions return 0 on x86_64, i686 and aarch64, and variables are zero.
// An import without Relocs gets one relocation if relocTypes contains the machine, so that the
// dynamic linker looks it up.
//
// Zero fields of an object created by hand have the defaults of the text form: x86_64, ET_DYN
// with PT_DYNAMIC, no executable stack. Version records are added if there are none at all.
//
// Write returns an error if ELF cannot represent o: a version without a record, a NUL byte in a
// string, more than 32,766 versions.
func Write(o *elfobj.Object) ([]byte, error) {
	w := &writer{o: complete(o), strings: map[string]uint32{"": 0}, dynstr: []byte{0}}
	w.f.wide, w.f.order = w.o.Class == 64, binary.ByteOrder(binary.LittleEndian)
	if w.o.ByteOrder == "big" {
		w.f.order = binary.BigEndian
	}
	if err := w.check(); err != nil {
		return nil, fmt.Errorf("write ELF: %w", err)
	}
	if err := w.numberVersions(); err != nil {
		return nil, fmt.Errorf("write ELF: %w", err)
	}
	if err := w.numberRelocs(); err != nil {
		return nil, fmt.Errorf("write ELF: %w", err)
	}
	w.plan()
	w.place()
	return w.emit(), nil
}

// complete returns a copy of o with the defaults set.
func complete(o *elfobj.Object) *elfobj.Object {
	c := *o
	if c.Class == 0 {
		c.Class, c.ByteOrder, c.Machine = 64, "little", elfobj.Machine(elf.EM_X86_64)
	}
	if c.Type == "" {
		c.Type, c.Dynamic = "ET_DYN", true
	}
	if c.ExecStack == "" {
		c.ExecStack = usualStack(&c)
	}
	if len(c.VersionNeeds)+len(c.VersionDefs) == 0 {
		implyVersions(&c)
	}
	c.HasVersym = c.HasVersym || impliedVersym(&c)
	imports := c.Imports.List()
	implyRelocs(&c, imports)
	c.Imports = elfobj.NewImports(imports...)
	return &c
}

type writer struct {
	f       format
	o       *elfobj.Object
	parts   []*part
	strings map[string]uint32 // offsets in dynstr
	dynstr  []byte

	index map[versionKey]uint16 // indexes of the version records

	importIndex, exportIndex []uint16 // version indexes of the symbols

	dynRelocs, pltRelocs []reloc
	gotWords, pltWords   uint64 // sizes of .got and .got.plt

	split int // parts before this index are in the first, read-only segment
}

// versionKey identifies a version record; library is "" for a Verdef.
type versionKey struct{ library, name string }

// part is a piece of the file with its own section header.
type part struct {
	name      string
	typ       elf.SectionType
	flags     elf.SectionFlag
	link      string
	info      uint32
	align     uint64
	entsize   uint64
	bytes     func() []byte // its length must not depend on addresses
	space     uint64        // size of an SHT_NOBITS section
	off, addr uint64
	size      uint64
}

// numberVersions assigns the version indexes: 1 for the base definition, then the other
// definitions, then the needed versions.
func (w *writer) numberVersions() error {
	o := w.o
	w.index = map[versionKey]uint16{}
	anyNeed := map[string]uint16{}
	n := 2
	for _, d := range o.VersionDefs {
		if d.Base {
			continue
		}
		w.index[versionKey{"", d.Name}] = uint16(n)
		n++
	}
	for _, v := range o.VersionNeeds {
		if len(v.Versions) == 0 || v.Library == "" {
			return fmt.Errorf(
				"a version need of library %q without a version or without a library",
				v.Library,
			)
		}
		for _, ver := range v.Versions {
			w.index[versionKey{v.Library, ver.Name}] = uint16(n)
			anyNeed[ver.Name] = uint16(n)
			n++
		}
	}
	if n > versionHidden {
		return fmt.Errorf("%d version records; ELF has room for %d", n-2, versionHidden-2)
	}
	if !o.HasVersym && n > 2 && (o.Imports.Len()+o.Exports.Len() > 0) {
		return fmt.Errorf("version records without DT_VERSYM")
	}
	for _, i := range o.Imports.All() {
		k, ok := w.index[versionKey{i.Library, i.Version}]
		if i.Version == "" {
			k, ok = 1, true
		}
		if !ok {
			return fmt.Errorf("import %s@%s of %q has no version record", i.Name, i.Version, i.Library)
		}
		w.importIndex = append(w.importIndex, k)
	}
	for _, e := range o.Exports.All() {
		k, ok := w.index[versionKey{"", e.Version}]
		if !ok {
			k, ok = anyNeed[e.Version]
		}
		if e.Version == "" {
			k, ok = 1, true
		}
		if !ok {
			return fmt.Errorf("export %s@%s has no version record", e.Name, e.Version)
		}
		if e.Hidden {
			k |= versionHidden
		}
		w.exportIndex = append(w.exportIndex, k)
	}
	return nil
}

// str returns the offset of s in the dynamic string table, and adds s if it is missing.
func (w *writer) str(s string) uint32 {
	off, ok := w.strings[s]
	if !ok {
		off = uint32(len(w.dynstr))
		w.strings[s] = off
		w.dynstr = append(append(w.dynstr, s...), 0)
	}
	return off
}

// out encodes fields in the object's class and byte order.
type out struct {
	f *format
	bytes.Buffer
}

func (w *writer) out() *out { return &out{f: &w.f} }

func (b *out) u8(v uint8) { b.WriteByte(v) }

func (b *out) u16(v uint16) {
	var x [2]byte
	b.f.order.PutUint16(x[:], v)
	b.Write(x[:])
}

func (b *out) u32(v uint32) {
	var x [4]byte
	b.f.order.PutUint32(x[:], v)
	b.Write(x[:])
}

func (b *out) word(v uint64) {
	if !b.f.wide {
		b.u32(uint32(v))
		return
	}
	var x [8]byte
	b.f.order.PutUint64(x[:], v)
	b.Write(x[:])
}
