package machoobj

import (
	"fmt"
	"strings"
)

// Flags of an entry of the export trie (EXPORT_SYMBOL_FLAGS_… of mach-o/loader.h).
const (
	exportKind     = 0x03
	exportTLV      = 0x01
	exportWeak     = 0x04
	exportReexport = 0x08
	exportResolver = 0x10
)

// node is a node of the trie with children left to read.
type node struct {
	at     int // offset of the next child
	left   int // number of children left
	prefix int // length of its name
}

// trie reads the export trie. A node has a length, an entry, the number of children and, for each
// child, a part of the name and the offset of a node.
func (i *image) trie(off, count uint64) error {
	const what = "the export trie"
	b, err := i.table(off, count, what)
	if err != nil || len(b) == 0 {
		return err
	}
	t := &trieReader{b: b, o: i.o, visited: make([]uint64, len(b)/64+1)}
	if err := t.run(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	sortExports(i.o)
	return nil
}

type trieReader struct {
	b       []byte
	o       *Object
	visited []uint64 // a bit for each byte; prevents endless cycles
	name    []byte   // of the current node
	spelled int      // bytes of all names
	block   strings.Builder
	stack   []node
}

// textBlock is the size of the blocks of names in bytes: no name is copied when more are read.
const textBlock = 1 << 20

// spell returns the name of the current node.
func (t *trieReader) spell() string {
	if t.block.Cap()-t.block.Len() < len(t.name) {
		t.block = strings.Builder{} // exports refer to the last one
		t.block.Grow(max(textBlock, len(t.name)))
	}
	at := t.block.Len()
	t.block.Write(t.name)
	return t.block.String()[at:]
}

func (t *trieReader) run() error {
	if err := t.enter(0); err != nil {
		return err
	}
	for len(t.stack) > 0 {
		n := &t.stack[len(t.stack)-1]
		if n.left == 0 {
			t.stack = t.stack[:len(t.stack)-1]
			continue
		}
		c := &cursor{b: t.b, at: n.at}
		part, child := c.text(), c.count()
		if c.bad {
			return truncated("a child of a node is cut off at byte %d", n.at)
		}
		n.at, n.left = c.at, n.left-1
		if n.prefix+len(part) > maxName {
			return tooLarge("the length of a name", uint64(n.prefix+len(part)), maxName)
		}
		t.name = append(t.name[:n.prefix], part...)
		if err := t.enter(child); err != nil {
			return err
		}
	}
	return nil
}

// enter reads the node at an offset; t.name is its name.
func (t *trieReader) enter(at int) error {
	if at >= len(t.b) {
		return damaged("a node is at byte %d of %d", at, len(t.b))
	}
	if t.visited[at/64]>>(at%64)&1 != 0 {
		return damaged("the node at byte %d has more than one parent", at)
	}
	t.visited[at/64] |= 1 << (at % 64)
	c := &cursor{b: t.b, at: at}
	length := c.count()
	if c.bad || length > len(t.b)-c.at {
		return truncated("the entry at byte %d is cut off", at)
	}
	if length > 0 {
		if err := t.entry(&cursor{b: t.b[c.at : c.at+length]}); err != nil {
			return err
		}
	}
	c.at += length
	children := int(c.u8())
	if c.bad {
		return truncated("the node at byte %d has no count of children", at)
	}
	if children > 0 {
		t.stack = append(t.stack, node{at: c.at, left: children, prefix: len(t.name)})
	}
	return nil
}

func (t *trieReader) entry(c *cursor) error {
	flags := c.uleb()
	e := Export{Weak: flags&exportWeak != 0, ThreadLocal: flags&exportKind == exportTLV}
	switch {
	case flags&exportReexport != 0:
		e.Ordinal = c.count()
		e.As = string(c.text())
		if !c.bad && (e.Ordinal < 1 || e.Ordinal > len(t.o.Needed)) {
			return damaged("%.100q is an export of library %d; %d are needed",
				t.name, e.Ordinal, len(t.o.Needed))
		}
		if e.As == "" {
			e.As = string(t.name)
		}
	case flags&exportResolver != 0:
		c.uleb()
		c.uleb()
	default:
		c.uleb()
	}
	if c.bad {
		return truncated("the entry of %.100q is cut off", t.name)
	}
	if len(t.o.Exports) == maxSymbols {
		return tooLarge("the number of exports", maxSymbols+1, maxSymbols)
	}
	if t.spelled += len(t.name) + len(e.As); t.spelled > maxExported {
		return tooLarge("the length of all exported names", uint64(t.spelled), maxExported)
	}
	e.Name = t.spell()
	t.o.Exports = append(t.o.Exports, e)
	return nil
}
