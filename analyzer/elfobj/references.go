package elfobj

import (
	"debug/elf"
	"slices"
)

// Reference is a symbol that the loader looks up for a relocation. The object may define it
// itself.
type Reference struct {
	Symbol  uint32
	Hash    uint32 // HashGNU of its name
	Name    uint32 // offset of its name
	Version uint16 // index in Versions of the required version; 0: none
	Weak    bool
	Class   Class
}

// Class is how a relocation type restricts the lookup (glibc, elf_machine_type_class).
type Class uint8

const (
	ClassPLT  Class = 1 // calls and TLS: an undefined symbol with a value is skipped
	ClassCopy Class = 2 // a copy relocation: the main program is skipped
)

// Name returns the name of a reference.
func (m *Mapping) Name(r Reference) []byte { return m.name(uint64(r.Name)) }

// lookupTypes are the relocation types of a machine with a class other than 0. Source: glibc,
// sysdeps/*/dl-machine.h.
type lookupTypes struct {
	copy uint32
	plt  []uint32
}

var lookupTypesOf = map[elf.Machine]lookupTypes{
	elf.EM_X86_64:    {5, []uint32{7, 16, 17, 18, 36}},
	elf.EM_386:       {5, []uint32{7, 14, 35, 36, 37, 41}},
	elf.EM_AARCH64:   {1024, []uint32{1026, 1028, 1029, 1030, 1031}},
	elf.EM_ARM:       {20, []uint32{13, 17, 18, 19, 22}},
	elf.EM_PPC64:     {19, []uint32{21, 68, 73, 78}},
	elf.EM_S390:      {9, []uint32{11, 54, 55, 56}},
	elf.EM_RISCV:     {4, []uint32{5, 6, 7, 8, 9, 10, 11, 12}},
	elf.EM_LOONGARCH: {4, []uint32{5, 6, 7, 8, 9, 10, 11, 13, 14}},
	elf.EM_MIPS:      {126, []uint32{127}},
}

const (
	// Entries of one table. The largest machine learning libraries have a few million.
	maxRelocations = 32 << 20
	maxTypes       = 64 // distinct relocation types; every machine's loader supports fewer
)

