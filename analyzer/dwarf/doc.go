// Package dwarf reads the parts of DWARF debug information that describe types and interfaces:
// versions 2 to 5, type units, split debug files (.dwo), the shared file of dwz, compressed
// sections.
//
//	d, err := dwarf.Open(file, order, dwarf.Sources{})
//	for _, u := range d.Units() {
//		err = d.Walk(u.Root(), func(e *dwarf.Entry) error { ...; return nil })
//	}
//
// Data is the debug information of one library. Entry is a debugging information entry (DIE) whose
// attributes are decoded on demand. Locations, line programs, ranges and call frames are not read.
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
