package elfobj_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// broken is a small valid object (ELF64, little endian) with the offsets of everything that
// tests change.
type broken struct {
	b    []byte
	phdr map[elf.ProgType]int // offset of the first program header of a type
	dyn  map[elf.DynTag]int   // offset of a tag's value
	at   map[string]elf.SectionHeader
}

func newBroken(t testing.TB, text string) *broken {
	t.Helper()
	b := elftest.File(t, text)
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	k := &broken{
		b:    b,
		phdr: map[elf.ProgType]int{},
		dyn:  map[elf.DynTag]int{},
		at:   map[string]elf.SectionHeader{},
	}
	for i, p := range f.Progs {
		if _, ok := k.phdr[p.Type]; !ok {
			k.phdr[p.Type] = 64 + 56*i
		}
	}
	for _, s := range f.Sections {
		k.at[s.Name] = s.SectionHeader
	}
	d := k.at[".dynamic"]
	for off := d.Offset; off < d.Offset+d.Size; off += 16 {
		k.dyn[elf.DynTag(binary.LittleEndian.Uint64(b[off:]))] = int(off) + 8
	}
	return k
}

func (k *broken) u16(off int, v uint16) { binary.LittleEndian.PutUint16(k.b[off:], v) }
func (k *broken) u32(off int, v uint32) { binary.LittleEndian.PutUint32(k.b[off:], v) }
func (k *broken) u64(off int, v uint64) { binary.LittleEndian.PutUint64(k.b[off:], v) }

func (k *broken) tag(t elf.DynTag, v uint64)               { k.u64(k.dyn[t], v) }
func (k *broken) section(name string) int                  { return int(k.at[name].Offset) }
func (k *broken) prog(t elf.ProgType, field int, v uint64) { k.u64(k.phdr[t]+field, v) }

// Offsets in an ELF64 program header.
const (
	pOffset, pVaddr, pFilesz, pMemsz = 8, 16, 32, 40
)

