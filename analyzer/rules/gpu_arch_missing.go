package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

var gpuArchMissing = &analyzer.Rule{
	ID:       "gpu-arch-missing",
	Title:    "An object has no code for a configured GPU",
	Severity: analyzer.Error,
	Doc: `The configuration lists the GPUs that the artifact supports (gpu.archs), but an object
has neither machine code for one of them nor PTX that the driver can compile for it. The library
loads, and the first kernel fails: "no kernel image is available for execution on the device". On
AMD: "Unable to find code object for all current devices".

NVIDIA machine code runs on its own generation and on later ones of the same major version (sm_80
on sm_86). PTX runs on its own generation and on every later one. Code and PTX that were compiled
for one architecture (sm_90a, compute_120a) run only on it, and for a family (sm_100f) only on the
family: 10.0 and 10.3. AMD code runs on the GPU that it names, or on those of its generic family
(gfx11-generic).

Fix: add the GPU to TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES or PYTORCH_ROCM_ARCH and
rebuild.

Severity: a warning where another object of the artifact has code for the GPU.

Not detected: code that is compiled at run time (NVRTC, Triton), and objects without a section
table.`,
	References: []string{
		"CUDA C++ Programming Guide, binary and PTX compatibility",
		"PTX ISA, .target: architecture-specific and family-specific targets",
		"LLVM, AMDGPU usage: generic processors",
	},
	Cause: cause.Rule{Warns: "another file of the artifact has code for that GPU"},
	Check: checkGPUArch,
}

func checkGPUArch(p *analyzer.Pass) {
	for _, arch := range p.GPU.Archs {
		elsewhere := slices.ContainsFunc(
			p.Views,
			func(v *analyzer.View) bool { runs, _ := v.GPU.Cover(arch); return runs },
		)
		for _, v := range p.Views {
			runs, checked := v.GPU.Cover(arch)
			if runs || !checked {
				continue
			}
			f := analyzer.Finding{Object: v.Path, Version: arch, Chain: []string{v.Path},
				Message: fmt.Sprintf(
					"%s has no code for %s%s. Its kernels fail on this GPU with %q",
					v.Path,
					arch,
					archsOf(v),
					noKernel(arch),
				)}
			if elsewhere {
				f.Severity = analyzer.Warning
				f.Message += ". Another object of the artifact has code for it"
			}
			p.Report(
				f,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindRebuild,
						Title:   fix.Titled("Build for %s as well", arch),
						Command: archFlag(v, arch),
					},
				},
			)
		}
	}
}

func noKernel(arch string) string {
	if strings.HasPrefix(arch, "gfx") {
		return "Unable to find code object for all current devices"
	}
	return "no kernel image is available for execution on the device"
}

// decimal matches sm_90a, which is 9.0a in the settings of torch.
var decimal = lazyregexp.New(`^sm_([0-9]+)([0-9])([af]?)$`)

// archFlag is the setting of torch's extension builds for an architecture and those that the object
// has already.
func archFlag(v *analyzer.View, arch string) shellword.Line {
	if strings.HasPrefix(arch, "gfx") {
		return "PYTORCH_ROCM_ARCH=" + shellword.Quote(
			strings.Join(append(slices.Clone(v.GPU.ROCm), arch), ";"))
	}
	var list []string
	archs := append(slices.Clone(v.GPU.CUDA), arch)
	slices.SortFunc(archs, gpu.Compare)
	for _, sm := range slices.Compact(archs) {
		list = append(list, decimal.ReplaceAllString(sm, "$1.$2$3"))
	}
	return "TORCH_CUDA_ARCH_LIST=" + shellword.Quote(strings.Join(list, ";")+"+PTX")
}
