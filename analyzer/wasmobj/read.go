package wasmobj

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Limits. The largest module of Pyodide is its main program. It has 11,000 exports and 40,000
// functions, and its section of exports has 0.5 MB.
const (
	maxSection  = 16 << 20  // bytes of a section that is read
	maxSections = 10_000    // more than any toolchain writes
	maxEntries  = 1_000_000 // of all lists together
)

// Sections of a module.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionExport   = 7
	sectionTag      = 13
)

const magic = "\x00asm\x01\x00\x00\x00"

// Is reports whether a file begins like a WebAssembly module.
func Is(head []byte) bool { return strings.HasPrefix(string(head), magic) }

// Read reads a module. Errors wrap ErrNotWasm, ErrDamaged or ErrTooLarge, or are those of r.
func Read(r io.ReaderAt, size int64) (*Object, error) {
	head := make([]byte, len(magic))
	if _, err := r.ReadAt(head, 0); err != nil || !Is(head) {
		return nil, ErrNotWasm
	}
	m := module{r: r, size: size, left: maxEntries}
	at := int64(len(magic))
	for n := 0; at < size; n++ {
		if n >= maxSections {
			return nil, fmt.Errorf("%w: it has more than %d sections", ErrTooLarge, maxSections)
		}
		m.first = n == 0
		next, err := m.section(at)
		if err != nil {
			return nil, err
		}
		at = next
	}
	return m.object()
}

// module is a module that is read.
type module struct {
	r    io.ReaderAt
	size int64
	left int // entries that may still be read

	first bool // the section that is read is the first one

	o     Object
	types []string // of functions
	funcs []uint32 // types of all functions, those of imports first
	tags  []uint32 // likewise of all tags
	// exports and types of imports by the index of their type, until all sections are read
	exported []export
	imported []uint32
	weak     map[string]bool // imports by name
}

type export struct {
	Export
	index uint32
}

// section reads the section at an offset, and returns the offset of the next one.
func (m *module) section(at int64) (next int64, err error) {
	head := make([]byte, min(6, m.size-at))
	if _, err := m.r.ReadAt(head, at); err != nil {
		return 0, err
	}
	c := cursor{b: head[1:]}
	length := int64(c.u32())
	start := at + 1 + int64(len(head)-1-len(c.b))
	next = start + length
	if c.bad || next > m.size {
		return 0, fmt.Errorf("%w: the section at %d is longer than the file", ErrDamaged, at)
	}
	parse := map[byte]func(*module, *cursor){
		sectionCustom: (*module).custom, sectionType: (*module).readTypes,
		sectionImport: (*module).readImports, sectionFunction: (*module).readFunctions,
		sectionExport: (*module).readExports, sectionTag: (*module).readTags,
	}[head[0]]
	if parse == nil || head[0] == sectionCustom && !m.wanted(start, length) {
		return next, nil
	}
	if length > maxSection {
		return 0, fmt.Errorf("%w: a section has %d bytes", ErrTooLarge, length)
	}
	body := make([]byte, length)
	if _, err := m.r.ReadAt(body, start); err != nil && length > 0 {
		return 0, err
	}
	b := cursor{b: body, left: &m.left}
	switch parse(m, &b); {
	case m.left < 0:
		return 0, fmt.Errorf("%w: it has more than %d symbols and types", ErrTooLarge, maxEntries)
	case b.bad:
		return 0, fmt.Errorf("%w: section %d at %d", ErrDamaged, head[0], at)
	}
	return next, nil
}

// Custom sections that are read.
const (
	dylink    = "dylink.0"
	producers = "producers"
)

// wanted reports whether a custom section is read, by its name. Those of debug information may be
// larger than all others together.
func (m *module) wanted(start, length int64) bool {
	b := make([]byte, min(length, int64(1+len(producers))))
	if _, err := m.r.ReadAt(b, start); err != nil {
		return false
	}
	name := string(b[min(1, len(b)):])
	return strings.HasPrefix(name, dylink) || name == producers
}

func (m *module) custom(c *cursor) {
	switch c.name() {
	case dylink:
		if m.first {
			m.dylink(c)
		}
	case producers:
		for range c.count() {
			field := c.name()
			for range c.count() {
				tool := strings.TrimSpace(c.name() + " " + c.name())
				if field == "processed-by" && !c.bad {
					m.o.Tools = append(m.o.Tools, tool)
				}
			}
		}
	}
}

// Subsections of dylink.0, and flags of symbols (llvm, BinaryFormat/Wasm.h).
const (
	dylinkNeeded  = 2
	dylinkImports = 4
	dylinkRunPath = 5

	bindingMask = 3
	bindingWeak = 1
)

func (m *module) dylink(c *cursor) {
	m.o.Dynamic = true
	for len(c.b) > 0 && !c.bad {
		kind := c.byte()
		s := cursor{b: c.bytes(c.u32()), left: c.left}
		switch kind {
		case dylinkNeeded:
			m.o.Needed = s.names()
		case dylinkRunPath:
			m.o.RunPaths = s.names()
		case dylinkImports:
			for range s.count() {
				s.name() // of the module; Emscripten compares names only
				if name := s.name(); s.u32()&bindingMask == bindingWeak {
					if m.weak == nil {
						m.weak = map[string]bool{}
					}
					m.weak[name] = true
				}
			}
		}
		c.bad = c.bad || s.bad
	}
}

// Value types of the binary format; references have more than these.
const (
	typeI32  = 0x7f
	typeI64  = 0x7e
	typeF32  = 0x7d
	typeF64  = 0x7c
	typeV128 = 0x7b
	typeFunc = 0x60
	refNull  = 0x63 // followed by a heap type
	ref      = 0x64
)

