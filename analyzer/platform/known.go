package platform

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// known are system libraries that no policy promises, with what brings them. A pattern is a
// library's name before ".so", where a last "*" stands for any rest. The first match wins, so
// longer names stand first.
var known = []struct{ pattern, bringer string }{
	// Drivers: never inside a wheel, never in a container image without the driver's runtime.
	{"libcuda", "the NVIDIA driver"},
	{"libcudadebugger", "the NVIDIA driver"},
	{"libnvidia-*", "the NVIDIA driver"},
	{"libnvcuvid", "the NVIDIA driver"},
	{"libnvoptix", "the NVIDIA driver"},
	{"libcudla", "the NVIDIA driver of Jetson and DRIVE"},
	{"libnvdla_*", "the NVIDIA driver of Jetson and DRIVE"},
	{"libnvbufsurface*", "NVIDIA Jetson Linux"},
	{"libGLX_nvidia", "the NVIDIA driver"},
	{"libEGL_nvidia", "the NVIDIA driver"},
	{"libze_loader", "the oneAPI Level Zero loader (package level-zero)"},
	{"libze_intel_gpu", "the Intel GPU driver"},
	{"libOpenCL", "the OpenCL loader (Debian: ocl-icd-libopencl1)"},
	{"libvulkan", "the Vulkan loader (Debian: libvulkan1)"},
	{"libneuron*", "the AWS Neuron runtime"},
	{"libnrt", "the AWS Neuron runtime (aws-neuronx-runtime-lib)"},
	{"libtpu", "the TPU runtime (package libtpu)"},
	{"libascendcl", "the Ascend CANN toolkit"},

	// RDMA and storage.
	{"libibverbs", "rdma-core (Debian: libibverbs1)"},
	{"librdmacm", "rdma-core (Debian: librdmacm1)"},
	{"libibumad", "rdma-core (Debian: libibumad3)"},
	{"libmlx5", "rdma-core (Debian: ibverbs-providers)"},
	{"libmlx4", "rdma-core (Debian: ibverbs-providers)"},
	{"libefa", "rdma-core (Debian: ibverbs-providers)"},
	{"libfabric", "libfabric (Debian: libfabric1)"},
	{"libucp", "UCX (Debian: libucx0)"},
	{"libucs", "UCX (Debian: libucx0)"},
	{"libuct", "UCX (Debian: libucx0)"},
	{"libgdrapi", "GDRCopy"},
	{"libnuma", "numactl (Debian: libnuma1)"},
	{"libaio", "libaio (Debian: libaio1, libaio1t64 from Debian 13)"},
	{"liburing", "liburing (Debian: liburing2)"},
	{"libmount", "util-linux (Debian: libmount1)"},

	// ROCm. libamdhip64 carries ROCm's own major version; the others do not.
	{"libamdhip64", "ROCm"},
	{"libhsa-runtime64", "ROCm"},
	{"libhsakmt", "ROCm"},
	{"libamd_comgr", "ROCm"},
	{"libhiprtc*", "ROCm"},
	{"librocblas", "ROCm"},
	{"librocsolver", "ROCm"},
	{"librocsparse", "ROCm"},
	{"librocfft*", "ROCm"},
	{"librocrand", "ROCm"},
	{"librocalution", "ROCm"},
	{"librocm_smi64", "ROCm"},
	{"librocm-core", "ROCm"},
	{"librocprofiler*", "ROCm"},
	{"libroctracer64", "ROCm"},
	{"libroctx64", "ROCm"},
	{"librocroller", "ROCm"},
	{"libamd_smi", "ROCm"},
	{"libhipblas*", "ROCm"},
	{"libhipfft*", "ROCm"},
	{"libhiprand", "ROCm"},
	{"libhipsolver", "ROCm"},
	{"libhipsparse*", "ROCm"},
	{"libhipdnn*", "ROCm"},
	{"libMIOpen", "ROCm"},
	{"librccl", "ROCm"},
	{"libmigraphx*", "ROCm"},

	// CUDA toolkit parts that no package on an index need bring.
	{"libcudart", "the CUDA toolkit (package nvidia-cuda-runtime)"},
	{"libnvrtc", "the CUDA toolkit (package nvidia-cuda-nvrtc)"},
	{"libnvrtc-builtins", "the CUDA toolkit (package nvidia-cuda-nvrtc)"},
	{"libnvJitLink", "the CUDA toolkit (package nvidia-nvjitlink)"},
	{"libnvToolsExt", "the CUDA toolkit (package nvidia-nvtx)"},
	{"libcublas*", "the CUDA toolkit (package nvidia-cublas)"},
	{"libnvblas", "the CUDA toolkit (package nvidia-cublas)"},
	{"libcufft*", "the CUDA toolkit (package nvidia-cufft)"},
	{"libcurand", "the CUDA toolkit (package nvidia-curand)"},
	{"libcusolver*", "the CUDA toolkit (package nvidia-cusolver)"},
	{"libcusparseLt", "cuSPARSELt (package nvidia-cusparselt)"},
	{"libcusparse", "the CUDA toolkit (package nvidia-cusparse)"},
	{"libcufile*", "the CUDA toolkit (package nvidia-cufile)"},
	{"libcupti", "the CUDA toolkit (package nvidia-cuda-cupti)"},
	{"libnvperf_*", "the CUDA toolkit (package nvidia-cuda-cupti)"},
	{"libnpp*", "the CUDA toolkit (package nvidia-npp)"},
	{"libnvjpeg", "the CUDA toolkit (package nvidia-nvjpeg)"},
	{"libnvfatbin", "the CUDA toolkit (package nvidia-nvfatbin)"},
	{"libnvptxcompiler*", "the CUDA toolkit"},
	{"libcudnn*", "cuDNN (package nvidia-cudnn)"},
	{"libnccl", "NCCL (package nvidia-nccl)"},
	{"libnvinfer*", "TensorRT (package tensorrt)"},
	{"libnvonnxparser", "TensorRT (package tensorrt)"},
	{"libnvshmem*", "NVSHMEM (package nvidia-nvshmem)"},
	{"libcutensor*", "cuTENSOR (package cutensor)"},

	// Media.
	{"libavcodec", "FFmpeg"},
	{"libavformat", "FFmpeg"},
	{"libavutil", "FFmpeg"},
	{"libavdevice", "FFmpeg"},
	{"libavfilter", "FFmpeg"},
	{"libswscale", "FFmpeg"},
	{"libswresample", "FFmpeg"},
	{"libpostproc", "FFmpeg"},
	{"libsox", "SoX (Debian: libsox3)"},
	{"libsndfile", "libsndfile (Debian: libsndfile1)"},
	{"libasound", "ALSA (Debian: libasound2)"},
	{"libpulse*", "PulseAudio (Debian: libpulse0)"},
	{"libjack", "JACK (Debian: libjack-jackd2-0)"},
	{"libportaudio", "PortAudio (Debian: libportaudio2)"},
	{"libgst*", "GStreamer"},
	{"libv4l*", "v4l-utils (Debian: libv4l-0)"},

	// Graphics and windows.
	{"libGL*", "libglvnd and Mesa (Debian: libgl1)"},
	{"libEGL*", "libglvnd and Mesa (Debian: libegl1)"},
	{"libOpenGL", "libglvnd (Debian: libopengl0)"},
	{"libgbm", "Mesa (Debian: libgbm1)"},
	{"libdrm*", "libdrm (Debian: libdrm2)"},
	{"libOSMesa", "Mesa (Debian: libosmesa6)"},
	{"libva*", "VA-API (Debian: libva2)"},
	{"libvdpau", "VDPAU (Debian: libvdpau1)"},
	{"libX*", "X11 (Debian: libx11-6 and its relatives)"},
	{"libxcb*", "X11 (Debian: libxcb1 and its relatives)"},
	{"libxkbcommon*", "libxkbcommon (Debian: libxkbcommon0)"},
	{"libwayland-*", "Wayland (Debian: libwayland-client0)"},
	{"libICE", "X11 (Debian: libice6)"},
	{"libSM", "X11 (Debian: libsm6)"},
	{"libgtk-*", "GTK"},
	{"libglib-2.0", "GLib (Debian: libglib2.0-0, libglib2.0-0t64 from Debian 13)"},
	{"libgobject-2.0", "GLib (Debian: libglib2.0-0, libglib2.0-0t64 from Debian 13)"},
	{"libgthread-2.0", "GLib (Debian: libglib2.0-0, libglib2.0-0t64 from Debian 13)"},
	{"libgio-2.0", "GLib (Debian: libglib2.0-0, libglib2.0-0t64 from Debian 13)"},
	{"libfontconfig", "Fontconfig (Debian: libfontconfig1)"},
	{"libfreetype", "FreeType (Debian: libfreetype6)"},
	{"libnss3", "NSS (Debian: libnss3)"},
	{"libdbus-1", "D-Bus (Debian: libdbus-1-3)"},

	// Parallel programming and mathematics.
	{"libmpi*", "an MPI library (Open MPI or MPICH)"},
	{"libgomp", "GCC (Debian: libgomp1)"},
	{"libatomic", "GCC (Debian: libatomic1)"},
	{"libgfortran", "GCC (Debian: libgfortran5)"},
	{"libquadmath", "GCC (Debian: libquadmath0)"},
	{"libomp", "LLVM (Debian: libomp5)"},
	{"libiomp5", "Intel OpenMP (package intel-openmp)"},
	{"libtbb*", "oneTBB (package tbb; Debian: libtbb12)"},
	{"libmkl_*", "Intel MKL (package mkl)"},
	{"libsycl", "the oneAPI DPC++ runtime (package intel-sycl-rt)"},
	{"libopenblas*", "OpenBLAS (Debian: libopenblas0)"},
	{"libblas", "BLAS (Debian: libblas3)"},
	{"liblapack", "LAPACK (Debian: liblapack3)"},
	{"libfftw3*", "FFTW (Debian: libfftw3-double3)"},
	{"libhdf5*", "HDF5"},

	// Databases and networks.
	{"libodbc*", "unixODBC (Debian: unixodbc)"},
	{"libpq", "PostgreSQL (Debian: libpq5)"},
	{"libmysqlclient", "MySQL"},
	{"libmariadb", "MariaDB (Debian: libmariadb3)"},
	{"libclntsh", "Oracle Instant Client"},
	{"libldap*", "OpenLDAP"},
	{"libkrb5", "MIT Kerberos (Debian: libkrb5-3)"},
	{"libgssapi_krb5", "MIT Kerberos (Debian: libgssapi-krb5-2)"},
	{"libcurl*", "curl (Debian: libcurl4)"},
	{"libssl", "OpenSSL"},
	{"libcrypto", "OpenSSL"},
	{"libusb-1.0", "libusb (Debian: libusb-1.0-0)"},
	{"libudev", "systemd (Debian: libudev1)"},
	{"libsystemd", "systemd (Debian: libsystemd0)"},
	{"libpcap", "libpcap (Debian: libpcap0.8)"},
	{"libjvm", "a Java runtime"},
	{"libR", "R (Debian: r-base-core)"},
	{
		"libcrypt",
		"libxcrypt (Debian: libcrypt1; Fedora and RHEL from 8: libxcrypt-compat for libcrypt.so.1)",
	},
}

