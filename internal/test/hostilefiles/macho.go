package hostilefiles

import (
	"bytes"
	"encoding/binary"
	"strings"
)

const soundMachO = `install-name @rpath/libown.dylib
version 1.2 1.0
needed @loader_path/libh.dylib
needed /usr/lib/libSystem.B.dylib
rpath @loader_path/.dylibs
import _helper @loader_path/libh.dylib
import weak _maybe flat
import _malloc /usr/lib/libSystem.B.dylib
export _PyInit_ext
export _other = _helper @loader_path/libh.dylib
`

// Load commands (mach-o/loader.h).
const (
	cmdSymtab    = 0x2
	cmdLoad      = 0xc
	cmdID        = 0xd
	cmdRpath     = 0x8000001c
	cmdSignature = 0x1d
	cmdBuild     = 0x32
	cmdInfo      = 0x22
	cmdTrie      = 0x80000033
	cmdChained   = 0x80000034
)

// commands returns the offsets of load commands in a thin 64-bit file by their type.
func commands(b []byte) map[uint32]int {
	out := map[uint32]int{}
	at := 32
	for range binary.LittleEndian.Uint32(b[16:]) {
		n := binary.LittleEndian.Uint32(b[at:])
		if _, ok := out[n]; !ok {
			out[n] = at
			out[n&^0x80000000] = at
		}
		at += int(binary.LittleEndian.Uint32(b[at+4:]))
	}
	return out
}

func machO() []File {
	l := &list{format: "macho"}
	bases := map[string][]byte{
		"chained": mustMachO("macho arm64\nfixups chained\n" + soundMachO),
		"opcodes": mustMachO("macho arm64\nfixups opcodes\n" + soundMachO),
		"symtab":  mustMachO("macho arm64\nfixups symtab\n" + soundMachO),
	}
	l.lengths(bases["chained"])
	l.header(bases["chained"])
	for _, kind := range []string{"chained", "opcodes", "symtab"} {
		l.tables(kind, bases[kind])
	}
	l.chained(bases["chained"])
	l.tries(bases["chained"])
	l.opcodes(bases["opcodes"])
	l.signatures(bases["chained"])
	l.fat()
	return l.files
}

// lengths truncates a file.
func (l *list) lengths(b []byte) {
	for _, n := range []int{
		0, 1, 3, 4, 7, 8, 16, 27, 28, 31, 32, 40, 64, 100, 200, 300, 400, 500, len(b) / 2,
		len(b) - 64, len(b) - 1,
	} {
		e := Unread
		if n < 8 {
			e = Reported
		}
		l.add(e, func() []byte { return b[:n] }, "truncated-%d", n)
	}
}

// header changes the header and the load commands.
func (l *list) header(b []byte) {
	le := binary.LittleEndian
	size := le.Uint32(b[20:])
	for _, c := range []struct {
		name string
		at   int
		v    uint32
		want Expect
	}{
		{"cpu-unknown", 4, 0x7fffffff, Reported}, {"cpu-subtype", 8, 0xffffffff, Any},
		{"filetype-0", 12, 0, Reported}, {"filetype-max", 12, 0xffffffff, Reported},
		{"commands-max", 16, 0xffffffff, Unread}, {"commands-one-more", 16, le.Uint32(b[16:]) + 1,
			Unread},
		{"commands-none", 16, 0, Reported}, {"commands-size-max", 20, 0xffffffff, Unread},
		{"commands-size-0", 20, 0, Unread}, {"commands-size-odd", 20, size - 3, Unread},
		{"commands-size-file", 20, uint32(len(b)), Any}, {"flags", 24, 0xffffffff, Any},
	} {
		l.changed(c.want, b, c.at, c.v, "%s", c.name)
	}
	at := 32
	for n := range le.Uint32(b[16:]) {
		for _, v := range []uint32{0, 7, 0x7ffffff8, 0xffffffff} {
			l.changed(Unread, b, at+4, v, "command-%d-size-%x", n, v)
		}
		at += int(le.Uint32(b[at+4:]))
	}
	c := commands(b)
	for _, t := range []struct {
		name   string
		number uint32
	}{{"load", cmdLoad}, {"id", cmdID}, {"rpath", cmdRpath}} {
		for _, v := range []uint32{0, 4, 0x7fffffff, 0xffffffff} {
			l.changed(Unread, b, c[t.number]+8, v, "%s-text-at-%x", t.name, v)
		}
	}
	l.changed(Any, b, c[cmdBuild]+20, 0xffffffff, "build-tools-max")
	l.add(Unread, func() []byte { // a path without a terminator
		out := bytes.Clone(b)
		for i := c[cmdLoad] + 24; i < c[cmdLoad]+int(le.Uint32(b[c[cmdLoad]+4:])); i++ {
			out[i] = 'a'
		}
		return out
	}, "load-text-without-end")
}

