package buildlog

// wheelPatterns are messages of tools that build, repair and install wheels.
var wheelPatterns = []pattern{
	{
		id:      "auditwheel-library-not-located",
		needles: []string{"could not be located", "Unable to find library: "},
		expr:    `because required library "(?P<lib>[^"]+)" could not be located|Unable to find library: (?P<obj>[\w.+\-]+\.(?:dll|so[\w.]*))`,
		example: `ValueError: Cannot repair wheel, because required library "libfoo.so.1" could not be located`,
		similar: "the file could not be located",
		fill: func(m *match) bool {
			if m.obj != "" {
				m.lib, m.obj = m.obj, ""
			}
			return true
		},
	},
	{
		id: "auditwheel-cannot-repair", class: "platform-tag",
		needles: []string{
			"annot repair ",
			"too-recent versioned symbols",
			"black-listed symbol dependencies",
		},
		expr:    `[Cc]annot repair .* to "?(?P<named>(?:many|musl)linux\w+)|[Cc]annot repair .* to .*ABI|because of the presence of too-recent versioned symbols|black-listed symbol dependencies`,
		example: `auditwheel: error: cannot repair "demo-1.0-cp312-cp312-linux_x86_64.whl" to "manylinux_2_17_x86_64" ABI because of the presence of too-recent versioned symbols.`,
		similar: "INFO:auditwheel.main_repair:Fixed-up wheel written to /wheelhouse/demo.whl",
	},
	{
		id: "pip-wheel-not-supported", class: "platform-tag",
		needles: []string{
			"is not a supported wheel on this platform",
			"not compatible with the current ",
			"incompatible with the current platform",
		},
		expr: `(?P<lib>[\w.+\-]+\.whl)?\S* ?is not a supported wheel on this platform|(?:wheel|dependency|distribution).* (?:is )?(?:not compatible|incompatible) with the current (?:platform|Python|system)`,
		example: "ERROR: uccl-0.0.1.post4-cp38-abi3-manylinux_2_35_x86_64.whl is not a " +
			"supported wheel on this platform.",
		similar: "pip is a supported tool on this platform",
		fill:    func(m *match) bool { m.obj, m.lib = m.lib, ""; return true },
	},
	{
		id: "abi3audit", class: "platform-tag",
		needles: []string{
			"non-ABI3 symbols",
			"but is tagged for the Python",
			"ABI violations found",
			"ABI version mismatches",
		},
		expr: `(?:(?P<obj>\S+) )?has non-ABI3 symbols|uses the Python \d\.\d+ ABI, but is tagged for the Python \d\.\d+ ABI|[1-9]\d* ABI version mismatches|[1-9]\d* ABI violations found`,
		example: "psutil-6.0.1-cp310-abi3-linux_x86_64.whl: _psutil_linux.abi3.so has non-ABI3 " +
			"symbols: PyErr_SetFromOSErrnoWithSyscall",
		similar: "demo.whl: 1 extensions scanned; 0 ABI version mismatches and 0 ABI violations found",
	},
}