// relocations collects the symbols that DT_REL, DT_RELA and DT_JMPREL look up. It returns one
// more than the largest symbol index.
func (m *Mapping) relocations(im *image, t *dynTags) (uint64, error) {
	types := lookupTypesOf[elf.Machine(m.Machine)]
	var top uint64
	var seen [4][]uint64 // per class, a bit per symbol
	add := func(sym uint64, c Class) {
		set := &seen[c&3]
		if i := int(sym / 64); i >= len(*set) {
			*set = append(*set, make([]uint64, max(i+1-len(*set), len(*set)))...)
		}
		if (*set)[sym/64]&(1<<(sym%64)) == 0 {
			(*set)[sym/64] |= 1 << (sym % 64)
			m.References = append(m.References, Reference{Symbol: uint32(sym), Class: c})
		}
		top = max(top, sym+1)
	}
	_, room, _ := im.reach(t.low[elf.DT_SYMTAB])
	room /= uint64(m.symbolLen)
	last, reach := ^uint32(0), uint64(0) // reach: the highest relocated address
	rela := t.low[elf.DT_PLTREL] == uint64(elf.DT_RELA)
	for _, r := range [...]struct {
		tag        elf.DynTag
		size, skip uint64
		addend     bool
	}{{elf.DT_REL, t.low[elf.DT_RELSZ], t.relCount, false},
		{elf.DT_RELA, t.low[elf.DT_RELASZ], t.relaCount, true},
		{elf.DT_JMPREL, t.low[elf.DT_PLTRELSZ], 0, rela}} {
		if !t.got(r.tag) || r.size == 0 {
			continue
		}
		what := "the relocation table (" + r.tag.String() + ")"
		entry := 2 * im.wordSize()
		if r.addend {
			entry += im.wordSize()
		}
		off, err := im.table(t.low[r.tag], r.size, what)
		if err != nil {
			return 0, err
		}
		if r.size/entry > maxRelocations {
			return 0, tooLarge("the number of relocations", r.size/entry, maxRelocations)
		}
		skip := min(
			r.skip,
			r.size/entry,
		) * entry // relative relocations come first, sorted by address, and look nothing up
		if skip > 0 {
			skip -= entry // the last one is read, for the highest address
		}
		relative := r.skip > 0
		mips64 := im.wide && elf.Machine(m.Machine) == elf.EM_MIPS
		var bad error
		err = im.each(off+skip, r.size-skip, entry, what, func(_ uint64, b []byte) (bool, error) {
			if im.wide {
				reach = max(reach, m.u64(b))
			} else {
				reach = max(reach, uint64(m.u32(b)))
			}
			if relative {
				relative = false
				return true, nil
			}
			var sym uint64
			var typ uint32
			switch {
			case !im.wide:
				info := m.u32(b[4:])
				sym, typ = uint64(info>>8), info&0xff
			case mips64:
				sym, typ = uint64(m.u32(b[8:])), uint32(b[15])
			default:
				info := m.u64(b[8:])
				sym, typ = info>>32, uint32(info)
			}
			if typ != last && len(m.RelocationTypes) < maxTypes &&
				!slices.Contains(m.RelocationTypes, typ) {
				m.RelocationTypes = append(m.RelocationTypes, typ)
			}
			last = typ
			if sym == 0 || typ == 0 {
				return true, nil
			}
			if sym >= room {
				bad = damaged(
					"%s: a relocation uses symbol %d, and the symbol table (DT_SYMTAB) has room for %d",
					what,
					sym,
					room,
				)
				return false, nil
			}
			c := Class(0)
			switch {
			case typ == types.copy:
				c = ClassCopy
			case slices.Contains(types.plt, typ):
				c = ClassPLT
			}
			add(sym, c)
			return true, nil
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return 0, err
		}
	}
	if !im.holds(reach) {
		return 0, damaged("a relocation applies to address %#x, which is not in a segment", reach)
	}
	if elf.Machine(
		m.Machine,
	) == elf.EM_MIPS { // the global part of the GOT is relocated without relocation entries
		for i := max(t.mipsGotsym, 1); i < min(t.mipsSymtab, room, maxSymbols); i++ {
			add(i, 0)
		}
		top = max(top, min(t.mipsSymtab, room))
	}
	return top, nil
}

// holds reports whether an address is in memory, up to the end of the last page of a segment.
// It returns true for address 0, which stands for no relocation.
func (m *image) holds(addr uint64) bool {
	return addr == 0 || slices.ContainsFunc(m.loads, func(p progHeader) bool {
		return addr >= p.vaddr-p.vaddr%mapUnit &&
			addr < (p.vaddr+max(p.memsz, p.filesz)+mapUnit-1)/mapUnit*mapUnit
	})
}

// finishReferences sets names and versions, and removes local and hidden symbols, which are
// bound without a lookup.
func (m *Mapping) finishReferences(*dynTags) error {
	out := m.References[:0]
	for _, r := range m.References {
		at := uint64(r.Symbol) * uint64(m.symbolLen)
		b := m.dynsym[at:]
		info, other := b[4], b[5]
		if m.Class == 32 {
			info, other = b[12], b[13]
		}
		vis := elf.ST_VISIBILITY(other)
		if elf.ST_BIND(info) == elf.STB_LOCAL || vis == elf.STV_HIDDEN || vis == elf.STV_INTERNAL {
			continue
		}
		r.Weak = elf.ST_BIND(info) == elf.STB_WEAK
		r.Name = m.u32(b)
		if uint64(r.Name) >= uint64(len(m.dynstr)) {
			return damaged(
				"symbol %d has its name at byte %d of the string table, which has %d",
				r.Symbol,
				r.Name,
				len(m.dynstr),
			)
		}
		r.Hash = HashGNU(m.name(uint64(r.Name)))
		if m.versym != nil {
			if v := m.u16(m.versym[2*r.Symbol:]) &^ versionHidden; m.Version(v).Hash != 0 {
				r.Version = v
			}
		}
		out = append(out, r)
	}
	m.References = slices.Clip(out)
	return nil
}
