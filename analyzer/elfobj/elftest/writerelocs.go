package elftest

import (
	"debug/elf"
	"fmt"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazy"
)

type machineRelocs map[elf.Machine]map[elfobj.Relocs][2]uint32

// relocTypes are the relocation types that Write writes, for ELF32 and ELF64; 0 if there is
// none. Other machines get no relocations. A machine without GLOB_DAT uses its plain word
// relocation.
var relocTypes = lazy.Value[machineRelocs]{New: func() machineRelocs {
	return machineRelocs{
		elf.EM_X86_64: {
			elfobj.RelocJumpSlot:  {7, 7},
			elfobj.RelocGlobDat:   {6, 6},
			elfobj.RelocWord:      {10, 1},
			elfobj.RelocCopy:      {5, 5},
			elfobj.RelocTLSGD:     {16, 16},
			elfobj.RelocTLSIE:     {18, 18},
			elfobj.RelocTLSDesc:   {36, 36},
			elfobj.RelocRelative:  {8, 8},
			elfobj.RelocIRelative: {37, 37},
		},
		elf.EM_386: {
			elfobj.RelocJumpSlot:  {7},
			elfobj.RelocGlobDat:   {6},
			elfobj.RelocWord:      {1},
			elfobj.RelocCopy:      {5},
			elfobj.RelocTLSGD:     {35},
			elfobj.RelocTLSIE:     {14},
			elfobj.RelocTLSDesc:   {41},
			elfobj.RelocRelative:  {8},
			elfobj.RelocIRelative: {42},
		},
		elf.EM_AARCH64: {
			elfobj.RelocJumpSlot:  {0, 1026},
			elfobj.RelocGlobDat:   {0, 1025},
			elfobj.RelocWord:      {0, 257},
			elfobj.RelocCopy:      {0, 1024},
			elfobj.RelocTLSGD:     {0, 1028},
			elfobj.RelocTLSIE:     {0, 1030},
			elfobj.RelocTLSDesc:   {0, 1031},
			elfobj.RelocRelative:  {0, 1027},
			elfobj.RelocIRelative: {0, 1032},
		},
		elf.EM_ARM: {
			elfobj.RelocJumpSlot:  {22},
			elfobj.RelocGlobDat:   {21},
			elfobj.RelocWord:      {2},
			elfobj.RelocCopy:      {20},
			elfobj.RelocTLSGD:     {17},
			elfobj.RelocTLSIE:     {19},
			elfobj.RelocTLSDesc:   {13},
			elfobj.RelocRelative:  {23},
			elfobj.RelocIRelative: {160},
		},
		elf.EM_PPC64: {
			elfobj.RelocJumpSlot:  {0, 21},
			elfobj.RelocGlobDat:   {0, 20},
			elfobj.RelocWord:      {0, 38},
			elfobj.RelocCopy:      {0, 19},
			elfobj.RelocTLSGD:     {0, 68},
			elfobj.RelocTLSIE:     {0, 73},
			elfobj.RelocRelative:  {0, 22},
			elfobj.RelocIRelative: {0, 248},
		},
		elf.EM_S390: {
			elfobj.RelocJumpSlot:  {11, 11},
			elfobj.RelocGlobDat:   {10, 10},
			elfobj.RelocWord:      {4, 22},
			elfobj.RelocCopy:      {9, 9},
			elfobj.RelocTLSGD:     {54, 54},
			elfobj.RelocTLSIE:     {56, 56},
			elfobj.RelocRelative:  {12, 12},
			elfobj.RelocIRelative: {61, 61},
		},
		elf.EM_RISCV: {
			elfobj.RelocJumpSlot:  {5, 5},
			elfobj.RelocWord:      {1, 2},
			elfobj.RelocCopy:      {4, 4},
			elfobj.RelocTLSGD:     {6, 7},
			elfobj.RelocTLSIE:     {10, 11},
			elfobj.RelocTLSDesc:   {12, 12},
			elfobj.RelocRelative:  {3, 3},
			elfobj.RelocIRelative: {58, 58},
		},
		elf.EM_LOONGARCH: {
			elfobj.RelocJumpSlot:  {5, 5},
			elfobj.RelocWord:      {1, 2},
			elfobj.RelocCopy:      {4, 4},
			elfobj.RelocTLSGD:     {6, 7},
			elfobj.RelocTLSIE:     {10, 11},
			elfobj.RelocTLSDesc:   {13, 14},
			elfobj.RelocRelative:  {3, 3},
			elfobj.RelocIRelative: {12, 12},
		},
	}
}}

// relocType returns the relocation type on the object's machine, or 0 if there is none.
func relocType(o *elfobj.Object, way elfobj.Relocs) uint32 {
	t := relocTypes.Get()[elf.Machine(o.Machine)][way]
	if o.Class == 64 {
		return t[1]
	}
	return t[0]
}

