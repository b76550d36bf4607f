package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// loaderPatterns are messages of glibc's ld.so, alone or in exceptions of Python, Node, Java
// and others.
var loaderPatterns = []pattern{
	{
		id:      "glibc-version-not-found",
		needles: []string{"' not found", "’ not found", "\" not found"},
		expr: "(?:version )?[`'\"‘](?P<ver>[A-Za-z][\\w.+\\-]*)['\"’] not found(?: \\(required by " +
			"(?P<obj>[^)]+)\\))?",
		before:  aLibrary,
		example: "./a: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by ./a)",
		similar: "nvm: version 'v18.2.0' not found, try `nvm ls-remote' to browse available versions",
		fill:    versionNotFound,
	},
	{
		id:      "glibc-version-not-found-bare",
		needles: []string{" not found"},
		expr:    `(?:^|[\s:(])(?:version )?(?P<ver>(?:GLIBC|GLIBCXX|CXXABI|GCC|GOMP|OMP|GFORTRAN|OPENSSL|CURL_OPENSSL|CURL_GNUTLS|ZLIB|NUMA|LIBXML2|ICU|KRB5)_[0-9][\w.]*|GLIBC_PRIVATE|GLIBC_ABI_DT_RELR) (?:was )?not found(?: \(required by (?P<obj>[^)]+)\))?`,
		before:  aLibrary,
		example: "./srrdb: version GLIBC_2.32 not found",
		similar: "-- Looking for GLIBC_2.32 - not found",
		fill:    func(m *match) bool { return !probe.MatchString(m.line) },
	},
	{
		id:      "glibc-not-defined-in-file",
		needles: []string{"not defined in file"},
		expr:    `symbol (?P<sym>[^\s,]+),? version (?P<ver>[^\s,]+) not defined in file (?P<lib>\S+) with link time reference(?:\s+\((?P<obj>[^)]+)\))?`,
		before:  anObject,
		example: "./run: relocation error: _kernels.so: symbol cudaGraphAddNode_v2 version " +
			"libcudart.so.12 not defined in file libcudart.so.12 with link time reference",
		similar: "error: macro FOO not defined in file config.h",
	},
	{
		id: "glibc-relr", class: "dt-relr",
		needles: []string{"DT_RELR without GLIBC_ABI_DT_RELR"},
		expr:    `DT_RELR without GLIBC_ABI_DT_RELR dependency`,
		before:  anObject,
		example: "./a.out: error while loading shared libraries: ./a.out: DT_RELR without " +
			"GLIBC_ABI_DT_RELR dependency",
		similar: "Dynamic section contains DT_RELR and GLIBC_ABI_DT_RELR",
	},
	{
		id:      "loader-undefined-symbol",
		needles: []string{"undefined symbol"},
		expr:    `undefined symbols?: (?P<sym>[A-Za-z_.$~][^\s,;]*.*)`,
		before:  anObject,
		example: "python3: symbol lookup error: ./libhook.so: undefined symbol: pthread_setname_np",
		similar: "tests/test_symbols.py::test_undefined_symbol PASSED [ 12%]",
		fill:    undefinedSymbol,
	},
	{
		id: "glibc-no-version-information", class: "version-missing",
		needles: []string{"no version information available"},
		expr:    `no version information available(?: \(required by (?P<obj>[^)]+)\))?`,
		before:  aLibrary,
		example: "./m_now: ./libv.so: no version information available (required by ./m_now)",
		similar: "git describe: no version information was found, using 0.0.0",
	},
	{
		id: "glibc-inconsistency", class: "version-missing",
		needles: []string{"Inconsistency detected by ld.so"},
		expr:    `Inconsistency detected by ld\.so: dl-(?:lookup\.c: \d+: check_match|version\.c: \d+: _dl_check_map_versions)`,
		example: "Inconsistency detected by ld.so: dl-lookup.c: 107: check_match: Assertion " +
			"`version->filename == NULL || ! _dl_name_match_p (version->filename, map)' failed!",
		similar: "Inconsistency detected between the lock file and the manifest",
	},
	{
		id: "static-tls", class: "static-tls",
		needles: []string{"static TLS"},
		expr:    `cannot (?:allocate memory in static TLS block|load any more object with static TLS)`,
		before:  anObject,
		example: "ImportError: /usr/lib/libgomp.so.1: cannot allocate memory in static TLS block",
		similar: "checking for static TLS support... yes",
	},
	{
		id: "executable-stack", class: "executable-stack",
		needles: []string{"cannot enable executable stack"},
		expr:    `cannot enable executable stack as shared object requires`,
		before:  anObject,
		example: "./hx.so: cannot enable executable stack as shared object requires: Invalid argument",
		similar: "hardening: executable stack disabled",
	},
	{
		id: "segment-alignment", class: "segment-alignment",
		needles: []string{"ELF load command a"},
		expr:    `ELF load command (?:address/offset not (?:properly|page-)\s?aligned|alignment not page-aligned)`,
		before:  anObject,
		example: "./al.so: ELF load command address/offset not page-aligned",
		similar: "readelf: ELF load command alignment 0x1000",
	},
	{
		id: "invalid-elf", class: "invalid-elf",
		needles: []string{
			"invalid ELF header",
			"file too short",
			"past end of file",
			"cannot read file data",
			"ELF file's phentsize",
			"ELF file version",
			"ELF file OS ABI invalid",
			"object file has no dynamic section",
		},
		expr:    `invalid ELF header|: file too short|: cannot read file data|ELF load command past end of file|ELF file's phentsize not the expected size|ELF file (?:version|OS ABI|ABI version) (?:invalid|does not match)|object file has no (?:dynamic section|loadable segments)`,
		before:  anObject,
		example: "OSError: ./bad.so: invalid ELF header",
		similar: "warning: checksum file too short by 2 bytes",
		fill: func(m *match) bool {
			f, _ := fileBefore(m.prefix, false)
			return f != "" || m.prefix == "" || !strings.Contains(m.line, "too short")
		},
	},
	{
		id: "wrong-elf-class", class: "wrong-platform",
		needles: []string{"wrong ELF class"},
		expr:    `wrong ELF class(?:: ELFCLASS(?:32|64))?`,
		before:  anObject,
		example: "OSError: ./w32.so: wrong ELF class: ELFCLASS32",
		similar: "ELF class: ELFCLASS64",
	},
	{
		id: "exec-format", class: "wrong-platform",
		needles: []string{
			"xec format error",
			"required file not found",
			"Check the interpreter or linker",
		},
		expr:    `(?:cannot execute binary file: )?[Ee]xec format error(?:: ['"](?P<obj>[^'"]+)['"])?|cannot execute: required file not found|Failed to execute process ['"](?P<lib>[^'"]+)['"].*Check the interpreter or linker`,
		before:  anObject,
		example: "lab.sh: line 47: ./arm.exe: cannot execute binary file: Exec format error",
		similar: "exec: format error in line 3",
		fill: func(m *match) bool {
			if m.lib != "" {
				m.obj, m.lib = m.lib, ""
			}
			return true
		},
	},
	{ // linux-user/elfload.c
		id: "qemu-other-architecture", class: "wrong-platform",
		needles: []string{": Invalid ELF image for this architecture"},
		expr:    `qemu-\w+(?:-static)?: (?P<obj>[^:]+): Invalid ELF image for this architecture`,
		example: "qemu-aarch64: ./gain: Invalid ELF image for this architecture",
		similar: "error: Invalid ELF image for this architecture",
	},
	{
		id: "interpreter-missing", class: "wrong-platform",
		needles: []string{"bad ELF interpreter", "failed to open elf at ", "qemu-"},
		expr:    `(?P<lib>/[\w./+\-]*ld[\w.+\-]*\.so[\w.]*): bad ELF interpreter|rosetta error: failed to open elf at (?P<obj>/\S*ld\S*)|qemu-[\w\-]+: Could not open '(?P<ver>/[^']*ld[\w.+\-]*\.so[\w.]*)'`,
		example: "bash: ./prog: /lib/ld-linux.so.2: bad ELF interpreter: No such file or directory",
		similar: "qemu-user-static is already the newest version",
		fill: func(m *match) bool {
			m.lib, m.obj, m.ver = m.lib+m.obj+m.ver, "", ""
			m.obj, _ = fileBefore(m.prefix, false)
			return true
		},
	},
	{
		id: "isa-level", class: "hardware-not-supported",
		needles: []string{"CPU ISA level is lower than required", "CPU does not support x86-64-v"},
		expr:    `CPU ISA level is lower than required|CPU does not support x86-64-v\d`,
		before:  anObject,
		example: "./prog: CPU ISA level is lower than required",
		similar: "checking CPU ISA level... x86-64-v3",
	},
	{
		// Python and Node.js open only modules that exist. glibc skips a file for another
		// machine (elf/dl-load.c, open_verify) and reports that there is none.
		id: "loader-other-architecture", class: "wrong-platform",
		needles: []string{"cannot open shared object file"},
		expr:    `(?:^|[\s:'"(])(?P<obj>/[^\s:'"]*\.(?:(?:cpython-\w+|abi3|pypy\w+)(?:-[\w\-]+)?\.so|node)): cannot open shared object file`,
		example: "ImportError: /venv/lxml/etree.cpython-311-x86_64-linux-gnu.so: cannot open shared " +
			"object file: No such file or directory",
		similar: "etree.cpython-311-x86_64-linux-gnu.so: opened shared object file",
	},
	{
		id:      "loader-library-not-found",
		needles: []string{"cannot open shared object file"},
		expr:    `(?:(?P<obj>[^\s:]+): error while loading shared libraries: )?(?P<lib>[^\s:'"(]+|[^:'"]*\.so[^:'"]*): cannot open shared object file`,
		example: "./prog: error while loading shared libraries: libssl.so.1.1: cannot open " +
			"shared object file: No such file or directory",
		similar: "strace: openat(AT_FDCWD, \"libssl.so.1.1\") = -1 ENOENT (No such file or directory)",
		fill: func(m *match) bool {
			m.lib = word(m.lib)
			if m.obj == "" {
				if p := strings.TrimRight(m.prefix, ": "); p != m.prefix {
					if f, _ := fileBefore(p, false); f != "" && base(f) != base(m.lib) &&
						binary.MatchString(f) {
						m.obj = f
					}
				}
			}
			return true
		},
	},
	{
		id: "loader-library-not-found-translated", // glibc, po/
		needles: []string{
			"Shared-Object-Datei nicht",
			"fichier d'objet partagé",
			"objeto compartido",
			"objeto compartilhado",
			"共享对象文件",
			"共享目标文件",
			"共有オブジェクトファイル",
			"общий объектный файл",
			"oggetto condiviso",
		},
		expr: `(?:(?P<obj>[^\s:]+): [^:]+: )?(?P<lib>[^\s:'"(]*\.so[^\s:'"]*)\s?: (?:[Kk]ann die Shared-Object-Datei nicht öffnen|(?:[Nn]e peut|[Ii]mpossible d')\s?ouvrir le fichier d'objet partagé|no se puede abrir el (?:archivo|fichero) del objeto compartido|não (?:é possível|foi possível|pode) abrir (?:o )?arquivo (?:de|do) objeto compartilhado|[无無]法打[开開]共享(?:对象|目标)文件|共有オブジェクトファイルを開けません|(?:невозможно|не удалось|не удаётся) открыть общий объектный файл|impossibile aprire il file oggetto condiviso)`,
		example: "./prog: error while loading shared libraries: libssl.so.1.1: Kann die " +
			"Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden",
		similar: "le fichier d'objet partagé libssl.so.1.1 est ouvert",
	},
	{
		id:      "loader-library-named",
		needles: []string{"error while loading shared libraries: ", "ImportError: ", "OSError: "},
		expr:    `(?:(?P<obj>\S+): error while loading shared libraries|ImportError|OSError): (?P<lib>[\w./+\-]+\.so(?:\.[\w.]+)?)\s*$`,
		example: "katago: error while loading shared libraries: libssl.so.1.1",
		similar: "ImportError: cannot import name 'x' from 'pkg' (/usr/lib/pkg.so)",
	},
	{
		id:      "ldd-not-found",
		needles: []string{"=> not found"},
		expr:    `(?P<lib>[^\s:'"(]+) => not found`,
		before:  anObject,
		example: "\tlibicuuc.so.72 => not found",
		similar: "route /x => not found",
		fill:    func(m *match) bool { return strings.Contains(m.lib, ".so") },
	},
}

