package buildlog

// muslPatterns are messages of musl's ld.so.
var muslPatterns = []pattern{
	{
		id: "musl-not-elf", class: "invalid-elf", stage: musl,
		needles: []string{"Error loading shared library "},
		expr:    `Error loading shared library (?P<obj>[^\s:]+): Exec format error`,
		example: "Error loading shared library ./bad.so: Exec format error",
		similar: "Loading shared library ./bad.so: done",
	},
	{
		id: "musl-library-not-found", stage: musl,
		needles: []string{"Error loading shared library "},
		expr:    `Error loading shared library (?P<lib>[^\s:]+?):? (?:[^(]*)\((?:needed by )?(?P<obj>[^)]+)\)|Error loading shared library (?P<libs>[^\s:]+)`,
		example: "Error loading shared library libffi.so.7: No such file or directory (needed " +
			"by /usr/bin/prog)",
		similar: "loaded library libffi.so.7",
		fill: func(m *match) bool {
			if m.libs != "" {
				m.lib, m.libs = m.libs, ""
			}
			return true
		},
	},
	{
		id: "musl-relocation-type", class: "musl-glibc-mix", stage: musl,
		needles: []string{"unsupported relocation type"},
		expr:    `(?:Error relocating (?P<obj>[^:]+): )?unsupported relocation type \d+`,
		example: "Error relocating /lib/ld-linux-x86-64.so.2: unsupported relocation type 37",
		similar: "relocation type 37 is a TLS descriptor",
	},
	{
		id: "musl-static-tls", class: "static-tls", stage: musl,
		needles: []string{"initial-exec TLS resolves"},
		expr:    `(?:Error relocating (?P<obj>[^:]+): (?P<sym>\S+): )?initial-exec TLS resolves to dynamic definition(?: in \S+)?`,
		example: "Error relocating ./tls.so: big: initial-exec TLS resolves to dynamic " +
			"definition in ./tls.so",
		similar: "-ftls-model=initial-exec was given",
	},
	{
		id: "musl-symbol-not-found", stage: musl,
		needles: []string{": symbol not found"},
		expr:    `(?:Error relocating (?P<obj>[^:]+): |^|[\s:])(?P<sym>[A-Za-z_][\w.$@]*): symbol not found`,
		example: "Error relocating ./fort: __memcpy_chk: symbol not found",
		similar: "error[E0425]: cannot find value `x`; no symbol found",
	},
}
