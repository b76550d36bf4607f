package buildlog

import "strings"

// buildPatterns are messages of make, ninja, CMake and meson about libraries.
var buildPatterns = []pattern{
	{
		id: "make-no-rule-for-library", stage: linking,
		needles: []string{"No rule to make target ", "missing and no known rule to make it"},
		expr: "No rule to make target [`'‘](?P<lib>[^`'’]+\\.(?:so|a)(?:\\.[\\d.]+)?)['’](?:, " +
			"needed by [`'‘](?P<obj>[^`'’]+)['’])?|'(?P<libs>[^']+\\.(?:so|a)(?:\\.[\\d.]+)?)', needed by " +
			"'(?P<ver>[^']+)', missing and no known rule",
		example: "make[2]: *** No rule to make target '/usr/lib/x86_64-linux-gnu/libz.so', " +
			"needed by 'app'.  Stop.",
		similar: "make: *** No rule to make target 'install'.  Stop.",
		fill: func(m *match) bool {
			if m.libs != "" {
				m.lib, m.obj, m.libs, m.ver = m.libs, m.ver, "", ""
			}
			m.class = libraryClass(m.lib)
			return true
		},
	},
	{
		id: "meson-library-not-found", stage: linking,
		needles: []string{"library '"},
		expr:    `ERROR: (?:C|C\+\+|Fortran|CUDA|Rust) (?:static |shared |shared or static )?library '(?P<lib>[\w.+\-]+)' not found`,
		example: "meson.build:5:0: ERROR: C shared or static library 'foo' not found",
		similar: "Library 'foo' found: YES",
		fill: func(m *match) bool {
			m.lib = "lib" + m.lib + ".so"
			m.class = libraryClass(m.lib)
			return true
		},
	},
}

// loosePatterns are messages of other programs with similar words; they have the lowest
// priority.
var loosePatterns = []pattern{
	{
		id:      "library-said-missing",
		needles: []string{" not found"},
		expr:    `(?P<libs>\blib[\w.+\-]+\.so(?:\.[\w.]+)?(?:(?:,| /| or| and) lib[\w.+\-]+\.so(?:\.[\w.]+)?)*) (?:is |was |were )?not found(?P<ver>.*)`,
		example: "Error: Library file libamdhip64.so.5 is not found.",
		similar: "-- libfoo.so not found, using the bundled copy",
		fill: func(m *match) bool {
			if probe.MatchString(m.line) || nonFatal(m.ver) {
				return false
			}
			m.ver = ""
			m.libraryList = strings.FieldsFunc(
				m.libs,
				func(r rune) bool { return r == ' ' || r == ',' || r == '/' },
			)
			m.libraryList = keep(m.libraryList, func(s string) bool { return strings.Contains(s, ".so") })
			if len(m.libraryList) == 1 {
				m.lib, m.libraryList = m.libraryList[0], nil
			}
			return true
		},
	},
}

// nonFatal reports whether the rest of a line indicates that the program continues without the
// library.
func nonFatal(rest string) bool {
	rest = strings.ToLower(rest)
	for _, w := range []string{"using", "skip", "falling back", "fallback", "ignor", "disabl",
		"optional", "building", "will ", "trying", "continu", "..."} {
		if strings.Contains(rest, w) {
			return true
		}
	}
	return false
}

func keep(list []string, ok func(string) bool) []string {
	out := list[:0]
	for _, s := range list {
		if ok(s) {
			out = append(out, s)
		}
	}
	return out
}
