package btf

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
)

// shapes returns the .BTF section that gcc -gbtf wrote for ../dwarf/testdata/shapes.c, twice, as if
// linked from two files.
func shapes(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/shapes.btf")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(b, b)
}

func TestParse(t *testing.T) {
	units, err := Parse(shapes(t), binary.LittleEndian)
	if err != nil || len(units) != 2 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	types := units[1].Types
	find := func(k Kind, name string) Type {
		i := slices.IndexFunc(types, func(x Type) bool { return x.Kind == k && x.Name == name })
		if i < 0 {
			t.Fatalf("no %d %s", k, name)
		}
		return types[i]
	}
	big := find(Struct, "big")
	if big.Size != 128 || len(big.Members) != 8 || big.Members[4].Name != "t" ||
		big.Members[4].Offset != 320 {
		t.Errorf("struct big is %+v", big)
	}
	tree := find(Struct, "tree")
	if few := tree.Members[3]; few.Name != "few" || few.Bits != 3 || few.Offset != 160 {
		t.Errorf("bit-field %+v", few)
	}
	if e := find(Enum, "color"); e.Members[0].Name != "RED" || e.Members[0].Value != -1 {
		t.Errorf("enum %+v", e)
	}
	if walk := find(Func, "walk"); len(types[walk.Type].Members) != 3 {
		t.Errorf("walk has the type %+v", types[walk.Type])
	}
}

func TestDamage(t *testing.T) {
	b := shapes(t)
	if _, err := Parse(b[:100], binary.LittleEndian); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut off: %v", err)
	}
	if _, err := Parse(b, binary.BigEndian); !errors.Is(err, ErrDamaged) {
		t.Errorf("other byte order: %v", err)
	}
}

// FuzzParse checks that all references of the result are valid for damaged sections.
func FuzzParse(f *testing.F) {
	f.Add(shapes(f), uint32(0), byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at uint32, value byte) {
		b = slices.Clone(b)
		if int(at) < len(b) {
			b[at] ^= value
		}
		units, err := Parse(b, binary.LittleEndian)
		if err != nil {
			return
		}
		for _, u := range units {
			for i, x := range u.Types {
				if int(x.Type) >= len(u.Types) {
					t.Fatalf("type %d refers to %d of %d", i, x.Type, len(u.Types))
				}
				for _, m := range x.Members {
					if int(m.Type) >= len(u.Types) {
						t.Fatalf("a member of type %d refers to %d of %d", i, m.Type, len(u.Types))
					}
				}
			}
		}
	})
}
