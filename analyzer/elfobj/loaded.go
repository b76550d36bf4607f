package elfobj

import (
	"cmp"
	"debug/elf"
	"slices"
)

// Target is what the loader stores in a pointer-sized word.
type Target struct {
	Symbol string // the undefined symbol whose address is stored; "" for an address in the object
	Addr   uint64 // the address in the object
	// The loader stores what a function of the object returns (IFUNC), the address of a weak symbol
	// that may be missing, or something else that is not known.
	Unknown bool
}

// maxTargets limits the words of Targets. Objects of 64 MiB have some hundred thousand.
const maxTargets = 1 << 20

// Targets returns what the loader stores in the words of the object, by address. A definition of
// the object counts as the one that is found, as in a module that Python imports. The error is
// ErrTooLarge if there are more than maxTargets.
func (c *Contents) Targets() (map[uint64]Target, error) {
	out := map[uint64]Target{}
	if c.m == nil {
		return out, nil
	}
	bySymbol := map[uint64]Target{}
	var n uint64
	err := c.eachRelocation(func(at, symbol uint64, way Relocs, addend uint64, _ bool) error {
		n++
		switch {
		case n > maxTargets:
			return tooLarge("the number of relocations", n, maxTargets)
		case symbol != 0:
			t, seen := bySymbol[symbol]
			if !seen {
				var err error
				if t, err = c.target(symbol); err != nil {
					return err
				}
				bySymbol[symbol] = t
			}
			if t.Symbol == "" {
				t.Addr += addend
			}
			out[at] = t
		case way == RelocRelative:
			out[at] = Target{Addr: addend}
		default:
			out[at] = Target{Unknown: true}
		}
		return nil
	}, relocTable{elf.DT_RELA, elf.DT_RELASZ, true}, relocTable{elf.DT_JMPREL, elf.DT_PLTRELSZ, true})
	if err != nil {
		return nil, err
	}
	err = c.eachRelr(func(at uint64) {
		var b [8]byte
		if n++; n <= maxTargets && c.Load(at, b[:]) == len(b) {
			out[at] = Target{Addr: c.m.order.Uint64(b[:])}
		}
	})
	if err == nil && n > maxTargets {
		err = tooLarge("the number of relocations", n, maxTargets)
	}
	return out, err
}

// Pointer is a word of the object in which the loader stores an address of the object itself.
type Pointer struct{ At, To uint64 }

// Pointers returns the words that the loader stores without a symbol, in ascending order. It costs
// less than Targets. The error is ErrTooLarge if there are more than limit.
func (c *Contents) Pointers(limit int) (out []Pointer, err error) {
	if c.m == nil {
		return nil, nil
	}
	if c.d.has(elf.DT_RELA) {
		n := min(c.d.value(elf.DT_RELASZ), c.m.size) / (3 * c.m.wordSize())
		out = make([]Pointer, 0, min(n, uint64(limit)))
	}
	add := func(p Pointer) error {
		if out = append(out, p); len(out) > limit {
			return tooLarge("the number of relocations", uint64(len(out)), uint64(limit))
		}
		return nil
	}
	err = c.eachRelocation(func(at, symbol uint64, way Relocs, addend uint64, _ bool) error {
		if symbol != 0 || way != RelocRelative {
			return nil
		}
		return add(Pointer{at, addend})
	}, relocTable{elf.DT_RELA, elf.DT_RELASZ, true})
	if err != nil {
		return nil, err
	}
	var full error
	if err = c.eachRelr(func(at uint64) {
		var b [8]byte
		if full == nil && c.Load(at, b[:]) == len(b) {
			full = add(Pointer{at, c.m.order.Uint64(b[:])})
		}
	}); err != nil || full != nil {
		return nil, cmp.Or(err, full)
	}
	slices.SortFunc(out, func(a, b Pointer) int { return cmp.Compare(a.At, b.At) })
	return out, nil
}

// target returns what the loader stores for a symbol, by its index.
func (c *Contents) target(i uint64) (Target, error) {
	name, err := c.symbolName(i)
	if err != nil {
		return Target{}, err
	}
	entry := c.m.symbolSize()
	off, _, _ := c.m.reach(c.d.value(elf.DT_SYMTAB))
	b, err := c.m.bytes(off+i*entry, entry, "a symbol")
	if err != nil {
		return Target{}, err
	}
	s := c.m.symbol(b)
	switch {
	case !c.m.wide, s.typ == elf.STT_GNU_IFUNC, s.typ == elf.STT_TLS:
		return Target{Unknown: true}, nil
	case s.defined():
		return Target{Addr: c.m.order.Uint64(b[8:])}, nil
	}
	return Target{Symbol: name, Unknown: s.bind == elf.STB_WEAK}, nil
}

// Load reads the bytes at an address before relocation, and returns how many of them are in a
// segment. Those that are not in the file are 0.
func (c *Contents) Load(addr uint64, b []byte) int {
	if c.m == nil {
		return 0
	}
	for n := 0; n < len(b); {
		off, have, ok := c.m.at(addr + uint64(n))
		if !ok {
			if !c.m.zeroFilled(addr + uint64(n)) {
				return n
			}
			b[n] = 0
			n++
			continue
		}
		take := int(min(have, uint64(len(b)-n)))
		if m, err := c.m.r.ReadAt(b[n:n+take], int64(off)); m < take && err != nil {
			return n
		}
		n += take
	}
	return len(b)
}

// Segments returns the number of segments that are mapped.
func (c *Contents) Segments() int {
	if c.m == nil {
		return 0
	}
	return len(c.m.loads)
}

// Executable reports whether an address is in a segment with machine code.
func (c *Contents) Executable(addr uint64) bool { return c.inSegment(addr, elf.PF_X) }

// Skipped reports whether an address is in a segment of which Code may return the range, so that
// its bytes may not be stored: reading them means to inflate the file again.
func (c *Contents) Skipped(addr uint64) bool {
	return c.m != nil && slices.ContainsFunc(c.m.loads, func(p progHeader) bool {
		return p.flags&elf.PF_X != 0 && p.off > 0 && addr >= p.vaddr && addr-p.vaddr < p.filesz
	})
}

// Writable reports whether an address is in a segment with data that may change.
func (c *Contents) Writable(addr uint64) bool { return c.inSegment(addr, elf.PF_W) }

// Mapped reports whether an address is in a segment.
func (c *Contents) Mapped(addr uint64) bool { return c.inSegment(addr, 0) }

// inSegment reports whether an address is in a segment with a flag.
func (c *Contents) inSegment(addr uint64, flag elf.ProgFlag) bool {
	if c.m == nil {
		return false
	}
	for _, p := range c.m.loads {
		if p.flags&flag == flag && addr >= p.vaddr && addr-p.vaddr < max(p.memsz, p.filesz) {
			return true
		}
	}
	return false
}

// Initializers returns the addresses of what the loader calls after it has loaded the object:
// DT_INIT, and the words of DT_INIT_ARRAY with the functions.
func (c *Contents) Initializers() (function uint64, array Span) {
	if c.m == nil {
		return 0, Span{}
	}
	return c.d.value(elf.DT_INIT),
		Span{Addr: c.d.value(elf.DT_INIT_ARRAY), Size: c.d.value(elf.DT_INIT_ARRAYSZ)}
}

// Entry returns the address of the first instruction of a program.
func (c *Contents) Entry() uint64 {
	if c.m == nil {
		return 0
	}
	const offset = 24 // of e_entry, in both classes
	b, err := c.m.bytes(offset, c.m.wordSize(), "the address of the entry")
	if err != nil {
		return 0
	}
	return c.m.cursor(b).word()
}
