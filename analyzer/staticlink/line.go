package staticlink

import (
	"slices"
	"strings"
)

// Line is what stands on a link line beside the program and the library. The zero value is a plain
// one.
type Line struct {
	// libraries before the objects (LDFLAGS), and after the library (LDLIBS)
	Before, After  []Named
	RPathLink      []string // -rpath-link: directories, in the terms of Library.Path
	AllowUndefined bool     // --allow-shlib-undefined
	// --unresolved-symbols=ignore-in-shared-libs; only GNU ld of all versions here takes it
	IgnoreInShared bool
	Shared         bool // the output is a shared library itself: no linker judges then
	CXX            bool // g++ is the driver: -lstdc++ -lm behind everything
}

// Named is a library that the line names. AsNeeded: under --as-needed, which is how Debian's and
// Ubuntu's gcc begin a line.
type Named struct {
	SONAME   string
	AsNeeded bool
}

// Kept names libraries between --no-as-needed and its end.
func Kept(sonames ...string) []Named {
	var out []Named
	for _, s := range sonames {
		out = append(out, Named{SONAME: s})
	}
	return out
}

// toolchain are the libraries that -lX finds wherever there is a compiler; of others only a -dev
// package brings the link.
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

// Flag writes the flag that names a library: -ldl for libdl.so.2, and -l:libfoo.so.1 where no link
// libfoo.so can be counted on.
func (s *System) Flag(soname string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(soname, "lib"), ".so")
	if slices.Contains(toolchain, name) && s.provided(soname) != nil {
		return "-l" + name
	}
	return "-l:" + soname
}
