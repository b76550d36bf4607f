package facts

import (
	"testing"

	"github.com/compat-app/compat/analyzer/unpack"
)

// A file x.node of a wheel is a library only by its content: meshes of triangulations have the same
// name. That of an npm package is an addon, damaged or not.
func TestWantNode(t *testing.T) {
	const at = "triangle/data/spiral.node"
	for _, c := range []struct {
		kind, head string
		want       bool
	}{
		{KindWheel, "# spiral.node\n15 2 0 0\n", false},
		{KindWheel, "\x7fELF\x02\x01\x01", true},
		{KindArchive, "version https://git-lfs", true},
	} {
		if got := want(&unpack.Package{Kind: c.kind}, at, 100, []byte(c.head)); got != c.want {
			t.Errorf("%s, %q: %v", c.kind, c.head, got)
		}
	}
}

// A test in a wheel is a source without effects, which is not read. In a conda package it is read.
func TestWantTests(t *testing.T) {
	wheel := &unpack.Package{Kind: KindWheel, Path: "x-1-py3-none-manylinux_2_28_x86_64.whl"}
	conda := &unpack.Package{Kind: KindArchive, Format: unpack.FormatConda, Path: "x.conda"}
	const site = "lib/python3.12/site-packages/"
	for _, c := range []struct {
		pkg  *unpack.Package
		path string
		want bool
	}{
		{wheel, "x/load.py", true},
		{wheel, "x/tests/load.py", false},
		{wheel, "x/test/load.py", false},
		{wheel, "tests/load.py", true}, // a package of this name
		{conda, site + "x/tests/load.py", true},
	} {
		if got := want(c.pkg, c.path, 100, []byte("import ctypes")); got != c.want {
			t.Errorf("%s in %s: %v", c.path, c.pkg.Path, got)
		}
	}
	a := newArtifact(wheel)
	if a.listed("x/tests/load.py"); a.Loads == nil || a.Loads.MayGlobal() || !a.Sources {
		t.Errorf("a wheel with a test only: %+v", a.Loads)
	}
}
