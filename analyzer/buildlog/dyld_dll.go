package buildlog

import (
	"cmp"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// macosPatterns are messages of dyld, which dlopen returns (dyld/Loader.cpp and
// dyld/JustInTimeLoader.cpp of dyld's source). "Symbol not found" is in nodePatterns.
var macosPatterns = []pattern{
	{
		id: "macos-library-not-loaded", class: "library-not-found",
		needles: []string{"Library not loaded: "},
		expr:    `(?:dlopen\((?P<obj>[^,)]+).*)?Library not loaded: '?(?P<lib>[@/][^\s'"]+)`,
		example: "ImportError: dlopen(/x/_foo.cpython-312-darwin.so, 0x0002): Library not loaded: " +
			"@rpath/libomp.dylib",
		similar: "Library not loaded: the option is off",
	},
	{
		id: "macos-wrong-architecture", class: "wrong-platform",
		needles: []string{
			"incompatible architecture", "missing compatible architecture", "but wrong architecture",
			"incompatible platform (have",
		},
		expr: `(?:dlopen\((?P<obj>[^,)]+).*)?(?:mach-o file, but is an incompatible architecture|` +
			`mach-o file.*?, but (?:is an )?incompatible platform \(have|` +
			`fat file, but missing compatible architecture|mach-o, but wrong architecture)`,
		example: "ImportError: dlopen(/x/_foo.so, 0x0002): tried: '/x/_foo.so' (mach-o file, but is an " +
			"incompatible architecture (have 'x86_64', need 'arm64'))",
		similar: "warning: the build has an incompatible architecture setting",
	},
	{
		id: "macos-damaged", class: "invalid-elf",
		needles: []string{"not valid mach-o file", "not a mach-o file", "truncated " +
			"mach-o", "malformed mach-o"},
		expr: `(?:dlopen\((?P<obj>[^,)]+).*)?\((?:slice is not valid mach-o file|not a mach-o file|` +
			`truncated mach-o|malformed mach-o)`,
		example: "ImportError: dlopen(/x/_foo.so, 0x0002): tried: '/x/_foo.so' (slice is not valid " +
			"mach-o file)",
		similar: "file: foo.so is not a mach-o file",
	},
	{ // of dyld before macOS 12; later ones do not compare the versions
		id: "macos-library-too-old", class: "version-missing",
		needles: []string{"ncompatible library version: "},
		expr: `Incompatible library version: (?P<obj>\S+) requires version (?P<ver>[\d.]+) or later, ` +
			`but (?P<lib>\S+) provides version`,
		example: "Reason: Incompatible library version: _foo.so requires version 5.0.0 or later, but " +
			"libbar.1.dylib provides version 3.0.0",
		similar: "Incompatible library version: update the lock file",
	},
	{
		id: "macos-code-signature", class: "invalid-elf",
		needles: []string{"code signature", "Code Signature Invalid"},
		expr: `(?:dlopen\((?P<obj>[^,)]+).*)?(?:\(code signature (?:in <[^>]*> '[^']*' )?` +
			`not valid for use in process|\(code signature invalid|\(Code Signature Invalid\))`,
		example: "ImportError: dlopen(/x/_foo.so, 0x0002): tried: '/x/_foo.so' (code signature in " +
			"<A1> '/x/_foo.so' not valid for use in process)",
		similar: "replacing existing code signature",
	},
}

// windowsPatterns are messages of Windows for the system error codes of LoadLibraryEx, as CPython
// prints them (Python/dynload_win.c, Modules/_ctypes/callproc.c; Microsoft, "System Error Codes").
// The texts are those of an English Windows; in other languages a message is known only with its
// number ("[WinError 126]"). Other errors are not known.
var windowsPatterns = []pattern{
	{ // dialogs, and what Wine and installers print
		id: "windows-dialog-dll", class: "library-not-found",
		needles: []string{
			"was not found. Reinstalling", "is missing from your computer", "was not found. Try " +
				"reinstalling",
			"was not found and the program",
		},
		expr: `(?:because )?(?P<lib>[\w.+\-]+\.(?i:dll|drv|ocx)) (?:was not found|` +
			`is missing from your computer)`,
		example: "The code execution cannot proceed because gain.dll was not found. Reinstalling the " +
			"program may fix this problem.",
		similar: "The page was not found. Reinstalling the browser may help.",
	},
	{
		id: "windows-entry-point", class: "undefined-symbol",
		needles: []string{"procedure entry point "},
		expr: `procedure entry point (?P<sym>.+?) could not be located in the dynamic link library ` +
			`(?P<lib>.+?\.\w{3})(?:[.\s]|$)`,
		example: `The procedure entry point gain_all could not be located in the dynamic link library C:\x\gain.dll.`,
		similar: `The procedure entry point is documented here`,
	},
	{ // node: process.dlopen prints the text of Windows and the file in one line or two
		id: "windows-addon", class: "wrong-platform",
		needles: []string{" is not a valid Win32 application"},
		expr:    `(?P<obj>(?:\\\\\?\\)?[A-Za-z]:\\[^"'<>|*?]+\.\w+) is not a valid Win32 application`,
		example: `Error: \\?\C:\x\gain.node is not a valid Win32 application.`,
		similar: `a page: how to fix "is not a valid Win32 application"`,
	},
	{
		id: "windows-load-library", class: "library-not-found",
		needles: []string{"LoadLibrary"},
		expr: `LoadLibrary(?:Ex)?[AW]?(?:\(["']?(?P<obj>[^"')]+)["']?[^)]*\))? (?:failed|` +
			`returned)[^\d]*(?:error|code)(?: code)?:? ?` +
			`(?P<named>0[xX][0-9A-Fa-f]+|\d+)(?:.*\bload(?:ing)? "(?P<lib>[^"]+)")?`,
		example: `RuntimeError: LoadLibraryExW(C:\x\gain.dll) failed with error 0x7E`,
		similar: `LoadLibraryExW was called`,
		fill: func(m *match) bool {
			m.class = windowsErrors[strings.ToLower(strings.TrimLeft(m.named, "0xX"))]
			m.obj, m.lib, m.named = m.obj+m.lib, "", ""
			return m.class != ""
		},
	},
	{
		id: "windows-image", class: "wrong-platform",
		needles: []string{"0xc000007b", "0xC000007B", "0x8007000B", "you're running. Check your " +
			"computer"},
		expr: `\(?0x[cC]000007[bB]\)?|0x8007000B|` +
			`version of (?P<obj>\S+) is not compatible with the version of ` +
			`Windows you're running`,
		example: "The application was unable to start correctly (0xc000007b). Click OK to close the " +
			"application.",
		similar: "you're running. Check your computer",
	},
	{ // .NET: System.DllNotFoundException
		id: "dotnet-library-not-found", class: "library-not-found",
		needles: []string{"nable to load DLL '", "nable to load shared library '"},
		expr: `[Uu]nable to load (?:DLL|` +
			`shared library) '(?P<lib>[^']+)'(?: or one of its dependencies|` +
			`: The specified module could not be found)`,
		example: "System.DllNotFoundException: Unable to load shared library 'gain' or one of its " +
			"dependencies.",
		similar: "Unable to load DLL 'gain' twice",
	},
	{
		id: "windows-dll-not-found", class: "library-not-found",
		needles: []string{"DLL load failed", "[WinError 126]", "Could not find module '"},
		expr: `DLL load failed(?: while importing (?P<obj>[\w.]+))?: The specified module could not be found|` +
			`\[WinError 126\](?:[^"']*["'](?P<lib>[^"']+)["'])?|` +
			`Could not find module '(?P<libs>[^']+)' \(or one of its dependencies\)`,
		example: "ImportError: DLL load failed while importing _foo: " +
			"The specified module could not be found.",
		similar: "ModuleNotFoundError: Could not find module 'foo' in the path",
		fill: func(m *match) bool {
			if m.libs != "" {
				m.lib, m.libs = m.libs, ""
			}
			return true
		},
	},
	{
		id: "windows-procedure-not-found", class: "undefined-symbol",
		needles: []string{"DLL load failed", "[WinError 127]"},
		expr: `DLL load failed(?: while importing (?P<obj>[\w.]+))?: The specified procedure could not be found|` +
			`\[WinError 127\](?:[^"']*["'](?P<lib>[^"']+)["'])?`,
		example: "ImportError: DLL load failed while importing _foo: " +
			"The specified procedure could not be found.",
		similar: "ERROR: The specified procedure could not be found in the schema",
	},
	{
		id: "windows-wrong-architecture", class: "wrong-platform",
		needles: []string{"DLL load failed", "[WinError 193]"},
		expr: `DLL load failed(?: while importing (?P<obj>[\w.]+))?: %1 is not a valid Win32 application|` +
			`\[WinError 193\](?:[^"']*["'](?P<lib>[^"']+)["'])?`,
		example: "OSError: [WinError 193] %1 is not a valid Win32 application",
		similar: "setup.exe is not a valid Win32 application name",
	},
	{
		id: "windows-dll-init-failed", class: "version-missing",
		needles: []string{"DLL load failed", "[WinError 1114]"},
		expr: `DLL load failed(?: while importing (?P<obj>[\w.]+))?: A dynamic link library \(DLL\) initialization routine failed|` +
			`\[WinError 1114\](?:[^"']*["'](?P<lib>[^"']+)["'])?`,
		example: `OSError: [WinError 1114] A dynamic link library (DLL) initialization routine failed. ` +
			`Error loading "C:\x\c10.dll" or one of its dependencies.`,
		similar: "the initialization routine failed",
	},
	{
		id: "windows-cannot-run", class: "wrong-platform",
		needles: []string{"DLL load failed", "[WinError 182]"},
		expr: `DLL load failed(?: while importing (?P<obj>[\w.]+))?: The operating system cannot run %1|` +
			`\[WinError 182\](?:[^"']*["'](?P<lib>[^"']+)["'])?`,
		example: "ImportError: DLL load failed while importing _foo: The operating system cannot run %1.",
		similar: "ERROR: the operating system cannot run this script",
	},
	{ // node::Dlopen, R and others; Node prints the file in the next line
		id: addonModule, class: "library-not-found",
		needles: []string{
			"The specified module could not be found", "The specified procedure could not be found",
			"%1 is not a valid Win32 application",
		},
		expr: `(?:Error|failure): +(?:The specified (?:module|(?P<named>procedure)) could not be found|` +
			`(?P<ver>%1) is not a valid Win32 application)\.?` +
			`(?:\s+(?P<obj>\\.*|[A-Za-z]:\\.*))?$`,
		example: "Error: The specified module could not be found.",
		similar: "Error: The specified module could not be found in the list",
		fill: func(m *match) bool {
			m.class = "library-not-found"
			if m.named != "" {
				m.class, m.named = "undefined-symbol", ""
			}
			if m.ver != "" {
				m.class, m.ver = "wrong-platform", ""
			}
			return true
		},
	},
	{ // Python/dynload_win.c: the module imports the DLL of another Python
		id: "windows-other-python", class: "host-abi",
		needles: []string{"conflicts with this version of Python"},
		expr:    `Module use of (?P<lib>python\w+\.dll) conflicts with this version of Python`,
		example: "ImportError: Module use of python38.dll conflicts with this version of Python.",
		similar: "the option conflicts with this version of Python",
	},
}

// addonModule is the pattern for an error of Windows whose file is in the next line.
const addonModule = "windows-module-not-found"

// windowsErrors are the classes of the error codes of LoadLibraryEx, decimal and hexadecimal.
var windowsErrors = map[string]string{
	"126": "library-not-found", "7e": "library-not-found",
	"127": "undefined-symbol", "7f": "undefined-symbol",
	"193": "wrong-platform", "c1": "wrong-platform",
	"182": "wrong-platform", "b6": "wrong-platform",
	"1114": "version-missing", "45a": "version-missing",
	"5": "load-refused", "1260": "load-refused", "4ec": "load-refused", "4551": "load-refused",
}

// systemTexts replace the text of the class in messages.
var systemTexts = map[string]string{
	"macos-damaged":               "the file is damaged, or is not a Mach-O file",
	"macos-code-signature":        "its code signature is missing or does not match the file",
	"windows-procedure-not-found": "a DLL that it needs does not export a function that it imports",
	"windows-dll-init-failed":     "the initialization of a DLL that it needs failed",
	"windows-cannot-run": "a DLL that it needs is for another architecture or another version of " +
		"Windows, or is damaged",
	"windows-other-python": "it was built for another version of Python",
	noDistribution: "pip found no file of an allowed version for this Python, architecture " +
		"and C library",
	"uv-no-wheel": "no wheel is for this Python, architecture and C library",
	"python-extension-missing": "Python found no file of this extension module for its own version, " +
		"architecture and C library",
	"numpy-not-available": "torch did not find a NumPy that it can use",
	"openmp-duplicate":    "two copies of the OpenMP runtime are loaded into one process",
	"gpu-driver-too-old":  "the NVIDIA driver is older than this build of CUDA requires",
	"gpu-driver-mixed":    "the NVIDIA driver's kernel module and libraries are of two releases",
	"gpu-cuda-differs":    "it was built for another CUDA release than torch",
	"torch-operator-missing": "the package that registers the operator was built for another torch, " +
		"so its library was not loaded",
	"illegal-instruction": "the program executed an instruction that this processor does not have",
	"loader-other-architecture": "the file is for another architecture, which glibc reports as if " +
		"it were missing",
	ltoInput: "it has the intermediate code of another compiler, or the linker has no plug-in " +
		"that reads it",
	tlsMismatch: "the variable is thread-local in one file and not in another",
	jvmMethod:   "no library that the program has loaded has the native method",
	moduleName:  "the name of the module's file and the function that Python calls differ",
}

// systemFixes returns the fixes for messages of macOS and Windows; nil for other messages.
func systemFixes(d *Diagnosis) []fix.Fix {
	object := cmp.Or(base(d.Object), "the module")
	switch d.Rule {
	case "macos-symbol-not-found":
		return []fix.Fix{
			newFix(
				fix.KindPin,
				"Use the version of the library that it was built against. If the library is part of "+
					"macOS, run it on a newer macOS",
				"",
			),
			newFix(
				fix.KindRebuild,
				"Rebuild "+object+" with MACOSX_DEPLOYMENT_TARGET set to the oldest macOS that it must run "+
					"on, and with -Werror=unguarded-availability, which reports calls to newer functions",
				"export MACOSX_DEPLOYMENT_TARGET=11.0",
			),
			defining(d),
		}
	case "macos-library-not-loaded":
		if !d.at.is(python, conda) {
			return []fix.Fix{
				newFix(fix.KindDependency, "Install the package that "+
					"contains "+cmp.Or(base(d.Library), "the library"), ""),
				newFix(fix.KindLinkFlag, "If it is installed, add an rpath (LC_RPATH) that leads to its folder",
					`LDFLAGS="-Wl,-rpath,@loader_path/../lib"`),
			}
		}
		return []fix.Fix{
			newFix(fix.KindRebuild, "Copy the library into the wheel with delocate",
				"delocate-wheel dist/*.whl"),
			newFix(fix.KindEnvironment,
				"Install the package that contains "+cmp.Or(base(d.Library), "it"), ""),
			newFix(fix.KindLinkFlag,
				"If the wheel contains the library, add an rpath (LC_RPATH) that leads to its folder",
				`LDFLAGS="-Wl,-rpath,@loader_path/.dylibs"`),
		}
	case "macos-library-too-old":
		return []fix.Fix{
			newFix(
				fix.KindRebuild,
				"Copy the "+base(d.Library)+" that "+object+" was linked with into the wheel with delocate",
				"delocate-wheel dist/*.whl",
			),
			newFix(
				fix.KindEnvironment,
				"Install version "+d.Version+" or later of the library, or use macOS 12 or later, which "+
					"does not compare these versions",
				"",
			),
		}
	case "macos-damaged":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Download or install "+object+" again: the file is damaged, "+
				"incomplete or not a macOS binary", ""),
			newFix(fix.KindRebuild, "Build it again, and check it after the last tool that changed it "+
				"(lipo, strip)", ""),
		}
	case "macos-wrong-architecture":
		if !d.at.is(python, conda) {
			return []fix.Fix{
				newFix(fix.KindRebuild, "Build "+object+" for the architecture of the program, or for both "+
					"(x86_64 and arm64)",
					`CFLAGS="-arch x86_64 -arch arm64"`),
				newFix(fix.KindEnvironment, "Or run a program of the architecture of "+object, ""),
			}
		}
		return []fix.Fix{
			newFix(
				fix.KindEnvironment,
				"Use a Python of the same architecture as "+object+", or install the build of "+object+
					" for the architecture of this Python",
				"",
			),
			newFix(fix.KindRebuild, "Build a universal2 "+
				"wheel", `export ARCHFLAGS="-arch x86_64 -arch arm64"`),
		}
	case "macos-code-signature":
		return []fix.Fix{
			newFix(
				fix.KindRebuild,
				"Sign "+object+" again after the last tool that changed it (strip, install_name_tool)",
				shellword.Bare("codesign -f -s - %s", cmp.Or(d.Object, "*.so")),
			),
			newFix(
				fix.KindEnvironment,
				"If the program uses the hardened runtime, sign the program with the entitlement "+
					"com.apple.security.cs.disable-library-validation",
				"",
			),
		}
	case "windows-dialog-dll", "dotnet-library-not-found":
		return dialogFixes(d)
	case "windows-load-library", addonModule:
		if out := loadLibraryFixes(d, object); out != nil {
			return out
		}
	case "windows-entry-point":
		dll := cmp.Or(base(d.Library), "the DLL")
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Use the version of "+dll+" that the program was built with: "+
				"another copy, which "+
				"lacks "+shorten(d.Symbol)+", is found first (where lists those on PATH)",
				shellword.Bare("where %s", base(d.Library))),
			newFix(fix.KindRebuild, "Rebuild the program against this version of "+dll, ""),
		}
	case "windows-image", "windows-addon":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Use the program and DLLs of one architecture (32-bit, 64-bit or "+
				"Arm): one that is "+
				"loaded is for another one, or is damaged", ""),
			newFix(fix.KindRebuild, "Build "+object+" for the architecture of the program", ""),
		}
	case "windows-dll-not-found":
		return []fix.Fix{
			newFix(
				fix.KindRebuild,
				"Copy the DLLs that it needs into the wheel. The message does not name them; delvewheel "+
					"lists them",
				"delvewheel show dist/*.whl",
			),
			newFix(
				fix.KindEnvironment,
				"Install the Microsoft Visual C++ Redistributable or the package that contains the DLL",
				"pip install msvc-runtime",
			),
			newFix(
				fix.KindSource,
				"Since Python 3.8, PATH is not searched: call os.add_dll_directory with the folder of the DLL",
				"",
			),
		}
	case "windows-procedure-not-found":
		return []fix.Fix{
			newFix(
				fix.KindPin,
				"Use the version of the DLL that "+object+" was built against. Another copy with the same "+
					"name may have been loaded first",
				"",
			),
			newFix(fix.KindRebuild, "Rebuild "+object+" against the installed version", ""),
		}
	case "windows-wrong-architecture":
		return []fix.Fix{
			newFix(
				fix.KindEnvironment,
				"Use a Python with the architecture of the DLL (32-bit, 64-bit or ARM64)",
				`python -c "import sysconfig; print(sysconfig.get_platform())"`,
			),
			newFix(fix.KindRebuild, "Build a wheel for the architecture of this Python", ""),
		}
	case "windows-cannot-run":
		return []fix.Fix{
			newFix(
				fix.KindEnvironment,
				"Install the package again: the DLL may be damaged, or made for a newer Windows or another "+
					"architecture",
				"",
			),
			newFix(fix.KindRebuild, "Build a wheel for the architecture of this Python", ""),
		}
	case "windows-other-python":
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build the module for this version of Python", ""),
			newFix(
				fix.KindEnvironment,
				"Use the Python that "+cmp.Or(base(d.Library), "the DLL")+" belongs to",
				"",
			),
		}
	case "windows-dll-init-failed":
		return []fix.Fix{
			newFix(
				fix.KindEnvironment,
				"Install the current Microsoft Visual C++ Redistributable. An older copy of its DLLs, such "+
					"as that of another package, may have been loaded first",
				"pip install --upgrade msvc-runtime",
			),
			newFix(
				fix.KindPin,
				"Use a release of "+object+" that is tested with this version of Windows",
				"",
			),
		}
	}
	return nil
}

