package buildlog

import (
	"cmp"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

// versionFixes returns the fixes for a library that lacks a version which the object needs.
func versionFixes(d *Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(
			fix.KindEnvironment,
			"Use the "+cmp.Or(base(d.Library), "library")+" that it was built with. Another copy "+
				"is found first: check LD_LIBRARY_PATH, conda and the program's folder",
			shellword.Bare("LD_DEBUG=libs ldd -v %s", d.Object),
		),
		newFix(fix.KindPin,
			"Require a version of the package that has "+cmp.Or(d.Version, "this version node"), ""),
		newFix(fix.KindRebuild, "Rebuild against the installed library", ""),
	}
}

// relrFixes returns the fixes for packed relative relocations, which an old loader does not know.
func relrFixes(*Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindLinkFlag,
			"Link without packed relative relocations (lld and mold: -Wl,--pack-dyn-relocs=none)",
			`LDFLAGS="-Wl,-z,nopack-relative-relocs"`),
		newFix(fix.KindImage,
			"Run on glibc 2.36 or later (Debian 12, Fedora 37, Ubuntu 22.10), or build in an older image",
			""),
		newFix(fix.KindRebuild, "Rebuild with a linker that does not pack relocations by default", ""),
	}
}

// mixedGlibcFixes returns the fixes for libraries of two builds of glibc in one process.
func mixedGlibcFixes(*Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(
			fix.KindEnvironment,
			"Remove the other glibc from LD_LIBRARY_PATH, LD_PRELOAD or the bundle; libc, libm, "+
				"libpthread and ld.so must be of one build",
			"env -u LD_LIBRARY_PATH -u LD_PRELOAD",
		),
		newFix(fix.KindRebuild,
			"Rebuild the bundle without libc.so.6, libm.so.6, libpthread.so.0, libdl.so.2 and ld-linux", ""),
	}
}

// symbolFixes returns the fixes for a symbol that no loaded library has.
func symbolFixes(d *Diagnosis) []fix.Fix {
	out := []fix.Fix{
		newFix(fix.KindPin, "Use the version of the library that it was built against", ""),
		newFix(
			fix.KindRebuild,
			"Rebuild "+cmp.Or(base(d.Object), "it")+" against the installed libraries, with "+
				"-Wl,-z,defs, which reports undefined symbols at link time"+ofPython(base(d.Object)),
			"",
		),
		defining(d),
	}
	if abi, ok := otherABI(d); ok {
		out[2] = abi
	}
	return out
}

// frameworkFixes returns the fixes for an extension that was built for another release of its
// framework.
func frameworkFixes(d *Diagnosis) []fix.Fix {
	out := []fix.Fix{
		newFix(
			fix.KindPin,
			"Pin "+frameworkName(d)+" to the version that the extension was built against, or install "+
				"the extension's build for the installed version",
			"",
		),
		newFix(
			fix.KindRebuild,
			"Rebuild the extension from source against the installed "+frameworkName(d)+
				" (pip install --force-reinstall --no-deps --no-cache-dir --no-build-isolation "+
				"--no-binary with its name)",
			"",
		),
		newFix(fix.KindDependency,
			"Declare the version of "+frameworkName(d)+" as a requirement of the extension", ""),
	}
	if abi, ok := otherABI(d); ok {
		out[2] = abi
	}
	return out
}

// libcFixes returns the fixes for an object that is built for the other C library.
func libcFixes(d *Diagnosis) []fix.Fix {
	musl := builtForMusl(d)
	image, run := "musllinux_1_2", newFix(fix.KindImage, "Run in an image with glibc (Debian "+
		"instead of Alpine)", "")
	if d.at.is(python, conda) {
		run = newFix(fix.KindImage, "Run in an image with glibc (python:3-slim instead of "+
			"python:3-alpine)", "")
	}
	build := newFix(fix.KindRebuild, "Build for musl, in the musllinux_1_2 image", "")
	tag := "Publish a musllinux wheel as well"
	if musl {
		image, run = "manylinux_2_28", newFix(fix.KindImage, "Run in an image with musl (Alpine)", "")
		build.Title = fix.Text("Build for glibc, in the manylinux_2_28 image")
		tag = "Publish a manylinux wheel as well"
	}
	build.Command = buildIn(image, d.at.arch)
	out := []fix.Fix{run, build}
	if musl {
		out = []fix.Fix{build, run}
	}
	if d.at.is(python, conda) {
		out = append(out, newFix(fix.KindPlatformTag, tag, ""))
	}
	return out
}

// builtForMusl reports whether the object of a diagnosis is built for musl; otherwise it is for
// glibc. A library is that of the object: musl's loader reports ld-linux if an object is for glibc.
func builtForMusl(d *Diagnosis) bool {
	return platform.LibcOf(base(d.Library)) == "musl" ||
		d.Library == "" && strings.Contains(base(d.Object), "musl")
}

