package packages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// File is a file of a version, as far as it decides for which interpreters and systems the version
// can be installed.
type File struct {
	RequiresPython string        // "" = any
	Tags           []pkgmeta.Tag // of a wheel; nil for a source archive
}

// Installs reports whether a version with these files can be installed on the target: the
// Requires-Python of a file allows the interpreter, and a wheel is for it, unless there are only
// source archives. If no wheel is for the system, those for other systems decide, because their
// interpreters are those that the source supports as well; on a libc that is named, only if there
// is a source archive, as for pip. The zero Target installs everything.
func (t Target) Installs(files []File) bool {
	return t == (Target{}) || slices.ContainsFunc(t.pythons(), func(python string) bool {
		return installs(files, Target{
			Python: python, Arch: t.Arch, System: t.System, Libc: t.Libc, LibcVersion: t.LibcVersion,
		})
	})
}

func installs(files []File, on Target) bool {
	anywhere := on
	anywhere.Python = ""
	admits, admitted, wheels, source, system := false, false, false, false, false
	fits, elsewhere := false, false // is a wheel for the interpreter, and also for the system?
	for n, f := range files {
		if n == 0 || f.RequiresPython != files[n-1].RequiresPython {
			admits = AdmitsPython(f.RequiresPython, on.Python)
		}
		admitted, source = admitted || admits, source || f.Tags == nil
		for _, tag := range f.Tags {
			wheels = true
			_, here := Rate(tag, anywhere)
			_, _, python := ratePython(tag, on.Python)
			system = system || here
			fits = fits || admits && python && here
			elsewhere = elsewhere || admits && python
		}
	}
	return admitted && (!wheels || fits || (source || on.Libc == "") && !system && elsewhere)
}

// latestMinor is the minor version of the newest Python 3 that compat knows.
const latestMinor = 15

// firstFree is the minor version of the first Python 3 that has a free-threaded build.
const firstFree = 13

// pythons returns the interpreters of the target; "" is any.
func (t Target) pythons() []string {
	if t.Pythons == "" {
		return []string{t.Python}
	}
	return Interpreters(t.Pythons)
}

// Interpreters returns the versions of Python 3 that a Requires-Python allows, oldest first: "3.9",
// "3.10". If it allows none that compat knows, it returns "", which is any.
func Interpreters(requires string) []string {
	var list []string
	for m := 0; m <= latestMinor; m++ {
		python := fmt.Sprintf("3.%d", m)
		if AdmitsPython(requires, python) || AdmitsPython(requires, python+".0") {
			list = append(list, python)
		}
	}
	if list == nil {
		return []string{""}
	}
	return list
}

// KnowsPython reports whether an interpreter, "3.12", "3.12.4" or "3.13t", is one of Interpreters.
func KnowsPython(python string) bool {
	python, free := strings.CutSuffix(python, "t")
	return slices.ContainsFunc(Interpreters(""), func(known string) bool {
		_, minor, _ := strings.Cut(known, ".")
		return (python == known || strings.HasPrefix(python, known+".")) &&
			(!free || number(minor) >= firstFree)
	})
}

// AdmitsPython reports whether a Requires-Python allows an interpreter. "3.12" means its newest
// patch release, "" any interpreter. An empty or invalid Requires-Python allows all, as in pip.
func AdmitsPython(requires, python string) bool {
	if requires == "" || python == "" {
		return true
	}
	spec, err := pkgmeta.ParseSpec(requires)
	if err != nil {
		return true
	}
	if python = strings.TrimSuffix(python, "t"); strings.Count(python, ".") == 1 {
		python += ".99"
	}
	v, err := pkgmeta.ParseVersion(python)
	return err != nil || spec.Admits(v)
}

// Rank orders wheels by preference like pip on a current glibc system. It is compared element by
// element; larger is better.
type Rank [4]int

// Compare returns a positive number if r is preferred to s, and 0 if neither is preferred.
func (r Rank) Compare(s Rank) int { return slices.Compare(r[:], s[:]) }

// Rate returns the rank of a tag (PEP 425), and whether it is compatible with the target. Empty
// fields of on match every tag.
func Rate(t pkgmeta.Tag, on Target) (Rank, bool) {
	libc, version, ok := ratePlatform(t.Platform, on)
	if !ok {
		return Rank{}, false
	}
	python, abi, ok := ratePython(t, on.Python)
	return Rank{python, abi, libc, version}, ok
}

