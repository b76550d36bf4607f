package gpu

import (
	"path"
	"slices"
	"strings"
)

// nvidiaPackages maps the names of libraries, without "lib", to NVIDIA's Python packages.
var nvidiaPackages = map[string]string{
	"cudart": "cuda-runtime", "cublas": "cublas", "cublasLt": "cublas", "cufft": "cufft",
	"cufftw": "cufft", "curand": "curand", "cusolver": "cusolver", "cusolverMg": "cusolver",
	"cusparse": "cusparse", "cusparseLt": "cusparselt", "nvJitLink": "nvjitlink",
	"nvrtc": "cuda-nvrtc", "nvrtc-builtins": "cuda-nvrtc", "cupti": "cuda-cupti",
	"nvToolsExt": "nvtx", "nccl": "nccl", "cudnn": "cudnn", "cufile": "cufile",
	"nvshmem_host": "nvshmem", "nvjpeg": "nvjpeg",
}

// ownMajors maps libraries whose SONAME has a version other than that of CUDA to the CUDA releases
// that contain them: "12" for libcufft.so.11. Some have the same SONAME in several releases.
var ownMajors = map[string][]string{
	"cufft10": {"11"}, "cufft11": {"12"}, "cufft12": {"13"},
	"cufftw10": {"11"}, "cufftw11": {"12"}, "cufftw12": {"13"},
	"cusolver11": {"12", "11"}, "cusolver12": {"13"},
	"cusolverMg11": {"12", "11"}, "cusolverMg12": {"13"},
	"cusparse11": {"11"}, "cusparse12": {"12", "13"},
	"curand10":    {"12", "13", "11"},
	"cusparseLt0": {"12", "13"}, "nvToolsExt1": {"12", "11"}, "cufile0": {"12", "13"},
	"nccl2": {"12", "13", "11"}, "cudnn8": {"12", "11"}, "cudnn9": {"12", "13", "11"},
	"nvshmem_host3": {"12", "13"},
}

// suffixed are the packages with the CUDA release in their name also for CUDA 13 and later.
var suffixed = []string{"cudnn", "nccl", "cusparselt", "nvshmem"}

// parts returns the name of a library without "lib" and the first number of its version, "" if it
// has none: "cublas" and "12" of libcublas.so.12.1. The rules ask for each needed library of each
// object, so it is no regular expression.
func parts(soname string) (stem, major string, ok bool) {
	name, ok := strings.CutPrefix(path.Base(soname), "lib")
	stem, version, so := strings.Cut(name, ".so")
	if !ok || !so || stem == "" || strings.ContainsFunc(stem, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'z')
	}) {
		return "", "", false
	}
	for n := 0; version != ""; n++ {
		number, dot := strings.CutPrefix(version, ".")
		end := strings.IndexFunc(number, func(c rune) bool { return c < '0' || c > '9' })
		if end < 0 {
			end = len(number)
		}
		if !dot || end == 0 {
			return "", "", false
		}
		if n == 0 {
			major = number[:end]
		}
		version = number[end:]
	}
	return stem, major, true
}

// Package returns NVIDIA's Python package that contains a CUDA library, given by its SONAME:
// "nvidia-cublas-cu12" for libcublasLt.so.12, "nvidia-cublas" for libcublasLt.so.13. cuda is the
// CUDA release of the environment, "" if unknown; it decides for libraries that have the same
// SONAME in several releases. Package returns "" for other libraries.
func Package(soname, cuda string) string {
	stem, major, ok := parts(soname)
	if !ok {
		return ""
	}
	if strings.HasPrefix(stem, "cudnn") {
		stem = "cudnn"
	}
	short, ok := nvidiaPackages[stem]
	if !ok {
		return ""
	}
	release := major
	if own := ownMajors[stem+major]; own != nil {
		release = own[0]
		if slices.Contains(own, cuda) {
			release = cuda
		}
	}
	switch {
	case release == "11", release == "12", release == "13" && slices.Contains(suffixed, short):
		return "nvidia-" + short + "-cu" + release
	case release == "13":
		return "nvidia-" + short
	}
	return ""
}

// OfCUDA reports whether a package of NVIDIA contains a library, for some release of CUDA.
func OfCUDA(soname string) bool {
	stem, _, ok := parts(soname)
	return ok && (nvidiaPackages[stem] != "" || strings.HasPrefix(stem, "cudnn"))
}

// Major returns the CUDA release of a library whose SONAME contains it, "12" for libcublas.so.12,
// and "" for other libraries.
func Major(soname string) string {
	name := path.Base(soname)
	if !strings.HasPrefix(name, "libcu") && !strings.HasPrefix(name, "libnv") {
		return "" // most of them
	}
	switch stem, major, _ := parts(name); stem {
	case "cudart", "cublas", "cublasLt", "nvrtc", "nvJitLink", "cupti":
		return major
	}
	return ""
}

// MajorOfPackage returns the CUDA release in a package's name, "12" for nvidia-cublas-cu12, or "".
func MajorOfPackage(name string) string {
	i := strings.LastIndex(name, "-cu")
	if i < 0 || !strings.HasPrefix(name, "nvidia-") {
		return ""
	}
	major := name[i+len("-cu"):]
	if len(major) != 2 || strings.Trim(major, "0123456789") != "" {
		return ""
	}
	return major
}

// ReleaseOfPackage returns the CUDA release that a package of NVIDIA is for: that in its name, or
// "13" for nvidia-cublas. It is "" for other packages.
func ReleaseOfPackage(name string) string {
	if major := MajorOfPackage(name); major != "" {
		return major
	}
	if short, ok := strings.CutPrefix(name, "nvidia-"); ok && !slices.Contains(suffixed, short) {
		for _, p := range nvidiaPackages {
			if p == short {
				return "13"
			}
		}
	}
	return ""
}

// Toolkit is the package of NVIDIA that requires its packages for one CUDA release, each with an
// extra: cuda-toolkit[cublas,nvrtc]==12.*.
const Toolkit = "cuda-toolkit"

// ExtraOfToolkit returns the extra with which Toolkit requires a package of NVIDIA: "nvrtc" for
// nvidia-cuda-nvrtc-cu12. It is "" for packages that none requires.
func ExtraOfToolkit(name string) string {
	short := strings.TrimPrefix(strings.TrimSuffix(name, "-cu"+MajorOfPackage(name)), "nvidia-")
	if ReleaseOfPackage(name) == "" || slices.Contains(suffixed, short) {
		return "" // of other releases than the toolkit
	}
	if short == "cuda-runtime" {
		return "cudart"
	}
	return strings.TrimPrefix(short, "cuda-")
}

// drivers are the oldest NVIDIA drivers for Linux that run programs of a CUDA release (CUDA release
// notes, table "CUDA Toolkit and Minimum Required Driver Version").
var drivers = map[string]string{"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}

// Driver returns the oldest driver that runs programs of a CUDA release. It is "" for unknown
// releases.
func Driver(major string) string { return drivers[major] }
