package elfobj

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"strings"
)

// Relocs is the set of kinds of relocations that refer to a symbol. They determine whether and
// when the loader looks it up. Zero means unknown, as in an object created by hand; an import
// that Read returns has RelocNone if no relocation refers to it.
type Relocs uint16

// Kinds of relocations. relocKinds contains the relocation types of each machine.
const (
	// A call. The loader looks the symbol up at the first call (lazy binding), or while loading
	// with DF_BIND_NOW, DF_1_NOW or RTLD_NOW.
	RelocJumpSlot Relocs = 1 << iota
	RelocGlobDat         // an address in the GOT, set while loading
	// An address elsewhere in the data, for example in a table of functions. It may be relative to
	// its own place.
	RelocWord
	RelocCopy // a program's copy of a library's variable
	// Thread-local, general dynamic: module and offset for __tls_get_addr.
	RelocTLSGD
	// Thread-local, initial exec: a fixed offset, which requires static TLS.
	RelocTLSIE
	RelocTLSDesc  // thread-local, TLS descriptor
	RelocRelative // the load address is added; no symbol
	// A function of the object that selects an implementation is called while loading (IFUNC); no
	// symbol.
	RelocIRelative
	RelocOther // an unknown type
	// No relocation refers to the symbol: the loader does not look it up, only dlsym may.
	RelocNone
)

// relocNames is in the order of the constants. In JSON, RelocNone is an empty list.
var relocNames = []string{
	"jump-slot",
	"glob-dat",
	"word",
	"copy",
	"tls-gd",
	"tls-ie",
	"tls-desc",
	"relative",
	"irelative",
	"other",
	"none",
}

// Has reports whether the set contains one of the given kinds.
func (r Relocs) Has(way Relocs) bool { return r&way != 0 }

// names returns the names of the kinds in r, without RelocNone.
func (r Relocs) names() []string {
	out := []string{}
	for i, n := range relocNames {
		if way := Relocs(1) << i; r.Has(way) && way != RelocNone {
			out = append(out, n)
		}
	}
	return out
}

// String returns the names separated by commas, "none" for RelocNone and "" for zero.
func (r Relocs) String() string {
	if r == RelocNone {
		return "none"
	}
	return strings.Join(r.names(), ",")
}

// ParseRelocs parses what String returns. It returns an error for an unknown name.
func ParseRelocs(s string) (Relocs, error) {
	var r Relocs
next:
	for w := range strings.SplitSeq(s, ",") {
		for i, n := range relocNames {
			if n == w {
				r |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("%.80q is not one of %s;", w, strings.Join(relocNames, ", "))
	}
	if r.Has(RelocNone) && r != RelocNone {
		return 0, fmt.Errorf("%.80q names none together with other values;", s)
	}
	return r, nil
}

// MarshalJSON returns a list of names; it is empty for RelocNone.
func (r Relocs) MarshalJSON() ([]byte, error) { return json.Marshal(r.names()) }

// UnmarshalJSON parses what MarshalJSON returns.
func (r *Relocs) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*r = RelocNone
	if len(names) == 0 {
		return nil
	}
	var err error
	*r, err = ParseRelocs(strings.Join(names, ","))
	return err
}

// JSONSchema returns the schema for the list that MarshalJSON returns.
func (Relocs) JSONSchema() map[string]any { return listOf(relocNames[:len(relocNames)-1]) }

func listOf(names []string) map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"enum": names}}
}

