package packages

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// TestNames reads the whole list: lines are sorted and complete, and a package is not in the
// history as well.
func TestNames(t *testing.T) {
	before := ""
	for line := range strings.Lines(namesFile) {
		words := strings.Fields(line)
		name := words[0]
		if name <= before || pkgmeta.Normalize(name) != name || historyPackage(name) != nil {
			t.Errorf("%s after %s: not sorted, not normalised, or in the history", name, before)
		}
		before = name
		p := namedPackages()[name]
		written := []string{name}
		if p.files != nil {
			written = append(written, "has", strings.Join(p.files, ","))
		}
		if p.requires != nil {
			written = append(written, "requires", strings.Join(p.requires, ","))
		}
		if !slices.Equal(words, written) {
			t.Errorf("%q was read as %q", words, written)
		}
		for _, f := range p.files {
			if !Loadable(f) || path.Base(f) != f {
				t.Errorf("%s: %s", name, f)
			}
		}
	}
}

// A package lacks a library if nothing that it requires has it, and all of that is known.
func TestLacks(t *testing.T) {
	any := func(string) bool { return true }
	tbb := func(file string) bool { return strings.HasPrefix(file, "libtbb.") }
	torch := func(file string) bool { return file == "libc10.so" }
	for _, c := range []struct {
		name   string
		extras []string
		want   func(string) bool
		lacks  bool
	}{
		{"pillow", nil, any, true},
		{"Pydantic.Core", nil, any, true},
		{"numpy", nil, any, true}, // its libraries are bundled ones
		{"scipy", nil, tbb, true},
		{"numba", nil, any, false}, // llvmlite has libllvmlite.so
		{"numba", nil, tbb, true},
		{"requests", nil, any, true},
		{"requests", []string{"socks"}, any, false},
		{"pyarrow", nil, any, false},
		{"pyarrow", nil, tbb, true},
		{"torchdata", nil, torch, false}, // it requires torch
		{"no-such-package", nil, tbb, false},
		{"", nil, any, false},
	} {
		if got := History().Lacks(c.name, c.extras, c.want); got != c.lacks {
			t.Errorf("%s %q: %v", c.name, c.extras, got)
		}
	}
}

func TestFollow(t *testing.T) {
	for text, want := range map[string]string{
		"Scipy>=1": "scipy", "a[X,y]": "a[x,y]", `b; extra == "z"`: "",
		`c; sys_platform == "win32"`: "", `d; python_version < "3.8"`: "",
		`e; python_version < "3.11"`: "e", `f; platform_machine == "aarch64"`: "f",
		`g; extra == "z" or platform_system == "Linux"`: "g",
	} {
		q, err := pkgmeta.ParseRequirement(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Follow(q); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
