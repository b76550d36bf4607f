package dwarf

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
)

// Data is the debug information of one library: its own file, the file that dwz shares between
// libraries, and split files.
type Data struct {
	files   []*file
	sources Sources
	order   binary.ByteOrder
	budget  uint64 // bytes of sections that may still be read
	sigs    map[uint64]Ref
	noted   map[*unitSection]int // units whose signatures are in sigs
}

// Sources find other files that the debug information refers to. A nil function finds none. Types
// in missing files are absent.
type Sources struct {
	Alt func() (File, bool)                            // the file named by .gnu_debugaltlink
	Dwo func(dir, name string, id uint64) (File, bool) // a split file

	// Scratch creates storage for a decompressed section, which the caller deletes after reading.
	// If nil, decompressed sections stay in memory.
	Scratch func() (Scratch, error)
}

// Scratch is storage that is written from its start, then read.
type Scratch interface {
	io.Writer
	io.ReaderAt
}

// Ref is the position of an entry. 0 means no entry.
type Ref uint64

const (
	refOffset = 1<<42 - 1
	refTypes  = 1 << 42
	refFile   = 43
)

func (f *file) ref(types bool, offset uint64) Ref {
	r := Ref(f.number+1)<<refFile | Ref(offset&refOffset)
	if types {
		r |= refTypes
	}
	return r
}

// maxFiles limits split files: there is one for each source file.
const maxFiles = 1 << 16

// Open reads the sections that units share.
func Open(in File, order binary.ByteOrder, s Sources) (*Data, error) {
	d := &Data{
		sources: s,
		order:   order,
		budget:  maxTotal,
		sigs:    map[uint64]Ref{},
		noted:   map[*unitSection]int{},
	}
	main, err := d.add(in, nil)
	if err != nil {
		return nil, err
	}
	if s.Alt != nil {
		if in, ok := s.Alt(); ok {
			if main.alt, err = d.add(in, nil); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func (d *Data) add(in File, skeleton *Unit) (*file, error) {
	f, err := open(in, d.order, skeleton, &d.budget, d.sources.Scratch)
	if err != nil {
		return nil, err
	}
	f.number = len(d.files)
	d.files = append(d.files, f)
	if skeleton != nil {
		f.alt = skeleton.file.alt
	}
	return f, nil
}

// Err returns the first error of reading entries and names after they were found: names whose
// strings overlap too much, and units that cannot be read again.
func (d *Data) Err() error {
	for _, f := range d.files {
		if f.err != nil {
			return f.err
		}
		if f.text < 0 {
			return fmt.Errorf("%w: strings that overlap", ErrTooLarge)
		}
	}
	return nil
}

// Units iterates over the compilation and partial units, and the type units of the library's own
// file, in their order in the file. A skeleton unit is replaced by the units of its split file, and
// left out if that is not found. The iteration ends after an error.
func (d *Data) Units() iter.Seq2[*Unit, error] {
	return func(yield func(*Unit, error) bool) {
		for i := range d.files[0].sections {
			for u, err := range d.files[0].sections[i].all() {
				if err != nil {
					yield(nil, err)
					return
				}
				if u.other == nil || d.sources.Dwo == nil || len(d.files) > maxFiles {
					if !yield(u, nil) {
						return
					}
					continue
				}
				if !d.splitUnits(u, yield) {
					return
				}
			}
		}
	}
}

// splitUnits yields the units of the split file of a skeleton unit. It returns false at the end of
// the iteration.
func (d *Data) splitUnits(skeleton *Unit, yield func(*Unit, error) bool) bool {
	in, ok := d.sources.Dwo(skeleton.compDir, skeleton.other.name, skeleton.other.id)
	if !ok {
		return true
	}
	f, err := d.add(in, skeleton)
	if err != nil {
		yield(nil, err)
		return false
	}
	for i := range f.sections {
		for u, err := range f.sections[i].all() {
			if err != nil {
				yield(nil, err)
				return false
			}
			if !u.TypeUnit && !yield(u, nil) {
				return false
			}
		}
	}
	return true
}

// unit returns the unit of an entry, and the entry's position in the unit.
func (d *Data) unit(r Ref) (*Unit, uint64, error) {
	n := int(r>>refFile) - 1
	if n < 0 || n >= len(d.files) {
		return nil, 0, damaged("a reference to no file")
	}
	i := 0
	if r&refTypes != 0 {
		i = 1
	}
	off := uint64(r & refOffset)
	u, err := d.files[n].sections[i].find(off)
	if err != nil {
		return nil, 0, err
	}
	if u == nil {
		return nil, 0, damaged("a reference to offset %#x, where no unit has entries", off)
	}
	return u, off - u.start, nil
}

// Entry decodes the entry at a position.
func (d *Data) Entry(r Ref, e *Entry) error {
	u, off, err := d.unit(r)
	if err != nil {
		return err
	}
	if err := u.decode(off, e); err != nil {
		return err
	}
	if e.Tag == 0 {
		return damaged("a reference to offset %#x, where a list of entries ends", r&refOffset)
	}
	e.data = d
	return nil
}

// Signed returns the type that the type unit with a signature defines. If no known unit has it, the
// headers of all units are read.
func (d *Data) Signed(signature uint64) (Ref, bool) {
	for {
		if r, ok := d.sigs[signature]; ok {
			return r, true
		}
		if !d.note() {
			return 0, false
		}
	}
}

// note adds the signatures of known units to sigs, and reads the header of another unit if there
// are none. It returns false at the end of all sections.
func (d *Data) note() bool {
	for _, f := range d.files {
		for i := len(f.sections) - 1; i >= 0; i-- { // .debug_types first
			s := &f.sections[i]
			if d.noted[s] == len(s.units) {
				if u, err := s.next(); u == nil || err != nil {
					continue
				}
			}
			for _, u := range s.units[d.noted[s]:] {
				if u.TypeUnit {
					d.sigs[u.Signature] = u.TypeRef
				}
			}
			d.noted[s] = len(s.units)
			return true
		}
	}
	return false
}
