package buildlog

import (
	"regexp"
	"strings"
)

// NVIDIA's packages for Python, by the library's name without "lib"; "-cuN" follows, N the CUDA release.
var nvidiaPackages = map[string]string{
	"cudart": "cuda-runtime", "cublas": "cublas", "cublasLt": "cublas", "cufft": "cufft", "cufftw": "cufft", "curand": "curand", "cusolver": "cusolver", "cusolverMg": "cusolver",
	"cusparse": "cusparse", "cusparseLt": "cusparselt", "nvJitLink": "nvjitlink", "nvrtc": "cuda-nvrtc", "nvrtc-builtins": "cuda-nvrtc", "cupti": "cuda-cupti", "nvToolsExt": "nvtx",
	"nccl": "nccl", "cudnn": "cudnn", "cufile": "cufile", "nvshmem_host": "nvshmem", "nvjpeg": "nvjpeg",
}

var (
	sonameParts = regexp.MustCompile(`^lib([\w\-]+?)\.so(?:\.(\d+))?(?:\.\d+)*$`)
	ofRelease   = regexp.MustCompile(`_(1[1-9])_(\d{1,2})$`)
)

// gpuPackage is the package that has a CUDA library, given by its SONAME, and the requirement that a symbol of it asks for: nvJitLink's
// names end in the release that brought them. Empty where neither is known.
func gpuPackage(soname, symbol string) (name, requirement string) {
	release := ofRelease.FindStringSubmatch(symbol)
	if strings.HasPrefix(strings.TrimLeft(symbol, "_"), "nvJitLink") && release != nil {
		name = "nvidia-nvjitlink-cu" + release[1]
		return name, name + ">=" + release[1] + "." + release[2]
	}
	m := sonameParts.FindStringSubmatch(base(soname))
	if m == nil {
		return "", ""
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
	case "cufft11", "cufftw11", "cusolver11", "cusolverMg11", "curand10", "cusparseLt0", "nvToolsExt1", "cufile0", "nvshmem_host3":
		major = "12"
	}
	short, ok := nvidiaPackages[stem]
	if !ok || major != "11" && major != "12" {
		return "", ""
	}
	return "nvidia-" + short + "-cu" + major, ""
}
