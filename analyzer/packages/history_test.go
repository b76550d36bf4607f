package packages

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var x86 = Target{Python: "3.12", Arch: "x86_64"}

func mustRelease(t *testing.T, name, version string, on Target) *Release {
	t.Helper()
	r, err := History().Release(context.Background(), name, version, on)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func libraryOf(t *testing.T, r *Release, soname string) Library {
	t.Helper()
	i := slices.IndexFunc(r.Libraries, func(l Library) bool { return l.SONAME == soname })
	if i < 0 {
		t.Fatalf("%s %s has no %s", r.Name, r.Version, soname)
	}
	return r.Libraries[i]
}

func sonames(r *Release) []string {
	var list []string
	for _, l := range r.Libraries {
		list = append(list, l.SONAME)
	}
	return list
}

func exports(l Library, name string) bool {
	for _, e := range l.Exports.All() {
		if e.Name == name {
			return true
		}
	}
	return false
}

// A version counts if a wheel of it is for the interpreter.
func TestHistoryOfInterpreter(t *testing.T) {
	ends := func(on Target) string {
		list, err := History().Versions(t.Context(), "numpy", on)
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		return list[0] + " " + list[len(list)-1]
	}
	all := ends(Target{})
	for _, c := range []struct {
		on        Target
		low, high string // "" = differs from that of all versions
	}{
		{Target{Python: "3.9", Arch: "x86_64"}, "1.19.3", "2.0.2"},
		{Target{Python: "3.11", Arch: "x86_64"}, "1.23.2", ""},
		{Target{Python: "3.12", Arch: "aarch64"}, "1.26.0", ""},
		{Target{Python: "3.9", Arch: "x86_64", Pythons: ">=3.9,<3.11"}, "1.19.3", "2.2.6"},
	} {
		low, high, _ := strings.Cut(ends(c.on), " ")
		if low != c.low || c.high != "" && high != c.high || strings.HasPrefix(all, low+" ") {
			t.Errorf("%+v: %s to %s", c.on, low, high)
		}
	}
}

// nvJitLink 12.N exports the suffixes _12_0 to _12_N and, from 12.3 on, names without a suffix.
func TestHistoryNvJitLink(t *testing.T) {
	versions, err := History().Versions(context.Background(), "nvidia_nvjitlink_CU12", Target{})
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) < 21 || versions[0] != "12.0.76" {
		t.Errorf("versions %v", versions)
	}
	for _, v := range versions {
		l := libraryOf(t, mustRelease(t, "nvidia-nvjitlink-cu12", v, x86), "libnvJitLink.so.12")
		if !l.Known || !slices.Contains(l.Versions, "libnvJitLink.so.12") ||
			!slices.Contains(l.Needed, "libdl.so.2") {
			t.Errorf("%s: known %v, versions %v, needed %v", v, l.Known, l.Versions, l.Needed)
		}
		minor, err := strconv.Atoi(strings.Split(v, ".")[1])
		if err != nil {
			t.Fatal(err)
		}
		for n := range 12 {
			for _, f := range []string{"Create", "Destroy", "AddData", "AddFile", "Complete",
				"GetLinkedCubin", "GetLinkedPtx", "GetErrorLogSize", "GetInfoLog"} {
				name := "__nvJitLink" + f + "_12_" + strconv.Itoa(n)
				if got, want := exports(l, name), n <= minor; got != want {
					t.Errorf("%s exports %s: %v, want %v", v, name, got, want)
				}
			}
		}
		if got, want := exports(l, "nvJitLinkDestroy"), minor >= 3; got != want {
			t.Errorf("%s exports nvJitLinkDestroy: %v, want %v", v, got, want)
		}
		if got, want := exports(l, "__nvJitLinkAPI"), minor >= 4; got != want {
			t.Errorf("%s exports __nvJitLinkAPI: %v, want %v", v, got, want)
		}
	}
	l13 := libraryOf(t, mustRelease(t, "nvidia-nvjitlink", "13.2.51", x86), "libnvJitLink.so.13")
	if !exports(l13, "__nvJitLinkGetLinkedLTOIR_13_0") || exports(l13, "__nvJitLinkCreate_12_9") {
		t.Error("13.2.51: LTOIR under _13_0 is missing, or a name of 12 is there")
	}
}

