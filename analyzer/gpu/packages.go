package gpu

import (
	"path"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// nvidiaPackages are NVIDIA's packages for Python, by the library's name without "lib"; "-cuN"
// follows, N the CUDA release.
var nvidiaPackages = map[string]string{
	"cudart": "cuda-runtime", "cublas": "cublas", "cublasLt": "cublas", "cufft": "cufft", "cufftw": "cufft", "curand": "curand", "cusolver": "cusolver", "cusolverMg": "cusolver",
	"cusparse": "cusparse", "cusparseLt": "cusparselt", "nvJitLink": "nvjitlink", "nvrtc": "cuda-nvrtc", "nvrtc-builtins": "cuda-nvrtc", "cupti": "cuda-cupti", "nvToolsExt": "nvtx",
	"nccl": "nccl", "cudnn": "cudnn", "cufile": "cufile", "nvshmem_host": "nvshmem", "nvjpeg": "nvjpeg",
}

var sonameParts = lazyregexp.New(`^lib([\w\-]+?)\.so(?:\.(\d+))?(?:\.\d+)*$`)

// Package is NVIDIA's package for Python that has a CUDA library, given by its SONAME:
// "nvidia-cublas-cu12" for libcublasLt.so.12. "" where none is known.
func Package(soname string) string {
	m := sonameParts.FindStringSubmatch(path.Base(soname))
	if m == nil {
		return ""
	}
	stem, major := m[1], m[2]
	if strings.HasPrefix(stem, "cudnn") {
		stem, major = "cudnn", "12"
	}
	if stem == "nccl" {
		major = "12"
	}
	// These count their own majors: those of CUDA 12 are 11 (cuFFT, cuSOLVER) and 10 (cuRAND).
	switch stem + major {
	case "cufft11",
		"cufftw11",
		"cusolver11",
		"cusolverMg11",
		"curand10",
		"cusparseLt0",
		"nvToolsExt1",
		"cufile0",
		"nvshmem_host3":
		major = "12"
	}
	short, ok := nvidiaPackages[stem]
	if !ok || major != "11" && major != "12" {
		return ""
	}
	return "nvidia-" + short + "-cu" + major
}

// Major is the CUDA release that a library belongs to, "12" of libcublas.so.12; "" for libraries
// that count otherwise, and for others.
func Major(soname string) string {
	m := sonameParts.FindStringSubmatch(path.Base(soname))
	if m == nil {
		return ""
	}
	switch m[1] {
	case "cudart", "cublas", "cublasLt", "nvrtc", "nvJitLink", "cupti":
		return m[2]
	}
	return ""
}

// MajorOfPackage is the CUDA release in a package's name, "12" of nvidia-cublas-cu12; "" where it
// has none.
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

// drivers are the oldest NVIDIA drivers for Linux that run programs of a CUDA release (CUDA release
// notes, table "CUDA Toolkit and Minimum Required Driver Version").
var drivers = map[string]string{"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}

// Driver is the oldest driver that runs programs of a CUDA release, "" where it is not known.
func Driver(major string) string { return drivers[major] }
