package machoobj

import (
	"bytes"
	"encoding/binary"
)

// Fields of a symbol (struct nlist, mach-o/nlist.h).
const (
	stabMask      = 0xe0 // debugging entries
	privateExtern = 0x10
	typeMask      = 0x0e
	external      = 0x01
	typeUndefined = 0x0

	descWeakImport = 0x40
	descWeakDef    = 0x80

	ordinalFlat = 0xfe
	ordinalMain = 0xff
)

// symtab reads the symbol table. It is needed only for files without fixups (before macOS 10.6) or
// without an export trie.
func (i *image) symtab(imports, exports bool) error {
	command := i.tables[cmdSymtab]
	le := binary.LittleEndian
	off, n := place(command)
	length := uint64(12)
	if i.wide {
		length = 16
	}
	if n > maxSymbols {
		return tooLarge("the number of symbols", n, maxSymbols)
	}
	b, err := i.table(off, n*length, "the symbol table")
	if err != nil {
		return err
	}
	off, count := place(command[8:])
	names, err := i.table(off, count, "the string table")
	if err != nil {
		return err
	}
	if imports {
		i.o.Fixups = Table
	}
	list, spelled := newImportList(i.o), 0
	for ; len(b) > 0; b = b[length:] {
		kind, desc := b[4], le.Uint16(b[6:])
		if kind&stabMask != 0 || kind&external == 0 || kind&privateExtern != 0 {
			continue
		}
		undefined := kind&typeMask == typeUndefined
		if undefined && !imports || !undefined && !exports {
			continue
		}
		at := uint64(le.Uint32(b))
		if at >= uint64(len(names)) {
			return damaged("a symbol has its name at %d of %d bytes", at, len(names))
		}
		end := bytes.IndexByte(names[at:min(at+maxName, uint64(len(names)))], 0)
		if end < 0 {
			return truncated("the name of a symbol at %d does not end", at)
		}
		name := string(names[at : at+uint64(end)])
		if undefined {
			if err := list.add(Import{Name: name, Ordinal: tableOrdinal(i.o, desc),
				Weak: desc&descWeakImport != 0}); err != nil {
				return err
			}
			continue
		}
		if spelled += len(name); spelled > maxExported {
			return tooLarge("the length of all exported names", uint64(spelled), maxExported)
		}
		i.o.Exports = append(i.o.Exports, Export{Name: name, Weak: desc&descWeakDef != 0})
	}
	sortExports(i.o)
	return nil
}

// tableOrdinal returns the ordinal in the high byte of n_desc.
func tableOrdinal(o *Object, desc uint16) int {
	switch n := int(desc >> 8); {
	case !o.TwoLevel || n == ordinalFlat:
		return Flat
	case n == ordinalMain:
		return Main
	default:
		return n
	}
}
