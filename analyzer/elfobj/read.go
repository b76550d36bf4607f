package elfobj

import (
	"bytes"
	"debug/elf"
	"io"
	"slices"
)

// Read reads an ELF file of the given size as the dynamic linker does, through the program
// headers and PT_DYNAMIC. It reads only the ranges that it needs, so r may be a file of
// hundreds of megabytes.
//
// An error wraps ErrNotELF, ErrForeign, ErrTruncated, ErrDamaged or ErrTooLarge and names the
// table, its offset and the reason, or it wraps the error of r. For a static program, a .o file, a
// core file or a file with debug information only, Read returns an object with Dynamic false and
// no error.
//
// The slices that JSON always contains are never nil.
func Read(r io.ReaderAt, size int64) (*Object, error) { return ReadAmong(NewNames(), r, size) }

// ReadAmong is like Read, but stores the symbol names in a table that several objects share.
func ReadAmong(shared *Names, r io.ReaderAt, size int64) (*Object, error) {
	return read(shared, r, size, &Contents{})
}

// read implements ReadAmong. It sets c if the object has a dynamic section.
func read(shared *Names, r io.ReaderAt, size int64, c *Contents) (*Object, error) {
	o := &Object{
		Needed:       []string{},
		Imports:      NewImports(),
		Exports:      NewExports(),
		VersionNeeds: []VersionNeed{},
		VersionDefs:  []VersionDef{},
		ExecStack:    "unsaid",
	}
	f, h, err := readHeader(r, size, o)
	if err != nil {
		return nil, err
	}
	secs := readSections(f, h)
	o.Sections, o.Comment, o.NoSections = public(f, secs), readComment(f, secs), secs == nil
	if !loadable(h) {
		return o, nil
	}
	ps, err := readProgHeaders(f, h)
	if err != nil {
		return nil, err
	}
	readNotes(f, ps, o)
	for _, p := range ps {
		switch {
		case p.typ == elf.PT_GNU_STACK:
			o.ExecStack = "no"
			if p.flags&elf.PF_X != 0 {
				o.ExecStack = "yes"
			}
		case o.AndroidAPI != 0 && p.typ == elf.PT_LOAD && p.al < largestPage &&
			(o.MaxPage == 0 || p.al < o.MaxPage):
			o.MaxPage = max(p.al, 1)
		}
	}
	dyn, emptied := findDynamic(ps)
	if emptied || dyn != nil && strippedDynamic(f, ps, dyn, secs) {
		return o, nil
	}
	if err := readInterp(f, ps, o); err != nil {
		return nil, err
	}
	m, err := mapSegments(f, ps)
	if err != nil {
		return nil, err
	}
	if dyn == nil {
		o.Static = slices.ContainsFunc(ps, func(p progHeader) bool {
			return p.typ == elf.PT_LOAD && p.flags&elf.PF_X != 0 && p.filesz > 0
		})
		return o, nil
	}
	d, err := readDynamic(m, dyn)
	if err != nil {
		return nil, err
	}
	o.Dynamic = true
	t, err := readNames(m, d)
	if err != nil {
		return nil, err
	}
	if err := d.describe(o, t); err != nil {
		return nil, err
	}
	v, err := readVersions(m, d, t, o)
	if err != nil {
		return nil, err
	}
	if err := readSymbols(m, d, t, v, o, secs, shared); err != nil {
		return nil, err
	}
	*c = Contents{m, d, t, o, secs, ps}
	o.Libxml2 = c.libxml2()
	return o, nil
}

// largestPage is the largest page of a supported system.
const largestPage = 64 << 10

// readInterp reads PT_INTERP, the path of the dynamic loader, up to its NUL byte.
func readInterp(f *file, ps []progHeader, o *Object) error {
	for _, p := range ps {
		if p.typ != elf.PT_INTERP || p.filesz == 0 {
			continue
		}
		if p.filesz > maxInterp {
			return tooLarge("PT_INTERP", p.filesz, maxInterp)
		}
		b, err := f.bytes(p.off, p.filesz, "PT_INTERP")
		if err != nil {
			return err
		}
		path, _, ok := bytes.Cut(b, []byte{0})
		if !ok {
			return damaged("PT_INTERP at offset %d does not end with a NUL byte", p.off)
		}
		o.Interp = string(path)
		return nil
	}
	return nil
}
