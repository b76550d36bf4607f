package main

import (
	"reflect"
	"testing"

	"github.com/compat-app/compat/analyzer/packages/historydata"
)

// Of what a library imports, what libraries of other packages define is listed: not what its own
// package, the system or Python has.
func TestTakesFromOthers(t *testing.T) {
	imports := []historydata.Import{
		{Name: "z_other"},
		{Name: "own_function"},
		{Name: "malloc"},
		{Name: "PyLong_FromLong"},
		{Name: "printf", Version: "GLIBC_2.2.5", Library: "libc.so.6"},
		{Name: "__tls_get_addr", Version: "GLIBC_2.3", Library: "ld-linux-x86-64.so.2"},
		{Name: "own_versioned", Version: "V1", Library: "libown.so.1"},
		{Name: "a_other", Version: "libother.so.1", Library: "libother.so.1"},
	}
	r := &historydata.Release{Arch: "aarch64", Libraries: []historydata.Library{
		{Path: "x/libuser.so", Needed: []string{"libown.so.1", "libother.so.1", "libc.so.6"},
			Linked: true, Imports: imports},
		{Path: "x/libown.so.1", Exports: []historydata.Export{{Name: "own_function"}},
			Needed: []string{"libc.so.6", "ld-linux-x86-64.so.2"}, Linked: true,
			Imports: []historydata.Import{{Name: "optional"}}},
		{Path: "x/libhead.so", Needed: []string{"libother.so.1"}},
	}}
	takesFromOthers(r)
	want := []historydata.Import{
		{Name: "a_other", Version: "libother.so.1", Library: "libother.so.1"}, {Name: "z_other"},
	}
	if l := r.Libraries[0]; !l.Linked || !reflect.DeepEqual(l.Imports, want) {
		t.Errorf("got %+v, want %+v", l.Imports, want)
	}
	for _, l := range r.Libraries[1:] {
		if l.Linked || l.Imports != nil {
			t.Errorf("%s: imports %+v; it links no other package, or they are not known", l.Path, l.Imports)
		}
	}
}
