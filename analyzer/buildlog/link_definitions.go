package buildlog

import "strings"

// definitionPatterns are messages of linkers about a symbol that is defined twice, that a version
// script names in vain, or that a program would have to copy out of a library.
var definitionPatterns = []pattern{
	{
		id: "ld-multiple-definition", class: "link-multiple-definition", stage: linking,
		needles: []string{"multiple definition of "},
		expr:    "multiple definition of [`'‘](?P<sym>[^`'’]+)['’]",
		before:  aLinkObject,
		example: "/usr/bin/ld: b.o:(.data+0x0): multiple definition of `gain'; " +
			"a.o:(.data+0x0): first defined here",
		similar: "lint: the multiple definition of names is checked",
	},
	{
		id: "lld-duplicate-symbol", class: "link-multiple-definition", stage: linking,
		needles: []string{"error: duplicate symbol: "},
		expr:    `error: duplicate symbol: (?:(?P<obj>\S+\.(?:o|a)(?:\([^()]*\))?): \S+: )?(?P<sym>.+)$`,
		example: "mold: error: duplicate symbol: b.o: a.o: gain",
		similar: "error: duplicate symbol in the import list",
	},
	{ // ld64 and Apple's newer linker: "duplicate symbol '_gain' in:", then the files
		id: "ld64-duplicate-symbol", class: "link-multiple-definition", stage: linking,
		needles: []string{"duplicate symbol "},
		expr:    `^duplicate symbol '?_?(?P<sym>[^'\s]+)'? in:\s*$`,
		example: "duplicate symbol '_gain' in:",
		similar: "duplicate symbol names are reported here",
	},
	{
		id: "msvc-multiple-definition", class: "link-multiple-definition", stage: linking,
		needles: []string{"LNK2005"},
		expr:    `error LNK2005: (?:".*" \((?P<sym>[^()\s]+)\)|_?(?P<ver>\S+)) already defined in`,
		before:  aLinkObject,
		example: "b.obj : error LNK2005: gain already defined in a.obj",
		similar: "see the page about LNK2005",
		fill: func(m *match) bool {
			m.sym, m.ver = m.sym+m.ver, ""
			m.prefix = strings.ReplaceAll(m.prefix, " :", ":")
			return true
		},
	},
	{
		id: "ld-copy-relocation", class: "copy-relocation", stage: linking,
		needles: []string{
			"copy relocation", "cannot preempt symbol: ",
			"non-canonical reference to canonical protected function",
		},
		expr: "copy relocation (?:against|for) (?:non-copyable )?protected symbol [`'](?P<sym>[^`']+)'" +
			`(?:,? (?:defined )?in (?P<lib>[^\s;]+))?|error: cannot preempt symbol: (?P<syms>.+)$|` +
			"non-canonical reference to canonical protected function [`'](?P<ver>[^`']+)'" +
			`(?: in (?P<libs>[^\s;]+))?`,
		before: aLinkObject,
		example: "/usr/bin/ld: main.o: copy relocation against non-copyable protected symbol " +
			"`gain' in ./libdial.so",
		similar: "-z nocopyreloc: no copy relocation is made",
		fill: func(m *match) bool {
			m.sym, m.lib = m.sym+m.syms+m.ver, m.lib+m.libs
			m.syms, m.ver, m.libs = "", "", ""
			return true
		},
	},
	{
		id: "ld-version-script", class: "link-version-script", stage: linking,
		needles: []string{
			"ersion script assignment of ", ": undefined version: ", " has undefined version ",
			"version node not found for symbol ", "cannot assign version ",
		},
		expr: "ersion script assignment of '?(?P<ver>[\\w.]+)'? to symbol '?(?P<sym>[^\\s']+)'? failed|" +
			"^(?:\\S*ld(?:\\.\\w+)?: )?(?P<syms>[^\\s:]+): undefined version: (?P<named>\\S+)|" +
			"version node not found for symbol (?P<libs>\\S+)|" +
			"error: (?:\\S+: )?symbol `?(?P<obj>[^\\s`'@]+)\\S* has undefined version `?(?P<lib>[\\w.]+)|" +
			"(?:error|warning): .*cannot assign version `[\\w.]+` to symbol `[^`]+`: symbol not found",
		example: "ld.lld: error: version script assignment of 'V1' to symbol 'gain_all' failed: " +
			"symbol not defined",
		similar: "the schema has undefined version numbers",
		fill:    versionScript,
	},
}