// ffmpegReleases maps a library of FFmpeg and its SONAME version to FFmpeg's own (the library
// versions of ffmpeg.org/download).
var ffmpegReleases = map[string]string{
	"libavcodec.57": "3", "libavformat.57": "3", "libavutil.55": "3", "libavdevice.57": "3", "libavfilter.6": "3", "libswscale.4": "3", "libswresample.2": "3", "libpostproc.54": "3",
	"libavcodec.58": "4", "libavformat.58": "4", "libavutil.56": "4", "libavdevice.58": "4", "libavfilter.7": "4", "libswscale.5": "4", "libswresample.3": "4", "libpostproc.55": "4",
	"libavcodec.59": "5", "libavformat.59": "5", "libavutil.57": "5", "libavdevice.59": "5", "libavfilter.8": "5", "libswscale.6": "5", "libswresample.4": "5 or 6", "libpostproc.56": "5",
	"libavcodec.60": "6", "libavformat.60": "6", "libavutil.58": "6", "libavdevice.60": "6", "libavfilter.9": "6", "libswscale.7": "6", "libpostproc.57": "6",
	"libavcodec.61": "7", "libavformat.61": "7", "libavutil.59": "7", "libavdevice.61": "7", "libavfilter.10": "7", "libswscale.8": "7", "libswresample.5": "7", "libpostproc.58": "7",
	"libavcodec.62": "8", "libavformat.62": "8", "libavutil.60": "8", "libavdevice.62": "8", "libavfilter.11": "8", "libswscale.9": "8", "libswresample.6": "8",
}

// rocmMajor are the libraries of ROCm whose SONAME version is ROCm's own.
var rocmMajor = map[string]bool{"libamdhip64": true, "libhiprtc": true, "libhiprtc-builtins": true}

var sonameParts = lazyregexp.New(`^(lib[^/]*?)\.so(?:\.([0-9]+))?(?:[.0-9]*)$`)

// Known says what brings a system library that no policy promises: Known("libcuda.so.1") is "the
// NVIDIA driver", Known("libavcodec.so.60") "FFmpeg 6". ok is false for a library it has not heard
// of. It goes by name only.
func Known(soname string) (bringer string, ok bool) {
	m := sonameParts.FindStringSubmatch(soname)
	if m == nil {
		return "", false
	}
	name, version := m[1], m[2]
	for _, k := range known {
		prefix, wild := strings.CutSuffix(k.pattern, "*")
		if name != prefix && !(wild && strings.HasPrefix(name, prefix)) {
			continue
		}
		switch {
		case ffmpegReleases[name+"."+version] != "":
			return k.bringer + " " + ffmpegReleases[name+"."+version], true
		case rocmMajor[name] && version != "":
			return k.bringer + " " + version, true
		}
		return k.bringer, true
	}
	return "", false
}
