package buildlog

import (
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

func one(kind, title string, command shellword.Line) fix.Fix {
	return fix.Fix{Kind: kind, Title: title, Command: command, Cost: []string{}}
}

// fixes returns at most three fixes for a diagnosis, the most likely first. owners are the -l
// names of all libraries that the object does not link.
func fixes(d *Diagnosis, owners []string) []fix.Fix {
	switch d.Class {
	case "glibc-too-old":
		return glibcFixes(d)
	case "libstdcxx-too-old":
		return cxxFixes(d)
	case "version-missing":
		return []fix.Fix{
			one(
				fix.KindEnvironment,
				"Use the "+or(base(d.Library), "library")+" that it was built with. Another copy "+
					"is found first: check LD_LIBRARY_PATH, conda and the program's folder",
				shellword.Bare("LD_DEBUG=libs ldd -v %s", d.Object),
			),
			one(
				fix.KindPin,
				"Require a version of the package that has "+or(d.Version, "this version node"),
				"",
			),
			one(fix.KindRebuild, "Rebuild against the installed library", ""),
		}
	case "dt-relr":
		return []fix.Fix{
			one(
				fix.KindLinkFlag,
				"Link without packed relative relocations (lld and mold: "+
					"-Wl,--pack-dyn-relocs=none)",
				`LDFLAGS="-Wl,-z,nopack-relative-relocs"`,
			),
			one(
				fix.KindImage,
				"Run on glibc 2.36 or later (Debian 12, Fedora 37, Ubuntu 22.10), or build in "+
					"an older image",
				"",
			),
			one(
				fix.KindRebuild,
				"Rebuild with a linker that does not pack relocations by default",
				"",
			),
		}
	case "glibc-mixed":
		return []fix.Fix{
			one(
				fix.KindEnvironment,
				"Remove the other glibc from LD_LIBRARY_PATH, LD_PRELOAD or the bundle; libc, "+
					"libm, "+
					"libpthread and ld.so must be of one build",
				"env -u LD_LIBRARY_PATH -u LD_PRELOAD",
			),
			one(
				fix.KindRebuild,
				"Rebuild the bundle without libc.so.6, libm.so.6, libpthread.so.0, libdl.so.2 "+
					"and ld-linux",
				"",
			),
		}
	case "undefined-symbol":
		if owner(d.Symbol) != "" {
			return linkFixes(d, owners)
		}
		return []fix.Fix{
			one(fix.KindPin, "Use the version of the library that it was built against", ""),
			one(
				fix.KindRebuild,
				"Rebuild "+or(base(d.Object), "it")+" against the installed libraries, with "+
					"-Wl,-z,defs, which reports undefined symbols at link time",
				"",
			),
			one(
				fix.KindSource,
				"Add the source or library that defines "+short(d.Symbol)+" to the build",
				shellword.Bare("c++filt %s", d.Symbol),
			),
		}
	case "framework-abi":
		return []fix.Fix{
			one(
				fix.KindPin,
				"Pin "+frameworkName(d)+" to the version that the extension was built against, "+
					"or install "+
					"the extension's build for the installed version",
				"",
			),
			one(
				fix.KindRebuild,
				"Rebuild the extension from source against the installed "+frameworkName(d)+
					" (pip install --no-build-isolation --no-binary with its name)",
				"",
			),
			one(
				fix.KindDependency,
				"Declare the version of "+frameworkName(d)+" as a requirement of the extension",
				"",
			),
		}
	case "hardware-not-supported":
		return hardwareFixes(d)
	case "musl-glibc-mix":
		if platform.LibcOf(base(d.Library)) == "musl" || strings.Contains(base(d.Object), "musl") {
			return []fix.Fix{
				one(fix.KindRebuild, "Build for glibc, in the manylinux_2_28 image", manylinux),
				one(fix.KindImage, "Run in an image with musl (Alpine)", ""),
				one(fix.KindPlatformTag, "Publish a manylinux wheel as well", ""),
			}
		}
		return []fix.Fix{
			one(
				fix.KindImage,
				"Run in an image with glibc (python:3-slim instead of python:3-alpine)",
				"",
			),
			one(
				fix.KindRebuild,
				"Build for musl, in the musllinux_1_2 image",
				`docker run --rm -it -v "$PWD:/src" -w /src quay.io/pypa/musllinux_1_2_x86_64`,
			),
			one(fix.KindPlatformTag, "Publish a musllinux wheel as well", ""),
		}
	case "host-abi":
		return hostFixes(d)
	case "platform-tag":
		if d.Rule == "abi3audit" {
			return []fix.Fix{
				one(
					fix.KindSource,
					"Remove the calls outside the stable ABI; with Py_LIMITED_API the compiler "+
						"reports them",
					`CFLAGS="-DPy_LIMITED_API=0x030a0000"`,
				),
				one(
					fix.KindPlatformTag,
					"Tag the wheel for the oldest Python that has all functions, or for one "+
						"version",
					"",
				),
				one(fix.KindRebuild, "Build one wheel for each version of Python", ""),
			}
		}
		return []fix.Fix{
			one(
				fix.KindImage,
				"Build in the image of the platform that the tag names",
				manylinux,
			),
			one(
				fix.KindPlatformTag,
				"Tag the wheel for the platform that it needs, as auditwheel show reports it",
				"auditwheel show dist/*.whl",
			),
			one(
				fix.KindRebuild,
				"Rebuild for the interpreter, architecture and libc of the target system",
				"",
			),
		}
	case "wrong-platform":
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Build it for the architecture that it runs on",
				shellword.Bare("file %s", d.Object),
			),
			one(fix.KindImage, "Run it in an image of its own platform", ""),
			one(
				fix.KindEnvironment,
				"Install the build for this architecture, and remove the other one from the "+
					"library path",
				"",
			),
		}
	case "invalid-elf":
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Build or download "+or(base(d.Object), "the file")+" again for this system; "+
					"it may "+
					"be a Git LFS pointer, a linker script, or a binary of another system",
				shellword.Bare("file %s", d.Object),
			),
			one(
				fix.KindImage,
				"Install dependencies inside the image that runs them; do not copy "+
					"node_modules or "+
					"site-packages from another system",
				"",
			),
		}
	case "segment-alignment":
		return []fix.Fix{
			one(
				fix.KindLinkFlag,
				"Link for the larger page size",
				`LDFLAGS="-Wl,-z,max-page-size=16384"`,
			),
			one(
				fix.KindRebuild,
				"Rebuild it; strip or an old patchelf may have moved its segments",
				shellword.Bare("readelf -lW %s", d.Object),
			),
		}
	case "static-tls":
		return []fix.Fix{
			one(
				fix.KindEnvironment,
				"Load "+or(base(d.Object), "the library")+" first, or reserve more static TLS",
				preload(d),
			),
			one(
				fix.KindLinkFlag,
				"Build it without the initial-exec TLS model",
				`CFLAGS="-ftls-model=global-dynamic"`,
			),
			one(
				fix.KindRebuild,
				"Rebuild against the system's copy of the library, so that only one is loaded",
				"",
			),
		}
	case "executable-stack":
		return []fix.Fix{
			one(
				fix.KindLinkFlag,
				"Link without an executable stack; assembler sources need a .note.GNU-stack "+
					"section",
				`LDFLAGS="-Wl,-z,noexecstack"`,
			),
			one(
				fix.KindPatchelf,
				"Clear the flag in the finished file",
				shellword.Bare("patchelf --clear-execstack %s", d.Object),
			),
			one(
				fix.KindEnvironment,
				"Until it is fixed, allow executable stacks for this program (glibc 2.41 and "+
					"later)",
				"GLIBC_TUNABLES=glibc.rtld.execstack=2",
			),
		}
	case "link-not-pic":
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Compile "+or(
					base(d.Object),
					"the object",
				)+" with -fPIC (CMake: POSITION_INDEPENDENT_CODE ON; for Python's own library: "+
					"configure --enable-shared)",
				`CFLAGS="-fPIC" CXXFLAGS="-fPIC"`,
			),
			one(fix.KindLinkFlag, "Link against the shared library instead of the archive", ""),
		}
	case "link-undefined-symbol", "link-dso-missing", "link-needed-not-found", "underlinked":
		return linkFixes(d, owners)
	default:
		return libraryFixes(d)
	}
}

// manylinux starts a shell in the build image that most Linux systems support.
const manylinux = `docker run --rm -it -v "$PWD:/src" -w /src quay.io/pypa/manylinux_2_28_x86_64`

// frameworkName returns the Python package whose ABI a diagnosis is about, or "the framework".
func frameworkName(d *Diagnosis) string {
	for _, x := range []struct{ part, name string }{
		{"5torch", "torch"}, {"3c10", "torch"}, {"2at", "torch"}, {"torch::", "torch"},
		{"c10::", "torch"}, {"at::", "torch"}, {"10tensorflow", "tensorflow"},
		{"tensorflow::", "tensorflow"}, {"5arrow", "pyarrow"}, {"arrow::", "pyarrow"},
	} {
		if strings.Contains(d.Symbol, x.part) {
			return x.name
		}
	}
	return "the framework"
}

func preload(d *Diagnosis) shellword.Line {
	if strings.HasPrefix(d.Object, "/") {
		if c := shellword.Bare("LD_PRELOAD=%s", d.Object); c != "" {
			return c
		}
	}
	return "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
