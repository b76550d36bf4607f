package elfobj

import "debug/elf"

// No dynamic tag contains the number of symbols. countSymbols returns the largest of: the count
// of DT_HASH (exact), the count of DT_GNU_HASH (includes all exported symbols; 0 if there are
// none), the largest symbol index in a relocation, the distance to the string table if no table
// is between them, DT_MIPS_SYMTABNO, and the size of .dynsym. It returns an error if one of
// them extends into the next table.
func countSymbols(m *image, d *dynamic, o *Object, secs []section) (uint64, *symbolUses, error) {
	symtab := d.value(elf.DT_SYMTAB)
	entry := m.symbolSize()
	_, have, ok := m.reach(symtab)
	if !ok {
		return 0, nil, damaged("the symbol table (DT_SYMTAB) at address %#x is not in a segment", symtab)
	}
	end, named := symtab+have, false // where the next table begins, and whether it has the names
	follow := func(at uint64, names bool) {
		if at > symtab && at < end {
			end, named = at, names
		}
	}
	follow(d.value(elf.DT_STRTAB), true)
	for _, tag := range []elf.DynTag{elf.DT_HASH, elf.DT_GNU_HASH, elf.DT_VERSYM, elf.DT_VERNEED,
		elf.DT_VERDEF} {
		follow(d.value(tag), false)
	}
	limit := (end - symtab) / entry

	uses, err := readUses(m, d, o, limit)
	if err != nil {
		return 0, nil, err
	}
	var n uint64
	for _, c := range []struct {
		what  string
		count func() (uint64, error)
	}{
		{"DT_HASH", func() (uint64, error) { return countHash(m, d, o) }},
		{"DT_GNU_HASH", func() (uint64, error) { return countGNUHash(m, d) }},
		{"a relocation", func() (uint64, error) { return uses.count, nil }},
		{"DT_MIPS_SYMTABNO", func() (uint64, error) { return countMIPS(d, o), nil }},
	} {
		k, err := c.count()
		if err != nil {
			return 0, nil, err
		}
		if k > limit {
			return 0, nil, damaged(
				"%s implies %d symbols, but the symbol table (DT_SYMTAB) at address %#x has space for %d",
				c.what,
				k,
				symtab,
				limit,
			)
		}
		n = max(n, k)
	}
	if d.addr > symtab { // patchelf may put the tags between the symbols and the names
		end = min(end, d.addr)
	}
	// Between segments that patchelf added there is space that belongs to no table.
	if _, own, _ := m.at(symtab); named && end-symtab <= own {
		n = max(n, (end-symtab)/entry)
	}
	for _, s := range secs {
		if s.typ == elf.SHT_DYNSYM && s.addr == symtab && s.size/entry <= limit {
			n = max(n, s.size/entry)
		}
	}
	if n > maxSymbols {
		return 0, nil, tooLarge("the number of dynamic symbols", n, maxSymbols)
	}
	return n, uses, nil
}

func (f *file) symbolSize() uint64 {
	if f.wide {
		return 24
	}
	return 16
}

// countHash returns nchain of DT_HASH, which is the number of symbols. On s390x and alpha the
// words of this table have 8 bytes (binutils, bfd/elf64-s390.c).
func countHash(m *image, d *dynamic, o *Object) (uint64, error) {
	if !d.has(elf.DT_HASH) {
		return 0, nil
	}
	w := uint64(4)
	if mach := elf.Machine(o.Machine); m.wide && (mach == elf.EM_S390 || mach == elf.EM_ALPHA) {
		w = 8
	}
	off, err := m.table(d.value(elf.DT_HASH), 2*w, "the hash table (DT_HASH)")
	if err != nil {
		return 0, err
	}
	b, err := m.bytes(off+w, w, "the hash table (DT_HASH)")
	if err != nil {
		return 0, err
	}
	if w == 8 {
		return m.order.Uint64(b), nil
	}
	return uint64(m.order.Uint32(b)), nil
}

// countGNUHash returns one more than the index of the last symbol of the last chain. A bucket
// contains the first symbol of its chain; a chain ends with an odd hash value. Format:
// binutils, bfd/elflink.c, and glibc, elf/dl-lookup.c.
func countGNUHash(m *image, d *dynamic) (uint64, error) {
	if !d.has(elf.DT_GNU_HASH) {
		return 0, nil
	}
	const what = "the hash table (DT_GNU_HASH)"
	addr := d.value(elf.DT_GNU_HASH)
	off, err := m.table(addr, 16, what)
	if err != nil {
		return 0, err
	}
	b, err := m.bytes(off, 16, what)
	if err != nil {
		return 0, err
	}
	c := m.cursor(b)
	buckets, first, bloom := uint64(c.u32()), uint64(c.u32()), uint64(c.u32())
	start := 16 + bloom*m.wordSize()
	if _, err := m.table(addr, start+4*buckets, what); err != nil {
		return 0, err
	}
	var last uint64
	err = m.each(off+start, 4*buckets, 4, what, func(_ uint64, b []byte) (bool, error) {
		last = max(last, uint64(m.order.Uint32(b)))
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	if last == 0 { // no chain: no exported symbol
		return 0, nil
	}
	if last < first {
		return 0, damaged(
			"%s at offset %d: a bucket refers to symbol %d, but the first symbol of the table is %d",
			what,
			off,
			last,
			first,
		)
	}
	chain := start + 4*buckets + 4*(last-first)
	_, have, _ := m.at(addr)
	if chain+4 > have {
		return 0, damaged(
			"%s at offset %d: the chain of symbol %d is outside its segment",
			what,
			off,
			last,
		)
	}
	var n uint64
	err = m.each(off+chain, have-chain, 4, what, func(i uint64, b []byte) (bool, error) {
		if m.order.Uint32(b)&1 == 1 {
			n = last + i + 1
		}
		return n == 0, nil
	})
	if err == nil && n == 0 {
		err = damaged("%s at offset %d: the chain of symbol %d does not end", what, off, last)
	}
	return n, err
}

func countMIPS(d *dynamic, o *Object) uint64 {
	if elf.Machine(o.Machine) != elf.EM_MIPS {
		return 0
	}
	return d.value(dtMIPSSymtabno)
}