// values reads a list of value types.
func (c *cursor) values() string {
	n := c.count()
	out := make([]byte, 0, n)
	for range n {
		switch t := c.byte(); t {
		case typeI32:
			out = append(out, 'i')
		case typeI64:
			out = append(out, 'j')
		case typeF32:
			out = append(out, 'f')
		case typeF64:
			out = append(out, 'd')
		case typeV128:
			out = append(out, 'v')
		case refNull, ref:
			c.skipSigned()
			out = append(out, 'r')
		default:
			out = append(out, 'r')
		}
	}
	return string(out)
}

// readTypes reads the types of functions. Types of other kinds (of garbage collection) end the
// list: what uses them is unknown.
func (m *module) readTypes(c *cursor) {
	for range c.count() {
		if c.byte() != typeFunc {
			return
		}
		m.types = append(m.types, c.values()+">"+c.values())
	}
}

func (m *module) readImports(c *cursor) {
	for range c.count() {
		i := Import{Module: c.name(), Name: c.name(), Kind: Kind(c.byte())}
		index := uint32(noType)
		switch i.Kind {
		case Func:
			index = c.u32()
			m.funcs = append(m.funcs, index)
		case Table:
			c.valueType()
			c.limits()
		case Memory:
			i.Shared = c.limits()&limitShared != 0
		case Global:
			c.valueType()
			c.byte() // whether it is mutable
		case Tag:
			c.byte() // its attribute, 0
			index = c.u32()
			m.tags = append(m.tags, index)
		default:
			c.bad = true
		}
		if c.bad {
			return
		}
		m.o.Imports = append(m.o.Imports, i)
		m.imported = append(m.imported, index)
	}
}

// noType is the index of what has no type of a function.
const noType = math.MaxUint32

func (m *module) readFunctions(c *cursor) {
	for range c.count() {
		m.funcs = append(m.funcs, c.u32())
	}
}

func (m *module) readTags(c *cursor) {
	for range c.count() {
		c.byte()
		m.tags = append(m.tags, c.u32())
	}
}

func (m *module) readExports(c *cursor) {
	for range c.count() {
		e := export{Export: Export{Name: c.name(), Kind: Kind(c.byte())}, index: c.u32()}
		if c.bad || int(e.Kind) >= len(kindNames) {
			c.bad = true
			return
		}
		m.exported = append(m.exported, e)
	}
}

// object adds the types, which may be in sections after those that refer to them.
func (m *module) object() (*Object, error) {
	of := func(index uint32) string {
		if int64(index) < int64(len(m.types)) {
			return m.types[index]
		}
		return ""
	}
	for n := range m.o.Imports {
		i := &m.o.Imports[n]
		i.Type, i.Weak = of(m.imported[n]), m.weak[i.Name]
	}
	for _, e := range m.exported {
		list := m.funcs
		if e.Kind == Tag {
			list = m.tags
		}
		switch {
		case e.Kind != Func && e.Kind != Tag:
		case int64(e.index) >= int64(len(list)):
			return nil, fmt.Errorf("%w: the export %.60q is %v %d of %d", ErrDamaged, e.Name, e.Kind,
				e.index, len(list))
		default:
			e.Type = of(list[e.index])
		}
		m.o.Exports = append(m.o.Exports, e.Export)
	}
	return &m.o, nil
}

// cursor reads values from bytes. After an error, bad is set and all values are zero.
type cursor struct {
	b    []byte
	bad  bool
	left *int // see module
}

func (c *cursor) fail() { c.b, c.bad = nil, true }

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail()
		return 0
	}
	x := c.b[0]
	c.b = c.b[1:]
	return x
}

// u32 reads an unsigned number of at most 32 bits (LEB128).
func (c *cursor) u32() uint32 {
	var x uint64
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if x > math.MaxUint32 {
				break
			}
			return uint32(x)
		}
	}
	c.fail()
	return 0
}

// skipSigned skips a signed number.
func (c *cursor) skipSigned() {
	for range 10 {
		if c.byte() < 0x80 {
			return
		}
	}
	c.fail()
}

// count reads the number of entries that follow, each of which has at least one byte.
func (c *cursor) count() int {
	n := c.u32()
	if int64(n) > int64(len(c.b)) {
		c.fail()
		return 0
	}
	if *c.left -= int(n); *c.left < 0 {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *cursor) bytes(n uint32) []byte {
	if int64(n) > int64(len(c.b)) {
		c.fail()
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

// name reads a name, which has to be UTF-8.
func (c *cursor) name() string {
	b := c.bytes(c.u32())
	if !utf8.Valid(b) {
		c.fail()
		return ""
	}
	return string(bytes.Clone(b))
}

func (c *cursor) names() (out []string) {
	for range c.count() {
		out = append(out, c.name())
	}
	return out
}

// valueType skips a value type.
func (c *cursor) valueType() {
	if t := c.byte(); t == refNull || t == ref {
		c.skipSigned()
	}
}

// Flags of limits: a maximum follows, threads share it, and the numbers have 64 bits.
const (
	limitMax    = 1
	limitShared = 2
	limit64     = 4
)

// limits skips the limits of a table or memory, and returns their flags.
func (c *cursor) limits() (flags byte) {
	flags = c.byte()
	c.number(flags)
	if flags&limitMax != 0 {
		c.number(flags)
	}
	return flags
}

func (c *cursor) number(flags byte) {
	if flags&limit64 != 0 {
		c.skipSigned() // as long as an unsigned one
		return
	}
	c.u32()
}