// relocKinds maps the relocation types of a machine that a linker leaves for the loader to
// their kinds; zero means unknown. Sources: binutils, include/elf/*.h, and glibc,
// sysdeps/*/dl-machine.h.
var relocKinds = map[elf.Machine][]Relocs{
	elf.EM_X86_64: {
		1:  RelocWord,
		2:  RelocWord,
		5:  RelocCopy,
		6:  RelocGlobDat,
		7:  RelocJumpSlot,
		8:  RelocRelative,
		10: RelocWord,
		11: RelocWord,
		16: RelocTLSGD,
		17: RelocTLSGD,
		18: RelocTLSIE,
		24: RelocWord,
		36: RelocTLSDesc,
		37: RelocIRelative,
		38: RelocRelative,
	},
	elf.EM_386: {
		1:  RelocWord,
		2:  RelocWord,
		5:  RelocCopy,
		6:  RelocGlobDat,
		7:  RelocJumpSlot,
		8:  RelocRelative,
		14: RelocTLSIE,
		35: RelocTLSGD,
		36: RelocTLSGD,
		37: RelocTLSIE,
		41: RelocTLSDesc,
		42: RelocIRelative,
	},
	elf.EM_AARCH64: {
		257:  RelocWord,
		258:  RelocWord,
		1024: RelocCopy,
		1025: RelocGlobDat,
		1026: RelocJumpSlot,
		1027: RelocRelative,
		1028: RelocTLSGD,
		1029: RelocTLSGD,
		1030: RelocTLSIE,
		1031: RelocTLSDesc,
		1032: RelocIRelative,
	},
	elf.EM_ARM: {
		1:   RelocWord,
		2:   RelocWord,
		3:   RelocWord,
		13:  RelocTLSDesc,
		17:  RelocTLSGD,
		18:  RelocTLSGD,
		19:  RelocTLSIE,
		20:  RelocCopy,
		21:  RelocGlobDat,
		22:  RelocJumpSlot,
		23:  RelocRelative,
		160: RelocIRelative,
	},
	elf.EM_PPC64: {
		1:   RelocWord,
		19:  RelocCopy,
		20:  RelocGlobDat,
		21:  RelocJumpSlot,
		22:  RelocRelative,
		26:  RelocWord,
		38:  RelocWord,
		43:  RelocWord,
		44:  RelocWord,
		68:  RelocTLSGD,
		73:  RelocTLSIE,
		78:  RelocTLSGD,
		247: RelocIRelative,
		248: RelocIRelative,
	},
	elf.EM_PPC: {
		1:   RelocWord,
		10:  RelocWord,
		19:  RelocCopy,
		20:  RelocGlobDat,
		21:  RelocJumpSlot,
		22:  RelocRelative,
		24:  RelocWord,
		26:  RelocWord,
		68:  RelocTLSGD,
		73:  RelocTLSIE,
		78:  RelocTLSGD,
		248: RelocIRelative,
	},
	elf.EM_S390: {
		4:  RelocWord,
		5:  RelocWord,
		9:  RelocCopy,
		10: RelocGlobDat,
		11: RelocJumpSlot,
		12: RelocRelative,
		22: RelocWord,
		23: RelocWord,
		54: RelocTLSGD,
		55: RelocTLSGD,
		56: RelocTLSIE,
		61: RelocIRelative,
	},
	elf.EM_RISCV: {
		1:  RelocWord,
		2:  RelocWord,
		3:  RelocRelative,
		4:  RelocCopy,
		5:  RelocJumpSlot,
		6:  RelocTLSGD,
		7:  RelocTLSGD,
		8:  RelocTLSGD,
		9:  RelocTLSGD,
		10: RelocTLSIE,
		11: RelocTLSIE,
		12: RelocTLSDesc,
		58: RelocIRelative,
	},
	elf.EM_LOONGARCH: {
		1:  RelocWord,
		2:  RelocWord,
		3:  RelocRelative,
		4:  RelocCopy,
		5:  RelocJumpSlot,
		6:  RelocTLSGD,
		7:  RelocTLSGD,
		8:  RelocTLSGD,
		9:  RelocTLSGD,
		10: RelocTLSIE,
		11: RelocTLSIE,
		12: RelocIRelative,
		13: RelocTLSDesc,
		14: RelocTLSDesc,
	},
	elf.EM_MIPS: {
		2:   RelocWord,
		3:   RelocWord,
		18:  RelocWord,
		38:  RelocTLSGD,
		39:  RelocTLSGD,
		40:  RelocTLSGD,
		41:  RelocTLSGD,
		47:  RelocTLSIE,
		48:  RelocTLSIE,
		51:  RelocGlobDat,
		126: RelocCopy,
		127: RelocJumpSlot,
		128: RelocIRelative,
	},
	elf.EM_SPARCV9: {
		3:   RelocWord,
		19:  RelocCopy,
		20:  RelocGlobDat,
		21:  RelocJumpSlot,
		22:  RelocRelative,
		23:  RelocWord,
		32:  RelocWord,
		54:  RelocWord,
		74:  RelocTLSGD,
		75:  RelocTLSGD,
		76:  RelocTLSGD,
		77:  RelocTLSGD,
		78:  RelocTLSIE,
		79:  RelocTLSIE,
		248: RelocIRelative,
		249: RelocIRelative,
	},
}