// tables moves the tables that load commands refer to.
func (l *list) tables(kind string, b []byte) {
	c := commands(b)
	for _, t := range []struct {
		name    string
		command uint32
		at      int
		count   bool // the second number is a count of entries
	}{
		{"symbols", cmdSymtab, 8, true}, {"strings", cmdSymtab, 16, false},
		{"bind", cmdInfo, 16, false}, {"weak-bind", cmdInfo, 24, false},
		{"lazy-bind", cmdInfo, 32, false}, {"info-trie", cmdInfo, 40, false},
		{"trie", cmdTrie, 8, false}, {"chained", cmdChained, 8, false},
		{"signature", cmdSignature, 8, false},
	} {
		at, ok := c[t.command]
		if !ok || binary.LittleEndian.Uint32(b[at+t.at+4:]) == 0 {
			continue
		}
		want := Unread
		if t.command == cmdSymtab && kind != "symtab" {
			want = Any // dyld does not read it if there are chained fixups
		}
		for _, v := range []uint32{0x7fffffff, 0xffffffff, uint32(len(b))} {
			l.changed(want, b, at+t.at, v, "%s-%s-at-%x", kind, t.name, v)
			l.changed(want, b, at+t.at+4, v, "%s-%s-size-%x", kind, t.name, v)
		}
	}
}

// chained changes the header of chained fixups and their imports.
func (l *list) chained(b []byte) {
	at := int(binary.LittleEndian.Uint32(b[commands(b)[cmdChained]+8:]))
	for _, f := range []struct {
		name   string
		at     int
		values []uint32
	}{
		{"version", 0, []uint32{1, 0xffffffff}},
		{"imports-at", 8, []uint32{0, 0x7fffffff, 0xffffffff}},
		{"names-at", 12, []uint32{0x7fffffff, 0xffffffff}},
		{"imports-count", 16, []uint32{0x00ffffff, 0x7fffffff, 0xffffffff}},
		{"imports-format", 20, []uint32{0, 4, 0xffffffff}},
		{"names-format", 24, []uint32{1, 2, 0xffffffff}},
	} {
		for _, v := range f.values {
			want := Unread
			if f.name == "version" || f.name == "imports-at" && v == 0 {
				want = Any
			}
			l.changed(want, b, at+f.at, v, "chained-%s-%x", f.name, v)
		}
	}
	imports := at + int(binary.LittleEndian.Uint32(b[at+8:]))
	l.changed(Unread, b, imports, 0xfffffe01, "chained-name-past-end")
	l.changed(Unread, b, imports, 0x00000070, "chained-ordinal-past-end")
}

// trieFile returns a file with another export trie.
func trieFile(b, trie []byte) []byte {
	at := commands(b)[cmdTrie]
	out := put32(b, at+8, uint32(len(b)))
	out = put32(out, at+12, uint32(len(trie)))
	return append(out, trie...)
}

func uleb(v uint64) (out []byte) {
	for ; v >= 0x80; v >>= 7 {
		out = append(out, byte(v)|0x80)
	}
	return append(out, byte(v))
}

