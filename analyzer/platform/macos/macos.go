// Package macos knows what releases of macOS contain: which symbols libSystem and the C++
// library export from which release on, which libraries are part of the system, and which
// systems a platform tag of a wheel names.
//
//	a := macos.Symbol("/usr/lib/libSystem.B.dylib", "_freadlink", "arm64")
//	if a.After(machoobj.Make(11, 0)) { … } // a.Since is 13.0
//
// Every answer has three values. A symbol is known from a release on, or known while its age is
// not, or not known at all; nothing follows from the last two. The tables are embedded and come
// from public sources: headers of Darwin's C library, LLVM's availability tables, and
// requirements of PyObjC (internal/gen/macos names them). No Apple SDK was read. Releases differ
// by more than is known here: private libraries and most symbols of frameworks are not listed.
package macos

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/machoobj"
)

// Availability says since when something is part of macOS. The zero value is not known.
type Availability struct {
	Known bool             // the newest macOS has it
	Since machoobj.Version // the first macOS that has it; 0 where that is not known
}

// After reports whether a release is too old to have it. It is false where that is not known.
func (a Availability) After(release machoobj.Version) bool { return a.Since > release }

//go:generate go run github.com/compat-app/compat/internal/gen/macos -ziglang ziglang.whl -pyobjc pyobjc.whl -out data

//go:embed data/libsystem.gz
var packedSymbols []byte

// symbol is an entry of the table of libSystem.
type symbol struct {
	since machoobj.Version
	archs string
}

// systemSymbols maps each symbol of libSystem to what is known of it. Data that does not decode
// is a broken build, so reading it panics; a test reads it.
var systemSymbols = sync.OnceValue(func() map[string]symbol {
	r, err := gzip.NewReader(bytes.NewReader(packedSymbols))
	if err != nil {
		panic(fmt.Errorf("embedded symbols of libSystem: %w", err))
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Errorf("embedded symbols of libSystem: %w", err))
	}
	out := map[string]symbol{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		s := symbol{archs: words[1]}
		if words[0] != "-" {
			if s.since, err = machoobj.ParseVersion(words[0]); err != nil {
				panic(fmt.Errorf("embedded symbols of libSystem: %w", err))
			}
		}
		for _, name := range words[2:] {
			out[name] = s
		}
	}
	return out
})

// Symbol says since when a system library exports a symbol on an architecture. library is a path
// as in a load command; what is known is of libSystem, libc++ and libc++abi, libobjc and
// Accelerate.
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
	s, ok := systemSymbols()[name]
	if !ok || !strings.Contains(","+s.archs+",", ","+arch+",") {
		return Availability{}
	}
	return Availability{Known: true, Since: s.since}
}

// Anywhere says since when any of the libraries that every process has loaded exports a symbol.
// It is for imports that name no library.
func Anywhere(name, arch string) Availability {
	if a := inSystem(name, arch); a.Known {
		return a
	}
	if a := inObjectiveC(name); a.Known {
		return a
	}
	return InCPlusPlus(name)
}

// SystemListed reports whether all symbols of a library are known: one that is not in its list
// is in no release that is known.
func SystemListed(library string) bool { return isLibSystem(library) }
