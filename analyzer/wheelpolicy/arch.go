package wheelpolicy

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// architectures maps the suffixes of platform tags to architectures; auditwheel treats the x86_64
// variants as x86_64.
var architectures = map[string]string{
	"aarch64": "aarch64", "arm64_v8a": "aarch64", "armv7l": "armv7l", "i686": "i686",
	"loongarch64": "loongarch64", "ppc64": "ppc64", "ppc64le": "ppc64le",
	"riscv64": "riscv64", "s390x": "s390x", "x86_64": "x86_64", "x86_64_v2": "x86_64",
	"x86_64_v3": "x86_64", "x86_64_v4": "x86_64",
}

// archOfTags returns the only architecture in the platform tags; "" if there are none or several,
// or a tag without an architecture (auditwheel: get_wheel_architecture).
func archOfTags(platforms []string) string {
	var found []string
	for _, p := range platforms {
		named := false
		for ending, arch := range architectures {
			if strings.HasSuffix(p, "_"+ending) {
				named = true
				if !slices.Contains(found, arch) {
					found = append(found, arch)
				}
			}
		}
		if !named {
			return ""
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// libcOfTags returns the only libc in the platform tags, otherwise "" (get_wheel_libc).
func libcOfTags(platforms []string) string {
	var found []string
	for _, p := range platforms {
		for prefix, libc := range map[string]string{"manylinux": glibc, "musllinux": musl,
			"android": android} {
			if strings.HasPrefix(p, prefix) && !slices.Contains(found, libc) {
				found = append(found, libc)
			}
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// Bits of e_flags on ARM (ELF for the Arm Architecture, IHI 0044, table 4-2).
const (
	armEABIMask  = 0xff000000
	armEABI5     = 0x05000000
	armHardFloat = 0x400
)

// archOf returns an object's architecture as in tags, "" if no tag exists for it (_get_platform).
func archOf(o *elfobj.Object) string {
	a := o.Arch()
	if architectures[a] != a ||
		a == "armv7l" && (o.EFlags&armEABIMask != armEABI5 || o.EFlags&armHardFloat == 0) {
		return ""
	}
	return a
}

// isaOf returns the x86-64 level that an object requires, 1 (baseline) to 4. known is false if it
// requires other features.
func isaOf(o *elfobj.Object) (level int, known bool) {
	if o.Arch() != "x86_64" {
		return 1, true
	}
	switch bits := o.ISA &^ 1; {
	case bits&8 != 0:
		return 4, true
	case bits&4 != 0:
		return 3, true
	case bits&2 != 0:
		return 2, true
	default:
		return 1, bits == 0
	}
}

// libcOf returns the libc that an object is for, from its interpreter, its DT_NEEDED entries and
// finally its file name; "" if none of them decides it. It returns ErrNoLibc if they contradict
// each other (auditwheel: ldd).
func libcOf(o *elfobj.Object, path string) (string, error) {
	libc := ""
	if o.Interp != "" {
		libc = glibc
		if strings.HasPrefix(base(normal(o.Interp)), "ld-musl-") {
			libc = musl
		}
	}
	for _, n := range o.Needed {
		var of string
		switch {
		case strings.HasPrefix(n, "libc.musl-"), strings.HasPrefix(n, "ld-musl-"):
			of = musl
		case n == "libc.so.6", strings.HasPrefix(n, "ld-linux-"), strings.HasPrefix(n, "ld64.so."):
			of = glibc
		default:
			continue
		}
		if libc != "" && libc != of {
			return "", ErrNoLibc
		}
		libc = of
	}
	if libc != "" {
		return libc, nil
	}
	return libcOfName(base(path)), nil
}

func libcOfName(name string) string {
	switch {
	case strings.HasSuffix(name, "-arm-linux-musleabihf.so"),
		strings.HasSuffix(name, "-linux-musl.so"):
		return musl
	case !strings.HasSuffix(name, "-arm-linux-gnueabihf.so") && !strings.HasSuffix(name,
		"-linux-gnu.so"):
		return ""
	}
	// Before Python 3.11, the file names of musl builds contained "gnu" too.
	stem := strings.TrimSuffix(name, ".so")
	parts := strings.Split(stem[strings.LastIndexByte(stem, '.')+1:], "-")
	if v := parts[1]; parts[0] == "cpython" && len(v) >= 3 && v[0] == '3' && '1' <= v[1] &&
		v[1] <= '9' &&
		'0' <= v[2] &&
		v[2] <= '9' &&
		v[:3] != "310" {
		return glibc
	}
	return ""
}
