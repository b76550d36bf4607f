package dwarf

import (
	"encoding/binary"
	"fmt"
	"sort"
)

// Data is the debug information of one library: its own file, the file that dwz shares between
// libraries, and split files.
type Data struct {
	files []*file
	alt   *file
	units []*Unit // units with entries, so no skeleton units
	sigs  map[uint64]Ref
}

// Sources find other files that the debug information refers to. A nil function finds none. Types
// in missing files are absent.
type Sources struct {
	Alt func() (File, bool)                            // the file named by .gnu_debugaltlink
	Dwo func(dir, name string, id uint64) (File, bool) // a split file
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

// Open reads the sections and the headers of all units.
func Open(in File, order binary.ByteOrder, s Sources) (*Data, error) {
	d := &Data{sigs: map[uint64]Ref{}}
	budget := uint64(maxTotal)
	add := func(in File, dwo bool) (*file, error) {
		f, err := open(in, order, dwo, &budget)
		if err != nil {
			return nil, err
		}
		f.number = len(d.files)
		for _, types := range []bool{false, true} {
			if err := f.readUnits(types); err != nil {
				return nil, err
			}
		}
		d.files = append(d.files, f)
		for _, list := range f.units {
			for _, u := range list {
				if u.TypeUnit {
					d.sigs[u.Signature] = u.TypeRef
				}
			}
		}
		return f, nil
	}
	main, err := add(in, false)
	if err != nil {
		return nil, err
	}
	if s.Alt != nil {
		if in, ok := s.Alt(); ok {
			if d.alt, err = add(in, false); err != nil {
				return nil, err
			}
		}
	}
	var e Entry
	for _, list := range main.units {
		for _, u := range list {
			u.alt = d.alt
			if err := u.root(&e); err != nil {
				return nil, err
			}
			if !e.Has(DwoName) || s.Dwo == nil || len(d.files) > maxFiles {
				d.units = append(d.units, u)
				continue
			}
			in, ok := s.Dwo(u.compDir, e.String(DwoName), e.Value(DwoID))
			if !ok {
				continue
			}
			f, err := add(in, true)
			if err != nil {
				return nil, err
			}
			for _, list := range f.units {
				for _, split := range list {
					if err := split.connect(u, d.alt); err != nil {
						return nil, err
					}
					if !split.TypeUnit {
						d.units = append(d.units, split)
					}
				}
			}
		}
	}
	if d.alt != nil {
		for _, u := range d.alt.units[0] {
			if err := u.root(&e); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// connect copies to a split unit what its skeleton unit has.
func (u *Unit) connect(skeleton *Unit, alt *file) error {
	u.alt, u.split = alt, true
	if u.Version >= 5 {
		u.strOffsetsBase = 8 // after the header of .debug_str_offsets.dwo
		if u.wide {
			u.strOffsetsBase = 16
		}
	}
	u.addrs, u.addrBase = skeleton.addrs, skeleton.addrBase
	var e Entry
	if err := u.root(&e); err != nil {
		return err
	}
	if u.compDir == "" {
		u.compDir = skeleton.compDir
	}
	return nil
}

// Err returns an error if names could not be read because their strings overlap too much.
func (d *Data) Err() error {
	for _, f := range d.files {
		if f.text < 0 {
			return fmt.Errorf("%w: strings that overlap", ErrTooLarge)
		}
	}
	return nil
}

// Units returns the compilation and partial units, and the type units of the library's own file.
func (d *Data) Units() []*Unit { return d.units }

// Empty reports that there are no units: the debug information is in files that were not found.
func (d *Data) Empty() bool { return len(d.units) == 0 }

// unit returns the unit of an entry.
func (d *Data) unit(r Ref) (*Unit, uint64, error) {
	n := int(r>>refFile) - 1
	if n < 0 || n >= len(d.files) {
		return nil, 0, damaged("a reference to no file")
	}
	i := 0
	if r&refTypes != 0 {
		i = 1
	}
	list, off := d.files[n].units[i], uint64(r&refOffset)
	k := sort.Search(len(list), func(k int) bool { return list[k].end > off })
	if k == len(list) || off < list[k].first {
		return nil, 0, damaged("a reference to offset %#x, where no unit has entries", off)
	}
	return list[k], off, nil
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
		return damaged("a reference to offset %#x, where a list of entries ends", off)
	}
	e.data = d
	return nil
}

// Signed returns the type that the type unit with a signature defines.
func (d *Data) Signed(signature uint64) (Ref, bool) {
	r, ok := d.sigs[signature]
	return r, ok
}
