package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// jvmMethod is the pattern of a native method without an implementation.
const jvmMethod = "jvm-native-method"

// jvmPatterns are messages of the JVM. Most of UnsatisfiedLinkError is the text of ld.so, see
// loader.go.
var jvmPatterns = []pattern{
	{ // ART names the functions that it looked for
		id: "jvm-no-implementation", class: "undefined-symbol",
		needles: []string{"No implementation found for "},
		expr:    `No implementation found for .* \(tried (?P<sym>Java_\w+)`,
		example: "java.lang.UnsatisfiedLinkError: No implementation found for int org.gain.Lib.all() " +
			"(tried Java_org_gain_Lib_all and Java_org_gain_Lib_all__)",
		similar: "No implementation found for the service",
	},
	{ // hotspot: 'void T.g()' since Java 11, T.g()V before; the jextract of Java 22 and later
		id: jvmMethod, class: "undefined-symbol",
		needles: []string{"UnsatisfiedLinkError: "},
		expr: `UnsatisfiedLinkError: (?:'(?P<sym>[^']+\([^')]*\))'|` +
			`(?P<syms>[\w.$]+\.[\w$]+\([\w/;$\[]*\)[\w/;$\[]+)|` +
			`unresolved symbol: (?P<ver>[\w$]+))\s*$`,
		example: "java.lang.UnsatisfiedLinkError: 'void org.gain.Lib.all()'",
		similar: "java.lang.UnsatisfiedLinkError: the library is not for this system",
		fill: func(m *match) bool {
			m.sym, m.syms, m.ver = m.sym+m.syms+m.ver, "", ""
			return true
		},
	},
	{ // SoLoader of Android apps
		id: "jvm-dso-not-found", class: "library-not-found",
		needles: []string{"couldn't find DSO to load: "},
		expr:    `couldn't find DSO to load: (?P<lib>lib[\w.+\-]+\.so)`,
		example: "java.lang.UnsatisfiedLinkError: couldn't find DSO to load: libgain.so",
		similar: "couldn't find DSO to load: none",
	},
	{
		id: "jvm-possible-cause", class: "wrong-platform",
		needles: []string{"(Possible cause: ", "UnsatisfiedLinkError: "},
		expr: `UnsatisfiedLinkError: (?P<obj>[^:]+): .*\(Possible cause: |` +
			`UnsatisfiedLinkError: (?P<lib>(?:[A-Za-z]:)?[^:]+): (?:Can't load (?:this|IA|AMD|ARM)\b|` +
			`%1 is not a valid Win32)`,
		example: "java.lang.UnsatisfiedLinkError: ./arm.so: ./arm.so: cannot open shared object file: " +
			"No such file or directory (Possible cause: can't load AARCH64 .so on a AMD 64 platform)",
		similar: "The build was slow (Possible cause: no cache)",
		fill:    func(m *match) bool { m.obj, m.lib = m.obj+m.lib, ""; return true },
	},
	{
		id: "jvm-library-not-found",
		needles: []string{
			"Can't load library: ", " in java.library.path", "Can't find dependent libraries",
		},
		expr: `UnsatisfiedLinkError: (?P<libs>(?:[A-Za-z]:)?[^:]+): Can't find dependent libraries|` +
			`(?:UnsatisfiedLinkError: )Can't load library: (?P<lib>[^\s,]+)|` +
			`UnsatisfiedLinkError: no (?P<obj>[\w.\-]+) in (?:java|sun\.boot)\.library\.path`,
		example: "java.lang.UnsatisfiedLinkError: Can't load library: ./nd/nope.so",
		similar: "INFO: nothing is set in java.library.path",
		fill: func(m *match) bool {
			if m.obj != "" {
				m.lib, m.obj = "lib"+m.obj+".so", ""
			}
			m.obj, m.libs = m.libs, "" // Windows does not name the other library
			return true
		},
	},
}

