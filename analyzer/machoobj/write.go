package machoobj

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Write returns a thin file of one object, or a fat file of several. It is meant for tests: the
// file has no code, and Read returns equal objects. It returns an error for what a file cannot
// contain, such as two objects for one architecture.
func Write(objects ...*Object) ([]byte, error) { return write(objects, 0) }

// write writes slices with code zero bytes between the load commands and __LINKEDIT.
func write(objects []*Object, code int) ([]byte, error) {
	var parts [][]byte
	var archs []string
	for _, o := range objects {
		b, err := writeSlice(o, code)
		if err != nil {
			return nil, err
		}
		if slices.Contains(archs, o.Arch) {
			return nil, fmt.Errorf("two objects are for %s", o.Arch)
		}
		parts, archs = append(parts, b), append(archs, o.Arch)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	const align = 4
	const page = 1 << align
	be := binary.BigEndian
	head := be.AppendUint32(be.AppendUint32(nil, magicFat), uint32(len(parts)))
	start := (len(head) + 20*len(parts) + page - 1) / page * page
	var body []byte
	for n, b := range parts {
		body = pad(body, page)
		cpu := archNumbers.Get()[archs[n]]
		for _, v := range []uint32{cpu[0], cpu[1], uint32(start + len(body)), uint32(len(b)), align} {
			head = be.AppendUint32(head, v)
		}
		body = append(body, b...)
	}
	return append(pad(head, page), body...), nil
}

func pad(b []byte, to int) []byte {
	return append(b, make([]byte, (to-len(b)%to)%to)...)
}

// sizeHeader is the size of mach_header_64; the 32-bit header is four bytes smaller.
const sizeHeader = 32

// writer builds a slice: load commands, then the tables that they refer to.
type writer struct {
	o        *Object
	wide     bool
	count    uint32
	commands []byte
	linkedit []byte
	base     int // offset of linkedit in the file
}

func writeSlice(o *Object, code int) ([]byte, error) {
	cpu, ok := archNumbers.Get()[o.Arch]
	if !ok {
		return nil, fmt.Errorf("architecture %q cannot be written", o.Arch)
	}
	// The size of the commands does not depend on the offsets of tables; the first pass measures
	// it.
	w := &writer{o: o, wide: cpu[0]&cpu64 != 0}
	if err := w.all(); err != nil {
		return nil, err
	}
	const align = 16
	w = &writer{o: o, wide: w.wide,
		base: (sizeHeader+len(w.commands)+align-1)/align*align + code}
	if err := w.all(); err != nil {
		return nil, err
	}
	var kind, flags uint32
	for n, t := range fileTypes.Get() {
		if t == o.Type {
			kind = n
		}
	}
	flags = 0x4 // MH_DYLDLINK
	if o.TwoLevel {
		flags |= flagTwoLevel
	}
	if o.ThreadLocals {
		flags |= flagThreadLocals
	}
	magic := uint32(0xfeedface)
	if w.wide {
		magic = 0xfeedfacf
	}
	head := words(magic, cpu[0], cpu[1], kind, w.count, uint32(len(w.commands)), flags)
	if w.wide {
		head = append(head, 0, 0, 0, 0)
	}
	head = append(head, w.commands...)
	b := append(append(head, make([]byte, w.base-len(head))...), w.linkedit...)
	if o.Signature != nil {
		signed := signing{identifier: "compat", kind: hashSHA256}.sign(b)
		if o.Signature.Stale != "" {
			b[27] ^= 0x40 // an unused bit of the flags
		}
		b = append(b, signed...)
	}
	return b, nil
}

func words(vs ...uint32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// command adds a load command; text follows its fixed part.
func (w *writer) command(cmd uint32, fixed []byte, text string) {
	b := pad(append(append(make([]byte, 8), fixed...), text...), 8)
	copy(b, words(cmd, uint32(len(b))))
	w.commands = append(w.commands, b...)
	w.count++
}

// table appends bytes to the file and returns their offset and size.
func (w *writer) table(b []byte) (off, size uint32) {
	w.linkedit = pad(w.linkedit, 8)
	off = uint32(w.base + len(w.linkedit))
	w.linkedit = append(w.linkedit, b...)
	return off, uint32(len(b))
}

func (w *writer) all() error {
	o := w.o
	if o.Type == Dylib {
		w.command(cmdID, words(24, 1, uint32(o.Current), uint32(o.Compatibility)), o.InstallName+"\x00")
	}
	for n, p := range platforms.Get() {
		if p == o.Platform {
			w.command(cmdBuildVersion, words(n, uint32(o.MinOS), uint32(o.SDK), 0), "")
		}
	}
	for _, n := range o.Needed {
		cmd := uint32(cmdLoad)
		switch {
		case n.Weak:
			cmd = cmdLoadWeak | requiredByDyld
		case n.Reexport:
			cmd = cmdReexport | requiredByDyld
		case n.Upward:
			cmd = cmdLoadUpward | requiredByDyld
		case n.Lazy:
			cmd = cmdLoadLazy
		}
		w.command(cmd, words(24, 2, uint32(n.Current), uint32(n.Compatibility)), n.Path+"\x00")
	}
	for _, p := range o.RunPaths {
		w.command(cmdRunPath|requiredByDyld, words(12), p+"\x00")
	}
	if err := w.symbols(); err != nil {
		return err
	}
	if w.wide {
		segment := append([]byte("__LINKEDIT"), make([]byte, 6+4*8+4*4)...)
		binary.LittleEndian.PutUint64(segment[32:], uint64(w.base))
		w.command(cmdSegment64, segment, "")
	}
	if o.Signature != nil {
		w.linkedit = pad(w.linkedit, 8)
		off := w.base + len(w.linkedit)
		size := len(signing{identifier: "compat", kind: hashSHA256}.sign(make([]byte, off)))
		w.command(cmdSignature, words(uint32(off), uint32(size)), "")
	}
	return nil
}

func (w *writer) symbols() error {
	trie, err := writeTrie(w.o.Exports)
	if err != nil {
		return err
	}
	switch w.o.Fixups {
	case Opcodes:
		bind, lazy, weak := w.opcodes()
		bo, bn := w.table(bind)
		wo, wn := w.table(weak)
		lo, ln := w.table(lazy)
		to, tn := w.table(trie)
		w.command(cmdDyldInfo|requiredByDyld, words(0, 0, bo, bn, wo, wn, lo, ln, to, tn), "")
	case Chained:
		b, err := w.chained()
		if err != nil {
			return err
		}
		off, size := w.table(b)
		w.command(cmdChainedFixups|requiredByDyld, words(off, size), "")
		off, size = w.table(trie)
		w.command(cmdExportsTrie|requiredByDyld, words(off, size), "")
	case Table:
		w.symtab()
	}
	return nil
}

// opcodes writes each import separately.
func (w *writer) opcodes() (bind, lazy, weak []byte) {
	for _, i := range w.o.Imports {
		to := &bind
		switch {
		case i.Coalesced:
			to = &weak
		case i.Lazy:
			to = &lazy
		}
		b := *to
		if i.Ordinal > 0 {
			b = append(b, opOrdinalLong)
			b = binary.AppendUvarint(b, uint64(i.Ordinal))
		} else {
			b = append(b, opOrdinalShort|byte(i.Ordinal)&0xf)
		}
		op := byte(opName)
		if i.Weak {
			op |= nameWeakImport
		}
		b = append(append(append(b, op), i.Name...), 0, opType|1, opBind)
		if i.Lazy {
			b = append(b, opDone)
		}
		*to = b
	}
	return bind, lazy, weak
}

// chained writes the imports table in format 3, without chains.
func (w *writer) chained() ([]byte, error) {
	var table, names []byte
	names = append(names, 0)
	for _, i := range w.o.Imports {
		if i.Lazy || i.Coalesced {
			return nil, fmt.Errorf("%s: chained fixups are neither lazy nor coalesced", i.Name)
		}
		v := uint64(len(names))<<32 | uint64(uint16(i.Ordinal))
		if i.Weak {
			v |= 1 << 16
		}
		table = append(binary.LittleEndian.AppendUint64(table, v), make([]byte, 8)...)
		names = append(append(names, i.Name...), 0)
	}
	head := words(0, 28, 32, uint32(32+len(table)), uint32(len(w.o.Imports)), 3, 0)
	return slices.Concat(head, words(0), table, names), nil
}

// writeTrie writes a trie with a leaf for each export. A node has at most 255 children.
func writeTrie(exports []Export) ([]byte, error) {
	if len(exports) == 0 {
		return nil, nil
	}
	const most = 200
	// The root has empty edges to groups, and each group an edge per symbol. Offsets have a fixed
	// width, so that one pass is enough.
	const width = 5
	place := func(b []byte, at int) {
		for k := range width {
			b[k] = byte(at >> (7 * k) & 0x7f)
			if k < width-1 {
				b[k] |= 0x80
			}
		}
	}
	groups := slices.Collect(slices.Chunk(exports, most))
	if len(groups) > 255 {
		return nil, fmt.Errorf("%d exports are more than Write can write", len(exports))
	}
	b := []byte{0, byte(len(groups))}
	holes := make([]int, len(groups))
	for n := range groups {
		b = append(b, 0)
		holes[n] = len(b)
		b = append(b, make([]byte, width)...)
	}
	for n, g := range groups {
		place(b[holes[n]:], len(b))
		b = append(b, 0, byte(len(g)))
		edges := make([]int, len(g))
		for k, e := range g {
			b = append(append(b, e.Name...), 0)
			edges[k] = len(b)
			b = append(b, make([]byte, width)...)
		}
		for k, e := range g {
			place(b[edges[k]:], len(b))
			entry := trieEntry(e)
			b = append(append(binary.AppendUvarint(b, uint64(len(entry))), entry...), 0)
		}
	}
	return b, nil
}

func trieEntry(e Export) []byte {
	var flags uint64
	if e.ThreadLocal {
		flags |= exportTLV
	}
	if e.Weak {
		flags |= exportWeak
	}
	if e.Ordinal == 0 {
		return append(binary.AppendUvarint(nil, flags), 0)
	}
	b := binary.AppendUvarint(nil, flags|exportReexport)
	b = binary.AppendUvarint(b, uint64(e.Ordinal))
	if e.As != e.Name {
		b = append(b, e.As...)
	}
	return append(b, 0)
}

// symtab writes undefined and defined symbols.
func (w *writer) symtab() {
	names := []byte{0}
	var table []byte
	add := func(name string, kind byte, section byte, desc uint16) {
		table = append(table, words(uint32(len(names)))...)
		table = append(table, kind, section, byte(desc), byte(desc>>8))
		table = append(table, make([]byte, 4)...)
		if w.wide {
			table = append(table, make([]byte, 4)...)
		}
		names = append(append(names, name...), 0)
	}
	for _, i := range w.o.Imports {
		desc := uint16(uint8(i.Ordinal)) << 8
		switch i.Ordinal {
		case Flat:
			desc = ordinalFlat << 8
		case Main:
			desc = ordinalMain << 8
		}
		if i.Weak {
			desc |= descWeakImport
		}
		add(i.Name, typeUndefined|external, 0, desc)
	}
	for _, e := range w.o.Exports {
		desc := uint16(0)
		if e.Weak {
			desc = descWeakDef
		}
		add(e.Name, 0xe|external, 1, desc)
	}
	so, _ := w.table(table)
	no, nn := w.table(names)
	w.command(cmdSymtab, words(so, uint32(len(w.o.Imports)+len(w.o.Exports)), no, nn), "")
}
