package peobj

// readImports reads the import directory: descriptors with the name of a DLL and a table of thunks.
func readImports(m *image, h *header, o *Object) error {
	const size = 20
	at := h.dirs[dirImport].rva
	if at == 0 {
		return nil
	}
	for ; ; at += size {
		if err := m.charge(1, "the import directory"); err != nil {
			return err
		}
		b, err := m.bytes(at, size, "the import directory")
		if err != nil {
			return err
		}
		lookup, name, first := word(b), word(b[12:]), word(b[16:])
		if name == 0 || first == 0 {
			return nil
		}
		if lookup == 0 || lookup < m.headers { // as the loader does
			lookup = first
		}
		if err := readDLL(m, h, o, DLL{}, name, lookup, 0); err != nil {
			return err
		}
	}
}

// readDelayImports reads the delay import directory, of DLLs that are loaded at the first call.
func readDelayImports(m *image, h *header, o *Object) error {
	const size = 32
	at := h.dirs[dirDelay].rva
	if at == 0 {
		return nil
	}
	for ; ; at += size {
		if err := m.charge(1, "the delay import directory"); err != nil {
			return err
		}
		b, err := m.bytes(at, size, "the delay import directory")
		if err != nil {
			return err
		}
		name, lookup, base := word(b[4:]), word(b[16:]), uint64(0)
		if name == 0 || lookup == 0 {
			return nil
		}
		if b[0]&1 == 0 { // absolute addresses, from compilers before Visual C++ 7
			base = h.base
		}
		if name < base || lookup < base {
			return damaged("the delay import directory names addresses below the image")
		}
		if err := readDLL(m, h, o, DLL{Delay: true}, name-base, lookup-base, base); err != nil {
			return err
		}
	}
}

// readDLL reads a name and a table of thunks, which ends with a zero. base is the base address of
// the addresses in thunks.
func readDLL(m *image, h *header, o *Object, d DLL, name, lookup, base uint64) error {
	if len(o.Imports) == maxDLLs {
		return tooLarge("the number of imported DLLs", maxDLLs+1, maxDLLs)
	}
	var err error
	if d.Name, err = m.name(name, "the name of an imported DLL"); err != nil {
		return err
	}
	if d.Name == "" {
		return damaged("the name of an imported DLL at 0x%x is empty", name)
	}
	what := "the import table of " + d.Name
	d.Symbols = []Symbol{}
	size, byOrdinal := uint64(4), uint64(1)<<31
	if h.wide {
		size, byOrdinal = 8, 1<<63
	}
	for at := lookup; ; at += size {
		b, err := m.bytes(at, size, what)
		if err != nil {
			return err
		}
		t := word(b)
		if h.wide {
			t = little.Uint64(b)
		}
		if t == 0 {
			break
		}
		if err := m.charge(1, what); err != nil {
			return err
		}
		if t&byOrdinal != 0 {
			d.Symbols = append(d.Symbols, Symbol{Ordinal: uint16(t)})
			continue
		}
		const hint = 2
		if t < base || t-base > 1<<32 {
			return damaged("%s has a name at 0x%x", what, t)
		}
		s, err := m.name(t-base+hint, "a symbol in "+what)
		if err != nil {
			return err
		}
		if s == "" {
			return damaged("%s has a symbol without a name", what)
		}
		d.Symbols = append(d.Symbols, Symbol{Name: s})
	}
	o.Imports = append(o.Imports, d)
	return nil
}

func word(b []byte) uint64 { return uint64(little.Uint32(b)) }
