package hostilefiles

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

const soundELF = `elf x86_64
needed libc.so.6
import malloc@GLIBC_2.2.5 libc.so.6
export PyInit_ext
`

// object has the offsets in an ELF64 file.
type object struct {
	b        []byte
	segments map[uint32]int // the first program header of each type
	tags     map[uint64]int // the values of dynamic tags
}

// Types of program headers and dynamic tags (gABI, and glibc elf.h).
const (
	ptLoad, ptDynamic = 1, 2

	dtNeeded, dtStrTab, dtSymTab, dtStrSize = 1, 5, 6, 10

	dtGNUHash, dtVersym, dtVerneed, dtVerneedNum = 0x6ffffef5, 0x6ffffff0, 0x6ffffffe, 0x6fffffff
)

// mustELF returns an ELF file from its text form.
func mustELF(text string) []byte {
	b, err := elftest.Build(text)
	if err != nil {
		panic(fmt.Errorf("hostilefiles: %w", err))
	}
	return b
}

func newObject(b []byte) object {
	le := binary.LittleEndian
	o := object{b, map[uint32]int{}, map[uint64]int{}}
	first := int(le.Uint64(b[ehSegments:]))
	for i := range int(le.Uint16(b[ehSegmentCount:])) {
		at := first + 56*i
		if _, ok := o.segments[le.Uint32(b[at:])]; !ok {
			o.segments[le.Uint32(b[at:])] = at
		}
	}
	at := int(le.Uint64(b[o.segments[ptDynamic]+phOffset:]))
	for ; le.Uint64(b[at:]) != 0; at += 16 {
		o.tags[le.Uint64(b[at:])] = at + 8
	}
	return o
}

// Offsets in an ELF64 header and in a program header.
const (
	ehType, ehSegments, ehSegmentSize, ehSegmentCount = 16, 32, 54, 56

	phOffset, phAddress, phFileSize, phMemorySize = 8, 16, 32, 40
)

func elfFiles() []File {
	l := &list{format: "elf"}
	o := newObject(mustELF(soundELF))
	for _, n := range []int{
		0, 1, 3, 4, 5, 15, 16, 20, 40, 63, 64, 65, 120, 200, 300, 400, 500,
	} {
		e := Unread
		if n < 4 {
			e = Reported
		}
		l.add(e, func() []byte { return o.b[:n] }, "truncated-%d", n)
	}
	// without section headers, which no loader reads
	l.add(Any, func() []byte { return o.b[:len(o.b)-1] }, "truncated-at-the-end")
	l.elfHeader(o)
	l.dynamic(o)
	l.manySymbols()
	return l.files
}

// elfHeader changes the ELF header and the program headers.
func (l *list) elfHeader(o object) {
	load, dynamic := o.segments[ptLoad], o.segments[ptDynamic]
	for _, c := range []struct {
		name string
		at   int
		v    uint32
		want Expect
	}{
		{"class-3", 4, 0x010103, Unread}, {"byte-order-0", 4, 0x010002, Unread},
		{"byte-order-big", 4, 0x010202, Unread}, {"class-32", 4, 0x010101, Unread},
		{"type-max", ehType, 0x3effff, Unread},
		{"segments-at-0", ehSegments, 0, Reported}, {"segments-at-max", ehSegments, 0xffffffff, Unread},
		{"segment-size-1", ehSegmentSize, 1<<16 | 1, Unread},
		{"segment-count-0", ehSegmentCount, 0, Unread},
		{"segment-count-65534", ehSegmentCount, 65534, Unread},
		{"load-offset-max", load + phOffset, 0xfffff000, Unread},
		{"load-address-max", load + phAddress + 4, 0xffffffff, Unread},
		{"load-size-1gb", load + phFileSize, 1 << 30, Unread},
		{"load-memory-0", load + phMemorySize, 0, Any},
		{"dynamic-outside", dynamic + phAddress + 4, 0x200, Unread},
	} {
		l.changed(c.want, o.b, c.at, c.v, "%s", c.name)
	}
}

// dynamic changes the addresses and sizes of tables.
func (l *list) dynamic(o object) {
	for _, t := range []struct {
		tag  uint64
		name string
	}{
		{dtNeeded, "DT_NEEDED"}, {dtStrTab, "DT_STRTAB"}, {dtSymTab, "DT_SYMTAB"},
		{dtStrSize, "DT_STRSZ"}, {dtVersym, "DT_VERSYM"}, {dtVerneed, "DT_VERNEED"},
	} {
		l.changed(Unread, o.b, o.tags[t.tag]+4, 0x200, "%s-far", t.name)
		l.changed(Unread, o.b, o.tags[t.tag], 0xfffffff0, "%s-high", t.name)
	}
	l.changed(Any, o.b, o.tags[dtVerneedNum], 0xffffffff, "DT_VERNEEDNUM-max")
	l.changed(Any, o.b, o.tags[dtGNUHash], 0, "DT_GNU_HASH-0")
}

// manySymbols adds files with long tables and long names.
func (l *list) manySymbols() {
	lines := func(count int, format string) func() []byte {
		return func() []byte {
			var text strings.Builder
			text.WriteString("elf x86_64\nneeded libc.so.6\nexport PyInit_ext\n")
			for i := range count {
				fmt.Fprintf(&text, format+"\n", i)
			}
			return mustELF(text.String())
		}
	}
	l.large(Reported, lines(200_000, "import sym_%d"), "200000-imports")
	l.large(Reported, lines(30_000, "import v%[1]d@GLIBC_9.%[1]d libc.so.6"), "30000-versions")
	l.large(Reported, lines(100_000, "needed lib%d.so"), "100000-libraries")
	l.large(Any, lines(200_000, "export sym_%d"), "200000-exports")
	l.large(Any, func() []byte {
		return mustELF(soundELF + "runpath " + strings.Repeat("$ORIGIN/a:", 100_000) + "\n")
	}, "100000-folders")
	l.large(Reported, func() []byte {
		return mustELF(soundELF + "needed lib" + strings.Repeat("x", 60_000) + ".so\n")
	}, "long-name")
	for _, c := range []struct{ name, symbol string }{
		{"pointers", "_Z1f" + strings.Repeat("P", 50_000) + "v"},
		{"templates", "_Z1f" + strings.Repeat("1aI", 30_000)},
		{"substitutions", "_ZN1aI" + strings.Repeat("S_I", 5_000) + "E"},
		{"rust", "_RNv" + strings.Repeat("NvC1a", 10_000)},
	} {
		l.large(Reported, func() []byte {
			return mustELF(soundELF + "import " + c.symbol + "@GLIBC_9.9 libc.so.6\n")
		}, "mangled-%s", c.name)
	}
}