// The pins come from the METADATA of torch's wheels.
func TestHistoryTorch(t *testing.T) {
	for _, c := range []struct{ torch, name, want string }{
		{"2.4.1", "nvidia-nvjitlink-cu12", ""}, {"2.4.1", "nvidia-cusparse-cu12", "==12.1.0.106"},
		{"2.4.1", "nvidia-cufile-cu12", ""},
		{"2.5.1", "nvidia-nvjitlink-cu12", "==12.4.127"}, {"2.6.0", "nvidia-cusparse-cu12",
			"==12.3.1.170"},
		{"2.7.0", "nvidia-nvjitlink-cu12", "==12.6.85"}, {"2.7.1", "nvidia-cufile-cu12", "==1.11.1.6"},
		{"2.8.0", "nvidia-nvjitlink-cu12", "==12.8.93"}, {"2.9.1", "nvidia-cufile-cu12", "==1.13.1.3"},
		{"2.10.0", "nvidia-cusparse-cu12", "==12.5.8.93"},
		{"2.11.0", "nvidia-nvjitlink-cu12", ""},
	} {
		got := ""
		for _, q := range mustRelease(t, "torch", c.torch, x86).Requires {
			if pkgmeta.Normalize(q.Name) == c.name {
				got = q.Spec
				if ok, err := q.Applies(pkgmeta.DefaultMarkerEnv("3.12", "x86_64")); !ok ||
					err != nil {
					t.Errorf("torch %s: %s does not apply on x86_64: %v", c.torch, q.Raw, err)
				}
			}
		}
		if got != c.want {
			t.Errorf("torch %s requires %s%s, want %q", c.torch, c.name, got, c.want)
		}
	}
	if l := libraryOf(t, mustRelease(t, "torch", "2.7.0", x86),
		"libc10_cuda.so"); l.Path != "torch/lib/libc10_cuda.so" ||
		!l.Known ||
		!exports(l, "_ZN3c104cuda9SetDeviceEa") {
		t.Errorf("libc10_cuda.so of torch 2.7.0: known %v, %d exports", l.Known, l.Exports.Len())
	}
	// torch 2.6 replaced c10::basic_string_view with std::string_view.
	for version, want := range map[string]bool{"2.5.1": true, "2.6.0": false} {
		l := libraryOf(t, mustRelease(t, "torch", version, x86), "libtorch_cpu.so")
		if got := l.Exports.Any(func(name string) bool {
			return strings.Contains(name, "17basic_string_viewIcE")
		}); got != want ||
			l.Exports.Len() < 50000 {
			t.Errorf(
				"libtorch_cpu.so of torch %s has %d exports, some with c10::basic_string_view: %v",
				version,
				l.Exports.Len(),
				got,
			)
		}
	}
}

func TestHistoryTorchVariants(t *testing.T) {
	gpu := func(r *Release) bool {
		return slices.ContainsFunc(
			r.Requires,
			func(q pkgmeta.Requirement) bool {
				return strings.HasPrefix(q.Name, "nvidia-") || q.Name == "triton"
			},
		)
	}
	for _, c := range []struct {
		version   string
		has, lack string
		gpu       bool
	}{
		{"2.7.0+rocm6.3", "libc10_hip.so libtorch_hip.so libamdhip64.so.6 libhipblas.so.2 " +
			"libtorch_python.so", "libc10_cuda.so libtorch_cuda.so", false},
		{"2.4.0+rocm6.1", "libc10_hip.so libtorch_cpu.so", "libc10_cuda.so", false},
		{"2.10.0+rocm7.1", "libamdhip64.so.7", "libamdhip64.so.6", false},
		{"2.7.0+cpu", "libtorch_cpu.so libc10.so", "libc10_cuda.so libc10_hip.so", false},
		{"2.7.0+cu126", "libc10_cuda.so", "libc10_hip.so", true},
		{"2.7.0+cu118", "libc10_cuda.so", "libc10_hip.so", false},
		{"2.7.0", "libc10_cuda.so", "libc10_hip.so", true},
	} {
		r := mustRelease(t, "torch", c.version, x86)
		have := sonames(r)
		for _, s := range strings.Fields(c.has) {
			if !slices.Contains(have, s) {
				t.Errorf("torch %s lacks %s: %v", c.version, s, have)
			}
		}
		for _, s := range strings.Fields(c.lack) {
			if slices.Contains(have, s) {
				t.Errorf("torch %s has %s", c.version, s)
			}
		}
		if r.Version != c.version || !r.Known || gpu(r) != c.gpu {
			t.Errorf(
				"torch %s: version %s, known %v, requires NVIDIA packages %v",
				c.version,
				r.Version,
				r.Known,
				gpu(r),
			)
		}
	}
	if r := mustRelease(t, "torch", "2.4.0+cu121",
		Target{Python: "3.12", Arch: "aarch64"}); !slices.Contains(
		sonames(r),
		"libtorch_cuda.so",
	) {
		t.Errorf("torch 2.4.0+cu121 on aarch64: %v", sonames(r))
	}
	versions, err := History().Versions(context.Background(), "torch", Target{})
	if err != nil ||
		slices.ContainsFunc(versions, func(v string) bool { return strings.Contains(v, "+") }) ||
		!slices.Contains(versions, "2.7.1") {
		t.Errorf("versions of torch %v, %v", versions, err)
	}
}

