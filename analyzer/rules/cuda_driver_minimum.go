package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/gpu"
)

var cudaDriverMinimum = &analyzer.Rule{
	ID:       "cuda-driver-minimum",
	Title:    "The artifact needs a minimum version of the NVIDIA driver",
	Severity: analyzer.Note,
	Doc: `An object needs the runtime library of a CUDA release. Each release needs a minimum
driver version: 450.80.02 for CUDA 11, 525.60.13 for CUDA 12, 580.65.06 for CUDA 13. With an older
driver the first call fails: "CUDA driver version is insufficient for CUDA runtime version".

The minimum is reported once for each CUDA release in an artifact. Add it to the installation
requirements in the documentation.

Not detected: a runtime that is linked statically (the default of nvcc), and PTX, which needs a
driver as new as the toolkit that produced it.`,
	References: []string{
		"CUDA release notes, minimum required driver versions",
		"CUDA compatibility: minor version compatibility",
	},
	Check: checkCUDADriver,
}

// onDevice are the libraries that use the driver; nvJitLink and NVRTC do not.
var onDevice = []string{"libcudart", "libcublas", "libcublasLt"}

func checkCUDADriver(p *analyzer.Pass) {
	reported := map[string]bool{}
	for _, v := range p.Views {
		for _, n := range v.Needed {
			if stem, _, _ := strings.Cut(n, "."); !slices.Contains(onDevice, stem) ||
				v.Alternative {
				continue
			}
			major := gpu.Major(n)
			driver := gpu.Driver(major)
			if driver == "" || reported[major] {
				continue
			}
			reported[major] = true
			p.Report(analyzer.Finding{Object: v.Path, Library: n, Chain: []string{v.Path, n},
				Message: fmt.Sprintf(
					"%s needs %s of CUDA %s, which requires NVIDIA driver %s or later",
					v.Path,
					n,
					major,
					driver,
				)})
		}
	}
}
