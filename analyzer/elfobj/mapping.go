package elfobj

import (
	"bytes"
	"debug/elf"
	"io"
	"iter"
)

// Mapping contains the tables of a shared object or program as bytes, as a loader has them in
// memory, with the hash tables for symbol lookup. Object has the same information decoded; a
// Mapping is made for resolving thousands of symbols. It keeps no reference to the file.
type Mapping struct {
	Head
	SONAME string // "" if there is none
	Interp string // PT_INTERP
	// DT_RPATH; "" if there is a DT_RUNPATH, because the loader ignores DT_RPATH then.
	RPath      string
	RunPath    string
	HasRunPath bool
	Needed     []Dependency // DT_NEEDED, DT_AUXILIARY and DT_FILTER in the order of the file
	Flags1     uint64       // DT_FLAGS_1
	RelR       bool         // DT_RELR
	Symbolic   bool         // DT_SYMBOLIC or DF_SYMBOLIC: lookups start with the object itself
	BindNow    bool         // DT_BIND_NOW, DF_BIND_NOW or DF_1_NOW

	HasVersym, HasVerdef bool
	Versions             []IndexedVersion // by version index: what DT_VERSYM refers to
	Needs                []MappedNeed     // DT_VERNEED
	Defs                 []MappedDef      // DT_VERDEF, including the base definition

	// Symbols that relocations look up, once per symbol and class, in relocation order.
	References []Reference
	// Distinct types in relocation order, without the entries counted by DT_RELACOUNT and
	// DT_RELCOUNT.
	RelocationTypes []uint32

	dynsym, dynstr, versym []byte
	symbolLen              uint32
	gnu                    gnuTable
	sysv                   sysvTable
}

// Dependency is an entry for which the loader loads another object.
type Dependency struct {
	Kind DependencyKind
	Name string
}

// DependencyKind is DT_NEEDED, DT_AUXILIARY or DT_FILTER.
type DependencyKind uint8

const (
	Need DependencyKind = iota
	Auxiliary
	Filter
)

// dynTags are the entries of PT_DYNAMIC that a Mapping uses. A value of 0 means absent, because
// no table is at address 0.
type dynTags struct {
	low                                         [40]uint64
	gnuHash, versym, verneed, verdef, flags1    uint64
	relaCount, relCount, mipsSymtab, mipsGotsym uint64
	has                                         uint64 // bits of the entries of low that are present
	order                                       []tagged
}

type tagged struct {
	kind DependencyKind
	off  uint64
}

// Map reads the tables that a loader uses. segments is the result of h.Segments and must
// include a PT_DYNAMIC with contents. It returns ErrTruncated if a segment or table is not
// inside the file (the process would die of SIGBUS), ErrDamaged if a table is not in a segment
// (SIGSEGV), or ErrTooLarge.
func (h *Head) Map(r io.ReaderAt, size int64, segments []Segment) (*Mapping, error) {
	f := h.file(r, size)
	im := &image{file: f}
	var dyn *Segment
	m := &Mapping{Head: *h}
	m.first = nil
	for i, s := range segments {
		switch elf.ProgType(s.Type) {
		case elf.PT_LOAD:
			if s.FileSize > 0 && !f.has(s.Offset, s.FileSize) {
				return nil, truncated(
					"segment %d (PT_LOAD) should be %d bytes at offset %d, but the file ends at %d",
					i,
					s.FileSize,
					s.Offset,
					f.size,
				)
			}
			im.loads = append(
				im.loads,
				progHeader{
					typ:    elf.PT_LOAD,
					off:    s.Offset,
					vaddr:  s.Addr,
					filesz: s.FileSize,
					memsz:  s.MemSize,
				},
			)
		case elf.PT_DYNAMIC:
			if s.FileSize > 0 {
				dyn = &segments[i]
			}
		case elf.PT_INTERP:
			if s.FileSize > 0 && s.FileSize <= maxInterp {
				b, err := f.bytes(s.Offset, s.FileSize, "PT_INTERP")
				if err != nil {
					return nil, err
				}
				b, _, _ = bytes.Cut(b, []byte{0})
				m.Interp = string(b)
			}
		}
	}
	if dyn == nil {
		return nil, damaged("no PT_DYNAMIC")
	}
	t, err := readTags(im, dyn)
	if err != nil {
		return nil, err
	}
	if err := m.tables(im, t); err != nil {
		return nil, err
	}
	return m, m.describe(t)
}

