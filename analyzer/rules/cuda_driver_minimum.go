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
	Title:    "the NVIDIA driver that a CUDA release needs",
	Severity: analyzer.Note,
	Doc: `An object needs the runtime library of a CUDA release, and each release runs with drivers from a certain version on: 450.80.02 for CUDA 11, 525.60.13 for CUDA 12, 580.65.06 for CUDA 13.
With an older driver the first call fails: "CUDA driver version is insufficient for CUDA runtime version".

It is told once for each release in an artifact, so that the requirement can be written where users look.

Not seen: a runtime that is linked in statically (most of nvcc's own output), and PTX, whose translation needs a driver as new as the toolkit that made it.`,
	References: []string{
		"CUDA release notes, minimum required driver versions",
		"CUDA compatibility: minor version compatibility",
	},
	Check: checkCUDADriver,
}

// onDevice are the libraries that talk to the driver; nvJitLink and NVRTC do without.
var onDevice = []string{"libcudart", "libcublas", "libcublasLt"}

func checkCUDADriver(p *analyzer.Pass) {
	told := map[string]bool{}
	for _, v := range p.Views {
		for _, n := range v.Needed {
			if stem, _, _ := strings.Cut(n, "."); !slices.Contains(onDevice, stem) ||
				v.Alternative {
				continue
			}
			major := gpu.Major(n)
			driver := gpu.Driver(major)
			if driver == "" || told[major] {
				continue
			}
			told[major] = true
			p.Report(analyzer.Finding{Object: v.Path, Library: n, Chain: []string{v.Path, n},
				Message: fmt.Sprintf(
					"%s needs %s of CUDA %s, which runs with an NVIDIA driver from %s on",
					v.Path,
					n,
					major,
					driver,
				)})
		}
	}
}
