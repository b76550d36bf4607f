package elfobj

import (
	"cmp"
	"debug/elf"
	"io"
	"slices"
	"strings"
)

// Contents reads the data of an object as it is after relocation: the addresses of its exports
// and the pointers in its data. It keeps the io.ReaderAt. The zero value has no exports and no
// words.
type Contents struct {
	m     *image
	d     *dynamic
	names *names
	o     *Object
	secs  []section
	ps    []progHeader
}

// Place is the location of an export.
type Place struct {
	Addr      uint64 // st_value; for a thread-local symbol the offset in the TLS segment
	Absolute  bool   // SHN_ABS: Addr is a value and not an address
	Protected bool   // STV_PROTECTED
	ReadOnly  bool   // in a section that is read-only after relocation
}

// Word is a pointer-sized word of an object's data.
type Word struct {
	Symbol string // the symbol whose address the loader stores, "" if none
	// The address inside the object that the loader stores, the addend of Symbol, or the bytes in
	// the file.
	Value uint64
	Moved bool // Value is an address relative to the load address
}

// Span is a range of addresses.
type Span struct{ Addr, Size uint64 }

// ReadContents is like Read and also returns access to the object's data.
func ReadContents(r io.ReaderAt, size int64) (*Object, *Contents, error) {
	return ReadContentsAmong(NewNames(), r, size)
}

// ReadContentsAmong is like ReadAmong and also returns access to the object's data.
func ReadContentsAmong(shared *Names, r io.ReaderAt, size int64) (*Object, *Contents, error) {
	c := &Contents{}
	o, err := read(shared, r, size, c)
	return o, c, err
}

// Places returns the location of each export, in the order of Object.Exports.
func (c *Contents) Places() ([]Place, error) {
	if c.m == nil || c.o.Exports.Len() == 0 {
		return nil, nil
	}
	writable := c.writable()
	entry := c.m.symbolSize()
	off, have, _ := c.m.reach(c.d.value(elf.DT_SYMTAB))
	out := make([]Place, 0, c.o.Exports.Len())
	err := c.m.each(
		off,
		have,
		entry,
		"the symbol table (DT_SYMTAB)",
		func(i uint64, b []byte) (bool, error) {
			s := c.m.symbol(b)
			if i == 0 || !s.bindable() || !s.defined() {
				return true, nil
			}
			p := Place{Absolute: s.shndx == elf.SHN_ABS, Protected: s.vis == elf.STV_PROTECTED}
			if c.m.wide {
				p.Addr = c.m.order.Uint64(b[8:])
			} else {
				p.Addr = uint64(c.m.order.Uint32(b[4:]))
			}
			p.ReadOnly = !p.Absolute && s.typ == elf.STT_OBJECT && !writable(p.Addr)
			out = append(out, p)
			return len(out) < cap(out), nil
		},
	)
	return out, err
}

// writable returns a function that reports whether an address is writable after relocation.
// Section headers take precedence: if the linker made no PT_GNU_RELRO, only the section name
// .data.rel.ro shows that the data is constant.
func (c *Contents) writable() func(addr uint64) bool {
	var loaded []section
	for _, s := range c.secs {
		if s.flags&elf.SHF_ALLOC != 0 && s.flags&elf.SHF_TLS == 0 && s.size > 0 {
			loaded = append(loaded, s)
		}
	}
	slices.SortFunc(loaded, func(a, b section) int { return cmp.Compare(a.addr, b.addr) })
	return func(addr uint64) bool {
		i, found := slices.BinarySearchFunc(
			loaded,
			addr,
			func(s section, addr uint64) int { return cmp.Compare(s.addr, addr) },
		)
		if !found {
			i--
		}
		if i >= 0 && addr-loaded[i].addr < loaded[i].size {
			s := loaded[i]
			return s.flags&elf.SHF_WRITE != 0 && !strings.HasPrefix(s.name, ".data.rel.ro")
		}
		for _, p := range c.ps {
			if p.typ == elf.PT_GNU_RELRO && addr >= p.vaddr && addr-p.vaddr < p.memsz {
				return false
			}
		}
		for _, p := range c.m.loads {
			if addr >= p.vaddr && addr-p.vaddr < p.memsz {
				return p.flags&elf.PF_W != 0
			}
		}
		return true
	}
}

