package macos

import (
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/lazy"
)

// libraryNames are names in the load commands of published programs; no public list of the
// libraries of each release is known. It does not say which releases have a library: each is
// assumed to be in all of them, also if it was added after macOS 10.9 or removed since. A library
// of /usr/lib that is not listed may exist all the same.
//
//go:embed data/libraries.txt
var libraryNames string

// frameworkVersions is written by internal/gen/macos from the requirements of the PyPI package
// pyobjc; its first line names the version. It has the releases for which PyObjC installs its
// bindings. It does not list frameworks without bindings, and those that PyObjC installs on every
// macOS; both are assumed to be in every release.
//
//go:embed data/frameworks.txt
var frameworkVersions string

// libraries are the names of the libraries in /usr/lib, without ".dylib".
var libraries = lazy.Value[map[string]bool]{New: func() map[string]bool {
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
}}

// frameworks maps frameworks that were added to macOS later to their first release.
var frameworks = lazy.Value[map[string]machoobj.Version]{New: func() map[string]machoobj.Version {
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
}}

// System reports whether a path is in a folder of the system's libraries. Most of these exist only
// in dyld's shared cache and not on disk.
func System(library string) bool {
	return strings.HasPrefix(library, "/usr/lib/") || strings.HasPrefix(library, "/System/Library/") ||
		strings.HasPrefix(library, "/System/iOSSupport/")
}

// Library returns since when a system library is part of macOS. Libraries of /usr/lib that are not
// listed are not Known. Every framework in /System/Library/Frameworks is Known, whatever its name,
// as are all libraries of /usr/lib/system and those of Swift; libswift_Concurrency is part of macOS
// since 12.0, and the age of the others is not known.
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
			if libraries.Get()[name] {
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
	return Availability{Known: true, Since: frameworks.Get()[name]}
}

// framework returns the name of a public framework from the path of its library, such as
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

// Aborts reports whether macOS 10.15 and later abort a process that loads the library: OpenSSL
// without a version in its name, whose ABI Apple does not keep stable. The crash report says that
// the process "is loading libcrypto in an unsafe way". Copies of OpenSSL with a version in their
// name are assumed to load.
func Aborts(library string) bool {
	return library == "/usr/lib/libcrypto.dylib" || library == "/usr/lib/libssl.dylib"
}

// Fallback returns the path in /usr/lib that dyld tries last for a library's file name, in files
// built with an SDK before macOS 14; ok reports whether such a library exists.
func Fallback(name string) (found string, ok bool) {
	found = "/usr/lib/" + path.Base(name)
	return found, Library(found).Known
}
