package elfobj

import (
	"debug/elf"
	"path"
	"slices"
	"strings"
)

// dynamic is the content of PT_DYNAMIC: all DT_NEEDED, and the last value of every other tag,
// which is the one that the loader uses.
type dynamic struct {
	addr   uint64 // of the first tag
	tags   map[elf.DynTag]uint64
	needed []uint64
}

func (d *dynamic) has(t elf.DynTag) bool     { _, ok := d.tags[t]; return ok }
func (d *dynamic) value(t elf.DynTag) uint64 { return d.tags[t] }

// Values of DT_RELR and of DT_ANDROID_RELR, its predecessor (bionic, linker/linker.cpp).
const (
	dtRelr        = elf.DynTag(36)
	dtRelrAndroid = elf.DynTag(0x6fffe000)
)

// findDynamic returns the PT_DYNAMIC that the loader uses: the last one with a size. It returns
// nil for a static program and for a file with debug information only (objcopy
// --only-keep-debug); emptied is true in the second case, in which p_filesz is 0. glibc skips
// such an entry too (_dl_map_object_from_fd).
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

// strippedDynamic recognizes the debug files of eu-strip, which keep the program headers: the
// section .dynamic is NOBITS, and there are no usable tags at the offset of PT_DYNAMIC. The
// section type alone is not trusted, because a library could then avoid every check.
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

// readDynamic reads tags until DT_NULL. Like the loader, it ignores p_filesz.
func readDynamic(m *image, p *progHeader) (*dynamic, error) {
	w := m.wordSize()
	if p.vaddr%w != 0 {
		return nil, damaged("PT_DYNAMIC at address %#x is not aligned to %d bytes", p.vaddr, w)
	}
	off, n, err := m.dynamic(p.vaddr, p.filesz)
	if err != nil {
		return nil, err
	}
	d := &dynamic{addr: p.vaddr, tags: map[elf.DynTag]uint64{}}
	done := m.zeroFilled(p.vaddr + n)
	err = m.each(off, n, 2*w, "PT_DYNAMIC", func(i uint64, b []byte) (bool, error) {
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
		err = damaged("PT_DYNAMIC at offset %d does not end with DT_NULL before its segment ends", off)
	}
	return d, err
}

// zeroFilled reports whether an address is in the part of a segment that has no bytes in the
// file.
func (m *image) zeroFilled(addr uint64) bool {
	for _, p := range m.loads {
		if addr >= p.vaddr+p.filesz && addr < p.vaddr+p.memsz {
			return true
		}
	}
	return false
}

// describe sets the fields that follow from a single tag.
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

// Origin expands $ORIGIN or ${ORIGIN} at the start of an entry of a search path to the folder dir.
// ok is false for an entry that does not start with it.
func Origin(entry, dir string) (expanded string, ok bool) {
	for _, token := range [...]string{"$ORIGIN", "${ORIGIN}"} {
		if rest, ok := strings.CutPrefix(entry, token); ok {
			return path.Join(dir, rest), true
		}
	}
	return entry, false
}

// LeadsTo reports whether one of the entries of a search path of an object in the folder dir, which
// start with $ORIGIN, is the folder to.
func LeadsTo(paths, dir, to string) bool {
	for entry := range strings.SplitSeq(paths, ":") {
		if at, ok := Origin(entry, dir); ok && at == path.Clean(to) {
			return true
		}
	}
	return false
}
