package machoobj

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// importList collects imports without duplicates of name, ordinal and kind.
type importList struct {
	o    *Object
	seen map[Import]bool
	text int
}

func newImportList(o *Object) *importList {
	return &importList{o: o, seen: map[Import]bool{}}
}

func (l *importList) add(i Import) error {
	switch {
	case i.Name == "":
		return damaged("an import has no name")
	case i.Ordinal > len(l.o.Needed) || i.Ordinal < AnyDef:
		return damaged("the import %.100q is of library %d; %d are needed",
			i.Name, i.Ordinal, len(l.o.Needed))
	case l.seen[i]:
		return nil
	case len(l.o.Imports) == maxSymbols:
		return tooLarge("the number of imports", maxSymbols+1, maxSymbols)
	}
	if l.text += len(i.Name); l.text > maxText {
		return tooLarge("the length of all imported names", uint64(l.text), maxText)
	}
	l.seen[i] = true
	l.o.Imports = append(l.o.Imports, i)
	return nil
}

// Bind opcodes (mach-o/loader.h): the high four bits; the low ones are an immediate value.
const (
	opDone          = 0x00
	opOrdinal       = 0x10
	opOrdinalLong   = 0x20
	opOrdinalShort  = 0x30 // special ordinals, negative
	opName          = 0x40
	opType          = 0x50
	opAddend        = 0x60
	opSegment       = 0x70
	opAddAddress    = 0x80
	opBind          = 0x90
	opBindAdd       = 0xa0
	opBindScaled    = 0xb0
	opBindTimes     = 0xc0
	opThreaded      = 0xd0
	nameWeakImport  = 1
	nameStrongInWeb = 8 // weak stream only: this file has a strong definition, so it is not an import
)

// opcodes reads the three streams of LC_DYLD_INFO.
func (i *image) opcodes(info []byte) error {
	l := newImportList(i.o)
	for _, s := range []struct {
		at         int
		what       string
		weak, lazy bool
	}{{8, "bind", false, false}, {16, "weak bind", true, false}, {24, "lazy bind", false, true}} {
		off, count := place(info[s.at:])
		b, err := i.table(off, count, "the list of "+s.what+" opcodes")
		if err != nil {
			return err
		}
		if err := stream(b, l, s.weak, s.lazy); err != nil {
			return fmt.Errorf("the list of %s opcodes: %w", s.what, err)
		}
	}
	return nil
}

// stream interprets opcodes only as far as needed for imports; the addresses to bind are ignored.
func stream(b []byte, l *importList, weak, lazy bool) error {
	c := &cursor{b: b}
	now := Import{Lazy: lazy, Coalesced: weak}
	if weak {
		now.Ordinal = AnyDef
	}
	strong, ended := false, false
	for c.at < len(b) && !ended {
		op := c.u8()
		imm := int(op & 0xf)
		bind := false
		switch op & 0xf0 {
		case opDone:
			ended = !lazy // DONE separates the entries of the lazy stream
		case opOrdinal:
			now.Ordinal = imm
		case opOrdinalLong:
			now.Ordinal = c.count()
		case opOrdinalShort:
			now.Ordinal = 0
			if imm != 0 {
				now.Ordinal = imm - 16
			}
		case opName:
			now.Name = string(c.text())
			now.Weak, strong = imm&nameWeakImport != 0, imm&nameStrongInWeb != 0
		case opType:
		case opAddend:
			c.sleb()
		case opSegment, opAddAddress:
			c.uleb()
		case opBind, opBindScaled:
			bind = true
		case opBindAdd:
			c.uleb()
			bind = true
		case opBindTimes:
			bind = c.uleb() > 0
			c.uleb()
		case opThreaded:
			if imm == 0 {
				c.uleb() // size of the ordinal table for threaded binds
			}
		default:
			return damaged("opcode %#x is not known", op)
		}
		if c.bad {
			return truncated("opcode %#x is cut off", op)
		}
		if bind && !strong {
			if err := l.add(now); err != nil {
				return err
			}
		}
	}
	return nil
}

// sleb skips a signed LEB128 number.
func (c *cursor) sleb() {
	for range 10 {
		if c.u8() < 0x80 {
			return
		}
	}
	c.bad = true
}

// chained reads the imports table of LC_DYLD_CHAINED_FIXUPS (mach-o/fixup-chains.h).
func (i *image) chained(command []byte) error {
	const what = "the table of chained fixups"
	off, count := place(command)
	if count == 0 {
		return nil
	}
	b, err := i.table(off, count, what)
	if err != nil {
		return err
	}
	if len(b) < 28 {
		return truncated("%s has %d bytes", what, len(b))
	}
	le := binary.LittleEndian
	imports, symbols := uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
	n, format, packed := uint64(le.Uint32(b[16:])), le.Uint32(b[20:]), le.Uint32(b[24:])
	if packed != 0 {
		return damaged("the names of imports have the unsupported format %d", packed)
	}
	length := map[uint32]uint64{1: 4, 2: 8, 3: 16}[format]
	switch {
	case n == 0:
		return nil
	case length == 0:
		return damaged("%s has imports of format %d", what, format)
	case n > maxSymbols:
		return tooLarge("the number of imports", n, maxSymbols)
	case imports+n*length > uint64(len(b)) || symbols > uint64(len(b)):
		return truncated("%s has %d imports at %d and names at %d in %d bytes",
			what, n, imports, symbols, len(b))
	}
	l := newImportList(i.o)
	for k := range n {
		at := b[imports+k*length:]
		v := le.Uint32(at)
		name, imp := uint64(v>>9), Import{Ordinal: negative(int(v&0xff), 8), Weak: v>>8&1 != 0}
		if format == 3 {
			w := le.Uint64(at)
			name, imp = w>>32, Import{Ordinal: negative(int(w&0xffff), 16), Weak: w>>16&1 != 0}
		}
		if name >= uint64(len(b))-symbols {
			return damaged("import %d has its name past the end of %s", k, what)
		}
		c := &cursor{b: b[symbols+name:]}
		imp.Name = string(c.text())
		if c.bad {
			return truncated("the name of import %d of %s does not end", k, what)
		}
		if err := l.add(imp); err != nil {
			return err
		}
	}
	return nil
}

// negative converts an ordinal with that many bits; the sixteen highest values are negative.
func negative(n, bits int) int {
	if n > 1<<bits-16 {
		return n - 1<<bits
	}
	return n
}

// sortExports sorts exports by name for Object.Export and keeps the first of each name.
func sortExports(o *Object) {
	slices.SortStableFunc(o.Exports, func(a, b Export) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	o.Exports = slices.CompactFunc(o.Exports, func(a, b Export) bool { return a.Name == b.Name })
}
