package comment

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/rules"
)

// Findings of the analyzer for the four typical cases.

const (
	wheelA = "widget-1.1.0-py3-none-manylinux2014_x86_64.whl"
	tooNew = "symbol-version-too-new"
)

func needs(symbol, version, library string) analyzer.Finding {
	return analyzer.Finding{
		Rule:     tooNew,
		Severity: analyzer.Error,
		New:      true,
		Target:   "manylinux_2_17_x86_64",
		Artifact: wheelA,
		Object:   "warp/bin/warp.so",
		Symbol:   symbol,
		Version:  version,
		Library:  library,
		Package:  "widget",
		Message: "warp/bin/warp.so needs " + symbol + "@" + version + " of " + library +
			", which manylinux_2_17_x86_64 does not have: " + version + " came with glibc 2.29 (2019).",
		Chain: []string{"warp/bin/warp.so", library},
		Fixes: []fix.Fix{
			{
				Kind:     fix.KindPlatformTag,
				Title:    fix.Titled("Tag the wheel manylinux_2_31_x86_64"),
				Command:  "wheel tags --remove --platform-tag manylinux_2_31_x86_64 " + wheelA,
				Verified: true,
				Cost:     []string{"drops debian10, ubuntu18.04"},
			},
			{
				Kind: fix.KindImage,
				Title: fix.Titled("Build in the manylinux2014 image, whose toolchain has no newer " +
					"versions"),
				Command: "quay.io/pypa/manylinux2014_x86_64",
			},
		},
	}
}

func caseA() *analyzer.Report {
	r := of(
		needs("pow", "GLIBC_2.29", "libm.so.6"),
		needs("exp", "GLIBC_2.29", "libm.so.6"),
		needs("_ZNSt6thread4joinEv", "GLIBCXX_3.4.21", "libstdc++.so.6"),
	)
	r.Findings[2].Demangled = "std::thread::join()"
	return withCauses(r)
}

func nvjitlink() analyzer.Finding {
	by := "nvidia-nvjitlink-cu12 12.9.86"
	return analyzer.Finding{
		Rule:       "symbol-missing-in-package",
		Severity:   analyzer.Error,
		New:        true,
		Target:     "manylinux_2_28_x86_64",
		Artifact:   "widget-1.1.0-py3-none-manylinux_2_28_x86_64.whl",
		Object:     "widget/libcccl.c.parallel.so",
		Symbol:     "__nvJitLinkGetErrorLogSize_12_9",
		Library:    "libnvJitLink.so.12",
		Package:    "nvidia-nvjitlink-cu12",
		ProvidedBy: &by,
		Message: "widget/libcccl.c.parallel.so needs __nvJitLinkGetErrorLogSize_12_9, which " +
			"libnvJitLink.so.12 of nvidia-nvjitlink-cu12 12.8.93 lacks.",
		Chain: []string{"widget/libcccl.c.parallel.so", "libnvJitLink.so.12"},
		Fixes: []fix.Fix{
			{
				Kind:        fix.KindPin,
				Title:       fix.Titled("Pin nvidia-nvjitlink-cu12>=12.9"),
				Command:     "nvidia-nvjitlink-cu12>=12.9",
				Requirement: "nvidia-nvjitlink-cu12>=12.9",
				Verified:    true,
				Cost: []string{
					"pip cannot resolve this: torch==2.7.0 requires nvidia-nvjitlink-cu12==12.8.61, " +
						"not 12.9.41",
				},
			},
		},
	}
}

func rocm() analyzer.Finding {
	return analyzer.Finding{
		Rule:     "gpu-stack-mismatch",
		Severity: analyzer.Error,
		New:      true,
		Target:   "manylinux_2_28_x86_64",
		Artifact: "mamba.whl",
		Object:   "selective_scan_cuda.cpython-312-x86_64-linux-gnu.so",
		Library:  "libc10_cuda.so",
		Package:  "torch",
		Message: "selective_scan_cuda.cpython-312-x86_64-linux-gnu.so needs libc10_cuda.so: a CUDA " +
			"build installed with torch 2.4.0+rocm6.1, which has libc10_hip.so.",
		Reason: "built for CUDA, but torch 2.4.0+rocm6.1 is a ROCm build",
		Chain:  []string{"selective_scan_cuda.cpython-312-x86_64-linux-gnu.so", "libc10_cuda.so"},
		Fixes: []fix.Fix{
			{
				Kind: fix.KindRebuild,
				Title: fix.Titled("Rebuild against the ROCm torch (torch==2.4.0+rocm6.1), so that it " +
					"needs libc10_hip.so"),
			},
		},
	}
}

func libdl() analyzer.Finding {
	return analyzer.Finding{
		Rule:     "link-undefined-reference",
		Severity: analyzer.Error,
		New:      true,
		Target:   "debian11",
		Artifact: "native-libs.zip",
		Object:   "libcufile.so",
		Symbol:   "dlopen",
		Library:  "libdl.so.2",
		Message: "a program that links against libcufile.so fails: undefined reference to dlopen, " +
			"which libdl.so.2 has.",
		Chain: []string{"libcufile.so"},
		Fixes: []fix.Fix{
			{
				Kind:     fix.KindLinkFlag,
				Title:    fix.Titled("Link programs that use it with these flags"),
				Command:  `LDFLAGS="-Wl,--no-as-needed -ldl"`,
				Verified: true,
			},
		},
	}
}

func of(fs ...analyzer.Finding) *analyzer.Report {
	r := &analyzer.Report{Schema: analyzer.Schema, Verdict: analyzer.Compatible, Findings: fs,
		Targets: []analyzer.Target{
			{
				Name:    "manylinux_2_17_x86_64",
				Verdict: analyzer.Compatible,
				With:    []string{"torch==2.7.0"},
			},
		},
		Artifacts: []analyzer.Artifact{{Path: wheelA, SHA256: "00", Kind: "wheel", Objects: 2}}}
	for _, f := range fs {
		if f.New && f.Severity == analyzer.Error {
			r.Verdict, r.Targets[0].Verdict = analyzer.Incompatible, analyzer.Incompatible
		}
	}
	return withCauses(r)
}

// withCauses sets the causes of a report.
func withCauses(r *analyzer.Report) *analyzer.Report {
	cause.Of(r, cause.Options{Rules: analyzer.Causes(rules.All())})
	return r
}

func old(f analyzer.Finding) analyzer.Finding { f.New = false; return f }

func severity(f analyzer.Finding, s analyzer.Severity) analyzer.Finding { f.Severity = s; return f }

const pyproject = `[build-system]
requires = ["setuptools"]

[project]
name = "widget"
version = "1.0.0"
dependencies = [
    "nvidia-nvjitlink-cu12>=12.8",
]
`

var widget = map[string]string{
	"README.md":      "# widget\n",
	"pyproject.toml": pyproject,
	".github/workflows/wheels.yml": "name: wheels\non: [push]\njobs:\n  wheels:\n    runs-on: " +
		"ubuntu-latest\n    steps:\n      - uses: pypa/cibuildwheel@v2\n        env:\n          " +
		"CIBW_MANYLINUX_X86_64_IMAGE: manylinux2014\n",
	"CMakeLists.txt": "project(widget)\nadd_library(cufile SHARED cufile.c)\n",
}
