package buildlog

import "strings"

// wasmPatterns are messages of browsers and Node about WebAssembly modules, of Emscripten's dynamic
// loader, and of micropip (micropip/_utils.py, micropip/wheelinfo.py).
var wasmPatterns = []pattern{
	{ // the bytes are those of the file
		id: "wasm-magic", class: "wrong-platform",
		needles: []string{"expected magic word ", "match magic number", "doesn't parse at byte 0"},
		expr: `expected magic word 00 61 73 6d, found (?P<named>[0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2})|` +
			`at offset \d+: failed to match magic number|WebAssembly\.Module doesn't parse at byte 0`,
		example: "CompileError: WebAssembly.Module(): expected magic word 00 61 73 6d, found 7f 45 4c " +
			"46 @+0",
		similar: "file: no match magic number found",
		fill: func(m *match) bool {
			m.named = content(strings.ReplaceAll(m.named, " ", ""))
			if m.named != "" && m.named != "elf" && m.named != "pe" && m.named != "macho" {
				m.class = "invalid-elf"
			} else {
				m.class = "wrong-platform"
			}
			return true
		},
	},
	{
		id: "wasm-symbol", stage: wasm,
		needles: []string{"cannot resolve symbol ", "bad export type for ", "function import requires " +
			"a callable",
			"imported function does not match"},
		expr: `Dynamic linking error: cannot resolve symbol (?P<sym>\S+)|` +
			"bad export type for [`'](?P<ver>[^`']+)[`']: undefined|" +
			`[Ii]mport #\d+ (?:module=)?"\w+" (?:function=)?"(?P<lib>[^"]+)"(?: error)?: (?:function import requires a callable|imported function does not match)`,
		example: "ImportError: Dynamic linking error: cannot resolve symbol png_read",
		similar: "cannot resolve symbol server",
		fill: func(m *match) bool {
			m.sym, m.ver, m.lib = m.sym+m.ver+m.lib, "", ""
			return true
		},
	},
	{
		id: "wasm-not-side-module", class: "not-a-library",
		needles: []string{"need dylink section", "need the dylink section to be first"},
		expr:    `need (?:the )?dylink(?:\.0)? section(?: to be first)?`,
		example: "Error: need dylink section",
		similar: "modules need dylink information",
	},
	{
		id: "micropip-no-wheel", class: "platform-tag",
		needles: []string{"Can't find a pure Python 3 wheel for"},
		expr:    `Can't find a pure Python 3 wheel for:? ['"](?P<obj>[\w.\-]+)`,
		example: "ValueError: Can't find a pure Python 3 wheel for: 'gain>=2'",
		similar: "Can't find a pure Python 3 wheel",
	},
	{
		id: "micropip-platform", class: "platform-tag",
		needles: []string{"is not compatible with Pyodide's platform", "Supported abis are "},
		expr: `Wheel platform '(?P<named>[^']+)' is not compatible with Pyodide's platform|` +
			`Wheel abi '[^']+' is not supported\. Supported abis are `,
		example: "ValueError: Wheel platform 'linux_x86_64' is not compatible with Pyodide's platform " +
			"'emscripten-3.1.58-wasm32'",
		similar: "the wheel is compatible with Pyodide's platform",
	},
	{
		id: "micropip-emscripten", class: "host-abi",
		needles: []string{"heel was built with Emscripten "},
		expr:    `[Ww]heel was built with Emscripten v(?P<named>[\d.]+) but Pyodide was built with Emscripten v`,
		example: "ValueError: Wheel was built with Emscripten v3.1.45 but Pyodide was built with " +
			"Emscripten v3.1.58",
		similar: "the wheel was built with Emscripten 3",
	},
}

// contents are the first bytes of files that stand where a library should be, in hexadecimal.
var contents = []struct{ bytes, name string }{
	{"7f454c46", "elf"}, {"4d5a", "pe"}, {"cffaedfe", "macho"}, {"cafebabe", "macho"},
	{"76657273", "lfs"}, // "version https://git-lfs.github.com/spec/v1"
	{"3c", "html"}, {"504b0304", "zip"}, {"1f8b", "gzip"}, {"213c6172", "archive"}, {"0061736d",
		"wasm"},
	{"00000000", "zeros"}, {"2321", "script"},
}

// content returns what the first four bytes of a file are, in hexadecimal; "" if it is not known.
func content(bytes string) string {
	for _, c := range contents {
		if strings.HasPrefix(bytes, c.bytes) {
			return c.name
		}
	}
	return ""
}
