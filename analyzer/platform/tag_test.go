package platform

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

func TestParseTag(t *testing.T) {
	linux := func(family, libc string, major, minor int, arch string) Tag {
		return Tag{TagLinux, family, libc, [3]int{major, minor}, arch}
	}
	other := func(system TagSystem, family, arch string, version ...int) Tag {
		x := Tag{System: system, Family: family, Arch: arch}
		copy(x.Version[:], version)
		return x
	}
	for tag, want := range map[string]Tag{
		"any":                     {System: TagAny, Family: "any"},
		"manylinux1_i686":         linux("manylinux1", "glibc", 2, 5, "i686"),
		"manylinux2010_x86_64":    linux("manylinux2010", "glibc", 2, 12, "x86_64"),
		"manylinux2014_ppc64le":   linux("manylinux2014", "glibc", 2, 17, "ppc64le"),
		"manylinux_2_28_aarch64":  linux("manylinux", "glibc", 2, 28, "aarch64"),
		"musllinux_1_2_armv7l":    linux("musllinux", "musl", 1, 2, "armv7l"),
		"linux_x86_64_v3":         linux("linux", "", 0, 0, "x86_64_v3"),
		"macosx_10_9_universal2":  other(TagMacOS, "macosx", "universal2", 10, 9),
		"win32":                   other(TagWindows, "win32", "x86"),
		"win_amd64":               other(TagWindows, "win", "amd64"),
		"win_arm64":               other(TagWindows, "win", "arm64"),
		"android_21_arm64_v8a":    other(TagAndroid, "android", "arm64_v8a", 21),
		"ios_13_0_arm64_iphoneos": other(TagIOS, "ios", "arm64_iphoneos", 13, 0),
		"ios_13_0_x86_64_iphonesimulator": other(
			TagIOS, "ios", "x86_64_iphonesimulator", 13, 0),
		"pyodide_2025_0_wasm32":      other(TagWebAssembly, "pyodide", "wasm32", 2025, 0),
		"pyemscripten_2026_0_wasm32": other(TagWebAssembly, "pyemscripten", "wasm32", 2026, 0),
		"emscripten_4_0_9_wasm32":    other(TagWebAssembly, "emscripten", "wasm32", 4, 0, 9),
		"wasi_0_0_0_wasm32":          other(TagWebAssembly, "wasi", "wasm32"),
		"freebsd_14_2_release_amd64": other(TagFreeBSD, "freebsd", "release_amd64", 14, 2),
		// Unknown tags are not taken for similar ones.
		"": {}, "manylinux": {}, "manylinux_2_x86_64": {}, "manylinux_2_17": {},
		"manylinux_02_17_x86_64": {}, "manylinux_2_12345_x86_64": {}, "manylinux2024_x86_64": {},
		"linux": {}, "linux_": {}, "linuxfd_x86_64": {}, "win": {}, "win32_x86": {}, "window": {},
		"macosx_11_arm64": {}, "anything": {}, "openbsd_7_6_amd64": {}, "win_amd64 (1)": {},
		"macosx_10_15_4_x86_64": {}, "solaris_2_11_x86_64": {},
	} {
		got := ParseTag(tag)
		if got != want {
			t.Errorf("%s: %+v, want %+v", tag, got, want)
		}
		if want != (Tag{}) && got.String() != tag {
			t.Errorf("%s: String returns %s", tag, got)
		}
	}
}

func TestTagMacOS(t *testing.T) {
	v := machoobj.Make
	for tag, want := range map[string][]macos.Target{
		"macosx_14_0_arm64": {{Arch: "arm64", Oldest: v(14, 0)}},
		"macosx_10_9_universal2": {{Arch: "arm64", Oldest: v(11, 0)},
			{Arch: "x86_64", Oldest: v(10, 9)}},
		"macosx_10_6_intel":     {{Arch: "i386", Oldest: v(10, 6)}, {Arch: "x86_64", Oldest: v(10, 6)}},
		"macosx_10_9_ppc":       nil,
		"macosx_10_256_x86_64":  nil,
		"macosx_11_0":           nil,
		"macosx_11_0_riscv64":   nil,
		"manylinux_2_17_x86_64": nil,
		"win_arm64":             nil,
	} {
		if got := ParseTag(tag).MacOS(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tag, got, want)
		}
	}
}

func TestTargetSystem(t *testing.T) {
	for name, want := range map[string]TagSystem{
		"macosx_10_15_4_x86_64": TagMacOS, "macosx_11_0_arm64": TagMacOS, "win32": TagWindows,
		"win_amd64": TagWindows, "debian11/aarch64": TagLinux, "musllinux_1_2_x86_64": TagLinux,
		"/srv/root": TagLinux, "windows/root": TagLinux,
	} {
		if got := TargetSystem(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A known tag is written as it was read, and nothing else has its value.
func FuzzParseTag(f *testing.F) {
	for _, tag := range []string{"manylinux_2_17_x86_64", "manylinux2014_aarch64", "win32", "any",
		"macosx_10_9_universal2", "android_21_arm64_v8a", "emscripten_4_0_9_wasm32", "linux_"} {
		f.Add(tag)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tag := ParseTag(s)
		switch {
		case tag.System == TagUnknown:
			if tag != (Tag{}) {
				t.Errorf("%q is unknown, but has fields: %+v", s, tag)
			}
		case tag.String() != s:
			t.Errorf("%q is written as %q", s, tag)
		case len(s) > maxTag:
			t.Errorf("%q is longer than %d bytes", s, maxTag)
		}
	})
}
