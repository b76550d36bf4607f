package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// linkerPatterns are messages of GNU ld and gold, also in the output of gcc, rustc, cgo, nvcc
// and hipcc.
var linkerPatterns = []pattern{
	{
		id: "ld-undefined-reference-to-symbol", class: "link-dso-missing", stage: linking,
		needles: []string{"undefined reference to symbol"},
		expr:    "undefined reference to symbol [`'\"‘“](?P<sym>[^`'\"’”]+)[`'\"’”]",
		before:  aLinkObject,
		example: "/usr/bin/ld: obj/app.o: undefined reference to symbol 'pthread_once@@GLIBC_2.2.5'",
		similar: "-- undefined reference to symbol: see the manual",
	},
	{
		id: "ld-dso-missing", class: "link-dso-missing", stage: linking,
		needles: []string{"DSO missing from command line"},
		expr:    `(?:error adding symbols: )?DSO missing from command line`,
		before:  aLibrary,
		example: "/usr/bin/ld: /lib/x86_64-linux-gnu/libm.so.6: error adding symbols: DSO missing from " +
			"command line",
		similar: "checking whether the linker reports a missing DSO... yes",
		fill: func(m *match) bool {
			m.prefix = strings.TrimPrefix(m.prefix, toolName.FindString(m.prefix))
			return true
		},
	},
	{
		id: "ld-hidden-symbol", class: "link-undefined-symbol", stage: linking,
		needles: []string{"hidden symbol", "internal symbol", "local symbol", "protected symbol"},
		expr: "(?:hidden|internal|local|protected) symbol [`'\"‘“](?P<sym>[^`'\"’”]+)[`'\"’”] (?:in " +
			"(?P<obj>\\S+) is referenced by DSO|isn't defined)",
		before: aLinkObject,
		example: "/usr/bin/ld: prog: hidden symbol `stat' in /usr/lib/libc_nonshared.a(stat.oS) is " +
			"referenced by DSO",
		similar: "note: hidden symbol `stat' is not exported",
	},
	{
		id: "ld-needed-not-found", class: "link-needed-not-found", stage: linking,
		needles: []string{", needed by "},
		expr:    `warning: (?P<lib>[^\s,]+), needed by (?P<obj>[^,]+), not found`,
		example: "/usr/bin/ld: warning: libbar.so.3, needed by /opt/x/lib/libfoo.so, not found " +
			"(try using -rpath or -rpath-link)",
		similar: "libbar.so.3, needed by /opt/x/lib/libfoo.so, found in /opt/x/lib",
	},
	{
		id: "ld-not-pic", class: "link-not-pic", stage: linking,
		needles: []string{"recompile with -fPI"},
		expr: "(?:(?:[Rr]elocation|requires dynamic) (?P<ver>R_\\w+)|(?P<lib>R_\\w+) " +
			"relocation)?.*recompile with -fPI[CE]",
		example: "/usr/bin/ld: libz.a(gzlib.o): relocation R_X86_64_PC32 against symbol " +
			"`stdout@@GLIBC_2.2.5' can not be used when making a shared object; recompile with -fPIC",
		similar: "note: position independent code is the default; -fPIC changes nothing",
		before:  aLinkObject,
		fill:    notPIC,
	},
	{
		id: "gold-undefined-reference", stage: linking,
		needles: []string{"undefined reference to '"},
		expr:    `undefined reference to '(?P<sym>[^']+)', version '(?P<ver>[^']+)'`,
		before:  aLinkObject,
		example: "./libfoo.so.2: error: undefined reference to 'EVP_MAC_fetch', version 'OPENSSL_3.0.0'",
		similar: "// undefined reference to 'EVP_MAC_fetch', version 'OPENSSL_3.0.0'",
	},
	{
		id: "ld-undefined-reference", stage: linking,
		needles: []string{"ndefined reference to ", "ndefined references to "},
		expr: "(?:[Uu]ndefined reference|[Uu]ndefined references|more undefined references) to " +
			"(?P<syms>[`'\"‘“][^`'\"’”]+[`'\"’”](?:(?:, | and )[`'\"‘“][^`'\"’”]+[`'\"’”])*)",
		before:  aLinkObject,
		example: "/usr/bin/ld: build/lib/libcufile.so: undefined reference to `dlopen'",
		similar: "tests/test_log.py::test_it[undefined reference to `dlopen'] PASSED",
		fill:    symbolList,
	},
	{
		id: "ld-undefined-reference-bare", stage: linking,
		needles: []string{"undefined reference to ", "undefined references to "},
		expr: `(?:error: |\.o: |\.so[.\d]*: |\): |` +
			`^)undefined references? to (?P<sym>[A-Za-z_~][^\s'` + "`" + `"]*(?:[ (<:].*)?)$`,
		before:  aLinkObject,
		example: "undefined references to tbb::detail::*",
		similar: "This page explains an undefined reference to a symbol",
	},
	{
		id: "ld-wrong-format", class: "link-wrong-target", stage: linking,
		needles: []string{
			"file in wrong format",
			"file format not recognized",
			"is incompatible with ",
			"incompatible target",
			"unsupported ELF machine number",
			"incompatible file type: ",
			"Relocations in generic ELF",
		},
		expr: "(?:error adding symbols: |could not read symbols: )?(?:[Ff]ile in wrong format|file " +
			"format not recognized)|is incompatible with elf\\w+|error: (?P<lib>\\S+): (?:incompatible " +
			"target$|unsupported ELF machine number)|incompatible file type: \\S+ is expected " +
			"but got|Relocations in generic ELF|architecture of input file [`'](?P<obj>[^`']+)['`] is " +
			"incompatible with \\S+ output",
		before: aLinkObject,
		fill: func(m *match) bool {
			m.obj, m.lib = m.obj+m.lib, ""
			return true
		},
		example: "/usr/bin/ld: /opt/lib/libfoo.so: error adding symbols: file in wrong format",
		similar: "-- image.png: file in wrong place",
	},
	{
		id: "ld-executable-stack", class: "executable-stack", stage: linking,
		needles: []string{"executable stack"},
		expr: `missing \.note\.GNU-stack section implies executable stack|` +
			`requires executable stack \(because`,
		before:  aLinkObject,
		example: "/usr/bin/ld: warning: st.o: missing .note.GNU-stack section implies executable stack",
		similar: "/usr/bin/ld: NOTE: This behaviour is deprecated and will be removed in a future " +
			"version of the linker",
	},
	{
		id: "ld-cannot-find-library", stage: linking,
		needles: []string{
			"cannot find -l",
			"unable to find library -l",
			"library not found: ",
			"could not find native static library",
		},
		expr: "(?:cannot find|unable to find library) -l:?(?P<lib>[\\w.+\\-]+)|mold: (?:fatal|error): " +
			"library not found: (?P<obj>[\\w.+\\-]+)|could not find native static library `(?P<ver>[^`]+)`",
		example: "/usr/bin/ld: cannot find -lcuda: No such file or directory",
		similar: "checking for -lcuda... no; cannot find it",
		fill: func(m *match) bool {
			name, ending := m.lib+m.obj, ".so"
			if name += m.ver; m.ver != "" || strings.HasSuffix(name, "_static") {
				ending = ".a"
			}
			if m.lib, m.obj, m.ver = name, "", ""; !strings.Contains(name, ".so") &&
				!strings.HasSuffix(name, ".a") {
				m.lib = "lib" + name + ending
			}
			m.class = libraryClass(m.lib)
			return true
		},
	},
	{
		id:      "ld-cannot-find-file",
		needles: []string{": cannot find "},
		expr: `(?:^|` +
			`[/\s])(?:[\w.+\-]*-)?ld(?:\.\w+)?: cannot find (?P<lib>[\w./+\-]*\.(?:so(?:\.\w+)*|a)): `,
		example: "/usr/bin/ld: cannot find libfoo.so.1: No such file or directory",
		similar: "/usr/bin/ld: cannot find crti.o: No such file or directory",
	},
	{
		id: "lld-non-exported-symbol", class: "link-undefined-symbol", stage: linking,
		needles: []string{"non-exported symbol "},
		expr:    `error: non-exported symbol '(?P<sym>[^']+)' in '(?P<obj>[^']+)' is referenced by DSO`,
		example: "ld.lld: error: non-exported symbol 'stat' in " +
			"'/usr/lib/libc_nonshared.a(stat.oS)' is referenced by DSO './libx.so'",
		similar: "note: non-exported symbol 'stat'",
	},
	{
		id: "ld-undefined-reference-translated", stage: linking, // binutils, po/
		needles: []string{
			"férence indéfinie vers",
			"ter Verweis auf",
			"sin definir",
			"未定义的引用",
			"定義されていない参照",
			"ferência não definida para",
			"riferimento non definito a",
			"ссылка на",
			"niezdefiniowane odwołanie do",
		},
		expr: "(?:(?:référence indéfinie vers|(?:undefinierter|nicht definierter) Verweis " +
			"auf|referência não definida para|riferimento non definito a|неопредел[её]нная ссылка " +
			"на|niezdefiniowane odwołanie do) [`'\"‘“„«»]\u00a0? ?(?P<sym>[^`'\"’”«»]+?)\u00a0? " +
			"?[`'\"’”“«»]|referencia a [`'\"‘“«](?P<ver>[^`'\"’”»]+)[`'\"’”»] sin " +
			"definir|对[`'\"‘“](?P<lib>[^`'\"’”]+)[`'\"’”]未定义的引用|[`'‘](?P<syms>[^`'’]+)[`'’] に対する定義されていない参照)",
		before:  aLinkObject,
		example: "main.c:(.text+0x5) : référence indéfinie vers « dlopen »",
		similar: "la référence indéfinie vers la page",
		fill: func(m *match) bool {
			m.sym, m.ver, m.lib, m.syms = m.sym+m.ver+m.lib+m.syms, "", "", ""
			m.prefix = strings.TrimSuffix(
				strings.NewReplacer(" :", ":", "\u00a0:", ":").Replace(m.prefix),
				"Warnung: ",
			)
			return true
		},
	},
	{
		id: "go-relocation-target", class: "link-undefined-symbol", stage: linking,
		needles: []string{"relocation target "},
		expr:    `(?P<obj>[\w./()*]+): relocation target (?P<sym>\S+) not defined`,
		example: "main.main: relocation target main.add not defined",
		similar: "the relocation target has moved",
	},
}

