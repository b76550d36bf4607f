package packages

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Libraries that every build of torch 2 has in torch/lib, and those that the CUDA and ROCm builds
// add.
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

// rocmLibraries are those of ROCm that a ROCm build of torch carries in torch/lib. The build drops
// the version from their file names and keeps it in their SONAME, which changes with ROCm's major
// version; "" where the major is not told apart.
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

// torchVariant describes a build of torch with a local version. These builds lie on the project's
// own index; their shape is hand-written:
//
//   - rocmN: the ROCm libraries and torch's for HIP, nothing of CUDA, and no requirement of an
//     NVIDIA package
//   - cpu: neither, and no such requirement
//   - cuNNN: the libraries of the CUDA build; the NVIDIA requirements only where the published
//     build is of the same CUDA
//
// Any other local version is unknown.
func (Embedded) torchVariant(base, local string, on On) (*Release, error) {
	file, plain, err := find("torch", base, on)
	version := base + "+" + local
	if err != nil {
		return nil, fmt.Errorf(
			"torch==%s on %s: %w to the built-in history",
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
			// another compiler, and for some releases another ABI of the C++ library
			for i := range r.Libraries {
				r.Libraries[i].Known, r.Libraries[i].Exports = false, nil
			}
		}
		if !slices.ContainsFunc(
			r.Libraries,
			func(l Library) bool { return l.SONAME == "libtorch_cuda.so" },
		) { // aarch64, where the published build was without CUDA
			r.Libraries = torchLibraries(torchCommon, torchCUDA)
		}
	default:
		return nil, fmt.Errorf(
			"torch==%s: the build %q is %w to the built-in history, which describes rocmN, cpu and cuNNN",
			version,
			local,
			ErrUnknown,
		)
	}
	return r, nil
}

func torchLibraries(lists ...[]string) []Library {
	var libraries []Library
	for _, name := range slices.Concat(lists...) {
		libraries = append(libraries, Library{Path: path.Join("torch/lib", name), SONAME: name})
	}
	return libraries
}

// withoutGPU drops the requirements of packages that only a CUDA build has.
func withoutGPU(requires []pkgmeta.Requirement) []pkgmeta.Requirement {
	return slices.DeleteFunc(requires, func(q pkgmeta.Requirement) bool {
		name := pkgmeta.Normalize(q.Name)
		return strings.HasPrefix(name, "nvidia-") || strings.HasPrefix(name, "cuda-") ||
			name == "triton"
	})
}

// cudaOf tells the CUDA version of a torch build by its requirements, as its local version writes
// it: "cu126"; "" where nothing tells.
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

// rocmIndex is 1 for rocm5.x, 2 for rocm6.x, 3 for rocm7.x, and 0 for another.
func rocmIndex(local string) int {
	major := strings.TrimPrefix(local, "rocm")
	for i, m := range []string{"5", "6", "7"} {
		if major == m || strings.HasPrefix(major, m+".") {
			return i + 1
		}
	}
	return 0
}
