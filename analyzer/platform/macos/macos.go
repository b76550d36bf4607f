// Package macos describes the contents of macOS releases: since when libSystem and the C++ library
// export a symbol, which libraries are part of the system, and which releases the platform tag of a
// wheel stands for.
//
//	a := macos.Symbol("/usr/lib/libSystem.B.dylib", "_freadlink", "arm64")
//	if a.After(machoobj.Make(11, 0)) { … } // a.Since is 13.0
//
// A symbol may be known with its first release, known without it, or not known. One without a first
// release is assumed to be in every release, and nothing can be concluded from one that is not
// known, except in libSystem (SystemListed). The tables are embedded and come from public sources,
// which each table names: headers of Darwin's C library, LLVM's availability tables, and the
// requirements of PyObjC (see internal/gen/macos). No Apple SDK was used. Private libraries and
// most symbols of frameworks are not listed, and no table says when a symbol or library was
// removed.
package macos

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

// Availability is since when something is part of macOS. The zero value means unknown.
type Availability struct {
	Known bool             // the newest macOS contains it
	Since machoobj.Version // the first release that contains it; 0 if that is not known
}

// After reports whether it was added after a release. It is false if that is not known.
func (a Availability) After(release machoobj.Version) bool { return a.Since > release }

//go:generate go run github.com/compat-app/compat/internal/gen/macos -ziglang ziglang.whl -pyobjc pyobjc.whl -out data

// systemText is the table of libSystem, which internal/gen/macos writes from the PyPI package
// ziglang; its first line names the version. The names are those of libSystem.tbd, which lists what
// the libSystem of the newest macOS exports on arm64 and x86_64. The first releases are the
// availability attributes in the headers of Darwin's C library.
//
// Most symbols have no attribute, and are assumed to be in every release. An attribute may name the
// release that made a symbol public, although earlier ones exported it. Symbols that the newest
// macOS no longer exports are not listed, nor are those of other architectures (i386).
//
//go:embed data/libsystem.txt
var systemText string

// systemSymbols has the first release ("-" if it is not known) and the architectures of each symbol
// of libSystem.
var systemSymbols = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
	return symboltable.Open(systemText)
}}

// Symbol returns since when a system library exports a symbol on an architecture. library is a path
// as in a load command. It covers libSystem, libc++, libc++abi, libobjc and Accelerate.
func Symbol(library, name, arch string) Availability {
	switch base := path.Base(library); {
	case isLibSystem(library):
		return inSystem(name, arch)
	case strings.HasPrefix(base, "libc++"):
		if a := InCPlusPlus(name); a.Known {
			return a
		}
		return Availability{}
	case strings.HasPrefix(base, "libobjc."):
		return inObjectiveC(name)
	case base == "Accelerate" || strings.HasPrefix(base, "libLAPACK") ||
		strings.HasPrefix(base, "libBLAS") || base == "vecLib":
		return inAccelerate(name)
	}
	return Availability{}
}

// isLibSystem reports whether a path is that of libSystem or of one of its parts.
func isLibSystem(library string) bool {
	return strings.HasPrefix(library, "/usr/lib/libSystem.") ||
		strings.HasPrefix(library, "/usr/lib/system/")
}

func inSystem(name, arch string) Availability {
	fields := systemSymbols.Get().Find(name)
	if fields == nil || !slices.Contains(fields[1:], arch) {
		return Availability{}
	}
	if fields[0] == "-" {
		return Availability{Known: true}
	}
	since, err := machoobj.ParseVersion(fields[0])
	if err != nil {
		panic(fmt.Errorf("embedded symbols of libSystem: %w", err)) // a test reads all symbols
	}
	return Availability{Known: true, Since: since}
}

// Anywhere returns since when a symbol is exported by any of the libraries that every process
// loads. It is for imports without a library.
func Anywhere(name, arch string) Availability {
	if a := inSystem(name, arch); a.Known {
		return a
	}
	if a := inObjectiveC(name); a.Known {
		return a
	}
	return InCPlusPlus(name)
}

// SystemListed reports whether the list of a library's symbols is complete for an architecture, on
// the newest macOS. A symbol that is not in it is assumed to exist in no release, although an older
// one may have had it.
func SystemListed(library, arch string) bool {
	return isLibSystem(library) && (arch == "arm64" || arch == "x86_64")
}
