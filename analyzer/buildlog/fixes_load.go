package buildlog

import (
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// glibcReleases are the systems that first had a glibc, for the versions that the manylinux images
// and the long-term releases draw lines at.
var glibcReleases = []struct {
	minor   int
	systems string
}{
	{
		17,
		"RHEL 7",
	}, {28, "Debian 10, RHEL 8"}, {31, "Debian 11, Ubuntu 20.04"}, {34, "RHEL 9"}, {35, "Ubuntu 22.04"}, {36, "Debian 12"}, {39, "Ubuntu 24.04, RHEL 10"}, {41, "Debian 13"},
}

// glibcSince names systems with a GLIBC_2.x node.
func glibcSince(version string) string {
	minor := glibcMinor(version)
	for _, r := range glibcReleases {
		if minor >= 0 && r.minor >= minor {
			return r.systems + " and later"
		}
	}
	return "a newer distribution"
}

// glibcMinor is 29 of GLIBC_2.29, -1 of what has another form.
func glibcMinor(version string) int {
	m := glibcNode.FindStringSubmatch(version)
	if m == nil {
		return -1
	}
	n := 0
	for _, c := range m[1] {
		n = n*10 + int(c-'0')
	}
	return n
}

var glibcNode = lazyregexp.New(`^GLIBC_2\.(\d{1,4})(?:\.\d+)?$`)

func glibcFixes(d *Diagnosis) []fix.Fix {
	out := []fix.Fix{
		one(
			fix.KindRebuild,
			"Build it on the oldest system that it is to run on; the manylinux images are made for that",
			"quay.io/pypa/manylinux_2_28_x86_64",
		),
		one(fix.KindImage, "Run it where glibc is new enough: "+glibcSince(d.Version), ""),
	}
	if d.Symbol != "" && !strings.HasPrefix(d.Symbol, "__isoc23_") && d.Version != "" {
		return append(
			out,
			one(
				fix.KindSymver,
				"Where an older version of "+short(
					d.Symbol,
				)+" exists, bind to that one in a header that every source includes",
				command(`__asm__(".symver %s,%s@GLIBC_2.2.5");`, d.Symbol, d.Symbol),
			),
		)
	}
	return append(
		out,
		one(
			fix.KindPlatformTag,
			"Claim the platform that it needs, so that installers choose another file on older systems",
			platformTag(d.Version),
		),
	)
}

func platformTag(version string) string {
	n, ok := strings.CutPrefix(version, "GLIBC_2.")
	if !ok {
		return ""
	}
	return command("auditwheel repair --plat manylinux_2_%s_x86_64 dist/*.whl", n)
}

func cxxFixes(d *Diagnosis) []fix.Fix {
	title := "Use a newer libstdc++: the distribution's, or conda's"
	if shadowed(d.Library) {
		title = "Update " + d.Library + ", or take it out of the way of the system's copy (LD_LIBRARY_PATH, conda's lib folder)"
	}
	return []fix.Fix{
		one(fix.KindEnvironment, title, "conda install -c conda-forge 'libstdcxx>=12'"),
		one(
			fix.KindRebuild,
			"Build it in a manylinux image, whose compiler links newer parts of the C++ runtime statically",
			"quay.io/pypa/manylinux_2_28_x86_64",
		),
		one(
			fix.KindImage,
			"Run it on a distribution whose GCC is at least the one that built it",
			"",
		),
	}
}

func hardwareFixes(d *Diagnosis) []fix.Fix {
	if d.Rule == "nvcc-unsupported-architecture" {
		return []fix.Fix{
			one(fix.KindImage, "Build with a CUDA toolkit that knows this architecture", ""),
			one(
				fix.KindRebuild,
				"Leave it out of the list of architectures; PTX of an older one is compiled by the driver",
				`TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"`,
			),
		}
	}
	if strings.HasPrefix(d.Rule, "gpu-") {
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Build for the GPU at hand, or with PTX that the driver can compile",
				`TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"  CMAKE_CUDA_ARCHITECTURES=all-major  PYTORCH_ROCM_ARCH="gfx90a;gfx1100"`,
			),
			one(
				fix.KindPin,
				"Install a version, or a variant, of the package that has code for this GPU",
				"",
			),
			one(
				fix.KindEnvironment,
				"For ROCm, a near relative's code may run",
				"HSA_OVERRIDE_GFX_VERSION=10.3.0",
			),
		}
	}
	return []fix.Fix{
		one(
			fix.KindRebuild,
			"Build for the baseline processor: without -march=native, -march=x86-64-v3 and -Wl,-z,x86-64-v3",
			`CFLAGS="-march=x86-64"`,
		),
		one(
			fix.KindImage,
			"Use an image built for this processor (RHEL 9 and its images need x86-64-v2, RHEL 10 x86-64-v3)",
			"",
		),
		one(
			fix.KindEnvironment,
			"Let the virtual machine pass the host's processor on",
			"-cpu host",
		),
	}
}

