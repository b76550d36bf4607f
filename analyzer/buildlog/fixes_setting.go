package buildlog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// settingFixes returns the fixes for a message of a system or an ecosystem that the tools for
// Linux and for wheels do not serve; nil if the general ones are right.
func settingFixes(d *Diagnosis) []fix.Fix {
	switch d.at.system {
	case android:
		return androidFixes(d)
	case ios:
		return iosFixes(d)
	case emscripten:
		return wasmFixes(d)
	}
	if causeOf(d) == CauseBuild {
		return nil
	}
	switch d.at.ecosystem {
	case node, electron:
		return nodeFixes(d)
	case jvm:
		return jvmFixes(d)
	}
	return nil
}

// linuxLibrary matches libraries of glibc and GCC, which other systems do not have.
var linuxLibrary = lazyregexp.New(
	`^(?:lib(?:pthread|dl|rt|m|c|util|resolv|crypt|nsl|stdc\+\+|gcc_s)\.so\.\d+|` +
		`ld-linux[\w\-]*\.so\.\d+)$`,
)

// fileOf returns the name of the file at fault, or other if the text does not name it.
func fileOf(d *Diagnosis, other string) string { return cmp.Or(base(d.Object), other) }

func androidFixes(d *Diagnosis) []fix.Fix {
	file, lib := fileOf(d, "the library"), base(d.Library)
	build := newFix(fix.KindRebuild, "Build "+file+" for Android, with the NDK", "")
	switch {
	case lib == "libc++_shared.so":
		return []fix.Fix{
			newFix(fix.KindDependency, "Package libc++_shared.so of the NDK that built "+file+
				" in the app (jniLibs, in the folder of the ABI)", "-DANDROID_STL=c++_shared"),
			newFix(fix.KindLinkFlag, "Link the C++ runtime statically, if only one library of the app "+
				"uses C++",
				"-DANDROID_STL=c++_static"),
		}
	case linuxLibrary.MatchString(lib):
		build.Title = fix.Text("Build " + file + " for Android, with the NDK: it was built for Linux. " +
			"Android's C library is bionic, which has no " + lib)
		return []fix.Fix{build, newFix(fix.KindPin, "Use a build of the package for Android, if it "+
			"has one", "")}
	case strings.HasPrefix(lib, "libpython"):
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+file+" for the version of Python in the app, whose "+
				"libpython Android has to load", ""),
		}
	case d.Class == "library-not-found" || d.Class == "gpu-library-missing":
		return []fix.Fix{
			newFix(fix.KindDependency, "Build "+lib+" with the NDK and package it in the app (jniLibs, "+
				"in the "+
				"folder of the ABI); apps can load only their own libraries and the public ones of the "+
				"NDK", ""),
			newFix(fix.KindLinkFlag, "Link it statically into "+file, ""),
		}
	case d.Class == "wrong-platform":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+file+" for the ABI of the device, or package the one for its "+
				"architecture in the folder of that ABI (arm64-v8a, armeabi-v7a, x86_64)", ""),
			newFix(fix.KindEnvironment, "Install the app for the ABI of the device", ""),
		}
	case d.Class == "segment-alignment":
		return []fix.Fix{
			newFix(fix.KindLinkFlag, "Link for pages of 16 KiB; NDK 28 and later do "+
				"so", "-Wl,-z,max-page-size=16384"),
			newFix(fix.KindPin, "Use a release of the library that is built for pages of 16 KiB", ""),
		}
	case d.Class == "load-refused":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Compile every part of "+file+" with -fPIC and without segments that "+
				"are "+
				"writable and executable, and load it from the app's library folder", `CFLAGS="-fPIC"`),
			newFix(fix.KindSource, "Do not load code from the app's data folder, which newer versions of "+
				"Android do not allow", ""),
		}
	case d.Class == "invalid-elf":
		return append(fileFixes(d)[:1], build)
	case d.Class == "host-abi" && strings.HasPrefix(d.Symbol, "Py"):
		return []fix.Fix{
			newFix(fix.KindLinkFlag, "Link "+file+" with the libpython of the app: Android does not "+
				"search the "+
				"program for symbols", ""),
			newFix(fix.KindRebuild, "Build it for Android and the version of Python in the app", ""),
		}
	case d.Symbol != "" && strings.Contains(d.Symbol, "__ndk1"),
		d.Symbol != "" && cxxName.MatchString(d.Symbol):
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build all libraries of the app with one NDK and one C++ runtime "+
				"(ANDROID_STL=c++_shared)", "-DANDROID_STL=c++_shared"),
			newFix(fix.KindDependency, "Package the libc++_shared.so of that NDK", ""),
		}
	case d.Symbol != "" && notInMusl.MatchString(d.Symbol) && !newGlibc.MatchString(d.Symbol):
		return []fix.Fix{build, newFix(fix.KindPin, "Use a build of the package for Android, if it "+
			"has one", "")}
	case d.Symbol != "":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+file+" with the NDK for the app's minSdkVersion: if "+
				shorten(d.Symbol)+" is a function of Android, this Android is older than the API level that "+
				"it "+
				"was built for", "-DANDROID_PLATFORM=android-21"),
			newFix(fix.KindEnvironment, "Raise minSdkVersion to the API level that "+
				"has "+shorten(d.Symbol), ""),
			newFix(fix.KindLinkFlag, "If another library of the app has it, link "+file+" with that "+
				"library", ""),
		}
	}
	return []fix.Fix{build}
}

