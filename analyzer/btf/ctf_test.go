package btf

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// conflict returns the archive that gcc -gctf and GNU ld write for two files that define struct s
// differently, and the symbols of the library:
//
//	struct s { int a; };          struct s va; int fa(struct s *p) { return p->a; }
//	struct s { char *b; long c; } struct s vb; int fb(struct s *p) { … } int fc(int x) { … }
func conflict(t testing.TB) ([]byte, Symbols) {
	t.Helper()
	f, err := elf.Open("testdata/conflict.so")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := f.Section(".ctf").Data()
	if err != nil {
		t.Fatal(err)
	}
	names, err := f.Section(".dynstr").Data()
	if err != nil {
		t.Fatal(err)
	}
	return b, Symbols{
		Functions: []string{"fc", "fa", "fb"}, Objects: []string{"va", "vb"}, Strings: names,
	}
}

func TestParseCTF(t *testing.T) {
	b, symbols := conflict(t)
	u, err := ParseCTF(b, binary.LittleEndian, symbols, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	find := func(k Kind, name string) Type {
		i := slices.IndexFunc(u.Types, func(x Type) bool { return x.Kind == k && x.Name == name })
		if i < 0 {
			t.Fatalf("no %d %s", k, name)
		}
		return u.Types[u.Types[i].Type]
	}
	if va := find(Variable, "va"); va.Name != "s" || va.Size != 4 || len(va.Members) != 1 {
		t.Errorf("va is %+v", va)
	}
	vb := find(Variable, "vb")
	if vb.Name != "s" || vb.Size != 16 || len(vb.Members) != 2 {
		t.Fatalf("vb is %+v", vb)
	}
	if c := vb.Members[1]; c.Name != "c" || c.Offset != 64 ||
		u.Types[c.Type].Name != "long int" {
		t.Errorf("vb.c is %+v", c)
	}
	fa := find(Func, "fa")
	if fa.Kind != Prototype || len(fa.Members) != 1 {
		t.Fatalf("fa is %+v", fa)
	}
	// The shared dictionary has no definition of struct s, as there are two.
	if p := u.Types[fa.Members[0].Type]; p.Kind != Pointer || u.Types[p.Type].Kind != Forward {
		t.Errorf("the parameter of fa is %+v", p)
	}
}

func TestCompressedCTF(t *testing.T) {
	archive, symbols := conflict(t)
	dicts, err := dictionaries(archive)
	if err != nil || len(dicts) != 3 {
		t.Fatal(len(dicts), err)
	}
	var z bytes.Buffer
	z.Write(dicts[0][:ctfHeaderSize])
	z.Bytes()[3] |= ctfCompressed
	w := zlib.NewWriter(&z)
	w.Write(dicts[0][ctfHeaderSize:])
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := ParseCTF(dicts[0], binary.LittleEndian, symbols, 1<<10)
	if err != nil || len(want.Types) < 9 {
		t.Fatal(want, err)
	}
	got, err := ParseCTF(z.Bytes(), binary.LittleEndian, symbols, 1<<10)
	if err != nil || !slices.EqualFunc(got.Types, want.Types, func(a, b Type) bool {
		return a.Kind == b.Kind && a.Name == b.Name && a.Type == b.Type
	}) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = ParseCTF(z.Bytes(), binary.LittleEndian, symbols, 100)
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("more bytes than the limit: %v", err)
	}
}

func FuzzParseCTF(f *testing.F) {
	b, symbols := conflict(f)
	f.Add(b)
	f.Add(b[0x60:])
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			u, err := ParseCTF(b, order, symbols, 1<<20)
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			if err != nil {
				continue
			}
			for i, x := range u.Types {
				if int(x.Type) >= len(u.Types) {
					t.Fatalf("type %d refers to %d", i, x.Type)
				}
			}
		}
	})
}