func TestHistoryCufile(t *testing.T) {
	x := libraryOf(t, mustRelease(t, "nvidia-cufile-cu12", "1.14.1.1", x86), "libcufile.so.0")
	a := libraryOf(
		t,
		mustRelease(t, "nvidia-cufile-cu12", "1.14.1.1", Target{Arch: "aarch64"}),
		"libcufile.so.0",
	)
	if !exports(x, "cuFileDriverOpen") || !slices.Contains(x.Needed, "librt.so.1") ||
		slices.Contains(a.Needed, "librt.so.1") {
		t.Errorf("libcufile.so.0 needs %v on x86_64 and %v on aarch64", x.Needed, a.Needed)
	}
	if l := libraryOf(t, mustRelease(t, "nvidia-cufile", "1.20.0.107", x86),
		"libcufile.so.0"); !slices.Contains(
		l.Needed,
		"libdl.so.2",
	) {
		t.Errorf("libcufile.so.0 1.20.0.107 needs %v", l.Needed)
	}
}

// Only the headers of large libraries were read; cuSPARSE and torch's pins were read completely.
func TestHistoryLarge(t *testing.T) {
	l := libraryOf(t, mustRelease(t, "nvidia-cusparse-cu12", "12.5.10.65", x86), "libcusparse.so.12")
	if !l.Known || !slices.Contains(l.Needed, "libnvJitLink.so.12") ||
		!strings.Contains(l.RunPath, "$ORIGIN/../../nvjitlink/lib") ||
		!exports(l, "cusparseCreate") {
		t.Errorf(
			"libcusparse.so.12 12.5.10.65: known %v, needs %v, searches %q",
			l.Known,
			l.Needed,
			l.RunPath,
		)
	}
	l = libraryOf(t, mustRelease(t, "nvidia-cublas-cu12", "12.8.4.1", x86), "libcublas.so.12")
	if !l.Known || !exports(l, "cublasCreate_v2") ||
		!slices.Contains(l.Needed, "libcublasLt.so.12") {
		t.Errorf("libcublas.so.12 12.8.4.1: known %v, needs %v", l.Known, l.Needed)
	}
	l = libraryOf(t, mustRelease(t, "nvidia-cublas-cu11", "11.11.3.6", x86), "libcublas.so.11")
	if l.Known || !slices.Contains(l.Needed, "libcublasLt.so.11") {
		t.Errorf("libcublas.so.11 11.11.3.6: known %v, needs %v", l.Known, l.Needed)
	}
	l = libraryOf(t, mustRelease(t, "torch", "2.8.0", x86), "libc10_cuda.so")
	if !slices.Contains(l.Needed, "libc10.so") || !slices.Contains(l.Needed, "libcudart.so.12") {
		t.Errorf("libc10_cuda.so of torch 2.8.0 needs %v", l.Needed)
	}
}

func TestHistoryUnknown(t *testing.T) {
	for _, c := range [][2]string{{"no-such-package", "1.0"}, {"torch", "99.0"}, {"torch",
		"99.0+rocm6.3"}, {"torch", "2.7.0+xpu"}} {
		_, err := History().Release(context.Background(), c[0], c[1], x86)
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c[0]) ||
			!strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
	}
	if _, err := History().Versions(context.Background(), "no-such-package", Target{}); !errors.Is(
		err,
		ErrUnknown,
	) {
		t.Errorf("versions of no-such-package: %v", err)
	}
}

