package buildlog

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// plain is what may enter a command that somebody copies: no character of it means anything to a
// shell.
var plain = lazyregexp.New(`^[A-Za-z0-9_./+@=-]{1,200}$`)

// command writes a command when every part of it from the log is a plain name; "" otherwise, and
// the title must do.
func command(format string, parts ...string) string {
	args := make([]any, len(parts))
	for i, p := range parts {
		if !plain.MatchString(p) || strings.HasPrefix(p, "-") {
			return ""
		}
		args[i] = p
	}
	return fmt.Sprintf(format, args...)
}

func one(kind, title, command string) fix.Fix {
	return fix.Fix{Kind: kind, Title: title, Command: command, Cost: []string{}}
}

// fixes are the ways out of a diagnosis, the likeliest first, at most three: what was done about it
// in practice. owners are the libraries, by their -l names, that the diagnosis' object lacks in
// all.
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
				"Use the copy of "+or(
					base(d.Library),
					"the library",
				)+" that it was built with: look for another one on LD_LIBRARY_PATH, in conda or beside the program",
				command("LD_DEBUG=libs ldd -v %s", d.Object),
			),
			one(
				fix.KindPin,
				"Ask for a version of the package that provides "+or(
					d.Version,
					"that version node",
				),
				"",
			),
			one(fix.KindRebuild, "Rebuild against the copy that is installed", ""),
		}
	case "dt-relr":
		return []fix.Fix{
			one(
				fix.KindLinkFlag,
				"Link without packed relative relocations (lld and mold: -Wl,--pack-dyn-relocs=none)",
				`LDFLAGS="-Wl,-z,nopack-relative-relocs"`,
			),
			one(
				fix.KindImage,
				"Run it on glibc 2.36 or later (Debian 12, Fedora 37, Ubuntu 22.10), or build in an older image",
				"",
			),
			one(
				fix.KindRebuild,
				"Rebuild where the linker does not pack relocations by default",
				"",
			),
		}
	case "glibc-mixed":
		return []fix.Fix{
			one(
				fix.KindEnvironment,
				"Take the glibc of another system off LD_LIBRARY_PATH, LD_PRELOAD or the bundle; libc, libm, libpthread and ld.so must be of one build",
				"env -u LD_LIBRARY_PATH -u LD_PRELOAD",
			),
			one(
				fix.KindRebuild,
				"Rebuild the bundle without libc.so.6, libm.so.6, libpthread.so.0, libdl.so.2 and ld-linux",
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
				"Rebuild "+or(
					base(d.Object),
					"it",
				)+" against the libraries that are installed, with -Wl,-z,defs so that the linker says what is missing",
				"",
			),
			one(
				fix.KindSource,
				"Add the source or library that defines "+short(
					d.Symbol,
				)+" to the build; c++filt shows a mangled name",
				command("c++filt %s", d.Symbol),
			),
		}
	case "framework-abi":
		return []fix.Fix{
			one(
				fix.KindPin,
				"Pin the framework to the version that the extension was built against, or install the extension's build for the version that is installed",
				"",
			),
			one(
				fix.KindRebuild,
				"Rebuild the extension against the installed framework",
				"pip install --no-build-isolation --no-binary :all: --force-reinstall PACKAGE",
			),
			one(
				fix.KindDependency,
				"Declare the framework's version as a requirement of the extension",
				"",
			),
		}
	case "hardware-not-supported":
		return hardwareFixes(d)
	case "musl-glibc-mix":
		return []fix.Fix{
			one(
				fix.KindImage,
				"Run it in an image with glibc (python:3-slim instead of python:3-alpine)",
				"",
			),
			one(
				fix.KindRebuild,
				"Build it for musl, in the musllinux_1_2 image",
				"quay.io/pypa/musllinux_1_2_x86_64",
			),
			one(fix.KindPlatformTag, "Publish a musllinux wheel beside the manylinux one", ""),
		}
	case "host-abi":
		return hostFixes(d)
	case "platform-tag":
		if d.Rule == "abi3audit" {
			return []fix.Fix{
				one(
					fix.KindSource,
					"Leave the calls out that are not of the stable ABI, and define Py_LIMITED_API so that the compiler says so",
					`CFLAGS="-DPy_LIMITED_API=0x030a0000"`,
				),
				one(
					fix.KindPlatformTag,
					"Tag it for the oldest Python that has all it calls, or for one version instead of abi3",
					"",
				),
				one(fix.KindRebuild, "Build one wheel for each version of Python", ""),
			}
		}
		return []fix.Fix{
			one(
				fix.KindImage,
				"Build in the image of the platform that the tag names",
				"quay.io/pypa/manylinux_2_28_x86_64",
			),
			one(
				fix.KindPlatformTag,
				"Tag it for the platform that it needs; auditwheel show names it",
				"auditwheel show dist/*.whl",
			),
			one(
				fix.KindRebuild,
				"Rebuild for the interpreter, machine and libc that it is to be installed on",
				"",
			),
		}
	case "wrong-platform":
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Build it for the machine that it runs on",
				command("file %s", d.Object),
			),
			one(fix.KindImage, "Run it in an image of its own platform", ""),
			one(
				fix.KindEnvironment,
				"Install the build of this machine, and take the other one off the library path",
				"",
			),
		}
	case "invalid-elf":
		return []fix.Fix{
			one(
				fix.KindRebuild,
				"Build or download "+or(
					base(d.Object),
					"the file",
				)+" again for this system; it may be a Git LFS pointer, a linker script, or another system's binary",
				command("file %s", d.Object),
			),
			one(
				fix.KindImage,
				"Install dependencies inside the image that runs them; a node_modules or site-packages folder copied from another system has that system's binaries",
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
				"Rebuild it; a tool that edited the finished file (strip, an old patchelf) may have moved its segments",
				command("readelf -lW %s", d.Object),
			),
		}
	case "static-tls":
		return []fix.Fix{
			one(
				fix.KindEnvironment,
				"Load "+or(base(d.Object), "the library")+" first, or leave more room for it",
				preload(d),
			),
			one(
				fix.KindLinkFlag,
				"Build it without the initial-exec model",
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
				"Link without an executable stack; assembler sources need a .note.GNU-stack section",
				`LDFLAGS="-Wl,-z,noexecstack"`,
			),
			one(
				fix.KindPatchelf,
				"Clear the mark in the finished file",
				command("patchelf --clear-execstack %s", d.Object),
			),
			one(
				fix.KindEnvironment,
				"Until it is mended, allow executable stacks for this program (glibc 2.41 and later)",
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
				)+" with -fPIC (CMake: POSITION_INDEPENDENT_CODE ON; for Python's own library: configure --enable-shared)",
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

func preload(d *Diagnosis) string {
	if strings.HasPrefix(d.Object, "/") {
		if c := command("LD_PRELOAD=%s", d.Object); c != "" {
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
