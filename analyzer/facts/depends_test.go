package facts

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Of a conda package, the libraries of other packages are those that it has not itself, and that are
// not of the C library.
func TestOthersLibraries(t *testing.T) {
	objects := []*Object{
		{Path: "lib/libown.so.1.2", Object: &elfobj.Object{SONAME: "libown.so.1",
			Needed: []string{"libstdc++.so.6", "libc.so.6"}}},
		{Path: "bin/tool", Object: &elfobj.Object{
			Needed: []string{"libown.so.1", "libcurl.so.4", "libgone.so.1", "libc.so.6"}}},
	}
	onSystem := func(soname string) bool { return soname == "libstdc++.so.6" || soname == "libc.so.6" }
	for _, c := range []struct {
		format  string
		depends []string
		want    []string
		others  []string
	}{
		{unpack.FormatConda, []string{"__glibc", "libcurl", "libstdcxx", "python"},
			[]string{"libcurl.so.4", "libstdc++.so.6"}, []string{"libcurl"}},
		{unpack.FormatConda, []string{"__glibc", "libstdcxx", "python_abi"}, []string{"libstdc++.so.6"}, nil},
		{unpack.FormatConda, []string{"__glibc", "python"}, nil, nil},
		{unpack.FormatDeb, []string{"libcurl4", "libstdc++6"}, nil, nil},
	} {
		a := &Artifact{Format: c.format, Depends: c.depends, Objects: objects}
		if got := a.OthersLibraries(onSystem); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.format, c.depends, got, c.want)
		}
		if got := a.OtherPackages(); !slices.Equal(got, c.others) {
			t.Errorf("%s %s: packages %s, want %s", c.format, c.depends, got, c.others)
		}
	}
}
