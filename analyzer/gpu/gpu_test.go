package gpu

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// container returns a container of .nv_fatbin with entries such as "ptx 50", "elf 90" or "elf 90 a",
// each with a few bytes of payload.
func container(entries ...string) []byte {
	var body []byte
	for _, e := range entries {
		var kind, only string
		var arch uint32
		fmt.Sscan(e, &kind, &arch, &only)
		h := make([]byte, 64)
		binary.LittleEndian.PutUint16(
			h,
			map[string]uint16{"ptx": kindPTX, "elf": kindCode, "other": 9}[kind],
		)
		binary.LittleEndian.PutUint32(h[4:], 64)
		binary.LittleEndian.PutUint64(h[8:], 24)
		binary.LittleEndian.PutUint32(h[28:], arch)
		flags := map[string]uint64{"": 0x11, "a": 0x100011, "f": 0x1200011}[only] // as fatbinary writes them
		binary.LittleEndian.PutUint64(h[40:], flags)
		body = append(append(body, h...), bytes.Repeat([]byte{0xee}, 24)...)
	}
	h := make([]byte, 16)
	binary.LittleEndian.PutUint32(h, cudaMagic)
	binary.LittleEndian.PutUint16(h[4:], 1)
	binary.LittleEndian.PutUint16(h[6:], 16)
	binary.LittleEndian.PutUint64(h[8:], uint64(len(body)))
	return append(h, body...)
}

// bundle returns an uncompressed offload bundle with 16 bytes per entry, 0 for the host entry.
func bundle(names ...string) []byte {
	table := 32
	for _, n := range names {
		table += 24 + len(n)
	}
	b := binary.LittleEndian.AppendUint64([]byte(bundleMagic), uint64(len(names)))
	var body []byte
	for _, n := range names {
		size := 16
		if strings.HasPrefix(n, "host") {
			size = 0
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(table+len(body)))
		b = binary.LittleEndian.AppendUint64(b, uint64(size))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(n)))
		b = append(b, n...)
		body = append(body, bytes.Repeat([]byte{0xaa}, size)...)
	}
	return append(b, body...)
}

