package buildlog

import (
	"strings"

	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var ofRelease = lazyregexp.New(`_(1[1-9])_(\d{1,2})$`)

// gpuPackage returns the package that contains a CUDA library, by SONAME, and the requirement
// for one of its symbols: names of nvJitLink end in the release that added them. Both are "" if
// unknown.
func gpuPackage(soname, symbol string) (name, requirement string) {
	release := ofRelease.FindStringSubmatch(symbol)
	if strings.HasPrefix(strings.TrimLeft(symbol, "_"), "nvJitLink") && release != nil {
		name = "nvidia-nvjitlink-cu" + release[1]
		return name, name + ">=" + release[1] + "." + release[2]
	}
	return gpu.Package(soname, ""), ""
}