// tries replaces the export trie.
func (l *list) tries(b []byte) {
	trie := func(e Expect, name string, make func() []byte) {
		l.add(e, func() []byte { return trieFile(b, make()) }, "trie-%s", name)
	}
	small := map[string][]byte{
		"loop":           {0, 1, 'a', 0, 0},
		"two-parents":    {0, 2, 'a', 0, 8, 'b', 0, 8, 2, 0, 0, 0},
		"past-end":       {0, 1, 'a', 0, 0x7f},
		"entry-past-end": {0x7f, 0, 0},
		"no-children":    {0},
		"edge-no-end":    {0, 1, 'a', 'b', 'c'},
		"uleb-no-end":    {0xff, 0xff, 0xff},
		"uleb-overflow":  append(bytes.Repeat([]byte{0xff}, 11), 0),
		"reexport-0":     {0, 1, 'a', 0, 5, 3, 8, 0, 0, 0},
		"reexport-99":    {0, 1, 'a', 0, 5, 3, 8, 99, 0, 0},
	}
	for _, name := range []string{
		"loop", "two-parents", "past-end", "entry-past-end", "no-children", "edge-no-end",
		"uleb-no-end", "uleb-overflow", "reexport-0", "reexport-99",
	} {
		trie(Unread, name, func() []byte { return small[name] })
	}
	trie(Any, "255-children", func() []byte {
		out := []byte{0, 255}
		for i := range 255 {
			out = append(append(out, byte(1+i), 0), uleb(uint64(2+255*4))...)
		}
		return append(out, 0, 0)
	})
	// A chain of long edges, each with an export: the names in total are much longer than the
	// trie.
	chain := func(nodes, edge int) []byte {
		var out []byte
		for range nodes {
			next := len(out) + 2 + 2 + edge + 1 + 4
			to := append(uleb(uint64(next)), 0)
			to = to[:len(to)-1]
			for len(to) < 4 { // of a fixed length
				to[len(to)-1] |= 0x80
				to = append(to, 0)
			}
			out = append(out, 2, 0, 0, 1)
			out = append(append(append(out, bytes.Repeat([]byte{'a'}, edge)...), 0), to...)
		}
		return append(out, 2, 0, 0, 0)
	}
	trie(Unread, "long-name", func() []byte { return chain(70, 1000) })
	trie(Any, "deep", func() []byte { return chain(60_000, 1) })
	trie(Any, "deep-and-wide", func() []byte { return chain(200_000, 1) })
	trie(Any, "million-nodes", func() []byte { return chain(1_000_000, 1) })
}

// opcodes replaces the bind opcodes.
func (l *list) opcodes(b []byte) {
	info := commands(b)[cmdInfo]
	stream := func(e Expect, name string, make func() []byte) {
		l.add(e, func() []byte {
			ops := make()
			out := put32(put32(b, info+16, uint32(len(b))), info+20, uint32(len(ops)))
			return append(out, ops...)
		}, "opcodes-%s", name)
	}
	symbol := append([]byte{0x11, 0x40}, "_f\x00"...)
	for _, c := range []struct {
		name string
		ops  []byte
		want Expect
	}{
		{"unknown", append(bytes.Clone(symbol), 0xe0), Unread},
		{"name-no-end", []byte{0x11, 0x40, '_', 'f'}, Unread},
		{"ordinal-past-end", append(append([]byte{0x20}, uleb(9999)...), "\x40_f\x00\x90"...), Unread},
		{"ordinal-special", []byte("\x35\x40_f\x00\x90"), Unread},
		{"uleb-no-end", append(bytes.Clone(symbol), 0xa0, 0xff), Unread},
		{"uleb-overflow", append(append(bytes.Clone(symbol), 0xa0), bytes.Repeat([]byte{0xff}, 12)...),
			Unread},
		{"times-max", append(append(append(bytes.Clone(symbol), 0xc0), uleb(1<<63)...), 0), Any},
		{"no-done", append(bytes.Clone(symbol), 0x90), Any},
		{"without-name", []byte{0x11, 0x90}, Any},
	} {
		stream(c.want, c.name, func() []byte { return c.ops })
	}
	stream(Any, "million-binds", func() []byte {
		return append(bytes.Clone(symbol), bytes.Repeat([]byte{0x90}, 10<<20)...)
	})
	stream(Any, "million-names", func() []byte {
		out := []byte{0x11}
		for i := range 1_000_000 {
			out = append(append(append(out, 0x40), uleb(uint64(i)|1<<22)...), 0, 0x90)
		}
		return out
	})
	stream(Unread, "four-million-names", func() []byte {
		out := []byte{0x11}
		for i := range 3_000_000 {
			out = append(out, 0x40, byte('a'+i%26), byte('a'+i/26%26), byte('a'+i/676%26),
				byte('a'+i/17576%26), byte('a'+i/456976%26), 0, 0x90)
		}
		return out
	})
	stream(Unread, "name-of-1-mb", func() []byte {
		return append(append([]byte{0x11, 0x40}, bytes.Repeat([]byte{'a'}, 1<<20)...), 0, 0x90)
	})
}

