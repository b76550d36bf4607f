package abi3

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

func TestAdded(t *testing.T) {
	for name, want := range map[string]int{"PyArg_Parse": 2, "PyExc_ValueError": 2,
		"PyType_GetName": 11, "PyModule_AddType": 10, "Py_IncRef": 2, "PyOS_AfterFork_Child": 7} {
		if got, ok := Added(name); !ok || got != want {
			t.Errorf("%s came with 3.%d (%t), want 3.%d", name, got, ok, want)
		}
	}
	for _, name := range []string{"PyCode_New", "PyDict_GetItemRefX", "PyInit_x", ""} {
		if _, ok := Added(name); ok {
			t.Errorf("%s should not be in the stable ABI", name)
		}
	}
	n := 0
	for name := range added.Get().All() {
		n++
		if minor, _ := Added(name); minor < 2 {
			t.Errorf("%s came with 3.%d", name, minor)
		}
		if !Names(name) {
			t.Errorf("%s is stable, and Names would pass it over", name)
		}
	}
	if n < 900 {
		t.Errorf("the table has %d symbols", n)
	}
}

func TestBaseline(t *testing.T) {
	for tags, want := range map[string]struct {
		tag   string
		minor int
		ok    bool
	}{
		"cp38-abi3-linux_x86_64":           {"cp38-abi3", 8, true},
		"cp36.cp37.cp311-abi3-any":         {"cp311-abi3", 11, true},
		"CP39-ABI3-any":                    {"cp39-abi3", 9, true},
		"cp32-abi3-any":                    {"cp32-abi3", 2, true},
		"py3-abi3-any":                     {"py3-abi3", 2, true},
		"cp312-cp312-manylinux2014_x86_64": {},
		"cp315-abi3.abi3t-any":             {"cp315-abi3", 15, true},
		"cp315-abi3t-any":                  {"cp315-abi3t", 15, true},
	} {
		parsed, err := pkgmeta.ParseTags(tags)
		if err != nil {
			t.Fatal(err)
		}
		if tag, minor, ok := Baseline(parsed); tag != want.tag || minor != want.minor ||
			ok != want.ok {
			t.Errorf("%s: %s, 3.%d, %t; want %+v", tags, tag, minor, ok, want)
		}
		if _, _, ok := Oldest(parsed); ok != want.ok {
			t.Errorf("%s: oldest %t", tags, ok)
		}
	}
	tags, err := pkgmeta.ParseTags("cp37.cp36.py3.cp311-abi3-any")
	if err != nil {
		t.Fatal(err)
	}
	if tag, minor, ok := Oldest(tags[:2]); tag != "cp36-abi3" || minor != 6 || !ok {
		t.Errorf("oldest: %s, 3.%d, %t", tag, minor, ok)
	}
}

func TestAudit(t *testing.T) {
	o := elftest.Object(t, `elf x86_64
import PyType_GetName
import PyCode_New
import PyLong_FromLong
import malloc
export PyInit_m
export PyHelper_Mine
export unique object _PyOnce
comment GCC: 12
`)
	static := []elfobj.StaticSymbol{
		{Name: "PyVectorcall_Call", Local: true},
		{Name: "_PyInlined", Local: true},
		{Name: "PyModule_AddType"},
		{Name: "PyCode_New"},
	}
	r := Audit("cp38-abi3", 8, Of(o, static))
	if r.Tag != "cp38-abi3" ||
		!slices.Equal(r.Violations, []string{"PyCode_New", "PyHelper_Mine"}) ||
		!slices.Equal(r.TooNew, []string{"PyModule_AddType", "PyType_GetName"}) ||
		r.Computed != "3.11" {
		t.Errorf("%+v", r)
	}
	if r := Audit("cp311-abi3", 11, nil); len(r.Violations)+len(r.TooNew) != 0 ||
		r.Violations == nil ||
		r.TooNew == nil ||
		r.Computed != "3.11" {
		t.Errorf("nothing used: %+v", r)
	}
}
