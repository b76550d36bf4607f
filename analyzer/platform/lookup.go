package platform

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// ErrUnknown is wrapped by the errors of Lookup: there is no such platform, or not on that
// architecture.
var ErrUnknown = errors.New("unknown platform")

// builtin returns the platforms of an architecture. They are created on first use, so that the
// tables of other architectures are not decoded.
func builtin(arch string) []*Platform {
	get, ok := platforms()[arch]
	if !ok {
		return nil
	}
	return get()
}

// platforms has a function for each architecture that a policy names.
var platforms = sync.OnceValue(func() map[string]func() []*Platform {
	byArch := map[string]func() []*Platform{}
	for _, arch := range table.PolicyArchitectures(policyList) {
		byArch[arch] = sync.OnceValue(func() []*Platform { return platformsOn(arch) })
	}
	return byArch
})

func platformsOn(arch string) (list []*Platform) {
	for _, known := range must(table.DecodePolicies(policyList, arch)) {
		q := (*policy)(known)
		tag := ParseTag(q.Name + "_" + arch)
		p := &Platform{
			Name:        tag.String(),
			Arch:        arch,
			Libc:        tag.Libc,
			LibcVersion: tag.Release(),
			Kind:        Policy,
			policy:      q,
			cut:         q,
		}
		for _, a := range q.Aliases {
			p.Aliases = append(p.Aliases, a+"_"+arch)
		}
		list = append(list, p)
	}
	for _, d := range distributions() {
		if p := d.on(arch); p != nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, order)
	return list
}

// All lists the built-in platforms of an architecture by libc version (glibc before musl), policies
// before distributions. It is empty for an unknown architecture.
func All(arch string) []*Platform { return slices.Clone(builtin(Arch(arch))) }

// Architectures lists the architectures that have platforms, sorted.
func Architectures() []string {
	return slices.Sorted(maps.Keys(platforms()))
}

// Names lists the names that Lookup accepts on an architecture, in the order of All; aliases follow
// their platform.
func Names(arch string) []string {
	var list []string
	for _, p := range builtin(Arch(arch)) {
		list = append(append(list, p.Name), p.Aliases...)
	}
	return list
}

// Arch returns the name of an architecture in platform tags: "amd64" is "x86_64", "arm64"
// "aarch64", "i386" "i686", "armhf" "armv7l", "ppc64el" "ppc64le". Other names are returned
// unchanged.
func Arch(name string) string {
	switch name {
	case "amd64", "x86-64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	case "i386", "x86":
		return "i686"
	case "armhf", "armv7":
		return "armv7l"
	case "ppc64el":
		return "ppc64le"
	}
	return name
}

// spellings replaces other spellings of distributions: image names with a colon, and short names.
var spellings = strings.NewReplacer(
	"debian:",
	"debian",
	"ubuntu:",
	"ubuntu",
	"alpine:",
	"alpine",
	"amazonlinux:",
	"amazonlinux",
	"almalinux:",
	"almalinux",
	"rockylinux:",
	"rockylinux",
	"alma:",
	"almalinux",
	"almalinux",
	"almalinux",
	"alma",
	"almalinux",
	"rockylinux",
	"rockylinux",
	"rocky",
	"rockylinux",
)

// Lookup returns the platform with a name. It accepts
//
//   - platform tags with or without the architecture, and their PEP 513, 571 and 599 aliases:
//     manylinux_2_28_aarch64, manylinux_2_28, manylinux1, manylinux2010_x86_64, musllinux_1_2
//   - PEP 600 tags between and above the policies: manylinux_2_29 is manylinux_2_28 with glibc 2.29
//   - distributions: debian11, debian:11, bullseye, ubuntu22.04, rhel9, alma9, alpine3.20,
//     optionally with an architecture: debian11/aarch64
//   - platform tags of macOS, Windows, Android, iOS and Pyodide: macosx_11_0_arm64, win_amd64,
//     android_24_arm64_v8a, ios_13_0_arm64_iphoneos, pyemscripten_2026_0_wasm32,
//     pyodide_2025_0_wasm32
//
// An architecture in the name takes precedence over arch. The error wraps ErrUnknown and names the
// most similar platforms.
func Lookup(name, arch string) (*Platform, error) {
	if p := macOS(name, arch); p != nil {
		return p, nil
	}
	base, own := name, ""
	if b, _, _ := strings.Cut(name, "/"); windowsTag(b) != nil {
		return windowsTag(b), nil
	} else if p := ParseTag(b).Android(); p != nil {
		return p, nil
	} else if p := ParseTag(b).IOS(); p != nil {
		return p, nil
	} else if p := ParseTag(b).Pyodide(); p != nil {
		return p, nil
	}
	if b, a, ok := strings.Cut(name, "/"); ok {
		base, own = b, a
	} else {
		for _, a := range Architectures() {
			if b, ok := strings.CutSuffix(name, "_"+a); ok && !strings.HasSuffix(b, "_x86") {
				base, own = b, a
				break
			}
		}
	}
	arch = Arch(cmp.Or(own, arch))
	if arch == "" {
		return nil, unknown(
			"platform %q: on which architecture? write %s/x86_64 or %[2]s/aarch64",
			name,
			base,
		)
	}
	base = spellings.Replace(base)
	all := builtin(arch)
	if len(all) == 0 {
		return nil, unknown(
			"platform %q: no platform is known on architecture %q, only on %s",
			name,
			arch,
			strings.Join(Architectures(), ", "),
		)
	}
	if p := byName(base, arch, all); p != nil {
		return p, nil
	}
	if p := derivedTag(base, arch, all); p != nil {
		return p, nil
	}
	if base == "linux" || base == "any" {
		return nil, unknown(
			"platform %q promises no library at all: name the system it is meant for, such as "+
				"manylinux_2_28 or debian12",
			name,
		)
	}
	if on := slices.DeleteFunc(Architectures(), func(a string) bool {
		return byName(base, a, builtin(a)) == nil
	}); len(on) > 0 {
		return nil, unknown(
			"platform %q is known on %s only; for %s there is none, or its packages could not be had. "+
				"Known there are %s",
			name,
			strings.Join(on, ", "),
			arch,
			summary(all),
		)
	}
	hint := Suggest(base, arch)
	if hint == noneNear {
		hint += ". Known there are " + summary(all)
	}
	return nil, unknown("platform %q is not known on %s; %s", name, arch, hint)
}

