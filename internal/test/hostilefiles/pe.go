package hostilefiles

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/peobj"
)

const soundPE = `pe amd64
name ext.pyd
import python312.dll PyModule_Create2
import KERNEL32.dll Sleep #9
delay concrt140.dll f
export PyInit_ext 1
export forwarded 2 libb.helper
assembly Microsoft.VC90.CRT
`

// image has the offsets in a PE file with one section.
type image struct {
	b       []byte
	coff    int // after the signature
	options int // the optional header
	dirs    int // the data directories
	section int // the section header
	rva     uint32
	raw     uint32
}

func newImage(b []byte) image {
	le := binary.LittleEndian
	i := image{b: b}
	i.coff = int(le.Uint32(b[60:])) + 4
	i.options = i.coff + 20
	i.dirs = i.options + 112
	if le.Uint16(b[i.options:]) == 0x10b {
		i.dirs = i.options + 96
	}
	i.section = i.options + int(le.Uint16(b[i.coff+16:]))
	i.rva, i.raw = le.Uint32(b[i.section+12:]), le.Uint32(b[i.section+20:])
	return i
}

// at returns the file offset of a data directory's content.
func (i image) at(dir int) int {
	return int(binary.LittleEndian.Uint32(i.b[i.dirs+8*dir:]) - i.rva + i.raw)
}

// Data directories.
const (
	dirExport, dirImport, dirResource, dirConfig, dirDelay, dirCLR = 0, 1, 2, 10, 13, 14
)

func pe() []File {
	l := &list{format: "pe"}
	i := newImage(mustPE(soundPE))
	b := i.b
	for _, n := range []int{
		0, 1, 2, 3, 40, 59, 63, 64, 66, 68, 80, 88, 100, 150, 200, 250, 300, 392, 400,
		len(b) / 2, len(b) - 1,
	} {
		e := Unread
		if n < 2 {
			e = Reported
		}
		l.add(e, func() []byte { return b[:n] }, "truncated-%d", n)
	}
	l.peHeader(i)
	l.directories(i)
	l.imports(i)
	l.exports(i)
	l.resources(i)
	l.amplified()
	return l.files
}

// peHeader changes the DOS, COFF and optional headers and the section header.
func (l *list) peHeader(i image) {
	for _, c := range []struct {
		name string
		at   int
		v    uint32
		want Expect
	}{
		{"header-at-0", 60, 0, Reported}, {"header-at-max", 60, 0xffffffff, Unread},
		{"header-at-end", 60, uint32(len(i.b)), Unread}, {"signature", i.coff - 4, 0x4550, Any},
		{"signature-0", i.coff - 4, 0, Reported},
		{"machine-0-sections-max", i.coff, 0xffff0000, Unread},
		{"sections-max", i.coff, 0xffff8664, Unread}, {"sections-900", i.coff, 900<<16 | 0x8664, Unread},
		{"sections-0", i.coff, 0x8664, Unread},
		{"machine-unknown", i.coff, 1<<16 | 0x1234, Reported},
		{"optional-size-0", i.coff + 16, 0x20220000, Unread},
		{"optional-size-max", i.coff + 16, 0x2022ffff, Unread},
		{"optional-size-2", i.coff + 16, 0x20220002, Unread},
		{"magic-0", i.options, 0, Unread}, {"magic-rom", i.options, 0x107, Unread},
		{"magic-32", i.options, 0x10b, Any}, {"alignment-0", i.options + 32, 0, Any},
		{"alignment-max", i.options + 32, 0xffffffff, Any},
		{"headers-max", i.options + 60, 0xffffffff, Any},
		{"directories-0", i.dirs - 4, 0, Any}, {"directories-max", i.dirs - 4, 0xffffffff, Any},
		{"section-at-max", i.section + 20, 0xffffffff, Unread},
		{"section-at-end", i.section + 20, uint32(len(i.b)+511) / 512 * 512, Unread},
		{"section-raw-max", i.section + 16, 0xffffffff, Any},
		{"section-raw-0", i.section + 16, 0, Any},
		{"section-size-max", i.section + 8, 0xffffffff, Any},
		{"section-address-0", i.section + 12, 0, Any},
		{"section-address-max", i.section + 12, 0xfffff000, Unread},
	} {
		l.changed(c.want, i.b, c.at, c.v, "%s", c.name)
	}
}