// dialogFixes returns the fixes for a DLL that is not found, which the message names.
func dialogFixes(d *Diagnosis) []fix.Fix {
	dll := cmp.Or(base(d.Library), "the library")
	folder := newFix(fix.KindEnvironment, "Copy "+dll+" into the folder of the program, or add its "+
		"folder to the search "+
		"path of libraries", "")
	if runtimeDLL.MatchString(dll) {
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Install the current Microsoft Visual C++ Redistributable, which "+
				"contains "+dll, ""),
			folder,
		}
	}
	return []fix.Fix{
		newFix(fix.KindDependency, "Install the program or library that contains "+dll+", for the "+
			"same architecture", ""),
		folder,
	}
}

// runtimeDLL matches the DLLs of the Visual C++ Redistributable and the Universal C Runtime.
var runtimeDLL = lazyregexp.New(
	`^(?i:(?:msvcp|vcruntime|concrt|vcomp|vccorlib|mfc|msvcr|vcamp)\d+\w*|ucrtbase|` +
		`api-ms-win-crt-[\w\-]+)\.(?i:dll)$`,
)

// loadLibraryFixes returns the fixes for an error of LoadLibrary; nil for those that only depend on
// the class.
func loadLibraryFixes(d *Diagnosis, object string) []fix.Fix {
	switch d.Class {
	case "library-not-found":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Install the DLLs that "+object+" depends on, often the "+
				"Microsoft Visual C++ "+
				"Redistributable, and add their folder to PATH", shellword.Bare("dumpbin /dependents "+
				"%s", base(d.Object))),
			newFix(fix.KindRebuild, "Copy those DLLs into the folder of "+object, ""),
		}
	case "undefined-symbol":
		return []fix.Fix{
			newFix(fix.KindPin, "Use the version of the DLL that "+object+" was built against", ""),
			newFix(fix.KindRebuild, "Rebuild "+object+" against the installed version", ""),
		}
	case "wrong-platform":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Use the build of "+object+" for the architecture of the program "+
				"(32-bit, 64-bit or "+
				"Arm)", ""),
		}
	case "version-missing":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Install the current Microsoft Visual C++ Redistributable", ""),
			newFix(fix.KindPin, "Use a release of "+object+" that is tested with this version of "+
				"Windows", ""),
		}
	}
	return nil
}
