package platform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/edits"
)

// Validate returns nil if Lookup knows a name on some architecture, otherwise the error of Lookup.
func Validate(name string) error {
	var first error
	for _, arch := range append([]string{"x86_64", "arm64"}, Architectures()...) {
		_, err := Lookup(name, arch)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// Suggest says what to write instead of a name that is not known on arch, beginning in lower case:
// "did you mean debian12?".
func Suggest(name, arch string) string {
	name = strings.ToLower(name[:min(len(name), maxCompared)])
	if strings.HasPrefix(name, "win") {
		return "write win_amd64, win_arm64 or win32"
	}
	for _, of := range []string{"mac", "osx", "darwin", "apple"} {
		if strings.HasPrefix(name, of) {
			return "write a version, such as macos14, or the platform tag, such as macosx_11_0_arm64"
		}
	}
	if strings.HasPrefix(name, "android") {
		return "write a platform tag with the API level, such as android_24_arm64_v8a"
	}
	if strings.HasPrefix(name, "ios") || strings.HasPrefix(name, "iphone") {
		return "write a platform tag with the SDK, such as ios_13_0_arm64_iphoneos"
	}
	if strings.HasPrefix(name, "py") || strings.HasPrefix(name, "emscripten") {
		return "write a platform tag of Pyodide, such as pyemscripten_2026_0_wasm32"
	}
	list := Names(arch)
	for i, n := range list {
		list[i] = strings.TrimSuffix(n, "_"+arch)
	}
	series := strings.TrimRight(name, "0123456789._") // debian of debian7
	for _, start := range []string{name, series} {
		var begin []string
		for _, n := range list {
			if start != "" && strings.HasPrefix(n, start) {
				begin = append(begin, n)
			}
		}
		switch n := len(begin); {
		case n == 1:
			return "did you mean " + begin[0] + "?"
		case n > 1 && n <= maxSuggested:
			return "write " + strings.Join(begin[:n-1], ", ") + " or " + begin[n-1]
		}
	}
	best := slices.MinFunc(list, func(a, b string) int {
		return cmp.Compare(distance(name, a), distance(name, b))
	})
	if distance(name, best) < 2*(len(name)/3+2) {
		return "did you mean " + best + "?"
	}
	return noneNear
}

// maxCompared limits the bytes of a name that Suggest compares, which bounds the cost.
const maxCompared = 64

// noneNear is what Suggest says if no name is similar.
const noneNear = "give a platform tag or a distribution, such as manylinux_2_28 or debian12"

// maxSuggested limits the releases of a distribution that Suggest lists.
const maxSuggested = 12

// summary lists the platforms in short form: "manylinux_2_5 to manylinux_2_41, …, debian11,
// debian12".
func summary(all []*Platform) string {
	var tags, rest []string
	for _, p := range all {
		switch name := strings.TrimSuffix(p.Name, "_"+p.Arch); {
		case p.Kind == Policy && p.Libc == "glibc":
			tags = append(tags, name)
		default:
			rest = append(rest, name)
		}
	}
	if len(tags) > 1 {
		tags = []string{tags[0] + " to " + tags[len(tags)-1]}
	}
	return strings.Join(append(tags, rest...), ", ")
}

// distance returns how different two names are. Two neighbors that changed places count half a
// change, because that is the likelier typing error.
func distance(a, b string) int { return edits.Distance(a, b, 2, 1) }
