package platform

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

// TagSystem is the system that a platform tag is for.
type TagSystem int

const (
	TagUnknown TagSystem = iota // a tag that ParseTag does not know
	TagAny                      // every system
	TagLinux
	TagMacOS
	TagWindows
	TagAndroid
	TagIOS
	TagWebAssembly
	TagFreeBSD
)

// Name returns the name of a system on which programs of users run: "macOS". It is "" for others.
func (s TagSystem) Name() string {
	switch s {
	case TagLinux:
		return "Linux"
	case TagMacOS:
		return "macOS"
	case TagWindows:
		return "Windows"
	case TagAndroid:
		return "Android"
	case TagIOS:
		return "iOS"
	case TagWebAssembly:
		return "WebAssembly"
	}
	return ""
}

// Tag is a parsed platform tag of a wheel. The zero value is that of a tag that is not known. Tags
// are comparable with ==.
type Tag struct {
	System TagSystem
	Family string // how the tag begins: "manylinux", "manylinux2014", "macosx", "win32"
	Libc   string // "glibc" or "musl" if the tag names one; else ""
	// Version is the oldest version that the tag allows: of the libc on Linux, of the system on macOS,
	// Android (the API level) and iOS, else of the build environment. It is 0 without one.
	Version [3]int
	// Arch is what follows the version: an architecture, on macOS maybe a group of them
	// ("universal2"), on iOS with its SDK ("arm64_iphoneos"), on FreeBSD after the kind of release.
	Arch string
}

// tagFamily is a family of platform tags: NAME[_NUMBER…]_ARCH, or only NAME.
type tagFamily struct {
	name    string
	system  TagSystem
	libc    string
	numbers int    // after the name
	version [3]int // of a family without numbers
	arch    string // of a family of one tag
	bare    bool   // the name is the whole tag
}

// tagFamilies are those of packaging.tags (Linux, macOS, iOS, Android, and sysconfig.get_platform
// for all others) and of PEP 425, 513, 571, 599, 600, 656, 730, 738 and 783.
var tagFamilies = []tagFamily{
	{name: "any", system: TagAny, bare: true},
	{name: "manylinux", system: TagLinux, libc: "glibc", numbers: 2},
	{name: "manylinux1", system: TagLinux, libc: "glibc", version: [3]int{2, 5}},
	{name: "manylinux2010", system: TagLinux, libc: "glibc", version: [3]int{2, 12}},
	{name: "manylinux2014", system: TagLinux, libc: "glibc", version: [3]int{2, 17}},
	{name: "musllinux", system: TagLinux, libc: "musl", numbers: 2},
	{name: "linux", system: TagLinux},
	{name: "macosx", system: TagMacOS, numbers: 2},
	{name: "win32", system: TagWindows, arch: "x86", bare: true},
	{name: "win", system: TagWindows},
	{name: "android", system: TagAndroid, numbers: 1},
	{name: "ios", system: TagIOS, numbers: 2},
	{name: "pyodide", system: TagWebAssembly, numbers: 2},
	{name: "pyemscripten", system: TagWebAssembly, numbers: 2},
	{name: "emscripten", system: TagWebAssembly, numbers: 3},
	{name: "wasi", system: TagWebAssembly, numbers: 3},
	{name: "freebsd", system: TagFreeBSD, numbers: 2},
}

// Limits of a tag, which is not trusted.
const (
	maxTag    = 100
	maxDigits = 4
)

// ParseTag parses a platform tag such as "manylinux_2_17_x86_64". The result is the zero value for
// tags of no known family, those whose numbers are missing, have leading zeros or more than 4
// digits, and those without an architecture.
func ParseTag(tag string) Tag {
	if len(tag) > maxTag {
		return Tag{}
	}
	for i := range tagFamilies {
		if t, ok := tagFamilies[i].parse(tag); ok {
			return t
		}
	}
	return Tag{}
}

func (f *tagFamily) parse(tag string) (Tag, bool) {
	rest, ok := strings.CutPrefix(tag, f.name)
	t := Tag{System: f.system, Family: f.name, Libc: f.libc, Version: f.version, Arch: f.arch}
	if !ok || f.bare {
		return t, ok && rest == ""
	}
	for i := range f.numbers {
		if t.Version[i], rest, ok = number(rest); !ok {
			return Tag{}, false
		}
	}
	t.Arch, ok = strings.CutPrefix(rest, "_")
	return t, ok && isWord(t.Arch) && (t.Arch[0] < '0' || t.Arch[0] > '9')
}

// number cuts a number from "_17_x86_64".
func number(s string) (n int, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "_")
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if !ok || digits == 0 || digits > maxDigits || digits > 1 && s[0] == '0' {
		return 0, "", false
	}
	n, err := strconv.Atoi(s[:digits])
	return n, s[digits:], err == nil
}

// isWord reports whether a text consists of letters, digits and "_".
func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// String returns the tag as ParseTag reads it; "" for an unknown one.
func (t Tag) String() string {
	f := t.family()
	if f == nil || f.bare {
		return t.Family
	}
	s := t.Family
	for _, n := range t.Version[:f.numbers] {
		s += "_" + strconv.Itoa(n)
	}
	return s + "_" + t.Arch
}

// WithoutVersion returns the tag without the version of the system, as "manylinux_x86_64", which is
// the same for manylinux2014; "" for an unknown one.
func (t Tag) WithoutVersion() string {
	switch f := t.family(); {
	case f == nil || f.bare:
		return t.Family
	case t.Libc == "glibc":
		return "manylinux_" + t.Arch
	}
	return t.Family + "_" + t.Arch
}

func (t Tag) family() *tagFamily {
	for i := range tagFamilies {
		if tagFamilies[i].name == t.Family {
			return &tagFamilies[i]
		}
	}
	return nil
}

// Release returns the version as MAJOR.MINOR: "2.17" of manylinux2014. It is "0.0" without one.
func (t Tag) Release() string { return fmt.Sprintf("%d.%d", t.Version[0], t.Version[1]) }

// Ordinal returns MAJOR.MINOR of the version as a number to compare, major*1000+minor.
func (t Tag) Ordinal() int { return t.Version[0]*1000 + t.Version[1] }

// WithoutLibc reports whether a tag is for Linux and names no libc, as builds have it before
// auditwheel repairs them: linux_x86_64.
func (t Tag) WithoutLibc() bool { return t.System == TagLinux && t.Libc == "" }

// MacOS returns the architectures of a tag for macOS that compat checks, each with the minimum
// macOS; nil for other systems. A tag such as macosx_10_9_universal2 has several.
func (t Tag) MacOS() []macos.Target {
	const maxMinor = 255 // of a machoobj.Version
	if t.System != TagMacOS || t.Version[1] > maxMinor {
		return nil
	}
	return macos.Targets(t.Arch, machoobj.Make(t.Version[0], t.Version[1]))
}

// TargetSystem returns the system of a target by its name, which is a tag or, of a macOS with a
// patch release, longer than one: macosx_10_15_4_x86_64. It is TagLinux for a distribution and for
// the folder of a system.
func TargetSystem(target string) TagSystem {
	for i := range tagFamilies {
		rest, ok := strings.CutPrefix(target, tagFamilies[i].name)
		if ok && (rest == "" || rest[0] == '_') {
			return tagFamilies[i].system
		}
	}
	return TagLinux
}

// TargetLibc returns the libc of a target by its name, "glibc" or "musl".
func TargetLibc(target string) string {
	if strings.HasPrefix(target, "alpine") || strings.HasPrefix(target, "musllinux") {
		return "musl"
	}
	return "glibc"
}
