package platform

import "testing"

func TestDescribe(t *testing.T) {
	for version, want := range map[string]string{
		"GLIBC_2.29":          "GLIBC_2.29 was added in glibc 2.29 (2019)",
		"GLIBC_2.2.5":         "GLIBC_2.2.5 was added in glibc 2.2.5 (2002)",
		"GLIBCXX_3.4.21":      "GLIBCXX_3.4.21 was added in GCC 5.1",
		"CXXABI_1.3.8":        "CXXABI_1.3.8 was added in GCC 4.9",
		"GCC_7.0.0":           "GCC_7.0.0 was added in libgcc of GCC 7",
		"GCC_4.8.0":           "GCC_4.8.0 was added in libgcc of GCC 4.8",
		"ZLIB_1.2.9":          "ZLIB_1.2.9 was added in zlib 1.2.9",
		"OPENSSL_1_1_0":       "OPENSSL_1_1_0 was added in OpenSSL 1.1.0",
		"GLIBC_9.99":          "",
		"FOO_1":               "",
		"GLIBCXX_LDBL_3.4.10": "GLIBCXX_LDBL_3.4.10 was added in GCC 4.3.0",
		"":                    "",
	} {
		if got := Describe(version); got != want {
			t.Errorf("Describe(%q) = %q, want %q", version, got, want)
		}
	}
	// Every node of a policy has a description, except for a few that are not tied to a release.
	unnamed := map[string]bool{"CXXABI_FLOAT128": true, "CXXABI_ARM_1.3.3": true}
	for _, arch := range Architectures() {
		for _, p := range All(arch) {
			for family, set := range p.Families() {
				for _, v := range set {
					node := family + "_" + v
					if family == "LIBATOMIC" || unnamed[node] {
						continue
					}
					if Describe(node) == "" {
						t.Errorf("%s: %s has no description", p, node)
						unnamed[node] = true
					}
				}
			}
		}
	}
}

func TestKnown(t *testing.T) {
	for soname, want := range map[string]string{
		"libcuda.so.1":           "the NVIDIA driver",
		"libnvidia-ml.so.1":      "the NVIDIA driver",
		"libcudart.so.12":        "the CUDA toolkit",
		"libibverbs.so.1":        "rdma-core (Debian: libibverbs1)",
		"libmlx5.so.1":           "rdma-core (Debian: ibverbs-providers)",
		"libamdhip64.so.6":       "ROCm 6",
		"librocblas.so.4":        "ROCm",
		"libhipblaslt.so.0":      "ROCm",
		"libMIOpen.so.1":         "ROCm",
		"librocm_smi64.so.7":     "ROCm",
		"libavcodec.so.58":       "FFmpeg 4 (conda-forge: ffmpeg=4)",
		"libavutil.so.59":        "FFmpeg 7 (conda-forge: ffmpeg=7)",
		"libavcodec.so.99":       "FFmpeg (conda-forge: ffmpeg)",
		"libswresample.so.4":     "FFmpeg 5 or 6 (conda-forge: ffmpeg)",
		"libsox.so":              "SoX (Debian: libsox-dev)",
		"libGLX_nvidia.so.0":     "the NVIDIA driver",
		"libGLESv2.so.2":         "libglvnd and Mesa (Debian: libgles2)",
		"libmpi_cxx.so.40":       "an MPI library (Open MPI or MPICH)",
		"libcusparseLt.so.0":     "cuSPARSELt",
		"libcublasLt.so.12":      "the CUDA toolkit",
		"libtbbmalloc.so.2":      "oneTBB (package tbb; Debian: libtbb12)",
		"libhsa-runtime64.so.1":  "ROCm",
		"libfoo.so.1":            "",
		"libcudart_static.a":     "",
		"../libcuda.so.1":        "",
		"libnvrtc-builtins.so.1": "the CUDA toolkit",
	} {
		got, ok := Known(soname)
		if got != want || ok != (want != "") {
			t.Errorf("Known(%q) = %q, %v, want %q", soname, got, ok, want)
		}
	}
}
