package buildlog

import "strings"

// refusedPatterns are messages of loaders about a file that the system does not let them use, or
// that is a program.
var refusedPatterns = []pattern{
	{ // the reason decides: elf/dl-load.c, elf/rtld.c
		id:      "glibc-preload",
		needles: []string{" cannot be preloaded "},
		expr: `object '(?P<lib>[^']+)' from (?:LD_PRELOAD|/etc/ld\.so\.preload|` +
			`--preload) cannot be preloaded \((?P<named>.*)\): ignored`,
		example: "ERROR: ld.so: object 'libgain.so.2' from LD_PRELOAD cannot be preloaded (cannot " +
			"open shared object file): ignored.",
		similar: "the module cannot be preloaded (it is not there)",
		fill: func(m *match) bool {
			m.class = preloadClass(m.named)
			if m.class != "library-not-found" && m.class != "load-refused" {
				m.obj, m.lib = m.lib, ""
			}
			m.named = ""
			return true
		},
	},
	{
		id: "loader-map-failed", class: "load-refused",
		needles: []string{
			"failed to map segment from shared object", "make segment writable for relocation",
			"cannot change memory protections", "cannot restore segment prot after reloc",
			"cannot map zero-fill pages", "cannot apply additional memory protection after relocation",
		},
		expr: `failed to map segment from shared object|cannot make segment writable for relocation|` +
			`cannot change memory protections|cannot restore segment prot after reloc|` +
			`cannot map zero-fill pages|cannot apply additional memory protection after relocation`,
		before:  anObject,
		example: "ImportError: /mnt/x/_gain.so: failed to map segment from shared object",
		similar: "gdb: cannot make segment writable",
	},
	{
		id: "loader-permission", class: "load-refused",
		needles: []string{": Permission denied"},
		expr: `(?:(?P<obj>[^\s:]+): error while loading shared libraries: )?(?P<lib>[^\s:'"(]+): cannot open shared object file: Permission denied|` +
			`Error loading shared library (?P<libs>[^\s:]+): Permission denied(?: \(needed by (?P<named>[^)]+)\))?`,
		example: "OSError: /opt/x/libgain.so.2: cannot open shared object file: Permission denied",
		similar: "cat: /opt/x/libgain.so.2: Permission denied",
		fill: func(m *match) bool {
			m.lib, m.obj = m.lib+m.libs, m.obj+m.named
			m.libs, m.named = "", ""
			if m.obj == "" {
				m.obj, _ = fileBefore(m.prefix, false)
			}
			return true
		},
	},
	{
		id: "loader-executable", class: "not-a-library",
		needles: []string{"cannot dynamically load "},
		expr:    `cannot dynamically load (?:position-independent )?executable`,
		before:  anObject,
		example: "OSError: ./gain.so: cannot dynamically load position-independent executable",
		similar: "the plugin cannot dynamically load other plugins",
	},
	{
		id: "loader-size-differs", class: "copy-relocation",
		needles: []string{"' has different size in shared object"},
		expr: "(?:(?P<obj>[^\\s:]+): )?Symbol [`'](?P<sym>[^`']+)' has different size in shared " +
			"object",
		example: "./prog: Symbol `gains' has different size in shared object, consider re-linking",
		similar: "the image has different size in shared object stores",
	},
	{ // dyld of macOS 13 and later
		id: "macos-load-refused", class: "load-refused",
		needles: []string{"library load disallowed by system policy", "library load denied by system " +
			"policy"},
		expr: `(?:dlopen\((?P<obj>[^,)]+).*)?library load (?:disallowed|denied) by system policy`,
		example: "dlopen(/x/_gain.so, 0x0002): tried: '/x/_gain.so' (library load disallowed by " +
			"system policy)",
		similar: "the load is disallowed by system policy",
	},
	{
		id: "macos-not-a-library", class: "not-a-library",
		needles: []string{"unloadable mach-o file type", "mach-o, but wrong filetype"},
		expr: `(?:dlopen\((?P<obj>[^,)]+).*)?(?:unloadable mach-o file type|` +
			`mach-o, but wrong filetype)`,
		example: "dlopen(/x/gain.so, 0x0002): tried: '/x/gain.so' (unloadable mach-o file type 2)",
		similar: "file: unknown mach-o file type",
	},
	{
		id: "windows-load-refused", class: "load-refused",
		needles: []string{"DLL load failed", "[WinError 5]", "[WinError 1260]", "[WinError 4551]"},
		expr: `DLL load failed(?: while importing (?P<obj>[\w.]+))?: (?:Access is denied|` +
			`This program is blocked by group policy|An Application Control policy has blocked this file)|` +
			`\[WinError (?:5|1260|4551)\](?:[^"']*["'](?P<lib>[^"']+\.(?:dll|pyd))["'])`,
		example: "ImportError: DLL load failed while importing _gain: An Application Control policy " +
			"has " +
			"blocked this file.",
		similar: "PermissionError: [WinError 5] Access is denied: 'C:\\x\\data.txt'",
	},
	{ // jemalloc is built for one page size; src/pages.c
		id: "jemalloc-page-size", class: "segment-alignment",
		needles: []string{"Unsupported system page size"},
		expr:    `<jemalloc>: Unsupported system page size`,
		example: "<jemalloc>: Unsupported system page size",
		similar: "Unsupported system page size in the table",
	},
	{
		id: "qt-xcb-cursor", class: "library-not-found",
		needles: []string{"libxcb-cursor0 is needed"},
		expr:    `libxcb-cursor0 is needed to load the Qt xcb platform plugin`,
		example: "qt.qpa.plugin: From 6.5.0, xcb-cursor0 or libxcb-cursor0 is needed to load the Qt " +
			"xcb " +
			"platform plugin.",
		similar: "apt: libxcb-cursor0 is needed",
		fill:    func(m *match) bool { m.lib = "libxcb-cursor.so.0"; return true },
	},
	{
		id: "qt-platform-plugin", class: "library-not-found",
		needles: []string{"ould not load the Qt platform plugin "},
		expr:    `[Cc]ould not load the Qt platform plugin "(?P<named>\w+)" in "[^"]*" even though it was found`,
		example: `qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "" even though it was found.`,
		similar: `Could not load the Qt platform plugin list`,
	},
}

// preloadClass returns the class of the reason for which ld.so ignores an object of LD_PRELOAD.
func preloadClass(reason string) string {
	for _, x := range []struct{ part, class string }{
		{"Permission denied", "load-refused"}, {"failed to map segment", "load-refused"},
		{"wrong ELF class", "wrong-platform"}, {"cannot dynamically load", "not-a-library"},
		{"static TLS", "static-tls"}, {"executable stack", "executable-stack"},
		{"ELF load command a", "segment-alignment"}, {"cannot open shared object", "library-not-found"},
	} {
		if strings.Contains(reason, x.part) {
			return x.class
		}
	}
	return "invalid-elf"
}
