// Package dwarf reads the part of DWARF debug information that describes types and interfaces:
// versions 2 to 5, type units, split debug files (.dwo), the shared file of dwz, compressed
// sections.
//
//	d, err := dwarf.Open(file, order, dwarf.Sources{})
//	for _, u := range d.Units() {
//		err = d.Walk(u.Root(), func(e *dwarf.Entry) error { ...; return nil })
//	}
//
// Data is the debug information of one library. Entry is one debugging information entry (DIE)
// whose attributes are decoded on demand. Locations, line programs, ranges and call frames are
// never read.
//
// The bytes come from a stranger's pull request. A section is read or decompressed only up to
// maxSection bytes, and all of them together up to maxTotal. Each offset, length, count and
// reference is checked against its section, and a chain of references has to be bounded by the
// caller, because two entries may refer to each other. An error wraps ErrDamaged or ErrTooLarge and
// names the section.
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