func hostFixes(d *Diagnosis) []fix.Fix {
	switch {
	case d.Rule == "numpy-abi":
		return []fix.Fix{
			{
				Kind:        fix.KindPin,
				Title:       "Until the extension is rebuilt, use the numpy that it was built for",
				Command:     "pip install 'numpy<2'",
				Requirement: "numpy<2",
				Cost:        []string{},
			},
			one(
				fix.KindRebuild,
				"Build the extension with numpy 2, whose extensions run on numpy 1 as well",
				"pip install --no-build-isolation --force-reinstall --no-binary :all: PACKAGE",
			),
			one(fix.KindDependency, "Declare the range of numpy that the build supports", ""),
		}
	case strings.HasPrefix(d.Rule, "node-"),
		strings.HasPrefix(d.Symbol, "napi_"),
		strings.Contains(d.Symbol, "2v8"),
		strings.Contains(d.Symbol, "4node"),
		strings.HasSuffix(d.Object, ".node"):
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Build the addon for the Node that runs it; an addon on Node-API needs that only once",
				"npm rebuild",
			),
			one(fix.KindPin, "Use the version of Node that the addon was built for", ""),
			one(fix.KindEnvironment, "Install dependencies with the same Node that runs them", ""),
		}
	}
	return []fix.Fix{
		one(
			fix.KindRebuild,
			"Build the extension for the version of the program that loads it",
			"",
		),
		one(
			fix.KindPin,
			"Use the version of the program (or of the extension) that fits the other",
			"",
		),
		one(fix.KindEnvironment, "Install it with the same program that loads it", ""),
	}
}

// libraryFixes are of what is missing by name, and of GPU libraries of another version.
func libraryFixes(d *Diagnosis) []fix.Fix {
	lib := or(base(d.Library), "the library")
	switch d.Class {
	case "gpu-library-skew":
		name, requirement := gpuPackage(or(d.Version, d.Library), d.Symbol)
		pin := one(
			fix.KindPin,
			"Use the release that "+or(base(d.Object), "it")+" was built with",
			"",
		)
		if requirement != "" {
			pin = fix.Fix{
				Kind:        fix.KindPin,
				Title:       "Pin " + name,
				Command:     "pip install '" + requirement + "'",
				Requirement: requirement,
				Cost:        []string{},
			}
		}
		return []fix.Fix{
			pin,
			one(
				fix.KindEnvironment,
				"Take other copies off LD_LIBRARY_PATH (a CUDA or ROCm toolkit, conda): they are found before the one that was installed with it",
				"env -u LD_LIBRARY_PATH",
			),
			one(fix.KindRebuild, "Build it against the release that is installed", ""),
		}
	case "gpu-library-missing":
		if strings.HasPrefix(lib, "libcuda.so") || strings.HasPrefix(lib, "libnvidia-") {
			return []fix.Fix{
				one(
					fix.KindEnvironment,
					"It comes with the NVIDIA driver: run on a machine that has one, and pass it into the container",
					"docker run --gpus all",
				),
				one(
					fix.KindDependency,
					"For a build without a GPU, link against the toolkit's stub; never ship the stub",
					`LDFLAGS="-L$CUDA_HOME/lib64/stubs -lcuda"`,
				),
				one(
					fix.KindSource,
					"Open it with dlopen, so that the rest works without a driver",
					"",
				),
			}
		}
		dependency := one(fix.KindDependency, "Install the package that has "+lib, "")
		if name, _ := gpuPackage(lib, ""); name != "" {
			dependency = fix.Fix{
				Kind:        fix.KindDependency,
				Title:       "Install " + name + ", which has " + lib,
				Command:     "pip install " + name,
				Requirement: name,
				Cost:        []string{},
			}
		}
		return []fix.Fix{
			dependency,
			one(
				fix.KindEnvironment,
				"Put the folder of "+lib+" on the search path, in the major version that the name ends in",
				"LD_LIBRARY_PATH=$CUDA_HOME/lib64",
			),
			one(
				fix.KindPin,
				"Install the variant that was built for the CUDA or ROCm version at hand",
				"",
			),
		}
	case "gpu-vendor-mismatch":
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Rebuild against the torch that is installed ("+vendor(lib)+")",
				"pip install --no-build-isolation --no-binary :all: --force-reinstall PACKAGE",
			),
			one(fix.KindEnvironment, "Install the torch that it was built for", ""),
			one(fix.KindPin, "Install the extension's own build for this torch", ""),
		}
	}
	if cause(d) == CauseBuild {
		return []fix.Fix{
			one(
				fix.KindDependency,
				"Install the development package that has "+lib,
				command("apt-file search %s", lib),
			),
			one(
				fix.KindLinkFlag,
				"Where it is installed, tell the linker the folder",
				`LDFLAGS="-LDIR"`,
			),
			one(fix.KindImage, "Build in an image that has it", ""),
		}
	}
	if ownCopy(d.Library) {
		return []fix.Fix{
			one(
				fix.KindPatchelf,
				"It belongs into the package: let the object find it there",
				command("patchelf --set-rpath '$ORIGIN/../pkg.libs' %s", or(d.Object, "OBJECT")),
			),
			one(
				fix.KindRebuild,
				"Build and repair the wheel again",
				"auditwheel repair dist/*.whl",
			),
		}
	}
	return []fix.Fix{
		one(
			fix.KindDependency,
			"Install what has "+lib+", or declare it as a dependency",
			command("apt-file search %s", lib),
		),
		one(
			fix.KindPatchelf,
			"Bundle it, or add its folder to the RUNPATH",
			"auditwheel repair dist/*.whl",
		),
		one(
			fix.KindRebuild,
			"Rebuild on the system that it runs on; the number after .so changes from one release of a distribution to the next",
			"",
		),
	}
}

// vendor says whose torch has what the missing library belongs to.
func vendor(lib string) string {
	if strings.Contains(lib, "hip") {
		return "it was built for ROCm, which the installed one is not"
	}
	return "it was built for CUDA; the installed one is for ROCm or for the processor alone"
}

// hashed is the mark that auditwheel leaves in the names of the libraries it bundles.
var hashed = lazyregexp.New(`-[0-9a-f]{8}\.so`)

func ownCopy(library string) bool { return hashed.MatchString(base(library)) }