// ccob returns a compressed bundle; raw is the uncompressed size in its header.
func ccob(t testing.TB, version, method uint16, raw uint64, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	var w io.WriteCloser = zlib.NewWriter(&z)
	if method == methodZstd {
		var err error
		if w, err = zstd.NewWriter(&z); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h := binary.LittleEndian.AppendUint16([]byte(ccobMagic), version)
	h = binary.LittleEndian.AppendUint16(h, method)
	switch version {
	case 1:
		h = binary.LittleEndian.AppendUint32(h, uint32(raw))
	case 2:
		h = binary.LittleEndian.AppendUint32(h, uint32(24+z.Len()))
		h = binary.LittleEndian.AppendUint32(h, uint32(raw))
	case 3:
		h = binary.LittleEndian.AppendUint64(h, uint64(32+z.Len()))
		h = binary.LittleEndian.AppendUint64(h, raw)
	}
	h = binary.LittleEndian.AppendUint64(h, 0x1234) // hash
	return append(h, z.Bytes()...)
}

// pages aligns each bundle to a page, as the linker does.
func pages(bs ...[]byte) []byte {
	var out []byte
	for _, b := range bs {
		out = append(out, make([]byte, (4096-len(out)%4096)%4096)...)
		out = append(out, b...)
	}
	return out
}

// object returns an ELF file with the given sections: name, bytes, name, bytes, …
func object(t testing.TB, sections ...any) (*elfobj.Object, []byte) {
	t.Helper()
	text := "elf x86_64\nsoname libgpu.so\n"
	for i := 0; i < len(sections); i += 2 {
		text += fmt.Sprintf("section %s %s\n", sections[i], hex.EncodeToString(sections[i+1].([]byte)))
	}
	b := elftest.File(t, text)
	o, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return o, b
}

func TestRead(t *testing.T) {
	const host, amd = "host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--"
	for _, c := range []struct {
		name     string
		sections []any
		want     Archs
	}{
		{"none", nil, Archs{}},
		{"cuda, sorted by generation", []any{".nv_fatbin",
			append(container("elf 90", "elf 100", "elf 50", "ptx 50"), container("elf 90", "ptx 120")...)},
			Archs{CUDA: []string{"sm_50", "sm_90", "sm_100"}, PTX: []string{"sm_50", "sm_120"}}},
		{"of one architecture or family", []any{".nv_fatbin", container("elf 90", "elf 90 a", "elf 100 f",
			"elf 80", "ptx 120 a")},
			Archs{
				CUDA: []string{"sm_80", "sm_90", "sm_90a", "sm_100f"}, PTX: []string{"sm_120a"},
			}},
		{"relocatable device code", []any{"__nv_relfatbin", container("elf 80"), ".nv_fatbin",
			container("elf 70")}, Archs{CUDA: []string{"sm_70", "sm_80"}}},
		{"padding", []any{".nv_fatbin", slicesConcat(make([]byte, 24), container("elf 75"),
			make([]byte, 70000), container("elf 86"))}, Archs{CUDA: []string{"sm_75", "sm_86"}}},
		{"a kind that is no code", []any{".nv_fatbin", container("other 99", "elf 60")},
			Archs{CUDA: []string{"sm_60"}}},
		{"hip", []any{".hip_fatbin", pages(bundle(host, amd+"gfx1030", amd+"gfx90a:sramecc+:xnack-",
			amd+"gfx90a:xnack+", amd+"gfx906"), bundle(host, amd+"gfx1100"))},
			Archs{ROCm: []string{"gfx906", "gfx90a", "gfx1030", "gfx1100"}}},
		{"hip, other names", []any{".hip_fatbin", bundle("host-x86_64-unknown-linux-gnu-",
			"hip-amdgcn-amd-amdhsa-unknown-gfx9-4-generic", "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv")},
			Archs{ROCm: []string{"amdgcnspirv", "gfx9-4-generic"}}},
		{"compressed, every version", []any{".hip_fatbin",
			pages(ccob(t, 1, methodZlib, 4096, bundle(host, amd+"gfx900")),
				ccob(t, 2, methodZlib, 4096, bundle(host, amd+"gfx90a")),
				ccob(t, 2, methodZstd, 4096, bundle(host, amd+"gfx942")),
				ccob(t, 3, methodZstd, 4096, bundle(host, amd+"gfx1201")), bundle(host, amd+"gfx1100"))},
			Archs{ROCm: []string{"gfx900", "gfx90a", "gfx942", "gfx1100", "gfx1201"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, b := object(t, c.sections...)
			got, err := Read(o, bytes.NewReader(b), int64(len(b)))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, error %v, want %v", got, err, c.want)
			}
		})
	}
}

func slicesConcat(bs ...[]byte) []byte { return bytes.Join(bs, nil) }

func TestReadDamage(t *testing.T) {
	const amd = "hipv4-amdgcn-amd-amdhsa--gfx90a"
	change := func(b []byte, off int, v uint64) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint64(b[off:], v)
		return b
	}
	for _, c := range []struct {
		name, section string
		bytes         []byte
		says          string
	}{
		{"container too long", ".nv_fatbin", change(container("elf 90"), 8, 1<<40),
			"claims 1099511627776 bytes"},
		{"container of negative size", ".nv_fatbin", change(container("elf 90"), 8, 1<<64-1), "claims"},
		{"container cut in its header", ".nv_fatbin", container("elf 90")[:12], "cut off"},
		{"entry too long", ".nv_fatbin", change(container("elf 90"), 16+8, 1<<63),
			"the entry at byte 16"},
		{"entry without header", ".nv_fatbin", change(container("elf 90"), 16, kindCode),
			"after a header of 0"},
		{"wild architecture", ".nv_fatbin", container("elf 70000"), "architecture 70000"},
		{"a million entries", ".hip_fatbin", change(bundle(amd), 24, 1<<20), "1048576 entries"},
		{"long name", ".hip_fatbin", change(bundle(amd), 32+16, 1<<30), "the name of entry 0"},
		{"entry outside", ".hip_fatbin", change(bundle(amd), 32, 1<<50), "entry 0 claims 16 bytes"},
		{"cut in its table", ".hip_fatbin", bundle(amd)[:44], "ends within its table"},
		{"other magic", ".hip_fatbin", append([]byte("__CLANG_ELSE"), make([]byte, 50)...),
			"does not start with"},
		{"version 4", ".hip_fatbin", ccob(t, 4, methodZstd, 100, bundle(amd)), "version 4"},
		{"method 2", ".hip_fatbin", ccob(t, 2, 2, 1000, bundle(amd)), "method 2"},
		{"total too large", ".hip_fatbin", change(ccob(t, 3, methodZstd, 1000, bundle(amd)), 8, 1<<40),
			"claims 1099511627776 bytes"},
		{"not compressed", ".hip_fatbin", append(ccob(t, 2, methodZstd, 1000, nil)[:24],
			make([]byte, 100)...), "magic number mismatch"},
		{"wrong stream", ".hip_fatbin", change(ccob(t, 3, methodZlib, 1000, bundle(amd)), 32, 0), "zlib"},
		{"entry beyond the raw size", ".hip_fatbin", ccob(t, 3, methodZstd, 20, bundle(amd)), "of 20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, b := object(t, c.section, c.bytes)
			_, err := Read(o, bytes.NewReader(b), int64(len(b)))
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), c.section) {
				t.Errorf("got %v, want damage in %s that says %q", err, c.section, c.says)
			}
		})
	}
}

