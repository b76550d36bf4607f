package buildlog

import "strings"

// lldPatterns are messages of lld (ld.lld, rust-lld, hipcc's device linker) and mold.
var lldPatterns = []pattern{
	{
		id: "lld-shared-undefined-reference", stage: linking,
		needles: []string{"--no-allow-shlib-undefined"},
		expr:    `undefined reference to (?P<sym>.+?) \[--no-allow-shlib-undefined\]|undefined reference due to --no-allow-shlib-undefined: (?P<syms>.+)$|--no-allow-shlib-undefined: undefined symbol: (?P<libs>.+)$`,
		before:  aLinkObject,
		example: "ld.lld: error: ./libcufile.so: undefined reference to dlopen " +
			"[--no-allow-shlib-undefined]",
		similar: "cc -Wl,--no-allow-shlib-undefined -o prog main.o",
		fill: func(m *match) bool {
			if m.libs != "" {
				m.syms, m.libs = m.libs, ""
			}
			if m.syms != "" {
				m.sym, m.syms = m.syms, ""
			}
			return true
		},
	},
	{
		// 18 and later; ">>> referenced by LIBRARY (disallowed by --no-allow-shlib-undefined)"
		// follows
		id: "lld-undefined-reference", stage: linking,
		needles: []string{"error: undefined reference: "},
		expr:    `lld(?:-\d+)?: error: undefined reference: (?P<sym>.+)$`,
		example: "ld.lld: error: undefined reference: dlopen",
		similar: "error: undefined reference: see the log",
	},
	{
		id: "lld-undefined-symbol", stage: linking,
		needles: []string{
			"undefined symbol: ",
			"undefined hidden symbol: ",
			"undefined protected symbol: ",
			"undefined internal symbol: ",
		},
		expr:    `(?:^|[\s/=:"'])(?:[\w.+\-]*-)?(?:ld|lld|ld\.\w+|rust-lld|mold|wasm-ld|ld64\.lld)(?:-\d+)?(?:\.exe)?: (?:fatal )?(?:error|warning): undefined (?:hidden |protected |internal )?symbol: (?P<sym>.+)$`,
		example: "ld.lld: error: undefined symbol: typeinfo for std::exception",
		similar: "mold: error: undefined",
		fill: func(m *match) bool {
			// mold before 1.1: "undefined symbol: main.o: f1"
			if file, rest, ok := strings.Cut(m.sym, ": "); ok && binary.MatchString(file) {
				m.obj, m.sym = file, strings.TrimPrefix(rest, "--no-allow-shlib-undefined: ")
			}
			return true
		},
	},
}
