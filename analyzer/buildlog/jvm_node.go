package buildlog

import "strings"

// jvmPatterns are messages of the JVM. Most of UnsatisfiedLinkError is the text of ld.so, see
// loader.go.
var jvmPatterns = []pattern{
	{
		id: "jvm-possible-cause", class: "wrong-platform",
		needles: []string{"(Possible cause: "},
		expr:    `UnsatisfiedLinkError: (?P<obj>[^:]+): .*\(Possible cause: `,
		example: "java.lang.UnsatisfiedLinkError: ./arm.so: ./arm.so: cannot open shared object file: " +
			"No such file or directory (Possible cause: can't load AARCH64 .so on a AMD 64 platform)",
		similar: "The build was slow (Possible cause: no cache)",
	},
	{
		id:      "jvm-library-not-found",
		needles: []string{"Can't load library: ", " in java.library.path"},
		expr:    `(?:UnsatisfiedLinkError: )Can't load library: (?P<lib>[^\s,]+)|UnsatisfiedLinkError: no (?P<obj>[\w.\-]+) in (?:java|sun\.boot)\.library\.path`,
		example: "java.lang.UnsatisfiedLinkError: Can't load library: ./nd/nope.so",
		similar: "INFO: nothing is set in java.library.path",
		fill: func(m *match) bool {
			if m.obj != "" {
				m.lib, m.obj = "lib"+m.obj+".so", ""
			}
			return true
		},
	},
}

// nodePatterns are messages of Node. ERR_DLOPEN_FAILED contains the text of ld.so.
var nodePatterns = []pattern{
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
		id:      "macos-symbol-not-found",
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

// androidPatterns are messages of bionic's linker.
var androidPatterns = []pattern{
	{
		id:      "bionic-cannot-locate-symbol",
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
		needles: []string{"-bit instead of ", "has unexpected e_machine"},
		expr:    `dlopen failed: "(?P<obj>[^"]+)" (?:is \d\d-bit instead of \d\d-bit|has unexpected e_machine)|dlopen failed: "(?P<lib>[^"]+)" is for EM_\w+`,
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
