package macos

import (
	"slices"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/lazy"
)

// Target is the architecture and the minimum macOS of a platform tag.
type Target struct {
	Arch   string           // "x86_64", "arm64" or "i386"
	Oldest machoobj.Version // the minimum macOS
}

// groups are the architectures of a tag's suffix, as CPython names them when it builds for several
// (Lib/_osx_support.py, get_platform_osx); fat32 is from _mac_binary_formats of packaging.tags.
// PowerPC is left out. Suffixes that are not listed promise nothing that compat checks.
var groups = lazy.Value[map[string][]string]{New: func() map[string][]string {
	return map[string][]string{
		"x86_64": {"x86_64"}, "arm64": {"arm64"}, "i386": {"i386"}, "universal2": {"arm64", "x86_64"},
		"intel": {"i386", "x86_64"}, "universal": {"i386", "x86_64"}, "fat64": {"x86_64"},
		"fat32": {"i386"}, "fat": {"i386"}, "fat3": {"i386", "x86_64"},
	}
}}

// bigSur is the first macOS for arm64.
const bigSur machoobj.Version = 11 << 16

// Targets returns the targets of a tag by what follows its version and the minimum macOS that it
// names: "universal2" has two. It is nil for an unknown architecture. For arm64 the minimum is at
// least macOS 11.0.
func Targets(of string, oldest machoobj.Version) []Target {
	var out []Target
	for _, arch := range groups.Get()[of] {
		t := Target{Arch: arch, Oldest: oldest}
		if arch == "arm64" {
			t.Oldest = max(t.Oldest, bigSur)
		}
		out = append(out, t)
	}
	return out
}

// Merge returns one target for each architecture, with the oldest minimum.
func Merge(ts []Target) []Target {
	var out []Target
	for _, t := range ts {
		n := slices.IndexFunc(out, func(o Target) bool { return o.Arch == t.Arch })
		if n < 0 {
			out = append(out, t)
		} else {
			out[n].Oldest = min(out[n].Oldest, t.Oldest)
		}
	}
	slices.SortFunc(out, func(a, b Target) int {
		if a.Arch < b.Arch {
			return -1
		}
		return 1
	})
	return out
}
