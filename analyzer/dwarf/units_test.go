package dwarf_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/dwarf"
)

// manyUnits returns a file with DWARF 4 units that are larger than the memory for units. Unit N has
// a type TN, and a variable whose type is in unit N*7 modulo n.
func manyUnits(n int, compressed bool) dwarf.File {
	abbrev := []byte{
		1, 0x11, 1, 0x03, 0x08, 0, 0, // DW_TAG_compile_unit with DW_AT_name as string
		2, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // DW_TAG_base_type with name and DW_AT_byte_size
		3, 0x34, 0, 0x03, 0x08, 0x49, 0x10, 0, 0, // DW_TAG_variable with name and DW_FORM_ref_addr
		0,
	}
	long := strings.Repeat("x", 64<<10)
	const rest = len("\x02T0000\x00\x04\x03v\x00....\x00")
	size := 11 + len("\x01") + len(long) + 1 + rest
	var info bytes.Buffer
	for i := range n {
		head := binary.LittleEndian.AppendUint32(nil, uint32(size-4))
		info.Write(append(head, 4, 0, 0, 0, 0, 0, 8))
		fmt.Fprintf(&info, "\x01%s\x00\x02T%04d\x00\x04\x03v\x00", long, i)
		target := uint32(i*7%n*size + size - rest)
		info.Write(append(binary.LittleEndian.AppendUint32(nil, target), 0))
	}
	section := info.Bytes()
	name := ".debug_info"
	if compressed {
		var z bytes.Buffer
		z.WriteString("ZLIB")
		binary.Write(&z, binary.BigEndian, uint64(len(section)))
		w, _ := zlib.NewWriterLevel(&z, zlib.HuffmanOnly) // below the limit of the ratio
		w.Write(section)
		w.Close()
		section, name = z.Bytes(), ".zdebug_info"
	}
	return dwarf.File{
		Content: bytes.NewReader(append(section, abbrev...)),
		Class:   64,
		Sections: []dwarf.Section{
			{Name: name, Size: uint64(len(section))},
			{Name: ".debug_abbrev", Offset: uint64(len(section)), Size: uint64(len(abbrev))},
		},
	}
}

// TestUnitsAreReadAgain reads entries of units that are no longer in memory.
func TestUnitsAreReadAgain(t *testing.T) {
	const n = 60
	for _, test := range []struct {
		name                string
		compressed, scratch bool
	}{{"plain", false, false}, {"in memory", true, false}, {"in a file", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			var s dwarf.Sources
			files := 0
			if test.scratch {
				s.Scratch = func() (dwarf.Scratch, error) {
					files++
					f, err := os.Create(filepath.Join(t.TempDir(), "info"))
					if err == nil {
						t.Cleanup(func() { f.Close() })
					}
					return f, err
				}
			}
			d, err := dwarf.Open(manyUnits(n, test.compressed), binary.LittleEndian, s)
			if err != nil {
				t.Fatal(err)
			}
			if test.scratch != (files == 1) {
				t.Errorf("%d files were created", files)
			}
			var variables []dwarf.Ref
			check := func(i int, v *dwarf.Entry) {
				var typ dwarf.Entry
				if err := d.Entry(v.Reference(dwarf.Type), &typ); err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("T%04d", i*7%n)
				if got := typ.String(dwarf.Name); got != want {
					t.Fatalf("the type of the variable in unit %d is %q, want %q", i, got, want)
				}
				if v.String(dwarf.Name) != "v" { // its unit may have been dropped
					t.Fatalf("the variable in unit %d is %q", i, v.String(dwarf.Name))
				}
			}
			for u, err := range d.Units() {
				if err != nil {
					t.Fatal(err)
				}
				var root dwarf.Entry
				if err := d.Entry(u.Root(), &root); err != nil {
					t.Fatal(err)
				}
				c := d.Children(&root)
				for c.Next() {
					if c.Tag == dwarf.TagVariable {
						check(len(variables), &c.Entry)
						variables = append(variables, c.Ref())
					}
				}
				if c.Err() != nil {
					t.Fatal(c.Err())
				}
			}
			if len(variables) != n {
				t.Fatalf("%d units, want %d", len(variables), n)
			}
			for round := range 40 { // so often that the whole section is read
				for i := range variables {
					i = (i*11 + round) % n
					var v dwarf.Entry
					if err := d.Entry(variables[i], &v); err != nil {
						t.Fatal(err)
					}
					check(i, &v)
				}
			}
			if err := d.Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
