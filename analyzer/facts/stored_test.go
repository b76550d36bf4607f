package facts_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/internal/compact"
)

const wheelName = "demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"

// demo returns a wheel with a module, a library, and sources that load it.
func demo(t testing.TB) []byte {
	t.Helper()
	object := func(text string) []byte { return elftest.File(t, text) }
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"demo/__init__.py", []byte("import ctypes\nfrom . import _m\nctypes.CDLL('libx.so', 256)\n")},
		{"demo/_m.cpython-312-x86_64-linux-gnu.so", object("elf x86_64\nneeded libx.so.1 libc.so.6\n" +
			"import run@X_1 libx.so.1\nimport malloc@GLIBC_2.2.5 libc.so.6\nexport PyInit__m\n")},
		{"demo.libs/libx.so.1", object("elf x86_64\nsoname libx.so.1\nneeded libc.so.6\n" +
			"export run@@X_1 size=40\nexport stop@@X_2\n")},
		{"demo-1.0.dist-info/METADATA", []byte("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n" +
			"Requires-Dist: numpy>=1.26\n")},
		{"demo-1.0.dist-info/WHEEL", []byte("Wheel-Version: 1.0\nRoot-Is-Purelib: false\n" +
			"Tag: cp312-cp312-manylinux_2_28_x86_64\n")},
	} {
		w, err := z.Create(f.name)
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// encoded returns the facts of a wheel.
func encoded(t testing.TB, wheel []byte) []byte {
	t.Helper()
	names := elfobj.NewNames()
	in := facts.Input{Name: wheelName, Content: bytes.NewReader(wheel), Size: int64(len(wheel))}
	set, err := facts.Read(t.Context(), []facts.Input{in}, facts.Options{}, names)
	if err != nil {
		t.Fatal(err)
	}
	data, err := facts.Encode(set, names)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The facts of a wheel are those of earlier builds. If this fails because the same bytes are read as
// other facts, increase meaning: nobody then gets facts that are no longer true from a store. If a
// field was added or renamed, Format has changed by itself. Then write the new values here.
func TestFormat(t *testing.T) {
	names := elfobj.NewNames()
	set, err := facts.Decode(encoded(t, demo(t)), wheelName, names)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(compact.Encode(set, names))
	const format, digest = "9-1f8ce60d", "4ca56d3afa68fe2e"
	if got := hex.EncodeToString(sum[:8]); facts.Format() != format || got != digest {
		t.Errorf("format %s, facts %s, want %s, %s: the comment of the test says what to do",
			facts.Format(), got, format, digest)
	}
}

// Stored facts are of the wheel that they are used for, and of all of it.
func TestStored(t *testing.T) {
	data := encoded(t, demo(t))
	if _, err := facts.Decode(data, "other-1.0-py3-none-any.whl", elfobj.NewNames()); !errors.Is(
		err, compact.ErrDamaged) {
		t.Errorf("facts of another wheel: %v", err)
	}
	for n := range data {
		if _, err := facts.Decode(data[:n], wheelName, elfobj.NewNames()); err == nil {
			t.Errorf("the first %d bytes are facts", n)
		}
	}
	names := elfobj.NewNames()
	bad := []byte("PK, and no wheel")
	in := facts.Input{Name: wheelName, Content: bytes.NewReader(bad), Size: int64(len(bad))}
	set, err := facts.Read(t.Context(), []facts.Input{in}, facts.Options{}, names)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := facts.Encode(set, names); err == nil {
		t.Error("facts of a damaged wheel are stored")
	}
}

// Whatever bytes are decoded, the result can be encoded, and is the same afterwards.
func FuzzDecode(f *testing.F) {
	data := encoded(f, demo(f))
	f.Add(data)
	plain, err := facts.Plain(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func() (*facts.Set, *elfobj.Names, error){
			func() (*facts.Set, *elfobj.Names, error) {
				names := elfobj.NewNames()
				s, err := facts.Decode(data, wheelName, names)
				return s, names, err
			},
			func() (*facts.Set, *elfobj.Names, error) {
				names, s := elfobj.NewNames(), &facts.Set{}
				return s, names, compact.Decode(data, s, names)
			},
		} {
			s, names, err := decode()
			if err != nil {
				continue
			}
			first := compact.Encode(s, names)
			again, others := &facts.Set{}, elfobj.NewNames()
			if err := compact.Decode(first, again, others); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first, compact.Encode(again, others)) {
				t.Error("encoding what was decoded gives other bytes")
			}
			for _, a := range s.Artifacts {
				if a == nil {
					continue
				}
				for _, o := range a.Objects { // the lists have no row without a name or version
					if o != nil && o.Object != nil {
						o.Exports.List()
						o.Imports.List()
					}
				}
			}
		}
	})
}