func readTags(im *image, dyn *Segment) (*dynTags, error) {
	w := im.wordSize()
	off, all, err := im.dynamic(dyn.Addr, dyn.FileSize)
	if err != nil {
		return nil, err
	}
	all = min(all, 2*w*maxTags)
	n := all
	if dyn.FileSize < n { // usually all entries; the loader itself reads until DT_NULL
		n = max(dyn.FileSize, 2*w)
	}
	t := &dynTags{}
	done := false
	for !done {
		b, err := im.bytes(off, n, "PT_DYNAMIC")
		if err != nil {
			return nil, err
		}
		*t = dynTags{}
		c := im.cursor(b)
		for uint64(len(c.b)) >= 2*w {
			tag, v := c.word(), c.word()
			if tag == 0 {
				done = true
				break
			}
			t.add(elf.DynTag(int64(tag)), v)
		}
		if n == all {
			break
		}
		n = all
	}
	return t, nil
}

func (t *dynTags) add(tag elf.DynTag, v uint64) {
	switch tag {
	case elf.DT_NEEDED:
		t.order = append(t.order, tagged{Need, v})
	case elf.DT_AUXILIARY:
		t.order = append(t.order, tagged{Auxiliary, v})
	case elf.DT_FILTER:
		t.order = append(t.order, tagged{Filter, v})
	case elf.DT_GNU_HASH:
		t.gnuHash = v
	case elf.DT_VERSYM:
		t.versym = v
	case elf.DT_VERNEED:
		t.verneed = v
	case elf.DT_VERDEF:
		t.verdef = v
	case elf.DT_FLAGS_1:
		t.flags1 = v
	case elf.DT_RELACOUNT:
		t.relaCount = v
	case elf.DT_RELCOUNT:
		t.relCount = v
	case elf.DT_MIPS_SYMTABNO:
		t.mipsSymtab = v
	case elf.DT_MIPS_GOTSYM:
		t.mipsGotsym = v
	default:
		if tag >= 0 && int(tag) < len(t.low) {
			t.low[tag] = v
			t.has |= 1 << uint(tag)
		}
	}
}

func (t *dynTags) got(tag elf.DynTag) bool { return t.has&(1<<uint(tag)) != 0 }

// window returns the file range from a table's address to the next table or the end of its
// segment, and at most limit bytes.
func (t *dynTags) window(im *image, addr, limit uint64, what string) (off, n uint64, err error) {
	off, n, ok := im.at(addr)
	if !ok {
		return 0, 0, damaged("%s at address %#x is not in a segment", what, addr)
	}
	for _, a := range [...]uint64{t.low[elf.DT_STRTAB], t.low[elf.DT_SYMTAB], t.low[elf.DT_HASH],
		t.gnuHash, t.versym, t.verneed, t.verdef, t.low[elf.DT_RELA], t.low[elf.DT_REL],
		t.low[elf.DT_JMPREL]} {
		if a > addr {
			n = min(n, a-addr)
		}
	}
	return off, min(n, limit), nil
}

// describe reads the strings that tags refer to.
func (m *Mapping) describe(t *dynTags) error {
	text := func(tag elf.DynTag) string {
		if !t.got(tag) {
			return ""
		}
		return string(m.name(t.low[tag]))
	}
	m.SONAME = text(elf.DT_SONAME)
	m.RunPath = text(elf.DT_RUNPATH)
	m.HasRunPath = t.got(elf.DT_RUNPATH)
	if !m.HasRunPath {
		m.RPath = text(elf.DT_RPATH)
	}
	budget := textFree + textFactor*len(m.dynstr)
	m.Needed = make([]Dependency, 0, len(t.order))
	for _, d := range t.order {
		s := string(m.name(d.off))
		if budget -= len(s); budget < 0 {
			return damaged("overlapping strings in DT_NEEDED")
		}
		m.Needed = append(m.Needed, Dependency{d.kind, s})
	}
	m.Flags1, m.RelR = t.flags1, t.got(dtRelr)
	flags := elf.DynFlag(t.low[elf.DT_FLAGS])
	m.Symbolic = t.got(elf.DT_SYMBOLIC) || flags&elf.DF_SYMBOLIC != 0
	m.BindNow = t.got(elf.DT_BIND_NOW) || flags&elf.DF_BIND_NOW != 0 ||
		elf.DynFlag1(t.flags1)&elf.DF_1_NOW != 0
	return nil
}

