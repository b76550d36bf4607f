package peobj

import (
	"cmp"
	"slices"
)

// readExports reads the export directory: addresses by ordinal, and names with an index into them.
func readExports(m *image, h *header, o *Object) error {
	const size = 40
	d := h.dirs[dirExport]
	if d.rva == 0 || d.size == 0 {
		return nil
	}
	b, err := m.bytes(d.rva, size, "the export directory")
	if err != nil {
		return err
	}
	base, functions, names := word(b[16:]), word(b[20:]), word(b[24:])
	if at := word(b[12:]); at != 0 {
		if o.Name, err = m.name(at, "the name of the DLL"); err != nil {
			return err
		}
	}
	if err := m.charge(functions, "the export directory"); err != nil {
		return err
	}
	if err := m.charge(names, "the export directory"); err != nil {
		return err
	}
	addresses, err := m.bytes(word(b[28:]), 4*functions, "the table of exported addresses")
	if err != nil {
		return err
	}
	texts, err := m.bytes(word(b[32:]), 4*names, "the table of exported names")
	if err != nil {
		return err
	}
	indexes, err := m.bytes(word(b[36:]), 2*names, "the table of exported ordinals")
	if err != nil {
		return err
	}
	export := func(i uint64) (Export, bool, error) {
		e := Export{Ordinal: uint32(base + i)}
		at := word(addresses[4*i:])
		if at-d.rva < d.size && at >= d.rva {
			f, err := m.name(at, "a forwarder")
			if err != nil {
				return e, false, err
			}
			e.Forward = f
		}
		return e, at != 0, nil
	}
	named := make([]bool, functions)
	for i := range names {
		x := uint64(little.Uint16(indexes[2*i:]))
		if x >= functions {
			return damaged("an exported name has the ordinal %d of %d", x, functions)
		}
		e, ok, err := export(x)
		if err != nil {
			return err
		}
		if e.Name, err = m.name(word(texts[4*i:]), "an exported name"); err != nil {
			return err
		}
		named[x] = true
		if ok && e.Name != "" {
			o.Exports = append(o.Exports, e)
		}
	}
	for i := range functions {
		if named[i] {
			continue
		}
		e, ok, err := export(i)
		if err != nil {
			return err
		}
		if ok {
			o.Exports = append(o.Exports, e)
		}
	}
	o.sortExports()
	return nil
}

// sortExports sorts exports by name; those without a name come last, by ordinal.
func (o *Object) sortExports() {
	slices.SortStableFunc(o.Exports, func(a, b Export) int {
		return cmp.Or(compareName(a, b.Name), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

// compareName compares an export with a name; exports without a name come after all names.
func compareName(e Export, name string) int {
	if (e.Name == "") != (name == "") {
		return cmp.Compare(name, e.Name)
	}
	return cmp.Compare(e.Name, name)
}

// Export returns the export with a name, which must not be ""; nil without one.
func (o *Object) Export(name string) *Export {
	n, ok := slices.BinarySearchFunc(o.Exports, name, compareName)
	if !ok {
		return nil
	}
	return &o.Exports[n]
}