// probe matches checks of configure scripts.
var probe = lazyregexp.New(
	`(?i)^\s*(?:--|checking|looking|performing|determining|searching|testing|run-time dependency|library|program|compiler for)\b|^\s*-- | - not found|\.\.\. *not found|\bhint\b`,
)

// versionNotFound excludes other messages with a quoted word and "not found". For a missing
// version, a file precedes it, or the requiring object follows, or it looks like a version.
func versionNotFound(m *match) bool {
	if probe.MatchString(m.line) {
		return false
	}
	if nodeForm.MatchString(m.ver) || m.obj != "" {
		return true
	}
	f, _ := fileBefore(m.prefix, false)
	return strings.Contains(f, ".so") && strings.Contains(m.line, "version ")
}

var nodeForm = lazyregexp.New(
	`^(?:[A-Za-z][A-Za-z0-9]*_)+(?:[0-9][\w.\-]*|PRIVATE|ABI_\w+|MIT|[A-Z]+)$|\.so\.\d+$`,
)

// undefinedSymbol splits the text after "undefined symbol:" into the symbol, its version, and
// the object that ldd -r prints.
func undefinedSymbol(m *match) bool {
	text := m.sym
	if v := symbolVersion.FindStringSubmatchIndex(text); v != nil {
		m.ver = text[v[2]:v[3]]
		m.rest, text = text[v[1]:], text[:v[0]]
	}
	if o := lddObject.FindStringSubmatch(m.sym); o != nil {
		m.obj = o[1]
	}
	if i := strings.IndexAny(text, " \t,;"); i > 0 &&
		(!strings.ContainsAny(text[:i], "(<") && !strings.Contains(text[:i], "::") ||
			strings.HasPrefix(text, "_Z")) &&
		!demangled.MatchString(text) {
		text = text[:i]
	}
	m.sym = strings.TrimRight(text, ".,;:'\"`’ \t")
	if strings.Count(m.sym, "(") < strings.Count(m.sym, ")") {
		m.sym = strings.TrimRight(m.sym, ")")
	}
	return m.sym != ""
}

var (
	symbolVersion = lazyregexp.New(`, version ([A-Za-z_][\w.+\-]*)`)
	lddObject     = lazyregexp.New(`\s\(([^()\s]*\.so[^()\s]*|\.{0,2}/[^()\s]+)\)\s*$`)
	demangled     = lazyregexp.New(
		`^(?:typeinfo|vtable|guard variable|non-virtual thunk|virtual thunk|construction vtable|VTT|TLS (?:init|wrapper) function) (?:name )?(?:for|to) `,
	)
)
