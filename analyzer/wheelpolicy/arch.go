package wheelpolicy

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// architectures are those that wheel tags can name, by the ending of the tag; auditwheel takes
// variants for their baseline.
var architectures = map[string]string{
	"aarch64": "aarch64", "arm64_v8a": "aarch64", "armv7l": "armv7l", "i686": "i686",
	"loongarch64": "loongarch64", "ppc64": "ppc64", "ppc64le": "ppc64le",
	"riscv64": "riscv64", "s390x": "s390x", "x86_64": "x86_64", "x86_64_v2": "x86_64",
	"x86_64_v3": "x86_64", "x86_64_v4": "x86_64",
}

// archOfTags is the one architecture that the platform tags name; "" where there is none, more than
// one or a tag without (get_wheel_architecture).
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

// libcOfTags is the one libc that the platform tags name, else "" (get_wheel_libc).
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

// Of e_flags on ARM (ARM ELF ABI, IHI 0044, table 4-2).
const (
	armEABIMask  = 0xff000000
	armEABI5     = 0x05000000
	armHardFloat = 0x400
)

// archOf is an object's architecture as tags name it, "" for one that no tag names (_get_platform).
func archOf(o *elfobj.Object) string {
	a := o.Arch()
	if architectures[a] != a ||
		a == "armv7l" && (o.EFlags&armEABIMask != armEABI5 || o.EFlags&armHardFloat == 0) {
		return ""
	}
	return a
}

// isaOf is the level of x86-64 that an object says it needs: 1 the baseline, up to 4. known is
// false where it asks for something else.
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

// libcOf tells which libc an object is for, as its interpreter, its needs and at last its name say;
// "" where nothing does. It returns ErrNoLibc where they contradict each other (ldd).
func libcOf(o *elfobj.Object, path string) (string, error) {
	libc := ""
	if o.Interp != "" {
		libc = glibc
		if strings.HasPrefix(base(normal(o.Interp)), "ld-musl-") {
			libc = musl
		}
	}
	for _, n := range o.Needed {
		var says string
		switch {
		case strings.HasPrefix(n, "libc.musl-"), strings.HasPrefix(n, "ld-musl-"):
			says = musl
		case n == "libc.so.6", strings.HasPrefix(n, "ld-linux-"), strings.HasPrefix(n, "ld64.so."):
			says = glibc
		default:
			continue
		}
		if libc != "" && libc != says {
			return "", ErrNoLibc
		}
		libc = says
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
	// Before Python 3.11 the names of musl builds said gnu as well.
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
