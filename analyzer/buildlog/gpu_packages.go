package buildlog

import (
	"strings"

	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var ofRelease = lazyregexp.New(`_(1[1-9])_(\d{1,2})$`)

// gpuPackage is the package that has a CUDA library, given by its SONAME, and the requirement that
// a symbol of it asks for: nvJitLink's names end in the release that brought them. Empty where
// neither is known.
func gpuPackage(soname, symbol string) (name, requirement string) {
	release := ofRelease.FindStringSubmatch(symbol)
	if strings.HasPrefix(strings.TrimLeft(symbol, "_"), "nvJitLink") && release != nil {
		name = "nvidia-nvjitlink-cu" + release[1]
		return name, name + ">=" + release[1] + "." + release[2]
	}
	return gpu.Package(soname, ""), ""
}