// unknownError is an error of Lookup, which its text need not repeat.
type unknownError string

func (e unknownError) Error() string { return string(e) }

func (e unknownError) Unwrap() error { return ErrUnknown }

func unknown(format string, values ...any) error {
	return unknownError(fmt.Sprintf(format, values...))
}

// Named returns the platform with a name: that of a tag on the architecture that it names, others
// on the given one. The error is that of Lookup.
func Named(name, arch string) (*Platform, error) {
	if p, err := Lookup(name, ""); err == nil {
		return p, nil
	}
	return Lookup(name, arch)
}

// SystemOf returns the system of a platform by the form of its name, which Lookup may still not
// know: Windows, MacOS, Android, IOS or Emscripten for names such as win_amd64, macos14,
// android_24_arm64_v8a, ios_13_0_arm64_iphoneos and pyodide_2025_0_wasm32, otherwise Linux.
func SystemOf(name string) string {
	base, _, _ := strings.Cut(name, "/")
	switch {
	case windowsTag(base) != nil:
		return Windows
	case ParseTag(base).MacOS() != nil, shortMacOS(base) != 0:
		return MacOS
	case ParseTag(base).System == TagAndroid:
		return Android
	case ParseTag(base).System == TagIOS:
		return IOS
	case ParseTag(base).System == TagWebAssembly:
		return Emscripten
	}
	return Linux
}

// byName returns the platform with a name or alias, or nil.
func byName(name, arch string, among []*Platform) *Platform {
	for _, p := range among {
		for _, n := range append([]string{p.Name}, p.Aliases...) {
			if n == name || n == name+"_"+arch {
				return p
			}
		}
	}
	return nil
}

// OldestTag returns the policy of the oldest of a wheel's platform tags with a C library: the
// oldest system that the wheel promises to work on (PEP 600). It is nil without such a tag.
func OldestTag(tags []string, arch, libc string) (oldest *Platform) {
	for _, tag := range tags {
		p, err := Lookup(tag, arch)
		if err == nil && p.Kind == Policy && p.Libc == libc &&
			(oldest == nil || Older(p.LibcVersion, oldest.LibcVersion)) {
			oldest = p
		}
	}
	return oldest
}

// oldestSupported is the glibc version of the oldest platform that is still supported: CentOS
// 7, which is manylinux2014.
const oldestSupported = "2.17"

// Extinct reports whether a platform is older than every supported system (manylinux1 and
// manylinux2010). Errors that occur only there are warnings if the platform is from a tag.
// Artifacts without a tag are not checked on such platforms unless the user specifies them.
func (p *Platform) Extinct() bool {
	return p.Libc == "glibc" && Older(p.LibcVersion, oldestSupported)
}

// Older reports whether a release of a libc or of CPython ("2.17", "3.9") is older than another
// one. It is false if one of them cannot be parsed.
func Older(a, b string) bool {
	x, errX := ordinal(a)
	y, errY := ordinal(b)
	return errX == nil && errY == nil && x < y
}

func ordinal(s string) (int, error) {
	before, after, _ := strings.Cut(s, ".")
	after, _, _ = strings.Cut(after, ".")
	major, err := strconv.Atoi(before)
	if err != nil {
		return 0, err
	}
	minor, err := strconv.Atoi(after)
	return major*1000 + minor, err
}
