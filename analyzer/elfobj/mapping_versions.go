package elfobj

import "debug/elf"

// IndexedVersion is what a version index stands for (glibc: struct r_found_version). Hash 0:
// nothing.
type IndexedVersion struct {
	Name    string
	Library string // vn_file of a needed version; "" of one that the object defines
	Hash    uint32
	Hidden  bool // bit 15 of vna_other
}

// MappedNeed is a Verneed record.
type MappedNeed struct {
	Library  string
	Record   uint16 // vn_version; a loader accepts 1
	Versions []MappedVersion
}

// MappedVersion is a Vernaux record.
type MappedVersion struct {
	Name string
	Hash uint32 // vna_hash: compared together with the name
	Weak bool
}

// MappedDef is a Verdef record.
type MappedDef struct {
	Name   string
	Hash   uint32 // vd_hash
	Record uint16 // vd_version
	Base   bool
}

// versionTables reads DT_VERNEED and DT_VERDEF, and the table of indexes that they make together.
func (m *Mapping) versionTables(im *image, t *dynTags) error {
	left := maxRecords
	budget := textFree + textFactor*len(m.dynstr)
	name := func(off uint32) string {
		s := m.name(uint64(off))
		budget -= len(s)
		if budget < 0 {
			return ""
		}
		return string(s)
	}
	set := func(i uint16, v IndexedVersion) {
		if int(i) >= len(m.Versions) {
			m.Versions = append(m.Versions, make([]IndexedVersion, int(i)+1-len(m.Versions))...)
		}
		m.Versions[i] = v
	}
	open := func(addr uint64, tag elf.DynTag) (*records, error) {
		what := "the version table (" + tag.String() + ")"
		off, n, ok := im.at(addr)
		if !ok {
			return nil, damaged("%s at address %#x lies in no segment", what, addr)
		}
		return &records{m: im, what: what, off: off, size: n, left: &left, fit: n / 8}, nil
	}
	if t.verneed != 0 {
		r, err := open(t.verneed, elf.DT_VERNEED)
		if err != nil {
			return err
		}
		for pos := uint64(0); ; {
			c, err := r.at(pos, 16)
			if err != nil {
				return err
			}
			n := MappedNeed{Record: c.u16()}
			c.u16() // vn_cnt
			file, aux, link := c.u32(), c.u32(), c.u32()
			n.Library = name(file)
			for p := pos + uint64(aux); ; {
				c, err := r.at(p, 16)
				if err != nil {
					return err
				}
				hash, flags, other, off, link := c.u32(), c.u16(), c.u16(), c.u32(), c.u32()
				v := MappedVersion{
					name(off),
					hash,
					elf.DynamicVersionFlag(flags)&elf.VER_FLG_WEAK != 0,
				}
				n.Versions = append(n.Versions, v)
				set(
					other&^versionHidden,
					IndexedVersion{v.Name, n.Library, hash, other&versionHidden != 0},
				)
				if link == 0 {
					break
				}
				p += uint64(link)
			}
			m.Needs = append(m.Needs, n)
			if link == 0 {
				break
			}
			pos += uint64(link)
		}
	}
	if t.verdef != 0 {
		r, err := open(t.verdef, elf.DT_VERDEF)
		if err != nil {
			return err
		}
		for pos := uint64(0); ; {
			c, err := r.at(pos, 20)
			if err != nil {
				return err
			}
			d := MappedDef{Record: c.u16()}
			flags, index := elf.DynamicVersionFlag(c.u16()), c.u16()
			c.u16() // vd_cnt
			d.Hash, d.Base = c.u32(), flags&elf.VER_FLG_BASE != 0
			aux, link := c.u32(), c.u32()
			if c, err = r.at(pos+uint64(aux), 8); err != nil {
				return err
			}
			d.Name = name(c.u32())
			m.Defs = append(m.Defs, d)
			if !d.Base {
				set(index&^versionHidden, IndexedVersion{Name: d.Name, Hash: d.Hash})
			}
			if link == 0 {
				break
			}
			pos += uint64(link)
		}
	}
	if budget < 0 {
		return damaged(
			"version names that overlap: a string table of %d bytes spells more than %d bytes",
			len(m.dynstr),
			textFree+textFactor*len(m.dynstr),
		)
	}
	return nil
}