// nodePatterns are messages of Node. ERR_DLOPEN_FAILED contains the text of ld.so.
var nodePatterns = []pattern{
	{ // the packages that hold the binaries of one platform; see nodePlatform
		id: "node-platform-package", class: "platform-package-missing",
		needles: []string{
			"Cannot find module ", "Cannot find package '", `The package "@`, "Attempted to load @",
			"package is present but this platform needs the ",
		},
		expr: `Cannot find (?:module|package) (?:'(?P<lib>[^']+)'|(?P<ver>@[\w.\-]+/[\w.\-]*\w))|` +
			`[Tt]he package "(?P<obj>[^"]+)" could not be found, and is needed by|` +
			`Attempted to load (?P<libs>@[\w.\-/]+), but it was not installed|` +
			`this platform needs the "(?P<named>[^"]+)" package instead`,
		example: "Error: Cannot find module '@gain/core-linux-x64-gnu'",
		similar: "Error: Cannot find module '@gain/core'",
		fill: func(m *match) bool {
			m.lib += m.obj + m.libs + m.named + m.ver
			m.obj, m.libs, m.named, m.ver = "", "", "", ""
			return nodePlatform.MatchString(m.lib) || strings.HasSuffix(m.lib, ".node")
		},
	},
	{
		id: "node-no-binary", class: "platform-package-missing",
		needles: []string{
			"No native build was found for ", "annot find native binding", "ailed to load native binding",
			"Could not load the \"", "Failed to load SWC binary for ", "Could not locate the bindings file",
		},
		expr: `No native build was found for |[Cc]annot find native binding|` +
			`[Ff]ailed to load native binding|` +
			`Could not load the "(?P<obj>[^"]+)" module using the \S+ runtime|` +
			`Failed to load SWC binary for |` +
			`Could not locate the bindings file`,
		example: "Error: No native build was found for platform=linux arch=x64 runtime=node abi=115",
		similar: `Could not load the "gain" module: it is disabled`,
	},
	{
		id: "node-unsupported-platform", class: "platform-package-missing",
		needles: []string{" Unsupported platform for "},
		expr: `npm (?:ERR!|error) (?:notsup|` +
			`code EBADPLATFORM).*Unsupported platform for (?P<lib>(?:@[\w.\-]+/)?[\w.\-]+)@`,
		example: `npm error notsup Unsupported platform for gain@2.3.3: wanted {"os":"darwin"} (current: {"os":"linux"})`,
		similar: `npm warn notsup SKIPPING OPTIONAL DEPENDENCY: Unsupported platform for gain@2.3.3: wanted {"os":"darwin"}`,
	},
	{
		id: "node-module-version", class: "host-abi",
		needles: []string{"NODE_MODULE_VERSION ", "Module version mismatch."},
		expr:    `(?:The module '(?P<obj>[^']+)'.*)?NODE_MODULE_VERSION \d+(?:\. This version of Node\.js requires| vs \d+)|Module version mismatch\. Expected \d+, got \d+`,
		example: "NODE_MODULE_VERSION 72. This version of Node.js requires",
		similar: "#define NODE_MODULE_VERSION 115",
	},
	{
		id: "node-not-registered", class: "host-abi",
		needles: []string{"Module did not self-register"},
		expr:    `Module did not self-register(?:: '(?P<obj>[^']+)')?`,
		example: "ERR_DLOPEN_FAILED Module did not self-register: './nd/x.node'.",
		similar: "the module registered itself",
	},
	{
		id: "macos-symbol-not-found", stage: darwin,
		needles: []string{"Symbol not found: ", "symbol not found in flat namespace "},
		expr: `(?:dlopen\((?P<obj>[^,)]+).*)?(?:Symbol not found: \(?|symbol not found in flat ` +
			`namespace ['(])_?(?P<sym>[A-Za-z_]\w*)`,
		example: "dlopen(/x/noble_mac.node, 1): Symbol not found: _napi_create_error",
		similar: "LookupError: Symbol not found: '+'",
		fill: func(m *match) bool {
			return m.obj != "" || strings.Contains(m.line, "Referenced from") ||
				strings.Contains(m.line, ": _") || strings.Contains(m.line, "flat namespace")
		},
	},
}

// nodePlatform matches the names of npm packages and files for one platform.
var nodePlatform = lazyregexp.New(
	`(?:linux(?:musl)?|darwin|win32|windows|android|freebsd|openbsd|netbsd|sunos|aix)[.\-_](?:x64|` +
		`x86_64|ia32|x86|arm64|aarch64|armv?\w*|ppc64\w*|s390x|riscv64\w*|loong64\w*|universal)`,
)

