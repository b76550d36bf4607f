package cpython

import "testing"

func TestRelease(t *testing.T) {
	abi3, abi3t := Suffix{ABI: "abi3"}, Suffix{ABI: "abi3t"}
	named, namedT := Suffix{"abi3", true}, Suffix{"abi3t", true}
	for _, c := range []struct {
		interpreter, abi string
		imports          []Suffix
		not              []Suffix
		export           bool
	}{
		{"cp312", "abi3", []Suffix{abi3}, []Suffix{abi3t, named, namedT}, false},
		{"cp314", "cp314t", []Suffix{abi3}, []Suffix{abi3t, named, namedT}, false},
		{"cp315", "cp315", []Suffix{abi3, abi3t, named, namedT}, nil, true},
		{"cp315", "abi3t", []Suffix{abi3t, namedT}, []Suffix{abi3, named}, true},
		{"cp316", "cp316t", []Suffix{abi3t, namedT}, []Suffix{abi3, named}, true},
	} {
		r, ok := OfTag(c.interpreter, c.abi)
		if !ok {
			t.Fatalf("%s-%s names no release", c.interpreter, c.abi)
		}
		for _, s := range c.imports {
			if !r.Imports(s) {
				t.Errorf("%+v does not import %+v", r, s)
			}
		}
		for _, s := range c.not {
			if r.Imports(s) {
				t.Errorf("%+v imports %+v", r, s)
			}
		}
		if !r.Calls("PyInit_x") || r.Calls("PyModExport_x") != c.export || r.Calls("PyList_New") {
			t.Errorf("%+v: wrong hooks", r)
		}
	}
	for _, tag := range []string{"py3", "cp3", "cp27", "cp315t", "cp3999", "cp3-1", "pp310", ""} {
		if r, ok := OfTag(tag, "none"); ok {
			t.Errorf("%q names %+v", tag, r)
		}
	}
}

func TestParseHook(t *testing.T) {
	for symbol, want := range map[string]Hook{
		"PyInit_spam": {Module: "spam"}, "PyModExport_spam": {"spam", true},
		"PyInitU_zoot": {}, "PyModExportU_zoot": {Export: true}, "PyInit_": {},
	} {
		if got, ok := ParseHook(symbol); !ok || got != want {
			t.Errorf("%s: %+v, %t, want %+v", symbol, got, ok, want)
		}
	}
	for _, symbol := range []string{"PyInitialize", "Py_Initialize", "PyModExport", "initspam",
		"_PyInit_x", "_ZN1aC1Ev", ""} {
		if got, ok := ParseHook(symbol); ok {
			t.Errorf("%s: %+v", symbol, got)
		}
	}
}
