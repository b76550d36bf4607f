// Package dwarf reads the parts of DWARF debug information that describe types and interfaces:
// versions 2 to 5, type units, split debug files (.dwo), the shared file of dwz, compressed
// sections.
//
//	d, err := dwarf.Open(file, order, dwarf.Sources{})
//	for u, err := range d.Units() {
//		var root dwarf.Entry
//		err = d.Entry(u.Root(), &root)
//		for c := d.Children(&root); c.Next(); { ... }
//	}
//
// Data is the debug information of one library. Entry is a debugging information entry (DIE) whose
// attributes are decoded on demand. Units are read one after another, and only a few of them are in
// memory at a time (see unitSection). Locations, line programs, ranges and call frames are not
// read.
//
// The input is untrusted. At most maxSection bytes of a section are read or decompressed, and at
// most maxTotal bytes of all sections. Each offset, length, count and reference is checked against
// its section. Callers must limit chains of references, because entries may refer to each other.
// Errors wrap ErrDamaged or ErrTooLarge and name the section.
package dwarf

import (
	"errors"
	"fmt"
)

var (
	ErrDamaged  = errors.New("damaged debug information")
	ErrTooLarge = errors.New("debug information over the limit")
)

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, a...))
}
