package cpython

import (
	"slices"
	"strings"
	"testing"
)

func TestReleases(t *testing.T) {
	// from the "What's New" pages of the CPython documentation
	for symbol, want := range map[string]string{
		"PyList_New":             "2.7 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14",
		"PyInt_FromLong":         "2.7",
		"PyString_FromString":    "2.7",
		"PyVectorcall_Call":      "3.8 3.9 3.10 3.11 3.12 3.13 3.14",
		"PyObject_CallNoArgs":    "3.9 3.10 3.11 3.12 3.13 3.14",
		"PyType_GetName":         "3.11 3.12 3.13 3.14",
		"PyList_Extend":          "3.13 3.14",
		"PyUnicode_AsUnicode":    "3.6 3.7 3.8 3.9 3.10 3.11",
		"_Py_ZeroStruct":         "2.7",
		"PyObject_NothingOfIt":   "",
		"PyUnicode_GetLength":    "3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14",
		"Py_GetConstantBorrowed": "3.13 3.14",
	} {
		if got := strings.Join(Releases(symbol), " "); got != want {
			t.Errorf("%s: %s, want %s", symbol, got, want)
		}
	}
	if !Known("3.11") || Known("3.5") || Known("") || Known("4.0") {
		t.Error("other releases are known than those of the table")
	}
}

func TestExportsAreComplete(t *testing.T) {
	count := map[string]int{}
	for name, releases := range exported.Get().All() {
		if !strings.HasPrefix(name, "Py") && !strings.HasPrefix(name, "_Py") || len(releases) == 0 {
			t.Fatalf("%s %v", name, releases)
		}
		for _, r := range releases {
			count[r]++
		}
	}
	for _, r := range Releases(everywhere) {
		if count[r] < 1000 {
			t.Errorf("CPython %s exports %d symbols", r, count[r])
		}
	}
	if !slices.IsSortedFunc(Releases(everywhere), func(a, b string) int { return len(a) - len(b) }) {
		t.Error("the releases are not in order")
	}
}