// TestReadKeepsWhatItFound checks that processors before the damage are returned.
func TestReadKeepsWhatItFound(t *testing.T) {
	o, b := object(t, ".nv_fatbin", append(container("elf 90"), container("elf 70000")...))
	got, err := Read(o, bytes.NewReader(b), int64(len(b)))
	if err == nil || !reflect.DeepEqual(got.CUDA, []string{"sm_90"}) {
		t.Errorf("got %v, error %v", got, err)
	}
}

// TestReadBomb checks that only the tables of very large bundles are decompressed.
func TestReadBomb(t *testing.T) {
	bomb := append(bundle("hipv4-amdgcn-amd-amdhsa--gfx90a"), make([]byte, 16<<20)...)
	var all [][]byte
	for _, method := range []uint16{methodZlib, methodZstd} {
		one := ccob(t, 3, method, 1<<30, bomb)
		for range 50 {
			all = append(all, one)
		}
	}
	o, b := object(t, ".hip_fatbin", pages(all...))
	var a, z runtime.MemStats
	runtime.ReadMemStats(&a)
	got, err := Read(o, bytes.NewReader(b), int64(len(b)))
	runtime.ReadMemStats(&z)
	if err != nil || len(got.ROCm) != 1 || z.TotalAlloc-a.TotalAlloc > 32<<20 {
		t.Errorf("got %v, error %v, %d bytes allocated", got, err, z.TotalAlloc-a.TotalAlloc)
	}
	t.Logf(
		"%d bytes allocated for %d bundles of 16 MB in a file of %d bytes",
		z.TotalAlloc-a.TotalAlloc,
		len(all),
		len(b),
	)
}

// FuzzRead checks that Read does not panic and that its lists are sorted, distinct and small.
func FuzzRead(f *testing.F) {
	const amd = "hipv4-amdgcn-amd-amdhsa--gfx90a"
	f.Add(container("elf 90", "ptx 50"))
	f.Add(bundle("host-x86_64-unknown-linux--", amd))
	for _, v := range []uint16{1, 2, 3} {
		f.Add(ccob(f, v, methodZlib, 1000, bundle(amd)))
		f.Add(ccob(f, v, methodZstd, 1000, bundle(amd)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := uint64(len(b))
		o := &elfobj.Object{
			Sections: []elfobj.Section{
				{Name: ".nv_fatbin", Size: n},
				{Name: ".hip_fatbin", Size: n},
				{Name: ".nv_fatbin", Offset: 1, Size: n},
			},
		}
		a, err := Read(o, bytes.NewReader(b), int64(n))
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("an error of another kind: %v", err)
		}
		for _, list := range [][]string{a.CUDA, a.PTX, a.ROCm} {
			for i, s := range list {
				if len(s) > maxEntryName ||
					i > 0 &&
						(len(s) < len(list[i-1]) || len(s) == len(list[i-1]) && s <= list[i-1]) {
					t.Errorf("%q", list)
				}
			}
		}
	})
}