// tagFixes returns the fixes for a wheel that needs more than its tag promises.
func tagFixes(d *Diagnosis) []fix.Fix {
	if d.Rule == "abi3audit" {
		return []fix.Fix{
			newFix(fix.KindSource,
				"Remove the calls outside the stable ABI; with Py_LIMITED_API the compiler reports them",
				`CFLAGS="-DPy_LIMITED_API=0x030a0000"`),
			newFix(
				fix.KindPlatformTag,
				"Tag the wheel for the oldest Python whose stable ABI has all functions that it uses, or "+
					"for one version of Python only",
				"",
			),
			newFix(fix.KindRebuild, "Build one wheel for each version of Python", ""),
		}
	}
	return []fix.Fix{
		imageOfTag(d.named),
		newFix(fix.KindPlatformTag,
			"Tag the wheel for the platform that it needs, as auditwheel show reports it",
			"auditwheel show dist/*.whl"),
		newFix(fix.KindRebuild, "Rebuild for the interpreter, architecture and libc of the target system",
			""),
	}
}

// platformFixes returns the fixes for an object of another architecture.
func platformFixes(d *Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindRebuild, "Build it for the architecture that it runs on",
			shellword.Bare("file %s", d.Object)),
		newFix(fix.KindImage, "Run it in an image of its own platform", ""),
		newFix(fix.KindEnvironment,
			"Install the build for this architecture, and remove the other one from the library path", ""),
	}
}

// fileFixes returns the fixes for a file that is no shared object.
func fileFixes(d *Diagnosis) []fix.Fix {
	file := cmp.Or(base(d.Object), "the file")
	again := newFix(fix.KindRebuild, "Build or download "+file+" again for this system; it may be "+
		"a Git LFS pointer, a "+
		"linker script, or a binary of another system", shellword.Bare("file %s", d.Object))
	switch d.named {
	case "lfs":
		again = newFix(fix.KindEnvironment, file+" is a Git LFS pointer: fetch the file itself, and "+
			"build again",
			"git lfs pull")
	case "html":
		again.Title = fix.Text(file + " starts like an HTML page, which a server sent instead of the " +
			"file: download it again")
	case "elf", "pe", "macho":
		again.Title = fix.Text(file + " is a binary of another system: build it again for this one")
	}
	return []fix.Fix{again, newFix(fix.KindImage, "Install dependencies inside the image that runs "+
		"them; do not copy "+
		"installed packages from another system", "")}
}

// alignmentFixes returns the fixes for segments that are not aligned for the page size.
func alignmentFixes(d *Diagnosis) []fix.Fix {
	if d.Rule == "jemalloc-page-size" {
		return pageSizeFixes(d)
	}
	return []fix.Fix{
		newFix(fix.KindLinkFlag, "Link for the larger page size", `LDFLAGS="-Wl,-z,max-page-size=16384"`),
		newFix(fix.KindRebuild, "Rebuild it; strip or an old patchelf may have moved its segments",
			shellword.Bare("readelf -lW %s", d.Object)),
	}
}

// tlsFixes returns the fixes for a library that finds no room for its thread-local variables.
func tlsFixes(d *Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindEnvironment,
			"Load "+cmp.Or(base(d.Object), "the library")+" first, or reserve more static TLS", preload(d)),
		newFix(fix.KindLinkFlag, "Build it without the initial-exec TLS model",
			`CFLAGS="-ftls-model=global-dynamic"`),
		newFix(fix.KindRebuild,
			"Rebuild against the system's copy of the library, so that only one is loaded", ""),
	}
}

// stackFixes returns the fixes for an object with an executable stack.
func stackFixes(d *Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindLinkFlag,
			"Link without an executable stack; assembler sources need a .note.GNU-stack section",
			`LDFLAGS="-Wl,-z,noexecstack"`),
		newFix(fix.KindPatchelf, "Clear the flag in the finished file",
			shellword.Bare("patchelf --clear-execstack %s", d.Object)),
		newFix(fix.KindEnvironment,
			"Until it is fixed, allow executable stacks for this program (glibc 2.41 and later)",
			"GLIBC_TUNABLES=glibc.rtld.execstack=2"),
	}
}

// picFixes returns the fixes for code that is not position-independent.
func picFixes(d *Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(
			fix.KindRebuild,
			"Compile "+cmp.Or(base(d.Object),
				"the object")+" with -fPIC (CMake: POSITION_INDEPENDENT_CODE ON; for Python's own library: "+
				"configure --enable-shared)",
			`CFLAGS="-fPIC" CXXFLAGS="-fPIC"`,
		),
		newFix(fix.KindLinkFlag, "Link against the shared library instead of the archive", ""),
	}
}