// directories moves the tables that data directories refer to.
func (l *list) directories(i image) {
	for _, d := range []struct {
		name   string
		number int
		want   Expect
	}{
		{"export", dirExport, Unread}, {"import", dirImport, Unread},
		{"resource", dirResource, Any}, // damaged resources do not stop the loader
		{"config", dirConfig, Unread}, {"delay", dirDelay, Unread}, {"clr", dirCLR, Unread},
	} {
		for _, v := range []uint32{0x7fffffff, 0xffffffff, 0x00100000, i.rva + 0x0ffe} {
			want := d.want
			if v == i.rva+0x0ffe && d.number != dirImport && d.number != dirDelay {
				want = Any // zeros after the section are a valid table
			}
			if v == i.rva+0x0ffe {
				want = Any
			}
			l.add(want, func() []byte {
				out := put32(i.b, i.dirs+8*d.number, v)
				return put32(out, i.dirs+8*d.number+4, 0x1000)
			}, "%s-at-%x", d.name, v)
		}
	}
	l.changed(Any, i.b, i.dirs+4, 0xffffffff, "export-size-max")
	l.changed(Any, i.b, i.dirs+12, 0xffffffff, "import-size-max")
}

// imports changes the first descriptors of imports and delay imports.
func (l *list) imports(i image) {
	at, delay := i.at(dirImport), i.at(dirDelay)
	thunks := int(binary.LittleEndian.Uint32(i.b[at:]) - i.rva + i.raw)
	for _, v := range []uint32{1, 0x7fffffff, 0xffffffff} {
		l.changed(Unread, i.b, at+12, v|0x00200000, "import-name-at-%x", v)
		l.changed(Unread, i.b, at, v|0x00200000, "import-thunks-at-%x", v)
		l.changed(Unread, i.b, thunks, v&0x7fffffff|0x00200000, "import-symbol-at-%x", v)
		l.changed(Unread, i.b, delay+4, v|0x00200000, "delay-name-at-%x", v)
		l.changed(Unread, i.b, delay+16, v|0x00200000, "delay-thunks-at-%x", v)
	}
	l.changed(Any, i.b, delay, 0, "delay-absolute-addresses")
	l.changed(Unread, i.b, thunks+4, 0x40000000, "import-symbol-beyond-32-bits")
	l.changed(Any, i.b, at, binary.LittleEndian.Uint32(i.b[i.dirs+8:]),
		"import-thunks-are-descriptors")
	l.add(Unread, func() []byte { // a name without a terminator
		out := bytes.Clone(i.b)
		name := int(binary.LittleEndian.Uint32(i.b[at+12:]) - i.rva + i.raw)
		for n := name; n < len(out); n++ {
			out[n] = 'a'
		}
		return put32(put32(out, i.section+8, uint32(len(out))), i.section+16, uint32(len(out)))
	}, "import-name-without-end")
	l.add(Unread, func() []byte {
		out := bytes.Clone(i.b)
		out[int(binary.LittleEndian.Uint32(i.b[at+12:])-i.rva+i.raw)] = 0
		return out
	}, "import-name-empty")
}

