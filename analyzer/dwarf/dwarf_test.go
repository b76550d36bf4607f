package dwarf_test

import (
	"bytes"
	stddwarf "debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/dwarf"
)

// open reads an ELF file of testdata with this package; ok is false for a file that debug/elf
// cannot read.
func open(b []byte) (*dwarf.Data, *elf.File, error) {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	in := dwarf.File{Content: bytes.NewReader(b), Class: 64}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS || s.Offset > uint64(len(b)) ||
			s.FileSize > uint64(len(b))-s.Offset {
			continue
		}
		in.Sections = append(in.Sections, dwarf.Section{
			Name: s.Name, Offset: s.Offset, Size: s.FileSize,
			Compressed: s.Flags&elf.SHF_COMPRESSED != 0,
		})
	}
	d, err := dwarf.Open(in, binary.LittleEndian, dwarf.Sources{})
	return d, f, err
}

// line formats the compared properties of an entry.
func line(depth int, tag uint64, name, linkage string, size uint64) string {
	return fmt.Sprintf("%d %#x %s %s %d", depth, tag, name, linkage, size)
}

// walk visits the entries below e with their depth.
func walk(d *dwarf.Data, e *dwarf.Entry, depth int, yield func(e *dwarf.Entry, depth int)) error {
	c := d.Children(e)
	for c.Next() {
		yield(&c.Entry, depth)
		if err := walk(d, &c.Entry, depth+1, yield); err != nil {
			return err
		}
	}
	return c.Err()
}

// TestAgreesWithTheStandardLibrary compares tags, names and sizes of all entries with those of
// debug/dwarf, for the versions and forms that it supports.
func TestAgreesWithTheStandardLibrary(t *testing.T) {
	files, err := filepath.Glob("testdata/*.so")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, f, err := open(b)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var got []string
		for u, err := range d.Units() {
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			var root dwarf.Entry
			if err := d.Entry(u.Root(), &root); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if u.TypeUnit && u.Version < 5 {
				continue // debug/dwarf reads .debug_types separately
			}
			note := func(e *dwarf.Entry, depth int) {
				size, _ := e.Number(dwarf.ByteSize)
				got = append(
					got,
					line(depth, uint64(e.Tag), e.String(dwarf.Name), e.String(dwarf.LinkageName), size),
				)
			}
			note(&root, 0)
			if err := walk(d, &root, 1, note); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		want, err := standard(f)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d entries, and debug/dwarf has %d", file, len(got), len(want))
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("entry %d: %s, want %s", i, got[i], want[i])
					break
				}
			}
		}
	}
}

// standard lists the entries that debug/dwarf reads.
func standard(f *elf.File) ([]string, error) {
	d, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	var out []string
	depth := 0
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			return out, err
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		name, _ := e.Val(stddwarf.AttrName).(string)
		linkage, _ := e.Val(stddwarf.AttrLinkageName).(string)
		if linkage == "" {
			linkage, _ = e.Val(stddwarf.Attr(0x2007)).(string)
		}
		size, _ := e.Val(stddwarf.AttrByteSize).(int64)
		out = append(out, line(depth, uint64(e.Tag), name, linkage, uint64(size)))
		if e.Children {
			depth++
		}
	}
}

func TestFileNames(t *testing.T) {
	for _, name := range []string{
		"c-5", "c-4", "c-2", "c-64", "c-clang", "c-zlib", "c-zdebug", "cxx-types4",
	} {
		b, err := os.ReadFile("testdata/" + name + ".so")
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := open(b)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for u, err := range d.Units() {
			if err != nil {
				t.Fatal(err)
			}
			var root dwarf.Entry
			if err := d.Entry(u.Root(), &root); err != nil {
				t.Fatal(err)
			}
			note := func(e *dwarf.Entry, _ int) { seen[e.FileName()] = true }
			if err := walk(d, &root, 0, note); err != nil {
				t.Fatal(err)
			}
		}
		want := "/src/shapes.c"
		if name[1] == 'x' {
			want += "c"
		}
		if !seen[want] {
			t.Errorf("%s: files %v, want %s", name, seen, want)
		}
	}
}

// FuzzOpen damages a library. Decoding an entry at its Ref must give the tag and names that the
// walk gave, and the walk must end.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"c-5", "c-2", "c-clang", "cxx-types", "cxx-types4", "c-zlib"} {
		b, err := os.ReadFile("testdata/" + name + ".so")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint32(0), byte(0), uint32(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, at1 uint32, v1 byte, at2 uint32, v2 byte) {
		b = slices.Clone(b)
		if int(at1) < len(b) {
			b[at1] ^= v1
		}
		if int(at2) < len(b) {
			b[at2] ^= v2
		}
		d, _, err := open(b)
		if err != nil {
			return
		}
		for u, err := range d.Units() {
			if err != nil {
				return
			}
			var root dwarf.Entry
			if d.Entry(u.Root(), &root) != nil {
				continue
			}
			c := d.Children(&root)
			for c.Next() {
				var again dwarf.Entry
				if err := d.Entry(c.Ref(), &again); err != nil {
					t.Fatalf("an entry that the walk found at %#x: %v", c.Ref(), err)
				}
				name := c.String(dwarf.Name)
				if again.Tag != c.Tag || again.String(dwarf.Name) != name {
					t.Fatalf(
						"entry %#x is %#x %q, then %#x %q",
						c.Ref(),
						c.Tag,
						name,
						again.Tag,
						again.String(dwarf.Name),
					)
				}
				c.FileName()
				c.Address()
				c.Offset()
				c.Slot()
			}
		}
	})
}
