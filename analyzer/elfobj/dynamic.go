package elfobj

import (
	"debug/elf"
	"slices"
)

// dynamic is the content of PT_DYNAMIC: the last value of each tag, as the loader keeps it, and all
// DT_NEEDED.
type dynamic struct {
	tags   map[elf.DynTag]uint64
	needed []uint64
}

func (d *dynamic) has(t elf.DynTag) bool     { _, ok := d.tags[t]; return ok }
func (d *dynamic) value(t elf.DynTag) uint64 { return d.tags[t] }

// dtRelrAndroid is DT_ANDROID_RELR (bionic, linker/linker.cpp), the tag from before DT_RELR was
// agreed on.
const (
	dtRelr        = elf.DynTag(36)
	dtRelrAndroid = elf.DynTag(0x6fffe000)
)

// findDynamic gives the PT_DYNAMIC that the loader uses: the last one that has bytes. nil means
// that there is none (a static program) or that its bytes were left out (a file of debug
// information, objcopy --only-keep-debug). That second case is glibc's own: _dl_map_object_from_fd
// skips a PT_DYNAMIC whose p_filesz is 0.
func findDynamic(ps []progHeader) (p *progHeader, emptied bool) {
	for i := range ps {
		if ps[i].typ == elf.PT_DYNAMIC {
			if ps[i].filesz > 0 {
				p = &ps[i]
			}
			emptied = true
		}
	}
	return p, emptied && p == nil
}

// strippedDynamic recognizes the debug files of eu-strip, which leaves the program headers as they
// were: the section .dynamic is NOBITS, and nothing that the loader could use stands where
// PT_DYNAMIC leads. The section alone is not believed, or it would hide a library from every check.
func strippedDynamic(f *file, ps []progHeader, p *progHeader, secs []section) bool {
	nobits := func(s section) bool {
		return s.name == ".dynamic" && s.typ == elf.SHT_NOBITS && s.addr == p.vaddr
	}
	if !slices.ContainsFunc(secs, nobits) {
		return false
	}
	m, err := mapSegments(f, ps)
	if err != nil {
		return true
	}
	d, err := readDynamic(m, p)
	return err != nil || !d.has(elf.DT_STRTAB)
}

// readDynamic reads tags until DT_NULL. The loader finds them by address and does not look at
// p_filesz.
func readDynamic(m *image, p *progHeader) (*dynamic, error) {
	w := m.wordSize()
	if p.vaddr%w != 0 {
		return nil, damaged("PT_DYNAMIC at address %#x is not aligned to %d bytes", p.vaddr, w)
	}
	off, n, ok := m.at(p.vaddr)
	if !ok {
		return nil, damaged("PT_DYNAMIC at address %#x is not in a segment", p.vaddr)
	}
	d := &dynamic{tags: map[elf.DynTag]uint64{}}
	done := m.zeroFilled(p.vaddr + n)
	err := m.each(off, n, 2*w, "PT_DYNAMIC", func(i uint64, b []byte) (bool, error) {
		if i == maxTags {
			return false, tooLarge("the number of dynamic tags", i+1, maxTags)
		}
		c := m.cursor(b)
		switch tag, v := elf.DynTag(c.word()), c.word(); tag {
		case elf.DT_NULL:
			done = true
			return false, nil
		case elf.DT_NEEDED:
			d.needed = append(d.needed, v)
		default:
			d.tags[tag] = v
		}
		return true, nil
	})
	if err == nil && !done {
		err = damaged(
			"PT_DYNAMIC at offset %d does not end with DT_NULL before its segment ends",
			off,
		)
	}
	return d, err
}

// zeroFilled tells whether an address lies in the part of a segment that has no bytes in the file.
func (m *image) zeroFilled(addr uint64) bool {
	for _, p := range m.loads {
		if addr >= p.vaddr+p.filesz && addr < p.vaddr+p.memsz {
			return true
		}
	}
	return false
}

// describe fills in everything that a tag says by itself or by one string.
func (d *dynamic) describe(o *Object, t *names) (err error) {
	str := func(tag elf.DynTag) string {
		if !d.has(tag) || err != nil {
			return ""
		}
		var s string
		if s, err = t.get(d.value(tag)); err != nil {
			err = of(tag.String(), err)
		}
		return s
	}
	o.SONAME, o.RPath, o.RunPath = str(elf.DT_SONAME), str(elf.DT_RPATH), str(elf.DT_RUNPATH)
	for _, off := range d.needed {
		s, err := t.get(off)
		if err != nil {
			return of("DT_NEEDED", err)
		}
		o.Needed = append(o.Needed, s)
	}
	flags := d.value(elf.DT_FLAGS)
	o.Flags1 = d.value(elf.DT_FLAGS_1)
	for tag, flag := range map[elf.DynTag]elf.DynFlag{
		elf.DT_SYMBOLIC: elf.DF_SYMBOLIC,
		elf.DT_TEXTREL:  elf.DF_TEXTREL,
		elf.DT_BIND_NOW: elf.DF_BIND_NOW,
	} {
		if d.has(tag) {
			flags |= uint64(flag)
		}
	}
	o.RelR = d.has(dtRelr) || d.has(dtRelrAndroid)
	o.HasVersym = d.has(elf.DT_VERSYM)
	o.SetFlags(flags)
	return err
}