func TestReadErrors(t *testing.T) {
	far := uint64(1) << 41
	for _, c := range []struct {
		name   string
		change func(*broken)
		err    error
		says   string
	}{
		{"magic", func(k *broken) { k.b[1] = 'e' }, elfobj.ErrNotELF, "7f 65 4c 46"},
		{"empty", func(k *broken) { k.b = nil }, elfobj.ErrNotELF, "0 bytes"},
		{"identification only", func(k *broken) {
			k.b = k.b[:16]
		}, elfobj.ErrTruncated, "the ELF header should be 64 bytes at offset 0"},
		{"class", func(k *broken) { k.b[4] = 3 }, elfobj.ErrDamaged, "class 3 at offset 4"},
		{"byte order", func(k *broken) { k.b[5] = 0 }, elfobj.ErrDamaged, "byte order 0 at offset 5"},
		{"version", func(k *broken) { k.b[6] = 7 }, elfobj.ErrDamaged, "ELF version 7"},
		{"type", func(k *broken) { k.u16(16, 0xffff) }, elfobj.ErrDamaged, "type 0xffff"},
		{"a kernel of OpenCL", func(k *broken) {
			k.b[6] = 0
			k.u16(16, 0xff04)
			k.u16(18, 0)
		}, elfobj.ErrForeign, "it is for no machine, and of type 0xff04"},
		{"a type of processors", func(k *broken) {
			k.u16(16, 0xff04)
		}, elfobj.ErrDamaged, "type 0xff04"},
		{"no machine", func(k *broken) {
			k.b[6] = 0
			k.u16(18, 0)
		}, elfobj.ErrDamaged, "ELF version 0"},
		{"program headers of one byte", func(k *broken) {
			k.u16(54, 1)
		}, elfobj.ErrDamaged, "program headers of 1 bytes"},
		{"no program headers", func(k *broken) { k.u16(56, 0) }, elfobj.ErrDamaged, "no program headers"},
		{"too many program headers", func(k *broken) {
			k.u16(56, 65534)
		}, elfobj.ErrTruncated, "the program header table should be 3669904 bytes"},
		{"extended program headers", func(k *broken) {
			k.u16(56, 65535)
		}, elfobj.ErrDamaged, "65535 program headers"},
		{"program headers that wrap around", func(k *broken) {
			k.u64(32, math.MaxUint64-8)
		}, elfobj.ErrTruncated, "the program header table"},
		{"segment beyond the end", func(k *broken) {
			k.prog(elf.PT_LOAD, pFilesz, 1<<30)
		}, elfobj.ErrTruncated, "(PT_LOAD) should be 1073741824 bytes"},
		{"segment at a negative offset", func(k *broken) {
			k.prog(elf.PT_LOAD, pOffset, 1<<63)
		}, elfobj.ErrTruncated, "(PT_LOAD)"},
		{"segment that wraps around", func(k *broken) {
			k.prog(elf.PT_LOAD, pVaddr, math.MaxUint64-10)
		}, elfobj.ErrDamaged, "wraps around"},
		{"dynamic outside", func(k *broken) {
			k.prog(elf.PT_DYNAMIC, pVaddr, far)
		}, elfobj.ErrDamaged, "PT_DYNAMIC at address 0x20000000000 is not in a segment"},
		{"dynamic unaligned", func(k *broken) {
			k.prog(elf.PT_DYNAMIC, pVaddr, k.at[".dynamic"].Addr+3)
		}, elfobj.ErrDamaged, "not aligned"},
		{"string table outside", func(k *broken) {
			k.tag(elf.DT_STRTAB, far)
		}, elfobj.ErrDamaged, "DT_STRTAB"},
		{"string table too long", func(k *broken) {
			k.tag(elf.DT_STRSZ, 4<<30)
		}, elfobj.ErrDamaged, "4294967296 bytes"},
		{"strings without an end", func(k *broken) {
			s := k.at[".dynstr"]
			copy(k.b[s.Offset:], bytes.Repeat([]byte("A"), int(s.Size)))
		}, elfobj.ErrDamaged, "does not end"},
		{"SONAME outside", func(k *broken) {
			k.tag(elf.DT_SONAME, 1<<30)
		}, elfobj.ErrDamaged, "DT_SONAME: damaged ELF file: a name at byte 1073741824"},
		{"NEEDED outside", func(k *broken) {
			k.tag(elf.DT_NEEDED, 1<<30)
		}, elfobj.ErrDamaged, "DT_NEEDED"},
		{"symbol table outside", func(k *broken) {
			k.tag(elf.DT_SYMTAB, far)
		}, elfobj.ErrDamaged, "DT_SYMTAB"},
		{"symbol size", func(k *broken) { k.tag(elf.DT_SYMENT, 1) }, elfobj.ErrDamaged, "DT_SYMENT is 1"},
		{"symbol name outside", func(k *broken) {
			k.u32(k.section(".dynsym")+24, 0xfffffff0)
		}, elfobj.ErrDamaged, "symbol 1: "},
		{"hash table outside", func(k *broken) {
			k.tag(elf.DT_GNU_HASH, far)
		}, elfobj.ErrDamaged, "DT_GNU_HASH"},
		{"buckets", func(k *broken) {
			k.u32(k.section(".gnu.hash"), 0xffffffff)
		}, elfobj.ErrDamaged, "exceeds its segment"},
		{"bloom filter", func(k *broken) {
			k.u32(k.section(".gnu.hash")+8, 1<<31)
		}, elfobj.ErrDamaged, "exceeds its segment"},
		{"first hashed symbol", func(k *broken) {
			k.u32(k.section(".gnu.hash")+4, 0xfffffff0)
		}, elfobj.ErrDamaged, "the first symbol of the table is 4294967280"},
		{"wild bucket", func(k *broken) {
			k.u32(k.section(".gnu.hash")+24, 0xfffffff0)
		}, elfobj.ErrDamaged, "the chain of symbol 4294967280"},
		{"endless chain", func(k *broken) {
			k.u32(k.section(".gnu.hash")+28, 2)
		}, elfobj.ErrDamaged, "DT_GNU_HASH implies"},
		{"relocations outside", func(k *broken) {
			k.tag(elf.DT_RELA, far)
		}, elfobj.ErrDamaged, "DT_RELA"},
		{"relocation of a symbol that is not there", func(k *broken) {
			k.u32(k.section(".rela.dyn")+12, 1<<30)
		}, elfobj.ErrDamaged, "a relocation implies 1073741825 symbols"},
		{"version indexes outside", func(k *broken) {
			k.tag(elf.DT_VERSYM, far)
		}, elfobj.ErrDamaged, "DT_VERSYM"},
		{"version index without a record", func(k *broken) {
			k.u16(k.section(".gnu.version")+2, 0x7ffe)
		}, elfobj.ErrDamaged, "symbol 1: damaged ELF file: its version index 32766 has no record"},
		{"version needs outside", func(k *broken) {
			k.tag(elf.DT_VERNEED, far)
		}, elfobj.ErrDamaged, "DT_VERNEED"},
		{"version need of another format", func(k *broken) {
			k.u16(k.section(".gnu.version_r"), 2)
		}, elfobj.ErrDamaged, "has version 2"},
		{"version need of nobody", func(k *broken) {
			k.u32(k.section(".gnu.version_r")+4, 0xffffff00)
		}, elfobj.ErrDamaged, "a name at byte 4294967040"},
		{"version need that leads away", func(k *broken) {
			k.u32(k.section(".gnu.version_r")+12, 0xfffffff0)
		}, elfobj.ErrDamaged, "is outside its segment"},
		{"version definitions outside", func(k *broken) {
			k.tag(elf.DT_VERDEF, far)
		}, elfobj.ErrDamaged, "DT_VERDEF"},
		{"version definition that leads away", func(k *broken) {
			k.u32(k.section(".gnu.version_d")+12, 1<<30)
		}, elfobj.ErrDamaged, "is outside its segment"},
		{"interpreter outside", func(k *broken) {
			k.prog(elf.PT_INTERP, pOffset, far)
		}, elfobj.ErrTruncated, "PT_INTERP should be"},
		{"interpreter without an end", func(k *broken) {
			k.prog(elf.PT_INTERP, pFilesz, 3)
		}, elfobj.ErrDamaged, "PT_INTERP"},
		{"interpreter of a megabyte", func(k *broken) {
			k.prog(elf.PT_INTERP, pFilesz, 1<<20)
		}, elfobj.ErrTooLarge, "PT_INTERP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newBroken(
				t,
				"elf x86_64\nsoname libx.so\ninterp /lib/ld.so\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 "+
					"libc.so.6\nexport f@@V\n",
			)
			c.change(k)
			o, err := elfobj.Read(bytes.NewReader(k.b), int64(len(k.b)))
			if !errors.Is(err, c.err) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got error %v, want %v that says %q", err, c.err, c.says)
			}
			if o != nil {
				t.Error("an object is returned with an error")
			}
		})
	}
}

