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

// sameFamily lists the compute capabilities that run code for a family (sm_100f), other than the
// one in its name (PTX ISA, ".target": family-specific architectures). Minor versions of one major
// version can be of different families: 10.1, later named 11.0, is not of the family of 10.0.
var sameFamily = map[int][]int{100: {103}, 120: {121}}

// capability is a target of NVIDIA's compilers.
type capability struct {
	number int  // major*10+minor
	only   byte // 'a': for this capability only; 'f': for its family; 0 for neither
}

// parseCUDA parses "sm_90", "sm_90a" and "sm_100f".
func parseCUDA(arch string) (capability, bool) {
	text, ok := strings.CutPrefix(arch, "sm_")
	var out capability
	if digits := strings.TrimRight(text, "af"); len(digits)+1 == len(text) {
		out.only, text = text[len(digits)], digits
	}
	n, err := strconv.Atoi(text)
	out.number = n
	return out, ok && err == nil
}

// runs reports whether code for c runs on a compute capability. later is what the code does without
// a suffix.
func (c capability) runs(on int, later bool) bool {
	switch c.only {
	case 'a':
		return c.number == on
	case 'f':
		return c.number == on || slices.Contains(sameFamily[c.number], on)
	}
	return later
}

// Cover reports whether the code runs on a processor ("sm_86", "gfx90a"). known is false if there
// is no code for that vendor. NVIDIA machine code runs on its own compute capability and on later
// ones with the same major version (CUDA programming guide, "Binary compatibility"), PTX on its own
// and every later one; both only on their own capability (sm_90a) or family (sm_100f) if they are
// compiled for it. AMD code runs on the processor it was compiled for, or on those of a generic
// target.
func (a Archs) Cover(arch string) (runs, known bool) {
	if want, ok := parseCUDA(arch); ok {
		on := want.number
		for _, text := range a.CUDA {
			have, ok := parseCUDA(text)
			runs = runs || ok && have.runs(on, have.number/10 == on/10 && have.number <= on)
		}
		for _, text := range a.PTX {
			have, ok := parseCUDA(text)
			runs = runs || ok && have.runs(on, have.number <= on)
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
