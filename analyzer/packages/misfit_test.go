package packages

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

func TestMisfit(t *testing.T) {
	glibc := Target{Python: "3.13", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36"}
	centos := Target{Python: "3.12", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.17"}
	alpine := Target{Python: "3.12", Arch: "aarch64", Libc: "musl", LibcVersion: "1.2"}
	windows := Target{Python: "3.12", Arch: "amd64", System: platform.Windows}
	mac := Target{Python: "3.12", Arch: "arm64", System: platform.MacOS, LibcVersion: "11.0"}
	free := glibc
	free.Python = "3.13t"
	for _, c := range []struct {
		on          Target
		wheels      string
		lacks, have string
		python      string
	}{
		{glibc, "cp39-cp39-manylinux2014_x86_64 cp312-cp312-manylinux2014_x86_64 " +
			"cp310-cp310-win_amd64 cp313-cp313-win_amd64", "Python 3.13", "Python 3.9, Python 3.12", "3.12"},
		{glibc, "cp314-cp314-manylinux_2_28_x86_64 cp315-cp315-manylinux_2_28_x86_64", "Python 3.13",
			"Python 3.14, Python 3.15", "3.14"},
		{glibc, "cp314-abi3-manylinux_2_28_x86_64", "Python 3.13", "Python 3.14 and later", "3.14"},
		{glibc, "cp313-cp313t-manylinux_2_28_x86_64", "Python 3.13", "free-threaded Python 3.13", ""},
		{glibc, "pp310-pypy310_pp73-manylinux2014_x86_64", "Python 3.13", "PyPy 3.10", ""},
		{glibc, "py2-none-any", "Python 3.13", "Python 2", ""},
		{free, "cp313-cp313-manylinux2014_x86_64 cp38-abi3-manylinux2014_x86_64",
			"free-threaded Python 3.13", "Python 3.8 and later, Python 3.13", "3.13"},
		{centos, "cp312-cp312-manylinux_2_34_x86_64 cp312-cp312-manylinux_2_28_x86_64 " +
			"cp312-cp312-manylinux_2_17_aarch64", "glibc 2.17", "glibc 2.28, glibc 2.34", ""},
		{alpine, "cp312-cp312-manylinux2014_aarch64 cp312-cp312-musllinux_1_2_x86_64", "musl", "glibc",
			""},
		{alpine, "cp312-cp312-musllinux_1_2_x86_64", "aarch64", "x86_64", ""},
		{alpine, "cp312-cp312-musllinux_1_3_aarch64", "musl 1.2", "musl 1.3", ""},
		{glibc, "cp313-cp313-macosx_11_0_arm64 py3-none-win32", "Linux", "Windows, macOS", ""},
		{windows, "cp312-cp312-manylinux2014_x86_64 cp312-cp312-macosx_11_0_arm64", "Windows",
			"Linux, macOS", ""},
		{windows, "cp312-cp312-win32", "amd64", "x86", ""},
		{mac, "cp312-cp312-macosx_14_0_arm64 cp312-cp312-macosx_12_0_universal2 " +
			"cp312-cp312-macosx_10_9_x86_64", "macOS 11.0", "macOS 12.0, macOS 14.0", ""},
		{mac, "cp313-cp313-macosx_10_13_universal2", "Python 3.12", "Python 3.13", "3.13"},
		{glibc, "cp312-cp312-win_amd64 cp311-cp311-manylinux2014_aarch64", "", "", ""},
	} {
		var tags []pkgmeta.Tag
		for name := range strings.FieldsSeq(c.wheels) {
			w, err := pkgmeta.ParseWheelName("x-1-" + name + ".whl")
			if err != nil {
				t.Fatal(err)
			}
			tags = append(tags, w.Tags...)
		}
		m, ok := MisfitOf(tags, c.on)
		have := strings.Join(m.Have, ", ")
		if m.Lacks != c.lacks || have != c.have || m.Python != c.python || ok != (c.lacks != "") {
			t.Errorf("%s: lacks %q, have %q, Python %q; want %q, %q, %q", c.wheels, m.Lacks, have, m.Python,
				c.lacks, c.have, c.python)
		}
	}
}

// TestFreeThreaded checks which wheels a free-threaded interpreter installs.
func TestFreeThreaded(t *testing.T) {
	on := Target{Python: "3.13t", Arch: "x86_64"}
	for tag, want := range map[string]bool{
		"cp313-cp313t-linux_x86_64": true, "cp314-cp314t-linux_x86_64": false,
		"cp313-cp313-linux_x86_64": false, "cp38-abi3-linux_x86_64": false, "py3-none-any": true,
		"cp314-cp314-linux_x86_64": false,
	} {
		w, err := pkgmeta.ParseWheelName("x-1-" + tag + ".whl")
		if err != nil {
			t.Fatal(err)
		}
		if _, got := Rate(w.Tags[0], on); got != want {
			t.Errorf("%s: %v", tag, got)
		}
	}
	// packaging.tags 26.4
	for _, c := range []struct {
		tag, python string
		want        bool
	}{
		{"cp315-abi3.abi3t-any", "3.15t", true}, {"cp315-abi3.abi3t-any", "3.15", true},
		{"cp315-abi3t-any", "3.15t", true}, {"cp315-abi3t-any", "3.15", false},
		{"cp314-abi3t-any", "3.15t", true}, {"cp315-abi3t-any", "3.14t", false},
		{"cp315-abi3-any", "3.15t", false}, {"cp315t-abi3t-any", "3.15t", false},
		{"cp315-abi3t-any", "", true},
		{"cp37-cp37m-any", "3.7", true}, {"cp37-cp37m-any", "", true}, {"cp37-cp37m-any", "3.8", false},
		{"cp38-cp38m-any", "3.8", false},
	} {
		tags, err := pkgmeta.ParseTags(c.tag)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(tags, func(t pkgmeta.Tag) bool {
			_, ok := Rate(t, Target{Python: c.python})
			return ok
		}); got != c.want {
			t.Errorf("%s on %q: %t", c.tag, c.python, got)
		}
	}
	if !AdmitsPython(">=3.13", "3.13t") || AdmitsPython(">=3.14", "3.13t") {
		t.Error("Requires-Python of 3.13t")
	}
}

func TestKnowsPython(t *testing.T) {
	for python, want := range map[string]bool{
		"3.13": true, "3.12.4": true, "3.13t": true, "3.14.1t": true, "3.12t": false, "3.1": true,
		"3.99": false, "2.7": false, "4.0": false, "3": false,
	} {
		if got := KnowsPython(python); got != want {
			t.Errorf("%s: %v", python, got)
		}
	}
}