// TestReadLikeTheLoader checks that errors in parts that the loader ignores are accepted.
func TestReadLikeTheLoader(t *testing.T) {
	const text = "elf x86_64\nsoname libx.so\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 " +
		"libc.so.6\nexport f@@V\n"
	for name, change := range map[string]func(*broken){
		"section headers far away": func(k *broken) { k.u64(40, 1<<50) },
		"section headers wrap":     func(k *broken) { k.u64(40, math.MaxUint64) },
		"wild section names":       func(k *broken) { k.u16(62, 0xfffe) },
		"65535 sections":           func(k *broken) { k.u16(60, 65535) },
		"huge PT_DYNAMIC":          func(k *broken) { k.prog(elf.PT_DYNAMIC, pFilesz, 1<<40) },
		"huge memory size":         func(k *broken) { k.prog(elf.PT_LOAD, pMemsz, 4<<30) },
		"number of version needs":  func(k *broken) { k.tag(elf.DT_VERNEEDNUM, math.MaxUint64) },
		"number of versions":       func(k *broken) { k.u16(k.section(".gnu.version_r")+2, 65535) },
		"size of the string table": func(k *broken) { k.tag(elf.DT_STRSZ, 1) },
	} {
		k := newBroken(t, text)
		change(k)
		o, err := elfobj.Read(bytes.NewReader(k.b), int64(len(k.b)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		o.NoSections = false // a hint, which may be lost
		same(t, o, elftest.Object(t, text))
	}
}

// TestReadCutFile truncates a file at every byte that is loaded: the result must be
// ErrTruncated.
func TestReadCutFile(t *testing.T) {
	k := newBroken(
		t,
		"elf x86_64\nsoname libx.so\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 libc.so.6\nexport "+
			"f@@V\nbuild-id aabb\n",
	)
	end := k.at[".bss"].Offset
	for n := range end {
		o, err := elfobj.Read(bytes.NewReader(k.b[:n]), int64(n))
		if want := map[bool]error{true: elfobj.ErrNotELF, false: elfobj.ErrTruncated}[n < 4]; o != nil ||
			!errors.Is(err, want) {
			t.Fatalf("cut at %d: got object %v and error %v, want %v", n, o, err, want)
		}
	}
	for n := end; n <= uint64(len(k.b)); n++ {
		if _, err := elfobj.Read(bytes.NewReader(k.b[:n]), int64(n)); err != nil {
			t.Fatalf("cut at %d, behind the last segment: %v", n, err)
		}
	}
}

// TestReadShortReader checks that a size larger than the data is ErrTruncated, and that read
// errors are returned.
func TestReadShortReader(t *testing.T) {
	k := newBroken(t, texts["library"])
	if _, err := elfobj.Read(bytes.NewReader(k.b[:200]), int64(len(k.b))); !errors.Is(err,
		elfobj.ErrTruncated) {
		t.Errorf("short reader: %v", err)
	}
	broken := errors.New("disk on fire")
	if _, err := elfobj.Read(failing{broken}, 1000); !errors.Is(err, broken) {
		t.Errorf("failing reader: %v", err)
	}
	if _, err := elfobj.Read(bytes.NewReader(k.b), -1); !errors.Is(err, elfobj.ErrNotELF) {
		t.Errorf("negative size: %v", err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// TestDebugFile: objcopy --only-keep-debug clears PT_DYNAMIC; eu-strip keeps it and changes the
// section to NOBITS.
func TestDebugFile(t *testing.T) {
	objcopy := newBroken(t, texts["library"])
	objcopy.prog(elf.PT_DYNAMIC, pFilesz, 0)
	objcopy.prog(elf.PT_LOAD, pOffset, 1<<30)
	strip := newBroken(t, texts["library"])
	strip.nobits(t, ".dynamic")
	d := strip.at[".dynamic"]
	copy(strip.b[d.Offset:], bytes.Repeat([]byte("debug"), int(d.Size)/5))
	for name, k := range map[string]*broken{"objcopy": objcopy, "eu-strip": strip} {
		o, err := elfobj.Read(bytes.NewReader(k.b), int64(len(k.b)))
		if err != nil || o.Dynamic {
			t.Errorf("%s: error %v, Dynamic %v", name, err, o != nil && o.Dynamic)
		}
	}
	static := newBroken(t, "elf x86_64 exec static\n")
	for _, want := range []bool{true, false} {
		o, err := elfobj.Read(bytes.NewReader(static.b), int64(len(static.b)))
		if err != nil || o.Static != want {
			t.Errorf("static program: error %v, want %v", err, want)
		}
		static.prog(elf.PT_LOAD, pFilesz, 0) // its debug file
	}
	// A wrong section type does not hide a library.
	lie := newBroken(t, texts["library"])
	lie.nobits(t, ".dynamic")
	if o, err := elfobj.Read(bytes.NewReader(lie.b), int64(len(lie.b))); err != nil || !o.Dynamic ||
		len(o.Needed) == 0 {
		t.Errorf("a library was taken for a debug file: %v", err)
	}
}

// nobits changes a section to NOBITS.
func (k *broken) nobits(t *testing.T, name string) {
	f, err := elf.NewFile(bytes.NewReader(k.b))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range f.Sections {
		if s.Name == name {
			k.u32(int(binary.LittleEndian.Uint64(k.b[40:]))+64*i+4, uint32(elf.SHT_NOBITS))
		}
	}
}

// cost returns how many bytes f allocates.
func cost(f func()) uint64 {
	var a, b runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&a)
	f()
	runtime.ReadMemStats(&b)
	return b.TotalAlloc - a.TotalAlloc
}

// TestOverlap reads tables whose records overlap. debug/elf needs 917 MB for the first one.
func TestOverlap(t *testing.T) {
	for name, build := range map[string]func() []byte{
		"version needs": func() []byte { return overlap(t, 64<<10, overlappingNeeds) },
		"names":         func() []byte { return overlap(t, 1<<20, longNames) },
	} {
		b := build()
		var err error
		n := cost(func() { _, err = elfobj.Read(bytes.NewReader(b), int64(len(b))) })
		if !errors.Is(err, elfobj.ErrDamaged) || !strings.Contains(fmt.Sprint(err), "overlap") {
			t.Errorf("%s: %v", name, err)
		}
		if limit := uint64(16 * len(b)); n > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d, more than %d", name, n, len(b), limit)
		}
	}
}

// overlap returns a valid object with the first segment extended to n bytes, modified by fill.
func overlap(t *testing.T, n int, fill func(k *broken, at int)) []byte {
	k := newBroken(t, "elf x86_64\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 libc.so.6\nexport f@@V\n")
	at := len(k.b)
	k.b = append(k.b, make([]byte, n-at)...)
	k.prog(elf.PT_LOAD, pFilesz, uint64(n))
	k.prog(elf.PT_LOAD, pMemsz, uint64(n))
	k.u64(40, 0) // no section headers
	// The first segment now includes the addresses of the second, which has priority, as in the
	// loader.
	fill(k, (at+15)&^15)
	return k.b
}

// overlappingNeeds writes Verneed records at a distance of 16 bytes, each with a list of
// Vernaux records that includes all following ones.
func overlappingNeeds(k *broken, at int) {
	k.tag(elf.DT_VERNEED, uint64(at))
	for ; at+32 <= len(k.b); at += 16 {
		// A pattern that is valid as Verneed and as Vernaux.
		k.u16(at, 1)
		k.u16(at+2, 0xffff)
		k.u32(at+4, 1)   // vn_file
		k.u32(at+8, 16)  // vn_aux; vna_name
		k.u32(at+12, 16) // vn_next; vna_next
	}
}

// longNames gives all symbols in half a megabyte the same name of 60 KB.
func longNames(k *broken, at int) {
	copy(k.b[at+1:], bytes.Repeat([]byte("n"), 60000))
	k.tag(elf.DT_STRTAB, uint64(at))
	k.tag(elf.DT_STRSZ, 60002)
	for _, t := range []elf.DynTag{elf.DT_NEEDED, elf.DT_SONAME} {
		if k.dyn[t] != 0 {
			k.tag(t, 1)
		}
	}
	at = (at + 60002 + 15) &^ 15
	k.tag(elf.DT_SYMTAB, uint64(at))
	for _, t := range []elf.DynTag{elf.DT_VERSYM, elf.DT_VERNEED, elf.DT_VERDEF, elf.DT_GNU_HASH} {
		k.u64(k.dyn[t]-8, 0x6fffe123) // some tag that means nothing
	}
	n := (len(k.b) - at) / 24
	for i := range n {
		k.u32(at+24*i, 1)
		k.b[at+24*i+4] = 0x12
	}
	k.u32(k.section(".rela.dyn")+12, uint32(n-1)) // says how many there are
}

// TestHugeFile checks that a file of 400 MB needs no more memory than its tables.
func TestHugeFile(t *testing.T) {
	k := newBroken(t, texts["library"])
	var o *elfobj.Object
	var err error
	n := cost(func() { o, err = elfobj.Read(io.NewSectionReader(sparse(k.b), 0, 400<<20), 400<<20) })
	if err != nil || o.Imports.Len() == 0 || n > 1<<20 {
		t.Errorf("error %v, %d bytes allocated", err, n)
	}
}

// sparse returns zeros after its data.
type sparse []byte

func (s sparse) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < int64(len(s)) {
		copy(b, s[off:])
	}
	return len(b), nil
}

// TestDynamicInTwoSegments splits the segment with PT_DYNAMIC in the middle of its entries, at a
// page as patchelf does.
func TestDynamicInTwoSegments(t *testing.T) {
	text := "elf x86_64\nsoname libx.so\nneeded libc.so.6\nimport f\n"
	for i := range 400 {
		text += fmt.Sprintf("needed lib%d.so\n", i)
	}
	k := newBroken(t, text)
	dynamic, spare := k.phdr[elf.PT_DYNAMIC], k.phdr[elf.PT_GNU_STACK]
	at := binary.LittleEndian.Uint64(k.b[dynamic+pVaddr:])
	cut := (at + 4095) &^ 4095
	load := k.phdr[elf.PT_LOAD]
	for next := load; binary.LittleEndian.Uint32(k.b[next:]) == uint32(elf.PT_LOAD); next += 56 {
		if binary.LittleEndian.Uint64(k.b[next+pVaddr:]) <= at {
			load = next
		}
	}
	address := binary.LittleEndian.Uint64(k.b[load+pVaddr:])
	offset := binary.LittleEndian.Uint64(k.b[load+pOffset:])
	size := binary.LittleEndian.Uint64(k.b[load+pFilesz:])
	copy(k.b[spare:spare+56], k.b[load:load+56])
	for _, field := range []int{pFilesz, pMemsz} {
		k.u64(load+field, cut-address)
		k.u64(spare+field, address+size-cut)
	}
	k.u64(spare+pOffset, offset+cut-address)
	k.u64(spare+pVaddr, cut)
	o, err := elfobj.Read(bytes.NewReader(k.b), int64(len(k.b)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := mapAll(k.b)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Needed) != 401 || len(m.Needed) != 401 || o.SONAME != "libx.so" || m.SONAME != "libx.so" {
		t.Errorf("%d and %d libraries of %q and %q", len(o.Needed), len(m.Needed), o.SONAME, m.SONAME)
	}
}

// TestTableInTwoSegments splits the first segment at a page in the middle of the symbol table, as
// patchelf does when it puts the table in front of the others.
func TestTableInTwoSegments(t *testing.T) {
	text := "elf x86_64\nsoname libx.so\nneeded libc.so.6\n"
	for i := range 1000 {
		text += fmt.Sprintf("import function_%d\n", i)
	}
	k := newBroken(t, text)
	load, spare := k.phdr[elf.PT_LOAD], k.phdr[elf.PT_GNU_STACK]
	s := k.at[".dynsym"]
	cut := (s.Addr + s.Size/2) &^ 4095
	first := binary.LittleEndian.Uint64(k.b[load+pVaddr:])
	if cut <= s.Addr || s.Addr != s.Offset || first != 0 || spare == 0 {
		t.Fatalf("the symbol table is at %#x", s.Addr)
	}
	copy(k.b[spare:spare+56], k.b[load:load+56])
	size := binary.LittleEndian.Uint64(k.b[load+pFilesz:])
	for _, field := range []int{pFilesz, pMemsz} {
		k.u64(load+field, cut)
		k.u64(spare+field, size-cut)
	}
	k.u64(spare+pOffset, cut)
	k.u64(spare+pVaddr, cut)
	o, err := elfobj.Read(bytes.NewReader(k.b), int64(len(k.b)))
	if err != nil {
		t.Fatal(err)
	}
	if o.Imports.Len() != 1000 {
		t.Errorf("%d imports", o.Imports.Len())
	}
	m, err := mapAll(k.b)
	if err != nil {
		t.Fatal(err)
	}
	if m.SONAME != "libx.so" {
		t.Errorf("SONAME %q", m.SONAME)
	}
}

// TestTagsAfterTheSymbols has PT_DYNAMIC between the symbols and their names, where patchelf puts
// it: the last symbols make room for it.
func TestTagsAfterTheSymbols(t *testing.T) {
	text := "elf x86_64\nsoname libx.so\nneeded libc.so.6\n"
	for i := range 100 {
		text += fmt.Sprintf("import function_%d\n", i)
	}
	k := newBroken(t, text)
	k.tag(elf.DT_RELASZ, 0) // of the symbols that are overwritten
	symbols, tags, head := k.at[".dynsym"], k.at[".dynamic"], k.phdr[elf.PT_DYNAMIC]
	room := (tags.Size + symbols.Entsize - 1) / symbols.Entsize
	at := symbols.Offset + symbols.Size - room*symbols.Entsize
	copy(k.b[at:], k.b[tags.Offset:tags.Offset+tags.Size])
	k.u64(head+pOffset, at)
	k.u64(head+pVaddr, symbols.Addr+at-symbols.Offset)
	o, err := elfobj.Read(bytes.NewReader(k.b), int64(len(k.b)))
	if err != nil {
		t.Fatal(err)
	}
	if want := 100 - int(room); o.Imports.Len() != want || o.SONAME != "libx.so" {
		t.Errorf("%d imports, want %d; SONAME %q", o.Imports.Len(), want, o.SONAME)
	}
}

// TestTargetsAreLimited checks a small table of DT_RELR that relocates a million words.
func TestTargetsAreLimited(t *testing.T) {
	words := 17_000 // of 63 bits each
	k := newBroken(t, "elf x86_64\nsoname libx.so\nrelr\nexport f\nsection .text "+
		strings.Repeat("ff", 8*words)+"\n")
	code := k.at[".text"]
	k.tag(36, code.Addr) // DT_RELR
	k.tag(35, code.Size) // DT_RELRSZ
	_, c, err := elfobj.ReadContents(bytes.NewReader(k.b), int64(len(k.b)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Targets(); !errors.Is(err, elfobj.ErrTooLarge) {
		t.Errorf("%d words, %v", len(got), err)
	}
}
