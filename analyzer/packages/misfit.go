package packages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// Misfit is the one property of a target for which wheels have no compatible tag.
type Misfit struct {
	// of the target: "Python 3.13", "glibc 2.17" or "macOS 11.0", "musl", "aarch64", "Linux"
	Lacks string
	Have  []string // what the wheels are for instead, the oldest first: "Python 3.11", "Python 3.12"
	// Python is the interpreter next to that of the target for which there is a wheel: "3.12". It is
	// "" if the interpreter fits, or if there is none that compat knows.
	Python string
}

// properties of a target that a tag can miss; the first is the easiest to change
const (
	missPython = iota
	missLibcVersion
	missLibc
	missArch
	missSystem
	missAll // more than one
)

// MisfitOf returns what is wrong with the tags of wheels, none of which is compatible with the
// target: the property that the closest wheels miss, and no other. ok is false if each misses
// several.
func MisfitOf(tags []pkgmeta.Tag, on Target) (m Misfit, ok bool) {
	least := missAll
	var closest []pkgmeta.Tag
	for _, t := range tags {
		misses := missing(t, on)
		if misses < least {
			least, closest = misses, nil
		}
		if misses == least {
			closest = append(closest, t)
		}
	}
	if least == missAll {
		return Misfit{}, false
	}
	python := on.Interpreter()
	if plain, free := strings.CutSuffix(on.Python, "t"); free {
		python = "free-threaded Python " + plain
	}
	system := tagSystem(on).Name()
	m.Lacks = []string{
		python, cmp.Or(on.Libc, system) + " " + on.LibcVersion, on.Libc, on.Arch, system,
	}[least]
	order := map[string]int{}
	for _, t := range closest {
		name, rank := propertyOf(t, least)
		order[name] = rank
		m.Have = append(m.Have, name)
	}
	slices.SortFunc(m.Have, func(a, b string) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), strings.Compare(a, b))
	})
	m.Have = slices.Compact(m.Have)
	if least == missPython {
		m.Python = nextPython(closest, on.Python)
	}
	return m, true
}

// missing returns the property of the target that a tag misses; missAll if it misses several.
func missing(t pkgmeta.Tag, on Target) int {
	_, _, python := ratePython(t, on.Python)
	runs := func(on Target) bool {
		_, _, ok := ratePlatform(t.Platform, on)
		return ok
	}
	switch {
	case runs(on):
		return missPython
	case !python:
		return missAll
	case runs(Target{Arch: on.Arch, System: on.System, Libc: on.Libc}):
		return missLibcVersion
	case runs(Target{Arch: on.Arch, System: on.System}):
		return missLibc
	case runs(Target{System: on.System, Libc: on.Libc, LibcVersion: on.LibcVersion}):
		return missArch
	case platform.ParseTag(t.Platform).System != tagSystem(on):
		return missSystem
	}
	return missAll
}

// tagSystem returns the system of the tags that are for a target.
func tagSystem(on Target) platform.TagSystem {
	switch on.System {
	case platform.MacOS:
		return platform.TagMacOS
	case platform.Windows:
		return platform.TagWindows
	case platform.Android:
		return platform.TagAndroid
	case platform.IOS:
		return platform.TagIOS
	case platform.Emscripten:
		return platform.TagWebAssembly
	}
	return platform.TagLinux
}

// propertyOf returns what a tag has as one of the properties, and a number to sort by.
func propertyOf(t pkgmeta.Tag, property int) (name string, rank int) {
	tag := platform.ParseTag(t.Platform)
	switch property {
	case missPython:
		return pythonOf(t)
	case missLibcVersion:
		return cmp.Or(tag.Libc, tag.System.Name()) + " " + tag.Release(), tag.Ordinal()
	case missLibc:
		return tag.Libc, 0
	case missArch:
		return tag.Arch, 0
	}
	if name = tag.System.Name(); name != "" {
		return name, 0
	}
	return "other systems", 1
}

// pythonOf returns the interpreters of a tag: "Python 3.12", "Python 3.9 and later",
// "free-threaded Python 3.13".
func pythonOf(t pkgmeta.Tag) (name string, rank int) {
	i := strings.IndexAny(t.Python, "0123456789")
	if i < 0 {
		return t.Python, 0
	}
	kind, digits := t.Python[:i], t.Python[i:]
	rank = interpreter(digits)
	version := digits[:1]
	if len(digits) > 1 {
		version += "." + digits[1:]
	}
	switch {
	case kind == "pp":
		return "PyPy " + version, rank
	case kind == "cp" && t.ABI == t.Python+"t":
		return "free-threaded Python " + version, rank
	case kind == "cp" && t.ABI == "abi3t":
		return "free-threaded Python " + version + " and later", rank
	case t.ABI == "abi3" || kind == "py" && len(digits) > 1:
		return "Python " + version + " and later", rank
	}
	return "Python " + version, rank
}

// nextPython returns the newest interpreter up to another one with a compatible tag, else the
// oldest above it; "" if there is none.
func nextPython(tags []pkgmeta.Tag, python string) string {
	older := ""
	_, minor, _ := strings.Cut(python, ".") // number ignores what follows the digits
	for _, p := range Interpreters("") {
		if !slices.ContainsFunc(tags, func(t pkgmeta.Tag) bool {
			_, _, ok := ratePython(t, p)
			return ok
		}) {
			continue
		}
		if _, m, _ := strings.Cut(p, "."); number(m) <= number(minor) {
			older = p
		} else if older == "" {
			return p
		}
	}
	return older
}
