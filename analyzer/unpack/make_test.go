package unpack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func zstded(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// xzed returns an .xz file with uncompressed LZMA2 chunks (the .xz file format, version 1.1.0).
func xzed(data []byte) []byte {
	le := binary.LittleEndian
	sum := func(b []byte) []byte { return le.AppendUint32(nil, crc32.ChecksumIEEE(b)) }
	number := func(n int) (b []byte) {
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		return append(b, byte(n))
	}
	flags := []byte{0, 1} // CRC-32
	out := append([]byte("\xfd7zXZ\x00"), flags...)
	out = append(out, sum(flags)...)
	header := []byte{
		2,
		0,
		0x21,
		1,
		0,
		0,
		0,
		0,
	} // 12 bytes, one filter: LZMA2 with the least dictionary
	block := append(header, sum(header)...)
	for i := 0; i < len(data); i += 1 << 15 {
		chunk := data[i:min(i+1<<15, len(data))]
		control := byte(2)
		if i == 0 {
			control = 1
		}
		block = append(block, control, byte((len(chunk)-1)>>8), byte(len(chunk)-1))
		block = append(block, chunk...)
	}
	block = append(block, 0)
	unpadded := len(block) + 4
	block = append(block, make([]byte, -len(block)&3)...)
	out = append(append(out, block...), sum(data)...)
	index := append([]byte{0, 1}, number(unpadded)...)
	index = append(index, number(len(data))...)
	index = append(index, make([]byte, -len(index)&3)...)
	out = append(append(out, index...), sum(index)...)
	footer := append(
		le.AppendUint32(nil, uint32(len(index)/4)),
		flags...) // the index with its sum, in fours, less one
	return append(append(append(out, sum(footer)...), footer...), "YZ"...)
}

// arOf returns an ar archive of name, content, name, content and so on.
func arOf(members ...string) []byte {
	out := []byte(arMagic)
	for i := 0; i < len(members); i += 2 {
		out = fmt.Appendf(
			out,
			"%-16s%-12d%-6d%-6d%-8s%-10d`\n",
			members[i],
			0,
			0,
			0,
			"100644",
			len(members[i+1]),
		)
		out = append(out, members[i+1]...)
		if len(members[i+1])%2 == 1 {
			out = append(out, '\n')
		}
	}
	return out
}

// cpioOf returns a newc cpio archive of regular files of name, content and so on.
func cpioOf(files ...string) []byte {
	var out []byte
	one := func(mode int, name, data string) {
		out = fmt.Appendf(
			out,
			"070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
			1,
			mode,
			0,
			0,
			1,
			0,
			len(data),
			0,
			0,
			0,
			0,
			len(name)+1,
			0,
		)
		out = append(append(out, name...), 0)
		out = append(out, make([]byte, -len(out)&3)...)
		out = append(out, data...)
		out = append(out, make([]byte, -len(out)&3)...)
	}
	one(0o40755, "./usr", "")
	for i := 0; i < len(files); i += 2 {
		one(0o100644, files[i], files[i+1])
	}
	one(0, cpioTrailer, "")
	return out
}

// rpmOf returns an rpm for riscv64 with a payload, whose header requires some capabilities.
func rpmOf(payload []byte, requires ...string) []byte {
	header := func(entries [][4]uint32, store []byte) []byte {
		b := append([]byte(rpmHeaderMagic), 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(store)))
		for _, e := range entries {
			for _, v := range e {
				b = binary.BigEndian.AppendUint32(b, v)
			}
		}
		return append(b, store...)
	}
	out := append([]byte(rpmMagic), make([]byte, rpmLead-4)...)
	out = append(out, header([][4]uint32{{1000, 4, 0, 1}}, []byte{1, 2, 3, 4})...)
	out = append(out, make([]byte, -len(out)&7)...)
	var store bytes.Buffer
	for _, r := range requires {
		store.WriteString(r + "\x00")
	}
	arch := uint32(store.Len())
	store.WriteString("riscv64\x00")
	out = append(out, header([][4]uint32{
		{rpmArch, rpmString, arch, 1}, {rpmRequireName, rpmStringArray, 0, uint32(len(requires))},
	}, store.Bytes())...)
	return append(out, payload...)
}