// ratePython prefers CPython's ABI over the stable ABI over none, and newer interpreters. That of
// CPython 3.7 and earlier ends in m, for pymalloc. Of
// "3.15t", which is free-threaded, the ABI is cp315t, and the stable ABI is abi3t (packaging.tags:
// for earlier versions too).
func ratePython(t pkgmeta.Tag, python string) (version, abi int, ok bool) {
	want := 0
	python, free := strings.CutSuffix(python, "t")
	if python != "" {
		major, minor, _ := strings.Cut(python, ".")
		minor, _, _ = strings.Cut(minor, ".")
		want = interpreter(major + minor)
	}
	kind, digits := t.Python, ""
	if i := strings.IndexAny(t.Python, "0123456789"); i > 0 {
		kind, digits = t.Python[:i], t.Python[i:]
	}
	have := interpreter(digits)
	if have == 0 || kind != "cp" && kind != "py" {
		return 0, 0, false
	}
	older := want == 0 || have <= want && have/1000 == want/1000
	switch {
	case kind == "cp" && free && t.ABI == t.Python+"t":
		return have, 3, have == want
	case kind == "cp" && !free && (t.ABI == t.Python || have <= 3007 && t.ABI == t.Python+"m"):
		return have, 3, want == 0 || have == want
	case kind == "cp" && !free && t.ABI == "abi3",
		kind == "cp" && (free || want == 0) && t.ABI == "abi3t":
		return have, 2, older
	case t.ABI == "none" && kind == "cp":
		return have, 1, want == 0 || have == want
	case t.ABI == "none":
		return have, 0, older
	}
	return 0, 0, false // debug and other ABIs
}

// interpreter converts "312" to 3012 and "3" to 3000; 0 for anything else.
func interpreter(digits string) int {
	if digits == "" || len(digits) > 4 {
		return 0
	}
	major := int(digits[0] - '0')
	minor := 0
	if len(digits) > 1 {
		n, err := strconv.Atoi(digits[1:])
		if err != nil {
			return 0
		}
		minor = n
	}
	return major*1000 + minor
}

// ratePlatform prefers manylinux over linux over any, and the newest manylinux or musllinux
// version that the libc of the system supports (PEP 600, PEP 656). If the libc is not given, musl
// comes last. On macOS it prefers the newest version that the system supports.
func ratePlatform(tag string, on Target) (libc, version int, ok bool) {
	t := platform.ParseTag(tag)
	switch {
	case t.System == platform.TagAny:
		return rankAny, 0, true
	case on.System == platform.Windows:
		return rankLinux, 0, t.System == platform.TagWindows && (on.Arch == "" || t.Arch == on.Arch)
	case on.System == platform.MacOS:
		for _, p := range t.MacOS() {
			if on.Arch == "" || p.Arch == on.Arch {
				return rankGlibc, t.Ordinal(),
					on.LibcVersion == "" || !platform.Older(on.LibcVersion, p.Oldest.String())
			}
		}
		return 0, 0, false
	case on.System == platform.Android:
		p := t.Android()
		return rankGlibc, t.Version[0], p != nil && (on.Arch == "" || p.Arch == on.Arch) &&
			(on.LibcVersion == "" || t.Version[0] <= number(on.LibcVersion))
	case on.System == platform.IOS:
		p := t.IOS()
		return rankGlibc, t.Ordinal(), p != nil && (on.Arch == "" || p.Arch == on.Arch) &&
			(on.LibcVersion == "" || !platform.Older(on.LibcVersion, p.LibcVersion))
	case on.System == platform.Emscripten:
		p := t.Pyodide()
		return rankGlibc, 0, p != nil && (on.LibcVersion == "" || on.LibcVersion == p.LibcVersion)
	case t.System != platform.TagLinux, on.Arch != "" && t.Arch != on.Arch:
		return 0, 0, false
	case t.WithoutLibc():
		return rankLinux, 0, true
	}
	libc, version = rankGlibc, t.Ordinal()
	if t.Libc == "musl" {
		libc = rankMusl
	}
	if on.Libc == "" {
		return libc, version, true
	}
	major, rest, _ := strings.Cut(on.LibcVersion, ".")
	have := number(major)*1000 + number(rest)
	return libc, version, on.Libc == t.Libc && (on.LibcVersion == "" || version <= have)
}

// Ranks of platform tags.
const (
	rankMusl = iota
	rankAny
	rankLinux
	rankGlibc
)

// number returns the number at the start of a text, 0 without one.
func number(s string) int {
	end := 0
	for end < len(s) && end < 9 && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
