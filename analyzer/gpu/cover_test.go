package gpu

import (
	"path"
	"regexp"
	"testing"
)

func TestCover(t *testing.T) {
	a := Archs{CUDA: []string{"sm_70", "sm_80", "sm_90"}, ROCm: []string{"gfx90a", "gfx11-generic"}}
	ptx := Archs{CUDA: []string{"sm_70"}, PTX: []string{"sm_80"}}
	sass := func(archs ...string) Archs { return Archs{CUDA: archs} }
	only := func(archs ...string) Archs { return Archs{PTX: archs} }
	for _, c := range []struct {
		have        Archs
		arch        string
		runs, known bool
	}{
		{a, "sm_80", true, true}, {a, "sm_86", true, true}, {a, "sm_75", true, true},
		{a, "sm_61", false, true}, {a, "sm_100", false, true},
		{a, "sm_90a", true, true}, {ptx, "sm_120", true, true}, {ptx, "sm_75", true, true},
		{ptx, "sm_61", false, true},
		{a, "gfx90a", true, true}, {a, "gfx90a:xnack+", true, true}, {a, "gfx1151", true, true}, {a,
			"gfx1030", false, true},
		{Archs{ROCm: []string{"amdgcnspirv"}}, "gfx1030", true, true},
		{sass("sm_90a"), "sm_90", true, true}, {sass("sm_90a"), "sm_100", false, true},
		{sass("sm_100a"), "sm_100", true, true}, {sass("sm_100a"), "sm_103", false, true},
		{sass("sm_100f"), "sm_100", true, true}, {sass("sm_100f"), "sm_103", true, true},
		{sass("sm_100f"), "sm_101", false, true}, {sass("sm_103f"), "sm_100", false, true},
		{sass("sm_120a"), "sm_121", false, true}, {sass("sm_120f"), "sm_121", true, true},
		{sass("sm_121f"), "sm_120", false, true}, {sass("sm_120"), "sm_121", true, true},
		{sass("sm_100f"), "sm_120", false, true},
		{only("sm_90a"), "sm_90", true, true}, {only("sm_90a"), "sm_100", false, true},
		{only("sm_120a"), "sm_121", false, true}, {only("sm_120f"), "sm_121", true, true},
		{only("sm_100f"), "sm_120", false, true}, {only("sm_90", "sm_90a"), "sm_120", true, true},
		{ptx, "gfx90a", false, false}, {Archs{}, "sm_80", false, false}, {a, "turing", false, false},
	} {
		if runs, known := c.have.Cover(c.arch); runs != c.runs || known != c.known {
			t.Errorf(
				"%v on %s: runs %t, known %t, want %t, %t",
				c.have,
				c.arch,
				runs,
				known,
				c.runs,
				c.known,
			)
		}
	}
}

func TestPackages(t *testing.T) {
	for soname, want := range map[string][2]string{
		"libcublasLt.so.12": {"nvidia-cublas-cu12", "12"},
		"libcudart.so.11.0": {"nvidia-cuda-runtime-cu11", "11"},
		"libcufft.so.11":    {"nvidia-cufft-cu12", ""},
		"libcudnn_cnn.so.9": {"nvidia-cudnn-cu12", ""}, "libz.so.1": {"", ""}, "nonsense": {"", ""},
		"libnvJitLink.so.13": {"nvidia-nvjitlink", "13"}, "libcusolver.so.12": {"nvidia-cusolver", ""},
		"libcublas.so.99": {"", "99"},
	} {
		if p, m := Package(soname, ""), Major(soname); p != want[0] || m != want[1] {
			t.Errorf("%s: package %q, major %q, want %q", soname, p, m, want)
		}
	}
	if got := Package("libcudnn.so.9", "13"); got != "nvidia-cudnn-cu13" {
		t.Errorf("libcudnn.so.9 of CUDA 13: %q", got)
	}
	for name, want := range map[string]string{"nvidia-cublas-cu12": "12",
		"nvidia-cusparselt-cu11": "11", "nvidia-cufile": "", "mypackage-cu12": "", "nvidia-x-cuda": ""} {
		if got := MajorOfPackage(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The name and version of a library are those that the pattern of a SONAME finds.
func FuzzParts(f *testing.F) {
	pattern := regexp.MustCompile(`^lib([\w\-]+?)\.so(?:\.(\d+))?(?:\.\d+)*$`)
	for _, name := range []string{
		"libcublas.so.12", "libcublasLt.so.12.1.3", "libnvrtc-builtins.so.12.9", "libcudart.so", "lib.so",
		"libcudart.so.", "libcudart.so.1x", "libcudart.so.x.1", "libcu.dart.so.1", "cudart.so.1",
		"libcudart.so.so.1", "libcudart.so12", "dir/libcudart.so.12", "libcüda.so.1", "lib_@.so",
		"libcudart.so.12\n",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, soname string) {
		stem, major, ok := parts(soname)
		m := pattern.FindStringSubmatch(path.Base(soname))
		if ok != (m != nil) || ok && (stem != m[1] || major != m[2]) {
			t.Errorf("%q: %q, %q, %v; the pattern finds %q", soname, stem, major, ok, m)
		}
	})
}
