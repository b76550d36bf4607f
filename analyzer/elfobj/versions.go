package elfobj

import "debug/elf"

// versions contains the version of each index. Needed and defined versions share the indexes.
type versions struct {
	need map[uint16]version
	def  map[uint16]string
}

type version struct{ name, library string }

// records reads the linked records of DT_VERNEED or DT_VERDEF. In a valid table records do not
// overlap, so there are at most as many as fit between its start and the end of its segment.
// This and maxRecords limit tables with overlapping records.
type records struct {
	m         *image
	names     *names
	what      string
	off, size uint64 // offset of the table, and its size up to the end of the segment
	left      *int   // remaining records of maxRecords, for the whole object
	fit       uint64 // remaining bytes of size, in units of 8
	page      []byte
	pageOff   uint64
}

func (m *image) records(d *dynamic, t *names, tag elf.DynTag, left *int) (*records, error) {
	what := "the version table (" + tag.String() + ")"
	off, n, ok := m.at(d.value(tag))
	if !ok {
		return nil, damaged("%s at address %#x is not in a segment", what, d.value(tag))
	}
	return &records{m: m, names: t, what: what, off: off, size: n, left: left, fit: n / 8}, nil
}

// at returns a cursor on the n bytes at pos in the table.
func (r *records) at(pos, n uint64) (*cursor, error) {
	if pos > r.size || n > r.size-pos {
		return nil, damaged("%s: a record at offset %d is outside its segment", r.what, r.off+pos)
	}
	if *r.left == 0 || r.fit < n/8 {
		return nil, damaged("%s at offset %d has overlapping records", r.what, r.off)
	}
	*r.left--
	r.fit -= n / 8
	if pos < r.pageOff || pos+n > r.pageOff+uint64(len(r.page)) {
		var err error
		r.pageOff = pos
		if r.page, err = r.m.bytes(r.off+pos, min(4096, r.size-pos), r.what); err != nil {
			return nil, err
		}
	}
	return r.m.cursor(r.page[pos-r.pageOff:]), nil
}

func (r *records) name(off uint32) (string, error) {
	s, err := r.names.get(uint64(off))
	if err != nil {
		err = of(r.what, err)
	}
	return s, err
}

// readVersions reads DT_VERNEED and DT_VERDEF. Like the loader, it follows the links until one
// is 0, and ignores the counts (DT_VERNEEDNUM, DT_VERDEFNUM, vn_cnt, vd_cnt).
func readVersions(m *image, d *dynamic, t *names, o *Object) (*versions, error) {
	v := &versions{need: map[uint16]version{}, def: map[uint16]string{}}
	left := maxRecords
	if d.has(elf.DT_VERNEED) {
		r, err := m.records(d, t, elf.DT_VERNEED, &left)
		if err != nil {
			return nil, err
		}
		if err := r.needs(v, o); err != nil {
			return nil, err
		}
	}
	if d.has(elf.DT_VERDEF) {
		r, err := m.records(d, t, elf.DT_VERDEF, &left)
		if err != nil {
			return nil, err
		}
		if err := r.defs(v, o); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (r *records) needs(v *versions, o *Object) error {
	for pos := uint64(0); ; {
		c, err := r.at(pos, 16)
		if err != nil {
			return err
		}
		if ver := c.u16(); ver != 1 {
			return damaged(
				"%s: a record at offset %d has version %d; only version 1 exists",
				r.what,
				r.off+pos,
				ver,
			)
		}
		c.u16() // vn_cnt
		file, aux, link := c.u32(), c.u32(), c.u32()
		var n VersionNeed
		if n.Library, err = r.name(file); err != nil {
			return err
		}
		for p := pos + uint64(aux); ; {
			c, err := r.at(p, 16)
			if err != nil {
				return err
			}
			c.u32() // vna_hash
			flags, index, name, link := c.u16(), c.u16(), c.u32(), c.u32()
			s, err := r.name(name)
			if err != nil {
				return err
			}
			n.Versions = append(
				n.Versions,
				NeededVersion{s, elf.DynamicVersionFlag(flags)&elf.VER_FLG_WEAK != 0},
			)
			v.need[index&0x7fff] = version{s, n.Library}
			if link == 0 {
				break
			}
			p += uint64(link)
		}
		o.VersionNeeds = append(o.VersionNeeds, n)
		if link == 0 {
			return nil
		}
		pos += uint64(link)
	}
}

func (r *records) defs(v *versions, o *Object) error {
	for pos := uint64(0); ; {
		c, err := r.at(pos, 20)
		if err != nil {
			return err
		}
		if ver := c.u16(); ver != 1 {
			return damaged(
				"%s: a record at offset %d has version %d; only version 1 exists",
				r.what,
				r.off+pos,
				ver,
			)
		}
		flags, index := elf.DynamicVersionFlag(c.u16()), c.u16()
		c.u16() // vd_cnt
		c.u32() // vd_hash
		aux, link := c.u32(), c.u32()
		n := VersionDef{Base: flags&elf.VER_FLG_BASE != 0, Weak: flags&elf.VER_FLG_WEAK != 0}
		for p, first := pos+uint64(aux), true; ; first = false {
			c, err := r.at(p, 8)
			if err != nil {
				return err
			}
			name, link := c.u32(), c.u32()
			s, err := r.name(name)
			if err != nil {
				return err
			}
			if first {
				n.Name = s
			} else {
				n.Parents = append(n.Parents, s)
			}
			if link == 0 {
				break
			}
			p += uint64(link)
		}
		if !n.Base { // the base definition is the object's own name; no symbol has it as version
			v.def[index&0x7fff] = n.Name
		}
		o.VersionDefs = append(o.VersionDefs, n)
		if link == 0 {
			return nil
		}
		pos += uint64(link)
	}
}
