package index

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// rank orders wheels by preference like pip on a current glibc system. It is compared element by
// element; larger is better.
type rank [5]int

// pick chooses a wheel. fits is false if no wheel is compatible; then best is any wheel, whose
// requirements are used. best is nil if there is no wheel.
func pick(files []file, on packages.Target) (best *file, fits bool) {
	var top rank
	for n := range files {
		f := &files[n]
		takes := f.supports(on.Python)
		for _, tag := range f.tags {
			r, ok := rate(tag, on)
			if !ok || !takes {
				if best == nil {
					best = f
				}
				continue
			}
			r[4] = leadingNumber(f.build)
			if !fits || r.compare(top) > 0 {
				best, top, fits = f, r, true
			}
		}
	}
	return best, fits
}

func (r rank) compare(s rank) int {
	for i := range r {
		if c := cmp.Compare(r[i], s[i]); c != 0 {
			return c
		}
	}
	return 0
}

// supports reports whether Requires-Python allows an interpreter. "3.12" means its newest patch
// release. An invalid Requires-Python allows all, as in pip.
func (f *file) supports(python string) bool {
	if f.requiresPython == "" || python == "" {
		return true
	}
	spec, err := pkgmeta.ParseSpec(f.requiresPython)
	if err != nil {
		return true
	}
	if strings.Count(python, ".") == 1 {
		python += ".99"
	}
	v, err := pkgmeta.ParseVersion(python)
	return err != nil || spec.Admits(v)
}

// rate returns the rank of a tag, and whether it is compatible.
func rate(t pkgmeta.Tag, on packages.Target) (rank, bool) {
	libc, version, ok := ratePlatform(t.Platform, on)
	if !ok {
		return rank{}, false
	}
	python, abi, ok := ratePython(t, on.Python)
	return rank{python, abi, libc, version}, ok
}

// ratePython prefers CPython's ABI over the stable ABI over none, and newer interpreters.
func ratePython(t pkgmeta.Tag, python string) (version, abi int, ok bool) {
	want := 0
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
	case kind == "cp" && t.ABI == t.Python:
		return have, 3, want == 0 || have == want
	case kind == "cp" && t.ABI == "abi3":
		return have, 2, older
	case t.ABI == "none" && kind == "cp":
		return have, 1, want == 0 || have == want
	case t.ABI == "none":
		return have, 0, older
	}
	return 0, 0, false // free-threaded, debug and other ABIs
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
// comes last.
func ratePlatform(platform string, on packages.Target) (libc, version int, ok bool) {
	libc, version, arch := platformOf(platform)
	if arch == "" || arch != on.Arch && on.Arch != "" && libc != rankAny {
		return 0, 0, false
	}
	if on.Libc == "" || libc != rankGlibc && libc != rankMusl {
		return libc, version, true
	}
	major, rest, _ := strings.Cut(on.LibcVersion, ".")
	have := leadingNumber(major)*1000 + leadingNumber(rest)
	fits := (on.Libc == "musl") == (libc == rankMusl) && (on.LibcVersion == "" || version <= have)
	return libc, version, fits
}

// Ranks of platform tags.
const (
	rankMusl = iota
	rankAny
	rankLinux
	rankGlibc
)

// platformOf parses a platform tag into its kind, the version of its libc as major*1000+minor,
// and the architecture: "any" for the tag any, "" for tags of other systems.
func platformOf(platform string) (libc, version int, arch string) {
	if platform == "any" {
		return rankAny, 0, "any"
	}
	if rest, ok := strings.CutPrefix(platform, "linux_"); ok {
		return rankLinux, 0, rest
	}
	for old, version := range map[string]int{"manylinux1_": 2005, "manylinux2010_": 2012,
		"manylinux2014_": 2017} {
		if rest, ok := strings.CutPrefix(platform, old); ok {
			return rankGlibc, version, rest
		}
	}
	for family, libc := range map[string]int{"manylinux_": rankGlibc, "musllinux_": rankMusl} {
		if rest, ok := strings.CutPrefix(platform, family); ok {
			parts := strings.SplitN(rest, "_", 3)
			if len(parts) < 3 {
				return 0, 0, ""
			}
			return libc, leadingNumber(parts[0])*1000 + leadingNumber(parts[1]), parts[2]
		}
	}
	return 0, 0, ""
}

func leadingNumber(s string) int {
	end := 0
	for end < len(s) && end < 9 && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
