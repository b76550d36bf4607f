package gpu

import (
	"slices"
	"strconv"
	"strings"
)

// families maps LLVM's generic AMD targets to the processors that run their code (AMDGPUUsage,
// "Generic processors").
var families = map[string][]string{
	"gfx9-generic":    {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"},
	"gfx9-4-generic":  {"gfx940", "gfx941", "gfx942", "gfx950"},
	"gfx10-1-generic": {"gfx1010", "gfx1011", "gfx1012", "gfx1013"},
	"gfx10-3-generic": {
		"gfx1030",
		"gfx1031",
		"gfx1032",
		"gfx1033",
		"gfx1034",
		"gfx1035",
		"gfx1036",
	},
	"gfx11-generic": {
		"gfx1100",
		"gfx1101",
		"gfx1102",
		"gfx1103",
		"gfx1150",
		"gfx1151",
		"gfx1152",
		"gfx1153",
	},
	"gfx12-generic": {"gfx1200", "gfx1201"},
}

// Cover reports whether the code runs on a processor ("sm_86", "gfx90a"). known is false if there
// is no code for that vendor. NVIDIA machine code runs on its own compute capability and on later
// ones with the same major version (CUDA programming guide, "Binary compatibility"), PTX on its own
// and every later one. AMD code runs on the processor it was compiled for, or on those of a generic
// target.
func (a Archs) Cover(arch string) (runs, known bool) {
	if want, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(arch, "sm_"),
		"af")); err == nil &&
		strings.HasPrefix(arch, "sm_") {
		for _, have := range a.CUDA {
			n := number(have)
			runs = runs || n/10 == want/10 && n <= want
		}
		for _, have := range a.PTX {
			runs = runs || number(have) <= want
		}
		return runs, len(a.CUDA)+len(a.PTX) > 0
	}
	if !strings.HasPrefix(arch, "gfx") {
		return false, false
	}
	arch, _, _ = strings.Cut(arch, ":")
	for _, have := range a.ROCm {
		runs = runs || have == arch || have == "amdgcnspirv" ||
			slices.Contains(families[have], arch)
	}
	return runs, len(a.ROCm) > 0
}

func number(sm string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(sm, "sm_"))
	if err != nil {
		return 0
	}
	return n
}
