package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
)

var cudaMajorMixed = &analyzer.Rule{
	ID:       "cuda-major-mixed",
	Title:    "a build for one CUDA release beside packages of another",
	Severity: analyzer.Error,
	Doc: `An object needs a library of one CUDA release (libcudart.so.11.0, libcublasLt.so.11), and the packages beside it bring those of another (nvidia-cublas-cu12). CUDA's libraries change their
SONAME with every major release, so nothing answers: "libcudart.so.11.0: cannot open shared object file".

It is a warning where the library is there after all, in the artifact or in a package: then both releases are in one process, each with its own context state, which doubles memory and breaks
what passes handles from one to the other.

To mend it, install the build for the CUDA release that the others use, or build again with that toolkit.

Not seen: libraries whose SONAME does not follow the release (cuFFT, cuRAND, cuSOLVER, cuDNN), and those that are opened by dlopen.`,
	References: []string{"CUDA release notes, library SONAMEs", "gABI, DT_NEEDED"},
	Check:      checkCUDAMajor,
}

func checkCUDAMajor(p *analyzer.Pass) {
	beside, by := cudaBeside(p)
	if beside == "" {
		return
	}
	for _, v := range p.Views {
		needed, mixed := ofOtherMajor(v, beside)
		if !mixed || v.Alternative {
			continue
		}
		major := gpu.Major(needed)
		f := analyzer.Finding{Object: v.Path, Library: needed, Chain: []string{v.Path, needed},
			Message: fmt.Sprintf(
				"%s needs %s of CUDA %s, and %s beside it is of CUDA %s: a CUDA %s build in a CUDA %s environment",
				v.Path,
				needed,
				major,
				by,
				beside,
				major,
				beside,
			)}
		if !slices.Contains(v.Missing, needed) {
			f.Severity = analyzer.Warning
			f.Message += "; the library is there, so both are loaded into one process"
		}
		name := projectName(p)
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindEnvironment,
					Title: fmt.Sprintf("Install the build of %s for CUDA %s", name, beside),
				},
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: fmt.Sprintf("Build with the CUDA %s toolkit", beside),
					Command: fmt.Sprintf(
						"pip install --no-build-isolation --no-binary %s %s",
						quoted(name),
						quoted(name),
					),
				},
			},
		)
	}
}

// cudaBeside is the one CUDA release of the packages beside the artifact, with a package that says
// so; "" where there is none, or more than one.
func cudaBeside(p *analyzer.Pass) (major, by string) {
	for _, r := range p.Packages.Releases {
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

// ofOtherMajor finds a library of another CUDA release that an object needs.
func ofOtherMajor(v *analyzer.View, major string) (string, bool) {
	for _, n := range v.Needed {
		if m := gpu.Major(n); m != "" && m != major {
			return n, true
		}
	}
	return "", false
}

// mixedCUDA tells whether cuda-major-mixed says of a missing library more than that it is missing.
func mixedCUDA(p *analyzer.Pass, v *analyzer.View, needed string) bool {
	beside, _ := cudaBeside(p)
	first, mixed := ofOtherMajor(v, beside)
	return beside != "" && mixed && first == needed && !v.Alternative
}
