package elfobj_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// FuzzRead checks that Read never panics, returns no more than the file can contain, is
// deterministic, and returns only documented errors. If section headers and program headers
// agree, debug/elf must find the same dependencies.
func FuzzRead(f *testing.F) {
	for name, text := range texts {
		b, err := elftest.Write(elftest.Object(f, text))
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
		for _, c := range elfobj.Code(b[:min(len(b), 4096)]) {
			if c[0] < last || c[1] <= c[0] {
				t.Fatalf("code at %v behind %d", c, last)
			}
			last = c[1]
		}
		o, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
		again, err2 := elfobj.Read(bytes.NewReader(b), int64(len(b)))
		if !equal(o, again) || (err == nil) != (err2 == nil) {
			t.Fatal("two answers for the same bytes")
		}
		if err != nil {
			if o != nil ||
				!(errors.Is(err, elfobj.ErrNotELF) || errors.Is(err, elfobj.ErrTruncated) ||
					errors.Is(err, elfobj.ErrDamaged) || errors.Is(err, elfobj.ErrTooLarge) ||
					errors.Is(err, elfobj.ErrForeign)) {
				t.Fatalf("object %v, error %v", o, err)
			}
			return
		}
		if n := o.Imports.Len() + o.Exports.Len(); n > len(b)/16 {
			t.Errorf("%d symbols in %d bytes", n, len(b))
		}
		if n := textSize(o); n > elfobj.TextFree+(elfobj.TextFactor+1)*len(b) {
			t.Errorf("%d bytes of text in %d bytes", n, len(b))
		}
		o.Sections = nil
		p, err := elftest.Parse(elftest.Text(o))
		if err != nil {
			t.Fatalf("%v in\n%s", err, elftest.Text(o))
		}
		same(t, p, o)
		if d, err := elf.NewFile(bytes.NewReader(b)); err == nil && elfobj.SectionsAgree(d, b) {
			libs, err := d.ImportedLibraries()
			if err != nil || !slices.Equal(libs, o.Needed) && len(libs)+len(o.Needed) > 0 {
				t.Errorf("DT_NEEDED is %q, debug/elf has %q, %v", o.Needed, libs, err)
			}
		}
	})
}

// textSize returns the length of all strings that symbols can repeat.
func textSize(o *elfobj.Object) int {
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

// FuzzParse checks that Parse returns an equal object for the output of Text, and Read for that
// of Write.
func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := elftest.Parse(text)
		if err != nil || len(text) > 64<<10 {
			return
		}
		again, err := elftest.Parse(elftest.Text(o))
		if err != nil {
			t.Fatalf("%v in\n%s", err, elftest.Text(o))
		}
		if !equal(o, again) {
			t.Fatalf("Parse(Text) differs\n%#v\n%#v\n%s", o, again, elftest.Text(o))
		}
		b, err := elftest.Write(o)
		if err != nil {
			return // ELF cannot say everything that the text can
		}
		r, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%v for\n%s", err, elftest.Text(o))
		}
		same(t, r, o)
	})
}