// symbolUses collects the relocations of an object.
type symbolUses struct {
	of    []Relocs // by symbol index; symbols after the end are not used
	local Relocs   // kinds of the relocations without a symbol
	count uint64   // one more than the largest index
}

// get returns the kinds for a symbol, or RelocNone if no relocation refers to it.
func (u *symbolUses) get(i uint64) Relocs {
	if i < uint64(len(u.of)) && u.of[i] != 0 {
		return u.of[i]
	}
	return RelocNone
}

// add records a relocation. It returns false if the index is not below limit, so that an
// invalid file cannot make the table large.
func (u *symbolUses) add(i, limit uint64, way Relocs) bool {
	if i == 0 {
		u.local |= way
		return true
	}
	u.count = max(u.count, i+1)
	if i >= limit {
		return false
	}
	if n := uint64(len(u.of)); i >= n {
		u.of = append(u.of, make([]Relocs, max(i+1-n, min(n, limit-n)))...)
	}
	u.of[i] |= way
	return true
}

// readUses reads DT_REL, DT_RELA and DT_JMPREL. It stops at an index that is not below limit,
// the number of symbols that fit in the symbol table.
func readUses(m *image, d *dynamic, o *Object, limit uint64) (*symbolUses, error) {
	limit = min(limit, maxSymbols+1)
	kinds := relocKinds[elf.Machine(o.Machine)]
	mips := elf.Machine(o.Machine) == elf.EM_MIPS
	u := &symbolUses{}
	plt := elf.DynTag(d.value(elf.DT_PLTREL))
	for _, t := range []struct {
		addr, size elf.DynTag
		addend     bool
	}{{elf.DT_RELA, elf.DT_RELASZ, true}, {elf.DT_REL, elf.DT_RELSZ, false},
		{elf.DT_JMPREL, elf.DT_PLTRELSZ, plt == elf.DT_RELA}} {
		size := d.value(t.size)
		if !d.has(t.addr) || size == 0 {
			continue
		}
		what := "the relocation table (" + t.addr.String() + ")"
		off, err := m.table(d.value(t.addr), size, what)
		if err != nil {
			return nil, err
		}
		entry := 2 * m.wordSize()
		if t.addend {
			entry += m.wordSize()
		}
		err = m.each(off, size, entry, what, func(_ uint64, b []byte) (bool, error) {
			var sym uint64
			var typ uint32
			switch {
			case !m.wide:
				info := m.order.Uint32(b[4:])
				sym, typ = uint64(info>>8), info&0xff
			case mips: // 64-bit MIPS has a separate word for the index, before the types
				sym, typ = uint64(m.order.Uint32(b[8:])), uint32(b[15])
			default:
				info := m.order.Uint64(b[8:])
				sym, typ = info>>32, uint32(info)
			}
			way := RelocOther
			switch {
			case typ == 0: // R_*_NONE: removed by a tool
				way = 0
			case mips && sym == 0 && (typ == 3 || typ == 18):
				way = RelocRelative
			case uint64(typ) < uint64(len(kinds)) && kinds[typ] != 0:
				way = kinds[typ]
			}
			return u.add(sym, limit, way), nil
		})
		if err != nil {
			return nil, err
		}
	}
	if mips { // the global part of the GOT is relocated without relocation entries
		const gotsym = elf.DynTag(0x70000013) // DT_MIPS_GOTSYM
		for i := max(d.value(gotsym), 1); d.has(gotsym) && i < min(d.value(dtMIPSSymtabno), limit); i++ {
			u.add(i, limit, RelocGlobDat)
		}
	}
	return u, nil
}

// dtMIPSSymtabno is DT_MIPS_SYMTABNO, the number of symbols.
const dtMIPSSymtabno = elf.DynTag(0x70000011)