// androidPatterns are messages of bionic's linker.
var androidPatterns = []pattern{
	{
		id: "bionic-bad-magic", class: "invalid-elf",
		needles: []string{"has bad ELF magic", "empty/missing DT_", "is too small to be an ELF " +
			"executable",
			"has no sections", "has invalid shdr offset", ".dynamic section header was not found"},
		expr: `(?:dlopen failed: )?"(?P<obj>[^"]+)" (?:has bad ELF magic(?:: (?P<named>[0-9a-f]{8}))?|` +
			`is too small to be an ELF executable|\.dynamic section header was not found|has no sections|` +
			`has invalid shdr offset)|` +
			`empty/missing DT_\w+(?:/DT_\w+)? in "(?P<lib>[^"]+)"`,
		example: `dlopen failed: "/data/app/x/lib/arm64/libgain.so" has bad ELF magic: 76657273`,
		similar: `readelf: "libgain.so" has bad ELF data`,
		fill: func(m *match) bool {
			m.obj, m.lib, m.named = m.obj+m.lib, "", content(m.named)
			return true
		},
	},
	{
		id: "bionic-refused", class: "load-refused",
		needles: []string{" has text relocations", "couldn't map \"", "both writable and executable",
			"can't enable GNU RELRO", "can't unprotect loadable segments"},
		expr: `"(?P<obj>[^"]+)" has text relocations|couldn't map "(?P<lib>[^"]+)" segment|` +
			`"(?P<libs>[^"]+)" has load segments that are both writable and executable|` +
			`"?(?P<syms>[^"\s]+)"?: (?:can't enable GNU RELRO|can't unprotect loadable segments)`,
		example: `dlopen failed: "/data/app/x/lib/arm64/libgain.so" has text relocations`,
		similar: `warning: "libgain.so" has no text relocations`,
		fill: func(m *match) bool {
			m.obj += m.lib + m.libs + m.syms
			m.lib, m.libs, m.syms = "", "", ""
			return true
		},
	},
	{
		id: "bionic-cannot-locate-symbol", stage: bionic,
		needles: []string{"cannot locate symbol "},
		expr:    `cannot locate symbol "(?P<sym>[^"]+)" referenced by (?:"(?P<obj>[^"]+)")?`,
		example: `Error: dlopen failed: cannot locate symbol "napi_get_cb_info" referenced by "/data/x.node"...`,
		similar: `cannot locate symbol table of main.o`,
	},
	{
		id:      "bionic-library-not-found",
		needles: []string{`library "`},
		expr:    `dlopen failed: library "(?P<lib>[^"]+)"(?: needed or dlopened by "(?P<obj>[^"]+)")? (?:not found(?:: needed by (?P<libs>\S+))?|is not accessible)`,
		example: `java.lang.UnsatisfiedLinkError: dlopen failed: library "libc++_shared.so" not found: needed by /data/app/lib/libx.so in namespace classloader-namespace`,
		similar: `library "libc++_shared.so" found`,
		fill: func(m *match) bool {
			if m.libs != "" {
				m.obj, m.libs = m.libs, ""
			}
			return true
		},
	},
	{
		id: "bionic-page-size", class: "segment-alignment",
		needles: []string{"cannot be smaller than system page size"},
		expr:    `(?:"(?P<obj>[^"]+)" )?program alignment \(\d+\) cannot be smaller than system page size`,
		example: `dlopen failed: "/data/app/libx.so" program alignment (4096) cannot be smaller than system page size (16384)`,
		similar: `the buffer should not be smaller than the page size`,
	},
	{
		id: "bionic-wrong-machine", class: "wrong-platform",
		needles: []string{"-bit instead of ", "has unexpected e_machine", "\" is for EM_"},
		expr: `dlopen failed: "(?P<obj>[^"]+)" (?:is \d\d-bit instead of \d\d-bit|` +
			`has unexpected e_machine)|dlopen failed: "(?P<lib>[^"]+)" is for EM_\w+`,
		example: `dlopen failed: "/data/app/libx.so" is 64-bit instead of 32-bit`,
		similar: `built 64-bit instead of 32-bit`,
		fill: func(m *match) bool {
			if m.lib != "" {
				m.obj, m.lib = m.lib, ""
			}
			return true
		},
	},
}