// Words returns the words of each span as they are after relocation. Spans must not overlap.
// Words of data that is not in the file (.bss) are missing from the result.
func (c *Contents) Words(spans []Span) ([][]Word, error) {
	out := make([][]Word, len(spans))
	if c.m == nil {
		return out, nil
	}
	w := c.m.wordSize()
	order := make([]int, len(spans))
	for i, s := range spans {
		order[i] = i
		off, have, ok := c.m.at(s.Addr)
		if !ok {
			have = 0
		}
		b, err := c.m.bytes(off, min(have, s.Size), "data")
		if err != nil {
			return nil, err
		}
		out[i] = make([]Word, uint64(len(b))/w)
		cur := c.m.cursor(b)
		for k := range out[i] {
			out[i][k].Value = cur.word()
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(spans[a].Addr, spans[b].Addr) })
	at := func(addr uint64) *Word {
		k, found := slices.BinarySearchFunc(
			order,
			addr,
			func(i int, addr uint64) int { return cmp.Compare(spans[i].Addr, addr) },
		)
		if !found {
			k--
		}
		if k < 0 {
			return nil
		}
		i := order[k]
		d := addr - spans[i].Addr
		if d%w != 0 || d/w >= uint64(len(out[i])) {
			return nil
		}
		return &out[i][d/w]
	}
	apply := func(addr, symbol uint64, way Relocs, addend uint64, explicit bool) error {
		x := at(addr)
		if x == nil {
			return nil
		}
		if explicit {
			x.Value = addend
		}
		switch {
		case symbol != 0:
			name, err := c.symbolName(symbol)
			if err != nil {
				return err
			}
			x.Symbol, x.Moved = name, false
		case way == RelocRelative:
			x.Moved = true
		}
		return nil
	}
	if err := c.eachRelocation(apply, relocTable{elf.DT_RELA, elf.DT_RELASZ, true},
		relocTable{elf.DT_REL, elf.DT_RELSZ, false}); err != nil {
		return nil, err
	}
	return out, c.eachRelr(func(addr uint64) {
		if x := at(addr); x != nil {
			x.Moved = true
		}
	})
}

// symbolName returns the name of the symbol with an index.
func (c *Contents) symbolName(i uint64) (string, error) {
	entry := c.m.symbolSize()
	off, have, _ := c.m.reach(c.d.value(elf.DT_SYMTAB))
	if i >= have/entry {
		return "", damaged(
			"a relocation refers to symbol %d, but the symbol table has space for %d",
			i,
			have/entry,
		)
	}
	b, err := c.m.bytes(off+i*entry, entry, "a symbol")
	if err != nil {
		return "", err
	}
	return c.names.get(c.m.symbol(b).name)
}

// relocTable are the tags of a table of relocations, and whether its entries have an addend.
type relocTable struct {
	addr, size elf.DynTag
	addend     bool
}

// eachRelocation calls yield for the entries of tables of relocations.
func (c *Contents) eachRelocation(
	yield func(addr, symbol uint64, way Relocs, addend uint64, explicit bool) error,
	tables ...relocTable,
) error {
	kinds, w := relocKinds[elf.Machine(c.o.Machine)], c.m.wordSize()
	for _, t := range tables {
		size := c.d.value(t.size)
		if !c.d.has(t.addr) || size == 0 {
			continue
		}
		what := "the relocation table (" + t.addr.String() + ")"
		off, err := c.m.table(c.d.value(t.addr), size, what)
		if err != nil {
			return err
		}
		entry := 2 * w
		if t.addend {
			entry += w
		}
		if err := c.m.each(off, size, entry, what, func(_ uint64, b []byte) (bool, error) {
			cur := c.m.cursor(b)
			addr, info := cur.word(), cur.word()
			sym, typ := info>>32, uint32(info)
			if !c.m.wide {
				sym, typ = info>>8, uint32(info&0xff)
			}
			way := RelocOther
			if uint64(typ) < uint64(len(kinds)) && kinds[typ] != 0 {
				way = kinds[typ]
			}
			var addend uint64
			if t.addend {
				addend = cur.word()
			}
			return true, yield(addr, sym, way, addend, t.addend)
		}); err != nil {
			return err
		}
	}
	return nil
}

// eachRelr calls yield for the addresses in DT_RELR: each address is followed by bitmaps of the
// words after it.
func (c *Contents) eachRelr(yield func(addr uint64)) error {
	const dtRelrSize = elf.DynTag(35)
	size := c.d.value(dtRelrSize)
	if !c.d.has(dtRelr) || size == 0 {
		return nil
	}
	off, err := c.m.table(c.d.value(dtRelr), size, "the relocation table (DT_RELR)")
	if err != nil {
		return err
	}
	w := c.m.wordSize()
	var next uint64
	return c.m.each(
		off,
		size,
		w,
		"the relocation table (DT_RELR)",
		func(_ uint64, b []byte) (bool, error) {
			v := c.m.cursor(b).word()
			if v&1 == 0 {
				yield(v)
				next = v + w
				return true, nil
			}
			for bit := uint64(1); bit < 8*w; bit++ {
				if v>>bit&1 != 0 {
					yield(next + (bit-1)*w)
				}
			}
			next += (8*w - 1) * w
			return true, nil
		},
	)
}