// versionScript fills the symbol and the version of each form of message. A version that mold only
// warns about is no error.
func versionScript(m *match) bool {
	if m.obj+m.lib+m.syms+m.sym+m.libs == "" {
		return false
	}
	m.sym, m.ver = m.sym+m.syms+m.libs+m.obj, m.ver+m.named+m.lib
	m.syms, m.libs, m.obj, m.lib, m.named = "", "", "", "", ""
	return true
}

// otherLinkerPatterns are messages of the linkers of Apple, Microsoft and Emscripten.
var otherLinkerPatterns = []pattern{
	{
		id: "ld64-undefined-symbol", class: "link-undefined-symbol", stage: linking,
		needles: []string{`", referenced from:`},
		expr:    `^\s*"(?P<sym>[^"]+)", referenced from:\s*$`,
		example: `  "_gain_all", referenced from:`,
		similar: `see "gain", referenced from: the index`,
		fill: func(m *match) bool {
			m.sym = strings.TrimPrefix(m.sym, "_") // the assembler's prefix
			return true
		},
	},
	{
		id: "ld64-library-not-found", stage: linking,
		needles: []string{"ld: library "},
		expr:    `^ld: library (?:not found for -l(?P<lib>[\w.+\-]+)|'(?P<obj>[\w.+\-]+)' not found)`,
		example: "ld: library 'gain' not found",
		similar: "ld: library search paths: /usr/lib",
		fill: func(m *match) bool {
			m.lib, m.obj = "lib"+m.lib+m.obj+".dylib", ""
			m.class = libraryClass(m.lib)
			return true
		},
	},
	{
		id: "ld64-wrong-target", class: "link-wrong-target", stage: linking,
		needles: []string{"ld: "},
		expr: `^ld: (?:warning: ignoring file (?P<obj>[^,]+), building for \S+ but attempting to link with file|` +
			`building for '[^']+', but linking in (?:object file|dylib|` +
			`framework) (?:\((?P<lib>[^)]+)\) )?built for|` +
			`warning: ignoring file '?(?P<libs>[^']+?)'?: found architecture)`,
		example: "ld: warning: ignoring file /opt/lib/libgain.dylib, building for macOS-arm64 but " +
			"attempting to link with file built for macOS-x86_64",
		similar: "ld: warning: dylib (/opt/lib/libgain.dylib) was built for newer macOS version (14.0) " +
			"than being linked (11.0)",
		fill: func(m *match) bool {
			m.obj, m.lib, m.libs = m.obj+m.lib+m.libs, "", ""
			return true
		},
	},
	{
		id: "msvc-unresolved-external", class: "link-undefined-symbol", stage: linking,
		needles: []string{"unresolved external symbol "},
		expr: `error LNK20(?:01|19): unresolved external symbol (?:".*" \((?P<sym>[^()\s]+)\)|` +
			`(?P<ver>\S+))`,
		before: aLinkObject,
		example: "main.obj : error LNK2019: unresolved external symbol gain_all referenced in " +
			"function main",
		similar: "warning: an unresolved external symbol is not an error here",
		fill: func(m *match) bool {
			m.sym, m.ver = m.sym+m.ver, ""
			m.prefix = strings.ReplaceAll(m.prefix, " :", ":")
			return true
		},
	},
	{
		id: "msvc-wrong-machine", class: "link-wrong-target", stage: linking,
		needles: []string{"LNK1112"},
		expr:    `(?P<obj>[\w.\-\\/:()]*?) ?: fatal error LNK1112: module machine type`,
		example: "gain.obj : fatal error LNK1112: module machine type 'x64' conflicts with target " +
			"machine type 'ARM64'",
		similar: "see the page about LNK1112",
	},
	{ // emscripten, tools/link.py and src/jsifier.mjs
		id: "emcc-undefined-symbol", class: "link-undefined-symbol", stage: linking,
		needles: []string{"error: undefined symbol: "},
		expr:    `error: undefined symbol: (?P<sym>\S+) \(referenced by `,
		example: "error: undefined symbol: gain_all (referenced by root reference (e.g. compiled " +
			"C/C++ code))",
		similar: "error: an undefined symbol is listed",
	},
	{
		id: "wasm-ld-undefined-symbol", class: "link-undefined-symbol", stage: linking,
		needles: []string{"undefined symbol: "},
		expr:    `(?:wasm-ld|ld\.lld|mold)(?:-\d+)?: error: (?P<obj>\S+): undefined symbol: (?P<sym>.+)$`,
		example: "wasm-ld: error: main.o: undefined symbol: gain_all",
		similar: "wasm-ld: main.o: no undefined symbol",
	},
}
