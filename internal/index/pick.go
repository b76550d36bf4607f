package index

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// rank orders wheels as pip does on a current glibc system: the larger, element by element, the
// better.
type rank [5]int

// pick chooses the wheel for on. fits is false where none is for it and the one given stands in for
// its requirements; nil: no wheel at all.
func pick(files []file, on packages.On) (best *file, fits bool) {
	var top rank
	for n := range files {
		f := &files[n]
		for _, tag := range f.tags {
			r, ok := rate(tag, on)
			if !ok {
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

// rate tells whether a tag fits and how well: the interpreter, then the platform.
func rate(t pkgmeta.Tag, on packages.On) (rank, bool) {
	libc, version, ok := ratePlatform(t.Platform, on.Arch)
	if !ok {
		return rank{}, false
	}
	python, abi, ok := ratePython(t, on.Python)
	return rank{python, abi, libc, version}, ok
}

// ratePython: CPython's own ABI before the stable one before none; the newer interpreter before the
// older.
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

// interpreter turns "312" into 3012 and "3" into 3000; 0 for anything else.
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

// ratePlatform: glibc before plain linux before any before musl; of several glibc the newest, as
// pip on a current system.
func ratePlatform(platform, arch string) (libc, version int, ok bool) {
	if platform == "any" {
		return 1, 0, true
	}
	fits := func(rest string) bool { return arch == "" && rest != "" || rest == arch }
	if rest, ok := strings.CutPrefix(platform, "linux_"); ok {
		return 2, 0, fits(rest)
	}
	for old, version := range map[string]int{"manylinux1_": 2005, "manylinux2010_": 2012, "manylinux2014_": 2017} {
		if rest, ok := strings.CutPrefix(platform, old); ok {
			return 3, version, fits(rest)
		}
	}
	for family, libc := range map[string]int{"manylinux_": 3, "musllinux_": 0} {
		if rest, ok := strings.CutPrefix(platform, family); ok {
			parts := strings.SplitN(rest, "_", 3)
			if len(parts) < 3 {
				return 0, 0, false
			}
			return libc, leadingNumber(parts[0])*1000 + leadingNumber(parts[1]), fits(parts[2])
		}
	}
	return 0, 0, false
}

func leadingNumber(s string) int {
	end := 0
	for end < len(s) && end < 9 && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
