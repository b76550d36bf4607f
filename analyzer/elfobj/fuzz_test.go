package elfobj

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"slices"
	"testing"
)

// FuzzRead: no input makes Read panic, give more than the file can hold, or give two answers; its
// errors are the documented ones; and where section headers and program headers say the same,
// debug/elf finds the same needs.
func FuzzRead(f *testing.F) {
	for name, text := range texts {
		b, err := Write(parse(f, text))
		if err != nil {
			f.Fatal(name, err)
		}
		f.Add(b)
	}
	small := 0
	for _, file := range systemLibraries(f, 400) {
		if st, err := os.Stat(file); err == nil && st.Size() < 20<<10 && small < 5 {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
			small++
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		last := int64(0)
		for _, c := range Code(b[:min(len(b), 4096)]) {
			if c[0] < last || c[1] <= c[0] {
				t.Fatalf("code at %v behind %d", c, last)
			}
			last = c[1]
		}
		o, err := Read(bytes.NewReader(b), int64(len(b)))
		again, err2 := Read(bytes.NewReader(b), int64(len(b)))
		if !equal(o, again) || (err == nil) != (err2 == nil) {
			t.Fatal("two answers for the same bytes")
		}
		if err != nil {
			if o != nil ||
				!(errors.Is(err, ErrNotELF) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrDamaged) || errors.Is(err, ErrTooLarge)) {
				t.Fatalf("object %v, error %v", o, err)
			}
			return
		}
		if n := o.Imports.Len() + o.Exports.Len(); n > len(b)/16 {
			t.Errorf("%d symbols in %d bytes", n, len(b))
		}
		if n := textSize(o); n > textFree+(textFactor+1)*len(b) {
			t.Errorf("%d bytes of text in %d bytes", n, len(b))
		}
		o.Sections = nil
		p, err := Parse(o.Text())
		if err != nil {
			t.Fatalf("%v in\n%s", err, o.Text())
		}
		same(t, p, o)
		if d, err := elf.NewFile(bytes.NewReader(b)); err == nil && sectionsAgree(d, b) {
			libs, err := d.ImportedLibraries()
			if err != nil || !slices.Equal(libs, o.Needed) && len(libs)+len(o.Needed) > 0 {
				t.Errorf("DT_NEEDED is %q, debug/elf has %q, %v", o.Needed, libs, err)
			}
		}
	})
}

// textSize is the length of all strings that a symbol can multiply.
func textSize(o *Object) int {
	n := 0
	for _, i := range o.Imports.All() {
		n += len(i.Name) + len(i.Version) + len(i.Library)
	}
	for _, e := range o.Exports.All() {
		n += len(e.Name) + len(e.Version)
	}
	for _, v := range o.VersionNeeds {
		n += len(v.Library)
		for _, v := range v.Versions {
			n += len(v.Name)
		}
	}
	for _, l := range o.Needed {
		n += len(l)
	}
	return n
}

// sectionsAgree tells whether the section headers describe the same PT_DYNAMIC and string table as
// the program headers, with nothing behind DT_NULL, which debug/elf does not stop at.
func sectionsAgree(d *elf.File, b []byte) bool {
	var o Object
	f, h, err := readHeader(bytes.NewReader(b), int64(len(b)), &o)
	if err != nil || !loadable(h) {
		return false
	}
	ps, err := readProgHeaders(f, h)
	if err != nil {
		return false
	}
	m, err := mapSegments(f, ps)
	p, _ := findDynamic(ps)
	if err != nil || p == nil || strippedDynamic(f, ps, p, readSections(f, h)) {
		return false
	}
	dyn, err := readDynamic(m, p)
	if err != nil {
		return false
	}
	s := d.SectionByType(elf.SHT_DYNAMIC)
	if s == nil || s.Flags&elf.SHF_COMPRESSED != 0 || int(s.Link) >= len(d.Sections) {
		return false
	}
	str := d.Sections[s.Link]
	off, _, ok := m.at(p.vaddr)
	strOff, _, strOK := m.at(dyn.value(elf.DT_STRTAB))
	if !ok || !strOK || s.Offset != off || str.Type != elf.SHT_STRTAB || str.Offset != strOff ||
		str.Size != dyn.value(elf.DT_STRSZ) ||
		str.Flags&elf.SHF_COMPRESSED != 0 {
		return false
	}
	data, err := s.Data()
	w := int(f.wordSize())
	if err != nil || len(data)%(2*w) != 0 {
		return false
	}
	for len(data) >= 2*w {
		c := f.cursor(data)
		data = data[2*w:]
		if c.word() == 0 {
			return len(bytes.Trim(data, "\x00")) == 0
		}
	}
	return false
}

// FuzzParse: what Parse takes, Text writes so that Parse gives the same, and Write makes a file
// that reads the same.
func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Parse(text)
		if err != nil || len(text) > 64<<10 {
			return
		}
		again, err := Parse(o.Text())
		if err != nil {
			t.Fatalf("%v in\n%s", err, o.Text())
		}
		if !equal(o, again) {
			t.Fatalf("Parse(Text) differs\n%#v\n%#v\n%s", o, again, o.Text())
		}
		b, err := Write(o)
		if err != nil {
			return // ELF cannot say everything that the text can
		}
		r, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%v for\n%s", err, o.Text())
		}
		same(t, r, o)
	})
}
