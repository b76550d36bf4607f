package logmatch

import (
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
)

// TestSymbolOfMachO checks that names of C, C++ and with an own underscore are those of a log, which
// has lost the first underscore of Mach-O, and that other names are not.
func TestSymbolOfMachO(t *testing.T) {
	for logged, file := range map[string]string{
		"gain":                                  "_gain",
		"_ZNSt3__13pmr20get_default_resourceEv": "__ZNSt3__13pmr20get_default_resourceEv",
		"_own":                                  "__own", "GainAll": "GainAll",
	} {
		d := &buildlog.Diagnosis{Object: "/opt/v/x.so", Symbol: logged}
		if !explains(d, &analyzer.Finding{Object: "x.so", Symbol: file}) {
			t.Errorf("%s of a log is not %s of the file", logged, file)
		}
		if explains(d, &analyzer.Finding{Object: "x.so", Symbol: file + "2"}) {
			t.Errorf("%s of a log is %s2 of the file", logged, file)
		}
	}
}

// TestFoundLibrary checks that only a library that the object lists is one that is found.
func TestFoundLibrary(t *testing.T) {
	lists := []string{"@rpath/libgain.dylib", "KERNEL32.dll"}
	for _, x := range []struct {
		d    buildlog.Diagnosis
		want bool
	}{
		{buildlog.Diagnosis{Library: "/usr/lib/libgain.dylib"}, true},
		{buildlog.Diagnosis{Library: `C:\x\kernel32.dll`}, true},
		{buildlog.Diagnosis{Library: "libother.dylib"}, false},
		{buildlog.Diagnosis{}, true},
		{buildlog.Diagnosis{Symbol: "gain", Library: "libgain.dylib"}, false},
	} {
		if got := found(&x.d, lists); got != x.want {
			t.Errorf("%+v: %v", x.d, got)
		}
	}
}
