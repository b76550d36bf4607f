package buildlog

import "strings"

// gpuPatterns are messages of CUDA and ROCm: nvcc, ptxas, hipcc, their runtimes, and
// frameworks.
var gpuPatterns = []pattern{
	{
		id: "gpu-no-kernel-image", class: "hardware-not-supported",
		needles: []string{
			"no kernel image is available",
			"hipErrorNoBinaryForGpu",
			"is not compatible with the current PyTorch installation",
		},
		expr:    `no kernel image is available for execution on the device|hipErrorNoBinaryForGpu|with CUDA capability sm_\d+ is not compatible with the current PyTorch installation`,
		example: "RuntimeError: CUDA error: no kernel image is available for execution on the device",
		similar: "the kernel image is available in /boot",
	},
	{
		id: "gpu-versions-differ", class: "gpu-library-skew",
		needles: []string{
			"cuDNN version incompatibility",
			"VERSION_MISMATCH",
			"Loaded runtime CuDNN library",
			"compiled with an unsupported toolchain",
			"The detected CUDA version",
		},
		expr: `cuDNN version incompatibility|CUDNN_STATUS_(?:SUBLIBRARY_)?VERSION_MISMATCH|Loaded runtime CuDNN library: \S+ but source was compiled with|provided PTX was compiled with an unsupported toolchain|The detected CUDA version \([\d.]+\) mismatches the version that was used to compile`,
		example: "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against " +
			"(9, 1, 0) but found runtime version (8, 9, 2)",
		similar: "HTTP_VERSION_MISMATCH",
	},
	{
		id: "gpu-driver-too-old", class: "gpu-library-skew",
		needles: []string{
			"NVIDIA driver on your system is too old",
			"driver version is insufficient",
			"unsatisfied condition: cuda",
			"forward compatibility was attempted on non supported HW",
		},
		expr: `NVIDIA driver on your system is too old(?: \(found version (?P<named>\d+)\))?|CUDA driver version is insufficient for CUDA runtime version|unsatisfied condition: cuda *>= *(?P<ver>[\d.]+\d)|forward compatibility was attempted on non supported HW`,
		example: "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). " +
			"Please update your GPU driver",
		similar: "the driver of your system is too old",
	},
	{
		id: "gpu-driver-mixed", class: "gpu-library-skew",
		needles: []string{
			"Driver/library version mismatch",
			"does not match DSO version",
			"unsupported display driver / cuda driver combination",
		},
		expr:    `Driver/library version mismatch|kernel version [\d.]+ does not match DSO version [\d.]+|system has unsupported display driver / cuda driver combination`,
		example: "Failed to initialize NVML: Driver/library version mismatch",
		similar: "driver: the library version does not match the lock file",
	},
	{
		id: "gpu-cuda-differs", class: "gpu-library-skew",
		needles: []string{"Detected that PyTorch and "},
		expr:    `Detected that PyTorch and (?P<obj>\w+) were compiled with different(?:.*PyTorch has CUDA [Vv]ersion[ =](?P<named>\d+\.\d+))?`,
		example: "RuntimeError: Detected that PyTorch and torchvision were compiled with different " +
			"CUDA major versions. PyTorch has CUDA Version=12.1 and torchvision has CUDA Version=11.8.",
		similar: "Detected that PyTorch and torchvision are installed",
	},
	{
		id:      "nvrtc-builtins",
		needles: []string{"failed to open libnvrtc"},
		expr:    `failed to open (?P<lib>libnvrtc[\w.\-]+)`,
		example: "nvrtc: error: failed to open libnvrtc-builtins.so.11.6.",
		similar: "nvrtc: error: failed to open kernel.cu",
		fill:    func(m *match) bool { m.lib = strings.TrimRight(m.lib, "."); return true },
	},
	{
		id: "gpu-unable-to-load",
		needles: []string{
			"Unable to load any of {",
			"nable to open library: ",
			"ould not load library ",
			"ailed to load dynamic library ",
			"ailed to load library ",
		},
		expr: `Unable to load any of \{(?P<lib>[^,}\s]+)|(?:[Uu]nable to open library:|[Cc]ould not load library|[Ff]ailed to load (?:dynamic )?library) ['"]?(?P<obj>lib[\w.+\-]+\.so[\w.]*)['"]?(?:\.? Error:|,|\s*$)`,
		example: "Unable to load any of {libcudnn_cnn.so.9.1.0, libcudnn_cnn.so.9.1, " +
			"libcudnn_cnn.so.9, libcudnn_cnn.so}",
		similar: "Unable to load any of {config.yml, config.json}",
		fill: func(m *match) bool {
			if m.obj != "" {
				if inner := m.prefix + m.rest; strings.Contains(inner, "cannot open shared object file") ||
					strings.Contains(inner, "undefined symbol") ||
					strings.Contains(inner, "' not found") {
					return false // the loader's message follows and has more details
				}
				m.lib, m.obj = m.obj, ""
			}
			return strings.Contains(m.lib, ".so")
		},
	},
	{
		id: "nvcc-unsupported-architecture", class: "hardware-not-supported",
		needles: []string{"nsupported gpu architecture"},
		expr:    `nvcc fatal\s*: Unsupported gpu architecture '\w+'`,
		example: "nvcc fatal   : Unsupported gpu architecture 'compute_120'",
		similar: "CMake: unsupported gpu architecture list is empty",
	},
	{
		id: "ptxas-unresolved", class: "link-undefined-symbol", stage: linking,
		needles: []string{"Unresolved extern function", "undefined device symbol"},
		expr:    `Unresolved extern (?:function|variable) '(?P<sym>[^']+)'`,
		example: "ptxas fatal   : Unresolved extern function '_Z6helperi'",
		similar: "Unresolved extern in the documentation",
	},
}