func iosFixes(d *Diagnosis) []fix.Fix {
	file := fileOf(d, "the library")
	switch {
	case d.Class == "library-not-found":
		return []fix.Fix{
			newFix(fix.KindLinkFlag, "Link "+base(d.Library)+" statically into "+file+
				": an iOS app loads only the frameworks in its bundle", ""),
			newFix(fix.KindDependency, "Or embed the library as a framework in the app bundle, built for "+
				"iOS", ""),
		}
	case d.Class == "wrong-platform":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+file+" for the SDK and architecture that runs it: iphoneos "+
				"for a "+
				"device, iphonesimulator for the simulator (an XCFramework has both)", ""),
		}
	case d.Class == "invalid-elf" || d.Class == "load-refused":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Embed "+file+" as a framework and let Xcode sign it with the app's "+
				"identity "+
				"(Embed & Sign)", ""),
		}
	case d.Symbol != "":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+file+" with IPHONEOS_DEPLOYMENT_TARGET set to the oldest "+
				"iOS that it "+
				"must run on; if "+shorten(d.Symbol)+" is part of iOS, this one is older", ""),
			newFix(fix.KindLinkFlag, "Link the library that has "+shorten(d.Symbol)+" statically", ""),
		}
	}
	return []fix.Fix{newFix(fix.KindRebuild, "Build "+file+" for iOS, as a framework in the app "+
		"bundle", "")}
}

// pyodideBuild is the command that builds for Emscripten.
const pyodideBuild shellword.Line = "pyodide build"

func wasmFixes(d *Diagnosis) []fix.Fix {
	file := fileOf(d, "the package")
	build := newFix(fix.KindRebuild, "Build "+file+" for WebAssembly with Emscripten (pyodide "+
		"build), or use its "+
		"build for this Pyodide", pyodideBuild)
	if d.at.ecosystem != python && d.at.ecosystem != "" && d.at.ecosystem != conda {
		build = newFix(fix.KindRebuild, "Build "+file+" for WebAssembly with Emscripten", "")
	}
	switch {
	case d.Class == "invalid-elf":
		return append(fileFixes(d)[:1], build)
	case d.Class == "link-undefined-symbol", d.Class == "undefined-symbol":
		return []fix.Fix{
			newFix(fix.KindLinkFlag, "Link the library that has "+shorten(d.Symbol)+", built with "+
				"Emscripten, "+
				"statically into "+fileOf(d, "the module"), ""),
			newFix(fix.KindRebuild, "Build it with the release of Emscripten that built the program", ""),
		}
	case d.Class == "not-a-library":
		return []fix.Fix{newFix(fix.KindLinkFlag, "Link it as a side "+
			"module", `LDFLAGS="-sSIDE_MODULE=2"`)}
	case d.Class == "host-abi":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build the package with the Emscripten of this Pyodide", pyodideBuild),
			newFix(fix.KindPin, "Use the version of Pyodide that it was built for, or its build for this "+
				"one", ""),
		}
	case d.Rule == "micropip-no-wheel":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+cmp.Or(d.Object, "the package")+" for Pyodide: it has code "+
				"in C or "+
				"Rust, and no release of it is pure Python or for WebAssembly", pyodideBuild),
			newFix(fix.KindPin, "Use a package that is part of Pyodide, or an older release that is pure "+
				"Python", ""),
		}
	}
	if slices.Contains([]string{"wrong-platform", "platform-tag"}, d.Class) {
		return []fix.Fix{build}
	}
	return nil
}

