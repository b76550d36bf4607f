package staticlink

import (
	"slices"
	"strings"
)

// Line contains the options of a link line. The zero value has none: only program and library.
type Line struct {
	// Libraries before the objects (LDFLAGS), and after the library (LDLIBS).
	Before, After  []Named
	RPathLink      []string // folders of -rpath-link, in the form of Library.Path
	AllowUndefined bool     // --allow-shlib-undefined
	// --unresolved-symbols=ignore-in-shared-libs, which only GNU ld supports in all versions.
	IgnoreInShared bool
	Shared         bool // the output is a shared library: no linker checks symbols then
	CXX            bool // linked by g++, which adds -lstdc++ -lm at the end
}

// Named is a library on the line. AsNeeded is set if it is after --as-needed, which is the
// default of gcc in Debian and Ubuntu.
type Named struct {
	SONAME   string
	AsNeeded bool
}

// NoAsNeeded returns the libraries as listed after --no-as-needed.
func NoAsNeeded(sonames ...string) []Named {
	var out []Named
	for _, s := range sonames {
		out = append(out, Named{SONAME: s})
	}
	return out
}

// toolchain are the libraries that -lX finds wherever a compiler is installed. For others, -lX
// needs a -dev package.
var toolchain = []string{
	"dl",
	"pthread",
	"rt",
	"util",
	"m",
	"mvec",
	"anl",
	"resolv",
	"crypt",
	"gcc_s",
	"stdc++",
	"atomic",
	"gomp",
	"quadmath",
	"itm",
}

// Flag returns the flag for a library: -ldl for libdl.so.2, and -l:libfoo.so.1 if a link
// libfoo.so cannot be expected.
func (s *System) Flag(soname string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(soname, "lib"), ".so")
	if slices.Contains(toolchain, name) && s.provided(soname) != nil {
		return "-l" + name
	}
	return "-l:" + soname
}
