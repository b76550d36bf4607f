package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
)

var cudaMajorMixed = &analyzer.Rule{
	ID:       "cuda-major-mixed",
	Title:    "The artifact is built for another CUDA release than the installed packages",
	Severity: analyzer.Error,
	Doc: `An object needs a library of one CUDA release (libcudart.so.11.0, libcublasLt.so.11), but
the installed packages are of another release (nvidia-cublas-cu12). CUDA libraries change their
SONAME with every major release, so the library is not found: "libcudart.so.11.0: cannot open
shared object file".

Fix: install the build for the CUDA release of the other packages, or rebuild with that CUDA
toolkit.

Severity: a warning where the needed library exists in the artifact or in a package. Then two CUDA
runtimes are loaded into one process. They use more memory, and handles of one are not valid in
the other.

Not detected: libraries whose SONAME does not follow the release (cuFFT, cuRAND, cuSOLVER, cuDNN),
and libraries that are opened with dlopen.`,
	Cause: cause.Rule{
		Kind:  cause.Choose("choose packages of one CUDA major version", ""),
		Warns: "both versions of CUDA are present, and two can work side by side",
	},
	References: []string{"CUDA release notes, library SONAMEs", "gABI, DT_NEEDED"},
	Check:      checkCUDAMajor,
}

func checkCUDAMajor(p *analyzer.Pass) {
	if !slices.ContainsFunc(p.Views, func(v *analyzer.View) bool {
		return slices.ContainsFunc(v.Needed, func(n string) bool { return gpu.Major(n) != "" })
	}) {
		return
	}
	installed, by := installedCUDA(p)
	if installed == "" {
		return
	}
	for _, v := range p.Views {
		needed, mixed := ofOtherMajor(v, installed)
		if !mixed || v.Alternative {
			continue
		}
		major := gpu.Major(needed)
		what := fmt.Sprintf("needs %s of CUDA %s, but %s is for CUDA %s", needed, major, by, installed)
		f := analyzer.Finding{
			Object: v.Path, Library: needed, Chain: []string{v.Path, needed},
			Headline: v.Path + " " + what, Reason: what, Message: v.Path + " " + what,
		}
		if !slices.Contains(v.Missing, needed) {
			f.Severity = analyzer.Warning
			f.Message += ". The library is found, so both CUDA runtimes are loaded into one process"
		}
		name := projectName(p)
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindEnvironment,
					Title: fix.Titled("Install the build of %s for CUDA %s", name, installed),
				},
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindRebuild,
					Title:   fix.Titled("Build with the CUDA %s toolkit", installed),
					Command: fromSource(p),
				},
			},
		)
	}
}

// installedCUDA returns the CUDA release of the installed packages, and a package of that release.
// It is "" if there is none, or more than one.
func installedCUDA(p *analyzer.Pass) (major, by string) {
	for r := range p.Packages.All() {
		m := gpu.MajorOfPackage(r.Name)
		if _, local, ok := strings.Cut(r.Version, "+cu"); ok && r.Name == "torch" &&
			len(local) >= 3 {
			m = local[:2]
		}
		switch {
		case m == "" || m == major:
		case major != "":
			return "", ""
		default:
			major, by = m, r.ID().String()
		}
	}
	return major, by
}

// ofOtherMajor returns a library of another CUDA release that an object needs.
func ofOtherMajor(v *analyzer.View, major string) (string, bool) {
	for _, n := range v.Needed {
		if m := gpu.Major(n); m != "" && m != major {
			return n, true
		}
	}
	return "", false
}

// mixedCUDA reports whether cuda-major-mixed reports a missing library.
func mixedCUDA(p *analyzer.Pass, v *analyzer.View, needed string) bool {
	installed, _ := installedCUDA(p)
	first, mixed := ofOtherMajor(v, installed)
	return installed != "" && mixed && first == needed && !v.Alternative
}