// addonOf returns the npm package that a file belongs to; "the addon" if the path does not show it.
func addonOf(d *Diagnosis) string {
	path := strings.ReplaceAll(cmp.Or(d.Object, d.Library), `\`, "/")
	i := strings.LastIndex(path, "node_modules/")
	if i < 0 {
		return "the addon"
	}
	parts := strings.SplitN(path[i+len("node_modules/"):], "/", 3)
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func nodeFixes(d *Diagnosis) []fix.Fix {
	addon := addonOf(d)
	rebuild := newFix(fix.KindRebuild, "Build "+addon+" from source on this system", "npm rebuild "+
		"--build-from-source")
	older := newFix(fix.KindPin, "Use another version of "+addon+", whose binary is for an older "+
		"system", "")
	again := newFix(fix.KindEnvironment, "Remove node_modules and install again on the system that "+
		"runs it; do not "+
		"copy node_modules from another system", "rm -rf node_modules && npm ci")
	if d.at.ecosystem == electron {
		rebuild = newFix(fix.KindRebuild, "Build "+addon+" for this Electron", "npx @electron/rebuild")
	}
	if d.at.on(windows) {
		again.Command = "npm ci"
	}
	switch d.Class {
	case "glibc-too-old":
		return []fix.Fix{
			rebuild,
			newFix(fix.KindImage, "Run it on a newer glibc: "+glibcSince(d.Version), ""),
			older,
		}
	case "libstdcxx-too-old":
		return []fix.Fix{rebuild, cxxFixes(d)[2], older}
	case "musl-glibc-mix":
		if builtForMusl(d) {
			return []fix.Fix{
				newFix(fix.KindEnvironment, "Install the build of "+addon+" for glibc: node_modules has the "+
					"one for "+
					"musl (Alpine)", "npm install --libc=glibc"),
				again,
			}
		}
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Install the build of "+addon+" for musl: node_modules has the "+
				"one for glibc, "+
				"but this system is Alpine or another one with musl", "npm install --libc=musl"),
			newFix(fix.KindImage, "Or run in an image with glibc (node:22-slim instead of "+
				"node:22-alpine)", ""),
			newFix(fix.KindRebuild, "Build "+addon+" from source on this system", "npm rebuild "+
				"--build-from-source"),
		}
	case "platform-package-missing":
		return packageFixes(d)
	case "wrong-platform":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Reinstall "+addon+" with the npm and Node.js of the system and "+
				"architecture "+
				"that run it: "+fileOf(d, "the file")+" was built for another one", again.Command),
			rebuild,
		}
	case "invalid-elf":
		if strings.HasPrefix(d.Rule, "macos-code") {
			return systemFixes(d)
		}
		return []fix.Fix{again, fileFixes(d)[0]}
	case "library-not-found":
		return nodeLibraryFixes(d, addon, rebuild)
	case "undefined-symbol", "version-missing":
		return []fix.Fix{
			rebuild,
			newFix(fix.KindPin, "Use the version of the library that "+addon+" was built against", ""),
		}
	case "host-abi":
		if d.at.ecosystem == electron {
			return []fix.Fix{rebuild, newFix(fix.KindPin, "Use the version of Electron "+
				"that "+addon+" was built for", "")}
		}
		return hostFixes(d)
	}
	return nil
}

// nodeLibraryFixes returns the fixes for a library that an addon needs.
func nodeLibraryFixes(d *Diagnosis, addon string, rebuild fix.Fix) []fix.Fix {
	switch {
	case d.at.on(windows):
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Install the current Microsoft Visual C++ Redistributable, and "+
				"the other DLLs "+
				"that "+fileOf(d, "the addon")+" depends on", ""),
			newFix(fix.KindEnvironment, "Install "+addon+" again", "npm ci"),
		}
	case d.at.on(macos):
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+addon+" on this system, so that it uses the libraries here",
				"npm rebuild --build-from-source"),
			newFix(fix.KindDependency, "Install the package that contains "+cmp.Or(base(d.Library), "the "+
				"library"), ""),
		}
	}
	out := missingFixes(base(d.Library), "", d.at)
	return append(out[:min(len(out), 2)], rebuild)
}

// packageFixes returns the fixes for npm's package of a platform that is not installed.
func packageFixes(d *Diagnosis) []fix.Fix {
	again := newFix(fix.KindEnvironment, "Install with optional dependencies, on the system that "+
		"runs it; if the lock "+
		"file was made on another system, remove node_modules and package-lock.json and install again",
		"npm install --include=optional")
	other := newFix(fix.KindEnvironment, "For another system than this one, name it", "npm install "+
		"--os=linux --cpu=NAME --libc=NAME")
	switch {
	case d.Rule == "node-unsupported-platform":
		return []fix.Fix{
			newFix(fix.KindDependency, base(d.Library)+" is for another system: list it in "+
				"optionalDependencies, which "+
				"npm skips on other systems", "npm install --save-optional "+packageName(d.Library)),
		}
	case strings.HasSuffix(d.Library, ".node"):
		return []fix.Fix{
			newFix(fix.KindRebuild, "Install again, with install scripts, so that npm downloads or builds "+
				base(d.Library)+" for this system", "npm rebuild"),
			again,
		}
	}
	return []fix.Fix{again, other, newFix(fix.KindRebuild, "If there is no binary for this system, "+
		"build from source",
		"npm rebuild --build-from-source")}
}

// packageName returns the name of an npm package for a command; "" if it is not a plain name.
func packageName(name string) shellword.Line {
	return shellword.Bare("%s", strings.TrimPrefix(name, "@"))
}

func jvmFixes(d *Diagnosis) []fix.Fix {
	file := fileOf(d, "the native library")
	release := newFix(fix.KindPin, "Use another version of the Java library that "+
		"contains "+file+", or build its native "+
		"part on the oldest system that it has to run on", "")
	switch d.Class {
	case "glibc-too-old":
		return []fix.Fix{
			newFix(fix.KindImage, "Run it on a newer glibc: "+glibcSince(d.Version), ""),
			release,
		}
	case "libstdcxx-too-old":
		return []fix.Fix{cxxFixes(d)[2], release}
	case "musl-glibc-mix":
		if builtForMusl(d) {
			return []fix.Fix{newFix(fix.KindImage, "Run in an image with musl (Alpine), or use the "+
				"native library for glibc", "")}
		}
		return []fix.Fix{
			newFix(fix.KindImage, "Run in an image with glibc (eclipse-temurin:21 instead of "+
				"eclipse-temurin:21-alpine): "+
				file+" was built for glibc, and Alpine has musl", ""),
			newFix(fix.KindPin, "Use a version of the Java library with a native library for musl, if "+
				"there is one", ""),
			newFix(fix.KindEnvironment, "gcompat emulates a part of glibc on Alpine", "apk add gcompat"),
		}
	case "wrong-platform":
		return []fix.Fix{
			newFix(fix.KindPin, "Use the native library for the architecture and system of this JVM (the "+
				"jar with that "+
				"classifier)", ""),
			newFix(fix.KindEnvironment, "Or run a JVM of the architecture that "+file+" was built for", ""),
		}
	case "library-not-found":
		if strings.HasPrefix(d.Rule, "jvm-") && d.Object == "" {
			return []fix.Fix{
				newFix(fix.KindEnvironment, "Add the folder that has "+cmp.Or(base(d.Library), "it")+
					" to java.library.path, or install the native library", "java -Djava.library.path=DIR"),
				newFix(fix.KindDependency, "Add the jar with the native library for this system and "+
					"architecture", ""),
			}
		}
		if d.at.on(windows) {
			return []fix.Fix{newFix(fix.KindEnvironment, "Install the DLLs that "+file+" depends on, "+
				"often the Microsoft "+
				"Visual C++ Redistributable, and add their folder to PATH", "")}
		}
	case "load-refused":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Extract native libraries into a folder that is not mounted "+
				"noexec and that the "+
				"user may read", "java -Djava.io.tmpdir=DIR"),
			newFix(fix.KindEnvironment, "Or mount that folder without noexec", ""),
		}
	case "undefined-symbol", "version-missing":
		return []fix.Fix{
			newFix(fix.KindPin, "Use the version of the library that "+file+" was built against", ""),
			release,
		}
	case "platform-tag", "static-tls", "executable-stack", "segment-alignment":
		return nil
	}
	return nil
}