var (
	toolName = lazyregexp.New(`^\S*ld(?:\.\w+)?: `)
	against  = lazyregexp.New(
		"(?:against|reloc against) (?:[\\w ]*symbol:? |local |undefined |hidden |protected " +
			")*[`'\"‘]?([^`'\"’\\s;]+)[`'\"’]?",
	)
	relocation = lazyregexp.New(
		`(?::\(\.[^)]*\))?:? (?:(?:[Ee]rror: )?[Rr]elocation |requires dynamic |R_[A-Z0-9_]+ )`,
	)
	names = lazyregexp.New("[`'\"‘“]([^`'\"’”]+)[`'\"’”]")
)

// symbolList parses a list of quoted symbols.
func symbolList(m *match) bool {
	for _, n := range names.FindAllStringSubmatch(m.syms, 64) {
		m.symbols = append(m.symbols, n[1])
	}
	if o := inObject.FindStringSubmatch(m.rest); o != nil {
		m.obj = o[1] // nvlink
	}
	if len(m.symbols) == 1 {
		m.sym, m.symbols = m.symbols[0], nil
	}
	return true
}

var inObject = lazyregexp.New(`^ in '([^']+)'`)

// notPIC finds the symbol after "against", which may be a section, and the object.
func notPIC(m *match) bool {
	m.ver, m.lib = "", ""
	if s := against.FindStringSubmatch(m.line); s != nil && !strings.HasPrefix(s[1], ".") &&
		s[1] != "symbol" &&
		s[1] != "local" {
		m.sym = s[1]
	}
	if at := relocation.FindStringIndex(m.line); at != nil {
		m.prefix = m.line[:at[0]]
	}
	return true
}