// exports changes the export directory.
func (l *list) exports(i image) {
	at := i.at(dirExport)
	for _, f := range []struct {
		name string
		at   int
	}{{"functions", 20}, {"names", 24}} {
		for _, v := range []uint32{0x00100000, 0x7fffffff, 0xffffffff} {
			l.changed(Unread, i.b, at+f.at, v, "export-%s-%x", f.name, v)
		}
	}
	for _, f := range []struct {
		name string
		at   int
	}{{"name", 12}, {"addresses", 28}, {"texts", 32}, {"ordinals", 36}} {
		for _, v := range []uint32{0x00200000, 0x7fffffff, 0xffffffff} {
			l.changed(Unread, i.b, at+f.at, v, "export-%s-at-%x", f.name, v)
		}
	}
	l.changed(Any, i.b, at+16, 0xffffffff, "export-base-max")
	ordinals := int(binary.LittleEndian.Uint32(i.b[at+36:]) - i.rva + i.raw)
	l.changed(Unread, i.b, ordinals, 0xffffffff, "export-ordinal-past-end")
	l.add(Any, func() []byte { // exports forwarded to each other
		return mustPE("pe amd64\nname ext.pyd\nimport ext.pyd a\nexport a 1 ext.b\nexport b 2 ext.a\n")
	}, "export-forwarded-in-a-circle")
	for _, to := range []string{"x", ".x", "x.", "x.#", "x.#99999999", strings.Repeat("a.", 5000)} {
		l.add(Any, func() []byte {
			return mustPE(fmt.Sprintf("pe amd64\nname ext.pyd\nimport ext.pyd a\nexport a 1 %q\n", to))
		}, "export-forwarded-to-%.12q", to)
	}
}

// resources changes the path to the manifest in the resources.
func (l *list) resources(i image) {
	at := i.at(dirResource)
	l.changed(Any, i.b, at+12, 0xffffffff, "resources-entries-max")
	l.changed(Any, i.b, at+20, 0x80000000, "resources-in-a-circle")
	l.changed(Any, i.b, at+20, 0xffffffff, "resources-past-end")
	l.add(Any, func() []byte {
		n := bytes.Index(i.b, []byte("<assembly"))
		out := bytes.Clone(i.b)
		copy(out[max(n, 0):], `<!DOCTYPE a [<!ENTITY b "c">]>`)
		return out
	}, "manifest-with-entities")
}

// amplified adds small files that expand to much data.
func (l *list) amplified() {
	// Descriptors that share one table of thunks.
	l.large(Unread, func() []byte {
		var text strings.Builder
		text.WriteString("pe amd64\nimport a.dll")
		for n := range 20_000 {
			fmt.Fprintf(&text, " s%d", n)
		}
		for range 4_000 {
			text.WriteString("\nimport a.dll x")
		}
		b := mustPE(text.String())
		i := newImage(b)
		at := i.at(dirImport)
		for n := range 4_000 {
			copy(b[at+20*(n+1):], b[at:at+20])
		}
		return b
	}, "thunks-shared")
	// Names that share one long string.
	l.large(Unread, func() []byte {
		var text strings.Builder
		text.WriteString("pe amd64\nimport a.dll " + strings.Repeat("n", 16_000))
		for n := range 100_000 {
			fmt.Fprintf(&text, " s%d", n)
		}
		b := mustPE(text.String())
		i := newImage(b)
		thunks := int(binary.LittleEndian.Uint32(b[i.at(dirImport):]) - i.rva + i.raw)
		for n := range 100_000 {
			copy(b[thunks+8*(n+1):], b[thunks:thunks+8])
		}
		return b
	}, "names-shared")
	l.large(Any, func() []byte {
		o := &peobj.Object{Machine: peobj.Amd64, Bits: 64, DLL: true, Name: "ext.pyd",
			Subsystem: "6.0", OperatingSystem: "6.0", Linker: "14.0"}
		for n := range uint32(60_000) {
			o.Exports = append(o.Exports, peobj.Export{Name: fmt.Sprint("e", n), Ordinal: n + 1})
		}
		b, err := peobj.Write(o)
		if err != nil {
			panic(fmt.Errorf("hostilefiles: %w", err))
		}
		return b
	}, "60000-exports")
	for _, n := range []int{4_000, 50_000} {
		want := Reported
		if n > 4_096 {
			want = Unread
		}
		l.large(want, func() []byte {
			var text strings.Builder
			text.WriteString("pe amd64")
			for i := range n {
				fmt.Fprintf(&text, "\nimport missing%d.dll f", i)
			}
			return mustPE(text.String())
		}, "%d-dlls", n)
	}
}
