package macos

import (
	"slices"
	"strconv"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Target is the architecture and the minimum macOS of a platform tag.
type Target struct {
	Arch   string           // "x86_64", "arm64" or "i386"
	Oldest machoobj.Version // the minimum macOS
}

var tagForm = lazyregexp.New(`^macosx_(\d+)_(\d+)_(\w+)$`)

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

// Targets returns the targets of a tag such as macosx_10_9_universal2; nil for an invalid tag or
// one of another system. For arm64 the minimum is at least macOS 11.0.
func Targets(tag string) []Target {
	m := tagForm.FindStringSubmatch(tag)
	if m == nil {
		return nil
	}
	major, err := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	if err != nil || err2 != nil || major > 1<<15 || minor > 255 {
		return nil
	}
	var out []Target
	for _, arch := range groups.Get()[m[3]] {
		t := Target{Arch: arch, Oldest: machoobj.Make(major, minor)}
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
