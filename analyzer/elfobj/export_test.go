package elfobj

import (
	"bytes"
	"debug/elf"
)

// Identifiers for the tests in package elfobj_test.
const (
	Magic      = magic
	TextFree   = textFree
	TextFactor = textFactor
	BindUnique = bindUnique
)

// Tables of the reader.
var (
	Kinds = kinds
)

// Archs returns an object for each known architecture, by its name.
func Archs() map[string]Object {
	out := map[string]Object{}
	for _, a := range archs {
		out[a.name] = Object{Machine: Machine(a.machine), Class: a.class, ByteOrder: a.order}
	}
	return out
}

// SectionsAgree reports whether the section headers describe the same PT_DYNAMIC and string table
// as the program headers, with nothing after DT_NULL, where debug/elf does not stop.
func SectionsAgree(d *elf.File, b []byte) bool {
	var o Object
	f, h, err := readHeader(bytes.NewReader(b), int64(len(b)), &o)
	if err != nil || !loadable(h) {
		return false
	}
	ps, err := readProgHeaders(f, h)
	if err != nil {
		return false
	}
	m, err := mapSegments(f, ps)
	p, _ := findDynamic(ps)
	if err != nil || p == nil || strippedDynamic(f, ps, p, readSections(f, h)) {
		return false
	}
	dyn, err := readDynamic(m, p)
	if err != nil {
		return false
	}
	s := d.SectionByType(elf.SHT_DYNAMIC)
	if s == nil || s.Flags&elf.SHF_COMPRESSED != 0 || int(s.Link) >= len(d.Sections) {
		return false
	}
	str := d.Sections[s.Link]
	off, _, ok := m.at(p.vaddr)
	strOff, _, strOK := m.at(dyn.value(elf.DT_STRTAB))
	if !ok || !strOK || s.Offset != off || str.Type != elf.SHT_STRTAB || str.Offset != strOff ||
		str.Size != dyn.value(elf.DT_STRSZ) ||
		str.Flags&elf.SHF_COMPRESSED != 0 {
		return false
	}
	data, err := s.Data()
	w := int(f.wordSize())
	if err != nil || len(data)%(2*w) != 0 {
		return false
	}
	for len(data) >= 2*w {
		c := f.cursor(data)
		data = data[2*w:]
		if c.word() == 0 {
			return len(bytes.Trim(data, "\x00")) == 0
		}
	}
	return false
}
