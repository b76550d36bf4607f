package elfobj_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

const mapped = `elf x86_64
soname libm.so.1
needed liba.so
needed libc.so.6
runpath $ORIGIN
import pow@GLIBC_2.29 libc.so.6
import weak perhaps
export old@V1
export old@@V2
export object table size=16
export plain
`

// mapAll reads and maps a file like a loader.
func mapAll(b []byte) (*elfobj.Mapping, error) {
	r, size := bytes.NewReader(b), int64(len(b))
	h, err := elfobj.ReadHead(r, size, nil)
	if err != nil {
		return nil, err
	}
	if h.Class == 0 {
		return nil, elfobj.ErrNotELF
	}
	s, err := h.Segments(r, size)
	if err != nil {
		return nil, err
	}
	h.KernelNote(r, size, s)
	return h.Map(r, size, s)
}

func TestMap(t *testing.T) {
	for _, arch := range []string{"x86_64", "i686", "aarch64", "s390x", "ppc64le", "mips64el",
		"armv7l", "riscv64"} {
		o := elftest.Object(t, "elf "+arch+mapped[len("elf x86_64"):])
		b, err := elftest.Write(o)
		if err != nil {
			t.Fatalf("%s: %v", arch, err)
		}
		m, err := mapAll(b)
		if err != nil {
			t.Errorf("%s: %v", arch, err)
			continue
		}
		if m.SONAME != o.SONAME || m.RunPath != o.RunPath || len(m.Needed) != 2 ||
			m.Needed[1].Name != "libc.so.6" {
			t.Errorf("%s: soname %q, runpath %q, needed %v", arch, m.SONAME, m.RunPath, m.Needed)
		}
		for _, e := range o.Exports.All() {
			var versions []string
			for c := m.Lookup([]byte(e.Name), elfobj.HashGNU([]byte(e.Name))); ; {
				s, ok := c.Next()
				if !ok {
					break
				}
				d := m.Definition(s)
				if d.Undefined || d.Local || d.HiddenVisibility {
					t.Errorf("%s: %s is %+v", arch, e.Name, d)
				}
				versions = append(versions, m.Version(d.Index).Name)
			}
			if !slices.Contains(versions, e.Version) {
				t.Errorf(
					"%s: the hash table has %s under the versions %q, not %q",
					arch,
					e.Name,
					versions,
					e.Version,
				)
			}
		}
		if c := m.Lookup([]byte("nowhere"), elfobj.HashGNU([]byte("nowhere"))); true {
			if _, ok := c.Next(); ok {
				t.Errorf("%s: the hash table has a symbol that is not there", arch)
			}
		}
		for _, r := range m.References {
			i := slices.IndexFunc(
				o.Imports.List(),
				func(i elfobj.Import) bool { return i.Name == string(m.Name(r)) },
			)
			if i < 0 || m.Version(r.Version).Name != o.Imports.At(i).Version ||
				r.Weak != o.Imports.At(i).Weak {
				t.Errorf(
					"%s: it refers to %s under %q, which is no import",
					arch,
					m.Name(r),
					m.Version(r.Version).Name,
				)
			}
		}
		if len(m.References) != o.Imports.Len() && arch != "mips64el" {
			t.Errorf("%s: %d references, %d imports", arch, len(m.References), o.Imports.Len())
		}
	}
}

// versionTableMost limits the table of versions: it has an entry for each index up to the
// highest one, which is at most 32767, whatever the size of the file.
const versionTableMost = 32768*40 + 64<<10

// FuzzMap checks that an invalid file is an error or a mapping all of whose parts can be read,
// and that the memory is a small multiple of its size.
func FuzzMap(f *testing.F) {
	for _, arch := range []string{"x86_64", "i686", "s390x", "mips64el"} {
		b := elftest.File(f, "elf "+arch+mapped[len("elf x86_64"):])
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := mapAll(b)
		if err != nil {
			if !errors.Is(err, elfobj.ErrNotELF) && !errors.Is(err, elfobj.ErrTruncated) &&
				!errors.Is(err, elfobj.ErrDamaged) && !errors.Is(err, elfobj.ErrForeign) &&
				!errors.Is(err, elfobj.ErrTooLarge) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if m.Size() > 16*len(b)+versionTableMost {
			t.Errorf("%d bytes of memory for a file of %d", m.Size(), len(b))
		}
		for _, r := range m.References {
			m.Version(r.Version)
			m.Definition(r.Symbol)
			c := m.Lookup(m.Name(r), r.Hash)
			for n := 0; ; n++ {
				s, ok := c.Next()
				if !ok {
					break
				}
				m.Definition(s)
				if n > len(b) {
					t.Fatal("a lookup does not end")
				}
			}
		}
	})
}

// TestMapRelocatesOutside changes the address of a relocation to the last page of the data
// segment, and to the page after it.
func TestMapRelocatesOutside(t *testing.T) {
	b := elftest.File(t, mapped)
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var end uint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, (p.Vaddr+p.Memsz+4095)&^4095)
		}
	}
	at, err := f.DynValue(elf.DT_RELA)
	if err != nil || len(at) != 1 {
		t.Fatalf("the object has no relocations: %v", err)
	}
	i := slices.IndexFunc(
		f.Progs,
		func(p *elf.Prog) bool { return p.Type == elf.PT_LOAD && at[0]-p.Vaddr < p.Filesz },
	)
	entry := b[at[0]-f.Progs[i].Vaddr+f.Progs[i].Off:]
	for _, c := range []struct {
		addr uint64
		want error
	}{{end - 8, nil}, {end, elfobj.ErrDamaged}, {1 << 63, elfobj.ErrDamaged}} {
		binary.LittleEndian.PutUint64(entry, c.addr)
		if _, err := mapAll(b); !errors.Is(err, c.want) {
			t.Errorf(
				"a relocation of address %#x, and the last page ends at %#x: %v, not %v",
				c.addr,
				end,
				err,
				c.want,
			)
		}
	}
}