// signatures changes the code signature, whose numbers are big-endian.
func (l *list) signatures(b []byte) {
	at := int(binary.LittleEndian.Uint32(b[commands(b)[cmdSignature]+8:]))
	blob := at + int(binary.BigEndian.Uint32(b[at+16:]))
	for _, c := range []struct {
		name string
		at   int
		v    uint32
		want Expect
	}{
		{"magic", at, 0, Reported}, {"blobs-max", at + 8, 0xffffffff, Unread},
		{"blobs-100", at + 8, 100, Unread}, {"blob-past-end", at + 16, 0x7fffffff, Unread},
		{"blob-length-max", blob + 4, 0xffffffff, Any},
		{"hashes-past-end", blob + 16, 0xffffffff, Reported},
		{"pages-max", blob + 28, 0xffffffff, Reported}, {"limit-max", blob + 32, 0xffffffff, Reported},
		{"limit-0", blob + 32, 0, Reported}, {"hash-kind", blob + 36, 0xff0000ff, Reported},
		{"page-size", blob + 36, 0x200200ff, Reported},
	} {
		l.add(c.want, func() []byte {
			out := bytes.Clone(b)
			binary.BigEndian.PutUint32(out[c.at:], c.v)
			return out
		}, "signature-%s", c.name)
	}
	l.add(Reported, func() []byte {
		out := bytes.Clone(b)
		out[27] ^= 0x40
		return out
	}, "signature-stale")
}

// fat changes the header of a file with two slices.
func (l *list) fat() {
	b := mustMachO("macho arm64\n" + soundMachO + "macho x86_64\n" + soundMachO)
	big := func(e Expect, at int, v uint32, name string) {
		l.add(e, func() []byte {
			out := bytes.Clone(b)
			binary.BigEndian.PutUint32(out[at:], v)
			return out
		}, "fat-%s", name)
	}
	big(Unread, 4, 0, "no-slices")
	big(Unread, 4, 44, "44-slices")
	big(Reported, 4, 45, "45-slices")
	big(Reported, 4, 0xffffffff, "slices-max")
	big(Any, 8, 0x7fffffff, "cpu-unknown")
	big(Unread, 16, 0xffffffff, "offset-max")
	big(Unread, 16, 0, "offset-0")
	big(Unread, 16, 8, "offset-in-header")
	big(Unread, 20, 0xffffffff, "size-max")
	big(Unread, 20, 0, "size-0")
	big(Any, 24, 0xffffffff, "alignment")
	big(Unread, 36, binary.BigEndian.Uint32(b[16:]), "slices-overlap")
	big(Unread, 8, binary.BigEndian.Uint32(b[28:]), "wrong-cpu")
	for _, inner := range []struct{ name, text string }{
		{"archive", "!<arch>\n" + strings.Repeat("x", 400)},
		{"class-file", "\xca\xfe\xba\xbe\x00\x00\x00\x34" + strings.Repeat("x", 400)},
		{"nothing", strings.Repeat("\x00", 400)},
		{"fat", string(b[:400])},
	} {
		l.add(Reported, func() []byte {
			out := bytes.Clone(b)
			copy(out[binary.BigEndian.Uint32(b[16:]):], inner.text)
			return out
		}, "fat-slice-is-%s", inner.name)
	}
	l.add(Unread, func() []byte { // fat64 with an offset beyond 64 bits
		out := []byte{0xca, 0xfe, 0xba, 0xbf, 0, 0, 0, 1}
		out = binary.BigEndian.AppendUint32(out, 0x0100000c)
		out = binary.BigEndian.AppendUint32(out, 0)
		out = binary.BigEndian.AppendUint64(out, 1<<63)
		out = binary.BigEndian.AppendUint64(out, 1<<63)
		return append(out, make([]byte, 8)...)
	}, "fat64-overflow")
}
