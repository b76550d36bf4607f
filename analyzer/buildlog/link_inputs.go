package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// ltoInput and tlsMismatch are patterns with a text and fixes of their own.
const (
	ltoInput    = "ld-lto-input"
	tlsMismatch = "ld-tls-mismatch"
)

// inputPatterns are messages of linkers about a file that they cannot use, or about files that
// declare one variable differently.
var inputPatterns = []pattern{
	{ // a linker script is what ld takes a text for
		id: "ld-input-is-text", class: "invalid-elf", stage: linking,
		needles: []string{
			"unknown directive: ", "not an object or archive", "treating as linker script", "mold: fatal: ",
		},
		expr: `lld(?:-\d+)?: error: (?P<obj>[^\s:]+):1: unknown directive: |` +
			`error: (?P<lib>[^\s:]+): not an object or archive|` +
			`ld(?:\.\w+)?: ?(?P<ver>[^\s:]+): file format not recognized; treating as linker script|` +
			`mold: fatal: (?P<libs>[^\s:]+(?:\.so(?:\.\d+)*|\.o|\.a)):\d+: `,
		example: "ld.lld: error: gain.o:1: unknown directive: <!DOCTYPE",
		similar: "mold: fatal: gain.map:1: V1 {",
		fill: func(m *match) bool {
			m.obj, m.lib, m.libs, m.ver = m.obj+m.lib+m.libs+m.ver, "", "", ""
			return true
		},
	},
	{ // ELF/InputFiles.cpp of lld, elf.h and filetype.h of mold, dirsearch.cc of gold
		id: "ld-input-damaged", class: "invalid-elf", stage: linking,
		needles: []string{
			"section header table goes past the end of the file", "e_shoff or e_shnum corrupted",
			": unknown file type", ": file is empty",
		},
		expr: `lld(?:-\d+)?: error: (?P<obj>[^\s:]+): section header table goes past the end|` +
			`mold: (?:fatal|error): (?P<lib>[^\s:]+): (?:e_shoff or e_shnum corrupted|` +
			`unknown file type)|` +
			`error: (?P<libs>[^\s:]+): file is empty$`,
		example: "mold: fatal: libgain.so: unknown file type",
		similar: "gain.dat: unknown file type",
		fill: func(m *match) bool {
			m.obj, m.lib, m.libs = m.obj+m.lib+m.libs, "", ""
			return true
		},
	},
	{ // also of GCC (lto-section-in.cc) and LLVM (BitcodeReader.cpp)
		id: ltoInput, class: "link-wrong-target", stage: linking,
		needles: []string{
			"plugin needed to handle lto object", "because no -plugin option was given",
			"not claimed by the LTO plugin", "bytecode stream in file ", " (Producer: '",
		},
		expr: `(?P<obj>[^\s:]+): plugin needed to handle lto object|` +
			`mold: (?:fatal|error): (?P<lib>[^\s:]+): (?:don't know how to handle this LTO |` +
			`not claimed by the LTO plugin)|` +
			`error: bytecode stream in file ['‘](?P<ver>[^'’]+)['’] generated with (?:LTO|GCC compiler)|` +
			`error: (?P<libs>[^\s:]+): .*\(Producer: '[^']+' Reader: '`,
		example: "/usr/bin/ld: libgain.a(gain.o): plugin needed to handle lto object",
		similar: "note: a plugin is needed to handle lto objects",
		fill: func(m *match) bool {
			m.obj, m.lib, m.libs, m.ver = m.obj+m.lib+m.libs+m.ver, "", "", ""
			// An empty file that belongs to GCC itself is no input of the user.
			return !strings.Contains(m.obj, "/crtend") && !strings.Contains(m.obj, "/crtbegin")
		},
	},
	{ // bfd/elflink.c, resolve.cc of gold, ELF/Symbols.cpp of lld
		id: tlsMismatch, class: "link-multiple-definition", stage: linking,
		needles: []string{
			" mismatches non-TLS ", "used as both __thread and non-__thread", "TLS attribute mismatch: ",
		},
		expr: `(?P<sym>[^\s:]+): TLS (?P<named>(?:definition|reference) in .+ mismatches non-TLS .+)$|` +
			`error: (?P<obj>[^\s:]+): symbol '(?P<syms>[^']+)' used as both __thread and non-__thread|` +
			`error: TLS attribute mismatch: (?P<ver>.+)$`,
		example: "/usr/bin/ld: count: TLS definition in b.o section .tbss mismatches non-TLS " +
			"reference in a.o",
		similar: "the TLS version mismatches non-TLS ports",
		fill:    fillMismatch,
	},
}

// mismatchFile matches the two files of GNU ld's message about a thread-local variable.
var mismatchFile = lazyregexp.New(`(definition|reference) in (\S+)`)

// fillMismatch takes the file that refers to the variable as the object, and a shared library that
// defines it as the library.
func fillMismatch(m *match) bool {
	m.sym += m.syms + m.ver
	for _, f := range mismatchFile.FindAllStringSubmatch(m.named, 2) {
		if f[1] == "definition" && strings.Contains(f[2], ".so") {
			m.lib = f[2]
		} else if m.obj == "" || f[1] == "reference" {
			m.obj = f[2]
		}
	}
	m.syms, m.ver, m.named = "", "", ""
	return m.sym != ""
}
