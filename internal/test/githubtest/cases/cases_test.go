package cases

import (
	"archive/zip"
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

func read(t *testing.T, b []byte) *elfobj.Object {
	t.Helper()
	o, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (w Wheel) object(t *testing.T) *elfobj.Object {
	t.Helper()
	for path, b := range w.Files {
		if strings.HasSuffix(path, ".so") {
			return read(t, b)
		}
	}
	t.Fatal("no .so in " + w.FileName())
	return nil
}

func imports(o *elfobj.Object) (out []string) {
	for _, i := range o.Imports.All() {
		out = append(out, i.Name+"@"+i.Version)
	}
	return out
}

func TestObjectsHaveTheFactsOfTheirCases(t *testing.T) {
	a := CaseA("1.6.2").object(t)
	for _, want := range []string{"pow@GLIBC_2.29", "__cxa_throw_bad_array_new_length@CXXABI_1.3.8"} {
		if !slices.Contains(imports(a), want) {
			t.Errorf("A imports %q, not %s", imports(a), want)
		}
	}
	if len(a.Comment) != 1 || !strings.Contains(a.Comment[0], "20.04") {
		t.Errorf("A's .comment is %q", a.Comment)
	}
	b := CaseB("1", "nvidia-nvjitlink-cu12>=12.8,<12.9").object(t)
	if !slices.Contains(imports(b), "__nvJitLinkGetErrorLogSize_12_9@libnvJitLink.so.12") ||
		!slices.Contains(b.Needed, "libnvJitLink.so.12") {
		t.Errorf("B imports %q, needs %q", imports(b), b.Needed)
	}
	if c := CaseC("1").object(t); !slices.Contains(c.Needed, "libc10_cuda.so") {
		t.Errorf("C needs %q", c.Needed)
	}
	_, content := CaseD()
	d := read(t, content)
	if !slices.Equal(d.Needed, []string{"libc.so.6"}) || !slices.Contains(imports(d), "dlopen@") {
		t.Errorf("D imports %q, needs %q", imports(d), d.Needed)
	}
	if n := Many("1", 60).object(t).Imports.Len(); n != 60 {
		t.Errorf("Many imports %d", n)
	}
}

func TestWheelIsComplete(t *testing.T) {
	name, content := CaseB("1.2", "nvidia-nvjitlink-cu12>=12.8,<12.9").File()
	if name != "cuda_parallel-1.2-cp311-cp311-manylinux_2_28_x86_64.whl" {
		t.Errorf("name %q", name)
	}
	if got := Clean("1").FileName(); got != "clean_ext-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl" {
		t.Errorf("name with two platforms %q", got)
	}
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(b)
	}
	info := "cuda_parallel-1.2.dist-info/"
	if !strings.Contains(files[info+"METADATA"], "\nRequires-Dist: nvidia-nvjitlink-cu12>=12.8,<12.9\n") ||
		!strings.Contains(files[info+"WHEEL"], "\nTag: cp311-cp311-manylinux_2_28_x86_64\n") {
		t.Errorf("METADATA %q, WHEEL %q", files[info+"METADATA"], files[info+"WHEEL"])
	}
	if n := strings.Count(files[info+"RECORD"], "\n"); n != len(files) {
		t.Errorf("RECORD has %d lines for %d files", n, len(files))
	}
	if _, again := CaseB("1.2", "nvidia-nvjitlink-cu12>=12.8,<12.9").File(); !bytes.Equal(content, again) {
		t.Error("packed again it has other bytes")
	}
}

func TestBombUnpacks(t *testing.T) {
	b := Bomb("zeros.so", 3)
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r) // also compares the checksum
	if err != nil || n != 3<<20 || len(b) > 8<<10 {
		t.Errorf("%d bytes unpack to %d: %v", len(b), n, err)
	}
}
