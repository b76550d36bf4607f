package macos

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/machoobj"
)

//go:embed data/libraries.txt
var libraryNames string

//go:embed data/frameworks.txt
var frameworkVersions string

// libraries are the names of /usr/lib, without ".dylib".
var libraries = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(libraryNames) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(line) {
			out[name] = true
			plain, _, _ := strings.Cut(name, ".")
			out[plain] = true // the name without a version is an alias
		}
	}
	return out
})

// frameworks maps frameworks that not every macOS has to the first one.
var frameworks = sync.OnceValue(func() map[string]machoobj.Version {
	out := map[string]machoobj.Version{}
	for line := range strings.Lines(frameworkVersions) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		v, err := machoobj.ParseVersion(words[1])
		if err != nil {
			panic(fmt.Errorf("embedded frameworks: %w", err))
		}
		out[words[0]] = v
	}
	return out
})

// System reports whether a path is one where macOS itself keeps libraries. Most of them are in
// the shared cache of dyld and not on disk.
func System(library string) bool {
	return strings.HasPrefix(library, "/usr/lib/") || strings.HasPrefix(library, "/System/Library/") ||
		strings.HasPrefix(library, "/System/iOSSupport/")
}

// Library says since when a library at a path of the system is part of macOS. It is not known
// for names that no list has.
func Library(library string) Availability {
	if rest, ok := strings.CutPrefix(library, "/usr/lib/"); ok {
		base := strings.TrimSuffix(path.Base(rest), ".dylib")
		switch dir := path.Dir(rest); {
		case dir == "system":
			return Availability{Known: true}
		case dir == "swift" && base == "libswift_Concurrency":
			return Availability{Known: true, Since: machoobj.Make(12, 0)}
		case dir == "swift":
			return Availability{Known: strings.HasPrefix(base, "libswift")}
		case dir != ".":
			return Availability{}
		}
		for name := base; name != ""; {
			if libraries()[name] {
				return Availability{Known: true}
			}
			at := strings.LastIndexByte(name, '.') // libz.1.2.8 is an alias of libz.1
			name = name[:max(at, 0)]
		}
		return Availability{}
	}
	name, ok := framework(library)
	if !ok {
		return Availability{}
	}
	return Availability{Known: true, Since: frameworks()[name]}
}

// framework gives the name of a public framework by the path of its library, as in
// /System/Library/Frameworks/Metal.framework/Versions/A/Metal.
func framework(library string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(library, "/System/Library/Frameworks/")
	if !ok {
		return "", false
	}
	name, rest, ok = strings.Cut(rest, ".framework/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return "", false
	}
	return name, strings.HasSuffix(rest, name) || strings.Contains(rest, "/")
}

// Aborts reports whether macOS 10.15 and later stop a process that loads a library: the
// unversioned names of OpenSSL, whose ABI Apple does not keep.
func Aborts(library string) bool {
	return library == "/usr/lib/libcrypto.dylib" || library == "/usr/lib/libssl.dylib"
}

// Fallback reports whether dyld finds a library by its file name in /usr/lib, where it looks
// last for files that were built with an SDK older than macOS 14.
func Fallback(name string) (found string, ok bool) {
	found = "/usr/lib/" + path.Base(name)
	return found, Library(found).Known
}