// Every embedded file decodes, every requirement parses, and every release has the digest of its
// wheel.
func TestHistoryIsComplete(t *testing.T) {
	packages, tables := historyPackages(), map[string]bool{}
	if len(packages) < 40 {
		t.Errorf("only %d packages", len(packages))
	}
	for name := range packages {
		f := historyPackage(name)
		if f.Name != name || len(f.Releases) == 0 {
			t.Errorf("%s: %d releases of %q", name, len(f.Releases), f.Name)
		}
		for i := range f.Releases {
			r := &f.Releases[i]
			for _, q := range r.Requires {
				if _, err := pkgmeta.ParseRequirement(q); err != nil {
					t.Errorf("%s %s: %v", name, r.Version, err)
				}
			}
			for j := range r.Libraries {
				if l := &r.Libraries[j]; !tables[name+l.Path] {
					tables[name+l.Path] = l.Known
					if _, err := f.Exports(l); err != nil {
						t.Errorf("%s %s: %v", name, r.Version, err)
					}
				}
			}
			if len(r.SHA256) != 64 {
				t.Errorf("%s %s on %s: the wheel has the digest %q", name, r.Version, r.Arch, r.SHA256)
			}
		}
	}
	for _, version := range []string{"12.9.41", "12.9.41.0"} {
		if r := mustRelease(t, "nvidia-nvjitlink-cu12", version, x86); r.Version != "12.9.41" {
			t.Errorf("%s gives %s", version, r.Version)
		}
	}
}

// For a library that was too large to read, NearestExports has the exports of nearby releases.
func TestHistoryNearestExports(t *testing.T) {
	l := libraryOf(t, mustRelease(t, "torch", "2.5.0", x86), "libtorch_cuda.so")
	has := func(name string) bool {
		return len(l.NearestExports.Named(name)) > 0
	}
	if l.Known || l.Exports.Len() > 0 || l.NearestExports.Len() < 1000 ||
		has("_ZN5torch8autograd12VariableInfoC1ERKN2at6TensorE") {
		t.Errorf("known %v, %d exports, like %d", l.Known, l.Exports.Len(), l.NearestExports.Len())
	}
	if l := libraryOf(t, mustRelease(t, "torch", "2.5.1", x86), "libtorch_cuda.so"); !l.Known ||
		l.NearestExports.Len() > 0 {
		t.Errorf("2.5.1: known %v, like %d", l.Known, l.NearestExports.Len())
	}
}

// A package whose libraries differ between interpreters has a release for each of them.
func TestHistoryForInterpreter(t *testing.T) {
	const version = "1.87.0.1"
	for python, want := range map[string]string{
		"3.11": "libboost_python311.so.1.87.0", "3.12": "libboost_python312.so.1.87.0", "3.7": "",
	} {
		r, err := History().Release(t.Context(), "cmeel-boost", version,
			Target{Python: python, Arch: "x86_64"})
		if want == "" {
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("Python %s: %v, want an unknown release", python, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, soname := range sonames(r) {
			if strings.HasPrefix(soname, "libboost_python") && soname != want {
				t.Errorf("Python %s: %s", python, soname)
			}
		}
		if !libraryOf(t, r, want).Known {
			t.Errorf("Python %s: the exports of %s are not known", python, want)
		}
	}
	versions, err := History().Versions(t.Context(), "cmeel-boost", x86)
	if err != nil || slices.Index(versions, version) < 0 ||
		len(slices.Compact(slices.Clone(versions))) != len(versions) {
		t.Errorf("versions %v, %v", versions, err)
	}
}

// The history has what a library takes from those of other packages, and nothing else.
func TestHistoryImports(t *testing.T) {
	found := false
	r := mustRelease(t, "nvidia-cusparse-cu12", "12.3.1.170", x86)
	for _, i := range libraryOf(t, r, "libcusparse.so.12").Imports.All() {
		if i.Library != "libnvJitLink.so.12" || i.Version != "libnvJitLink.so.12" {
			t.Errorf("it imports %+v", i)
		}
		found = found || i.Name == "__nvJitLinkComplete_12_4"
	}
	if !found {
		t.Error("it does not import __nvJitLinkComplete_12_4")
	}
	alone := libraryOf(t, mustRelease(t, "nvidia-nvjitlink-cu12", "12.3.101", x86), "libnvJitLink.so.12")
	if alone.Imports != nil {
		t.Errorf("a library that links no other package imports %v", alone.Imports.List())
	}
}