// name returns the string at an offset of DT_STRTAB without its NUL, or nil if there is none.
func (m *Mapping) name(off uint64) []byte {
	if off >= uint64(len(m.dynstr)) {
		return nil
	}
	b := m.dynstr[off:]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return nil
}

// HasHash reports whether the object has a hash table for symbol lookup.
func (m *Mapping) HasHash() bool { return m.gnu.table != nil || m.sysv.table != nil }

// Size returns the approximate memory use of m in bytes.
func (m *Mapping) Size() int {
	return len(m.dynsym) + len(m.dynstr) + len(m.versym) + len(
		m.gnu.table,
	) + len(m.sysv.table) + 16*len(m.References) + 40*(len(m.Versions)+len(m.Defs)) + 512
}

// IndexedVersion is the version for an index (glibc, struct r_found_version). Hash 0 means
// none.
type IndexedVersion struct {
	Name    string
	Library string // vn_file of a needed version; "" for a version that the object defines
	Hash    uint32
	Hidden  bool // bit 15 of vna_other
}

// MappedNeed is a Verneed record.
type MappedNeed struct {
	Library  string
	Record   uint16 // vn_version; loaders accept only 1
	Versions []MappedVersion
}

// MappedVersion is a Vernaux record.
type MappedVersion struct {
	Name string
	Hash uint32 // vna_hash: compared in addition to the name
	Weak bool
}

// MappedDef is a Verdef record.
type MappedDef struct {
	Name   string
	Hash   uint32 // vd_hash
	Record uint16 // vd_version
	Base   bool
}

// versionTables reads DT_VERNEED and DT_VERDEF, and sets Versions, Needs and Defs.
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
			return nil, damaged("%s at address %#x is not in a segment", what, addr)
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
				set(other&^versionHidden, IndexedVersion{v.Name, n.Library, hash, other&versionHidden != 0})
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
			"overlapping version names: a string table of %d bytes expands to more than %d bytes",
			len(m.dynstr),
			textFree+textFactor*len(m.dynstr),
		)
	}
	return nil
}

// Match is the result of comparing a definition with a reference of the same name.
type Match uint8

const (
	NoMatch Match = iota
	Matches
	// A default version for a reference without a version: it matches if it is the only one.
	DefaultVersion
)

// Offer is a definition compared with a reference of the same name.
type Offer struct {
	SameVersion bool // has the version that the reference requires
	Unversioned bool // has no version
	// Has the object's first version (index 2). References without a version were bound to it
	// before the library had versions.
	Oldest    bool
	Hidden    bool // name@VERSION, not name@@VERSION
	Versioned bool // the reference requires a version
	// Bit 15 of the reference's version index is set: a definition without a version does not
	// match.
	Strict bool
}

// Match implements the version rules of glibc's check_match (elf/dl-lookup.c). A reference with
// a version matches the same version or a definition without a version. A reference without a
// version matches a definition without a version, the oldest version, or the default version.
func (o Offer) Match() Match {
	switch {
	case o.Versioned && (o.SameVersion || o.Unversioned && !o.Hidden && !o.Strict):
		return Matches
	case o.Versioned:
		return NoMatch
	case o.Unversioned || o.Oldest:
		return Matches
	case o.Hidden:
		return NoMatch
	}
	return DefaultVersion
}

// Binds reports whether a reference binds to one of an object's definitions of its name.
func Binds(offers iter.Seq[Offer]) bool {
	defaults := 0
	for o := range offers {
		switch o.Match() {
		case Matches:
			return true
		case DefaultVersion:
			defaults++
		}
	}
	return defaults == 1
}

// Offer compares export n with a reference to its name. version is "" for a reference without a
// version; oldest is the object's OldestVersion.
func (l *Exports) Offer(n int, version, oldest string) Offer {
	own := l.Version(n)
	return Offer{
		SameVersion: own == version,
		Unversioned: own == "",
		Oldest:      own == oldest,
		Hidden:      l.rows[n].hidden,
		Versioned:   version != "",
	}
}

// OldestVersion returns the first version definition after the base definition, or "" if there
// is none.
func (o *Object) OldestVersion() string {
	for _, d := range o.VersionDefs {
		if !d.Base {
			return d.Name
		}
	}
	return ""
}
