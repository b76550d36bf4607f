package packages

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Libraries in torch/lib of every build of torch 2, and those that CUDA and ROCm builds add.
var (
	torchCommon = []string{
		"libc10.so",
		"libshm.so",
		"libtorch.so",
		"libtorch_cpu.so",
		"libtorch_global_deps.so",
		"libtorch_python.so",
	}
	torchCUDA = []string{
		"libc10_cuda.so",
		"libcaffe2_nvrtc.so",
		"libtorch_cuda.so",
		"libtorch_cuda_linalg.so",
	}
	torchROCm = []string{"libc10_hip.so", "libcaffe2_nvrtc.so", "libtorch_hip.so"}
)

// rocmLibraries are the ROCm libraries in torch/lib of a ROCm build. The file names have no
// version; the SONAMEs have one, which depends on ROCm's major version ("" if it does not).
var rocmLibraries = []struct{ file, five, six, seven string }{
	{
		"libamdhip64.so",
		"5",
		"6",
		"7",
	}, {"libhiprtc.so", "5", "6", "7"}, {"libamd_comgr.so", "2", "2", "3"}, {"libhsa-runtime64.so",
		"1", "1", "1"},
	{
		"libhipblas.so",
		"1",
		"2",
		"3",
	}, {"libhipblaslt.so", "0", "0", "1"}, {"libhipsparse.so", "0", "1", "4"},
	{"libhipsolver.so", "0", "0", "1"},
	{
		"libMIOpen.so",
		"1",
		"1",
		"1",
	}, {"librocsparse.so", "0", "1", "1"}, {"libhipfft.so", "0", "0", "0"},
	{"librocfft.so", "0", "0", "0"},
	{
		"libhiprand.so",
		"1",
		"1",
		"1",
	}, {"librocrand.so", "1", "1", "1"}, {"librccl.so", "1", "1", "1"},
	{
		"librocblas.so",
		"3",
		"4",
		"5",
	}, {"librocsolver.so", "", "", ""}, {"librocm_smi64.so", "", "", ""}, {"libroctracer64.so", "4",
		"4", "4"}, {"libroctx64.so", "4", "4", "4"},
	{"libmagma.so", "", "", ""},
}

// torchVariant describes a build of torch with a local version. These builds are published on the
// index of PyTorch; their descriptions are written by hand:
//
//   - rocmN: the ROCm libraries, torch's libraries for HIP, no CUDA library and no requirement
//     of an NVIDIA package
//   - cpu: neither, and no such requirement
//   - cuNNN: the libraries of the CUDA build; the NVIDIA requirements only if the published
//     build has the same CUDA version
//
// Any other local version is unknown.
func (Embedded) torchVariant(base, local string, on Target) (*Release, error) {
	file, plain, err := find("torch", base, on)
	version := base + "+" + local
	if err != nil {
		return nil, fmt.Errorf(
			"torch==%s on %s: %w to the built-in package history",
			version,
			on.Arch,
			ErrUnknown,
		)
	}
	r := convert(file, plain)
	r.Version = version
	switch {
	case strings.HasPrefix(local, "rocm"):
		r.Requires = withoutGPU(r.Requires)
		r.Libraries = torchLibraries(torchCommon, torchROCm)
		for _, l := range rocmLibraries {
			soname := l.file
			if v := [...]string{"", l.five, l.six, l.seven}[rocmIndex(local)]; v != "" {
				soname += "." + v
			}
			r.Libraries = append(r.Libraries, Library{Path: "torch/lib/" + l.file, SONAME: soname})
		}
	case local == "cpu" || strings.HasPrefix(local, "cpu."):
		r.Requires = withoutGPU(r.Requires)
		r.Libraries = torchLibraries(torchCommon)
	case strings.HasPrefix(local, "cu"):
		if cudaOf(r.Requires) != local {
			r.Requires = withoutGPU(r.Requires)
			// another compiler and, in some releases, another C++ library ABI
			for i := range r.Libraries {
				r.Libraries[i].Known, r.Libraries[i].Exports = false, nil
			}
		}
		if !slices.ContainsFunc(
			r.Libraries,
			func(l Library) bool { return l.SONAME == "libtorch_cuda.so" },
		) { // on aarch64 the published build has no CUDA
			r.Libraries = torchLibraries(torchCommon, torchCUDA)
		}
	default:
		return nil, fmt.Errorf(
			"torch==%s: the build %q is %w to the built-in package history, which describes rocmN, "+
				"cpu and cuNNN",
			version,
			local,
			ErrUnknown,
		)
	}
	return r, nil
}

// TorchCUDA returns the CUDA version that a release of torch on the package index was built for, in
// the form of a local version: "cu126". It is "" if that is not known.
func TorchCUDA(version, arch string) string {
	_, plain, err := find("torch", version, Target{Arch: arch})
	if err != nil {
		return ""
	}
	return cudaOf(requires(plain))
}

func torchLibraries(lists ...[]string) []Library {
	var libraries []Library
	for _, name := range slices.Concat(lists...) {
		libraries = append(libraries, Library{Path: path.Join("torch/lib", name), SONAME: name})
	}
	return libraries
}

// withoutGPU removes the requirements that only a CUDA build has.
func withoutGPU(requires []pkgmeta.Requirement) []pkgmeta.Requirement {
	return slices.DeleteFunc(requires, func(q pkgmeta.Requirement) bool {
		name := pkgmeta.Normalize(q.Name)
		return strings.HasPrefix(name, "nvidia-") || strings.HasPrefix(name, "cuda-") ||
			name == "triton"
	})
}

// cudaOf returns the CUDA version that the requirements of a torch build pin, spelled as in its
// local version ("cu126"); "" without a pin.
func cudaOf(requires []pkgmeta.Requirement) string {
	for _, q := range requires {
		name := pkgmeta.Normalize(q.Name)
		if name != "cuda-toolkit" && !strings.HasPrefix(name, "nvidia-cuda-runtime") {
			continue
		}
		if spec, err := pkgmeta.ParseSpec(q.Spec); err == nil {
			if v, ok := spec.Pin(); ok && len(v.Release()) >= 2 {
				return fmt.Sprintf("cu%d%d", v.Release()[0], v.Release()[1])
			}
		}
	}
	return ""
}

// rocmIndex returns 1 for rocm5.x, 2 for rocm6.x, 3 for rocm7.x, and 0 for other versions.
func rocmIndex(local string) int {
	major := strings.TrimPrefix(local, "rocm")
	for i, m := range []string{"5", "6", "7"} {
		if major == m || strings.HasPrefix(major, m+".") {
			return i + 1
		}
	}
	return 0
}
