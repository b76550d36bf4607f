package cpython

import "testing"

func TestOnWindows(t *testing.T) {
	for _, c := range []struct {
		release, symbol string
		exports, known  bool
	}{
		{"3.11", "PyUnicode_AsUnicode", true, true},
		{"3.12", "PyUnicode_AsUnicode", false, true},
		{"3.13", "PyUnicode_AsUnicode", false, true},
		{"3.12", "PyModule_Create2", true, true},
		{"3.8", "PyVectorcall_Call", true, true},
		{"3.7", "PyVectorcall_Call", false, true},
		{"3.9", "PyErr_SetFromWindowsErr", true, true},
		{"3.12", "PyErr_SetFromWindowsErr", false, false},
		{"3.12", "PyObject_NothingOfIt", false, true},
		{"3.5", "PyModule_Create2", false, false},
		{"", "PyModule_Create2", false, false},
	} {
		if exports, known := OnWindows(c.release, c.symbol); exports != c.exports ||
			known != c.known {
			t.Errorf("%s in %s: %v, %v", c.symbol, c.release, exports, known)
		}
	}
}
