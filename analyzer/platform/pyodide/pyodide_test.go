package pyodide

import (
	"strings"
	"testing"
)

func TestSymbol(t *testing.T) {
	for _, c := range []struct{ abi, symbol, want string }{
		{"2024_0", "PyList_New", "i>i"},
		{"2026_0", "PyList_New", "i>i"},
		{"2025_0", "_Py_NoneStruct", Data},
		{"2025_0", "__heap_base", Data},
		{"2025_0", "_PyLong_Format", "ii>i"},
		{"2024_0", "invoke_iii", JavaScript},
		{"2025_0", "invoke_iii", ""},
		{"2024_0", "__cpp_exception", ""},
		{"2025_0", "__cpp_exception", Tag + "i>"},
		{"2026_5", "__cpp_exception", Tag + "i>"},
		{"2025_0", "create_sentinel", ""},
		{"2026_0", "__memory_base", ""},
		{"2026_0", "open64", "iii>i"},
		{"2026_0", "no_such_function", ""},
	} {
		abi, ok := Lookup(c.abi)
		got, has := abi.Symbol(c.symbol)
		if !ok || got != c.want || has != (c.want != "") {
			t.Errorf("%s of %s: %q, %v, want %q", c.symbol, c.abi, got, has, c.want)
		}
	}
}

// Every row of the table names ABIs that are known, and each of them has thousands of symbols.
func TestTable(t *testing.T) {
	count := map[string]int{}
	for name, fields := range symbols.Get().All() {
		for _, f := range fields {
			abi, kind, ok := strings.Cut(f, "=")
			if _, known := Lookup(abi); !ok || !known || kind == "" {
				t.Errorf("%s: %q", name, fields)
			}
			count[abi]++
		}
	}
	for _, a := range All() {
		if count[a.Name] < 9000 {
			t.Errorf("%s: %d symbols", a.Name, count[a.Name])
		}
	}
}

func TestNames(t *testing.T) {
	for release, want := range map[string]string{
		"3.1.58": "pyemscripten_2024_0_wasm32", "5.0.3": "pyemscripten_2026_0_wasm32", "3.1.1": "",
	} {
		a, ok := OfEmscripten(release)
		if ok != (want != "") || ok && a.Tag() != want {
			t.Errorf("%s: %+v, want %q", release, a, want)
		}
	}
}
