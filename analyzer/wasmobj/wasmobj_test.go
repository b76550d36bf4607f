package wasmobj

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

var texts = map[string]string{
	"empty":  "wasm",
	"static": "wasm static\nexport func main ii>i\n",
	"module": "wasm\nneeded libfoo.so\nrunpath $ORIGIN/../lib\nimport env func PyList_New i>i\n" +
		"import env memory memory shared\nimport env table __indirect_function_table\n" +
		"import env global __memory_base\nimport env tag __cpp_exception i>\n" +
		"import weak GOT.func global maybe\nimport GOT.mem global _Py_NoneStruct\n",
	"exports": "wasm\nimport env func a i>\nexport func PyInit_x >i\nexport global data\n" +
		"export tag t ij>\nexport func long iiiijfdv>d\n",
	"tools": "wasm\ntool clang 22.0.0\ntool rustc 1.92.0\n",
}

func write(t testing.TB, text string) (*Object, []byte) {
	t.Helper()
	o, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Write(o)
	if err != nil {
		t.Fatal(err)
	}
	return o, b
}

func TestReadWritten(t *testing.T) {
	for name, text := range texts {
		want, b := write(t, text)
		got, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// Damage in a section that is read is an error, and so is a file that ends in a section.
func TestDamage(t *testing.T) {
	for name, text := range texts {
		_, b := write(t, text)
		for n := range b {
			_, err := Read(bytes.NewReader(b[:n]), int64(n))
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotWasm) {
				t.Errorf("%s, %d bytes: %v", name, n, err)
			}
		}
	}
	for _, b := range []string{
		"", "\x00asm", "\x00asm\x02\x00\x00\x00", "\x7fELF\x00\x00\x00\x00",
	} {
		if _, err := Read(bytes.NewReader([]byte(b)), int64(len(b))); !errors.Is(err, ErrNotWasm) {
			t.Errorf("%q: %v", b, err)
		}
	}
	for _, section := range []string{
		"\x02\x05\xff\xff\xff\xff\x0f", "\x02\x01\x7f", "\x07\x02\x01\x01", "\x02\xff\xff\xff\xff\x7f",
		"\x03\x06\x80\x80\x80\x80\x80\x00",
	} {
		b := []byte(magic + section)
		if o, err := Read(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %+v, %v", section, o, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range texts {
		_, b := write(f, text)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		again, err := Write(o)
		if err != nil {
			return // of a type with references
		}
		got, err := Read(bytes.NewReader(again), int64(len(again)))
		if err != nil || len(got.Imports) != len(o.Imports) || len(got.Exports) != len(o.Exports) ||
			!reflect.DeepEqual(got.Needed, o.Needed) && len(o.Needed) > 0 {
			t.Errorf("%+v\nwritten and read: %+v, %v", o, got, err)
		}
	})
}