// relocAddends reports whether the machine uses RELA.
func (w *writer) relocAddends() bool {
	m := elf.Machine(w.o.Machine)
	return m != elf.EM_386 && m != elf.EM_ARM
}

// reloc is a relocation to write. Each has its own slot, except a copy relocation, which
// applies to the symbol's address.
type reloc struct {
	symbol uint64
	way    elfobj.Relocs
	slot   uint64 // index of the word in .got, or in .got.plt for a jump slot
}

// Words that the ABI reserves at the start of .got.plt, and the word of .got that DT_RELR
// relocates.
const (
	reservedPLT = 3
	reservedGOT = 1
)

// numberRelocs lists the relocations, with separate jump slots, and assigns their slots.
func (w *writer) numberRelocs() error {
	w.gotWords, w.pltWords = reservedGOT, reservedPLT
	add := func(symbol uint64, name string, ways elfobj.Relocs) error {
		for way := elfobj.RelocJumpSlot; way < elfobj.RelocNone; way <<= 1 {
			switch {
			case !ways.Has(way):
				continue
			case relocType(w.o, way) == 0:
				return fmt.Errorf(
					"%s is relocated by %s, for which Write knows no type on %s",
					name,
					way,
					w.o.Arch(),
				)
			case way == elfobj.RelocCopy && symbol <= uint64(w.o.Imports.Len()):
				return fmt.Errorf("%s is relocated by copy, which needs a definition", name)
			}
			switch way {
			case elfobj.RelocJumpSlot:
				w.pltRelocs = append(w.pltRelocs, reloc{symbol, way, w.pltWords})
				w.pltWords++
				continue
			case elfobj.RelocCopy:
				w.dynRelocs = append(w.dynRelocs, reloc{symbol, way, 0})
				continue
			}
			w.dynRelocs = append(w.dynRelocs, reloc{symbol, way, w.gotWords})
			w.gotWords += 2 // a thread-local symbol may need two
		}
		return nil
	}
	if !w.o.Dynamic {
		return nil
	}
	for i, m := range w.o.Imports.All() {
		if err := add(uint64(1+i), m.Name, m.Relocs); err != nil {
			return err
		}
	}
	for i, e := range w.o.Exports.All() {
		if err := add(uint64(1+w.o.Imports.Len()+i), e.Name, e.Relocs); err != nil {
			return err
		}
	}
	return add(0, "the object", w.o.Local)
}

// planRelocs adds the relocation tables.
func (w *writer) planRelocs(add func(part)) {
	word := w.f.wordSize()
	table := func(name string, list []reloc) {
		if len(list) == 0 {
			return
		}
		bytes := func() []byte { return w.relocs(list) }
		if w.relocAddends() {
			add(
				part{
					name:    ".rela" + name,
					typ:     elf.SHT_RELA,
					flags:   elf.SHF_ALLOC,
					link:    ".dynsym",
					align:   word,
					entsize: 3 * word,
					bytes:   bytes,
				},
			)
		} else {
			add(part{name: ".rel" + name, typ: elf.SHT_REL, flags: elf.SHF_ALLOC, link: ".dynsym",
				align: word, entsize: 2 * word, bytes: bytes})
		}
	}
	table(".dyn", w.dynRelocs)
	table(".plt", w.pltRelocs)
}

// relocs writes one table.
func (w *writer) relocs(list []reloc) []byte {
	b := w.out()
	for _, r := range list {
		switch r.way {
		case elfobj.RelocJumpSlot:
			b.word(w.part(".got.plt").addr + w.f.wordSize()*r.slot)
		case elfobj.RelocCopy:
			b.word(w.part(".bss").addr + w.rooms()[r.symbol-1-uint64(w.o.Imports.Len())])
		default:
			b.word(w.part(".got").addr + w.f.wordSize()*r.slot)
		}
		if w.f.wide {
			b.word(r.symbol<<32 | uint64(relocType(w.o, r.way)))
		} else {
			b.word(r.symbol<<8 | uint64(relocType(w.o, r.way)))
		}
		if w.relocAddends() {
			b.word(w.addend(r))
		}
	}
	return b.Bytes()
}

// addend returns the address of a valid function for IFUNC, otherwise 0.
func (w *writer) addend(r reloc) uint64 {
	if r.way == elfobj.RelocIRelative {
		return w.part(".text").addr
	}
	return 0
}

// got returns the words of .got, including the addends on machines with REL.
func (w *writer) got() []byte {
	words := make([]uint64, w.gotWords)
	for _, r := range w.dynRelocs {
		if r.way == elfobj.RelocIRelative && !w.relocAddends() {
			words[r.slot] = w.addend(r)
		}
	}
	b := w.out()
	for _, v := range words {
		b.word(v)
	}
	return b.Bytes()
}

// relr relocates the first word of .got, which is otherwise unused.
func (w *writer) relr() []byte {
	b := w.out()
	b.word(w.part(".got").addr)
	return b.Bytes()
}
