package macos

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/machoobj"
)

const (
	libSystem = "/usr/lib/libSystem.B.dylib"
	libcxx    = "/usr/lib/libc++.1.dylib"
)

func TestSymbols(t *testing.T) {
	for _, c := range []struct {
		library, name, arch string
		known               bool
		since               machoobj.Version
	}{
		{libSystem, "_clock_gettime", "x86_64", true, machoobj.Make(10, 12)},
		{libSystem, "_freadlink", "arm64", true, machoobj.Make(13, 0)},
		{libSystem, "_backtrace_async", "arm64", true, machoobj.Make(12, 0)},
		{libSystem, "_malloc_type_malloc", "arm64", true, machoobj.Make(14, 0)},
		{"/usr/lib/system/libsystem_c.dylib", "_preadv", "x86_64", true, machoobj.Make(11, 0)},
		{libSystem, "_malloc", "arm64", true, 0},
		{libSystem, "__tlv_bootstrap", "x86_64", true, 0}, // its annotation is newer than the symbol
		{libSystem, "_opendir$INODE64", "x86_64", true, 0},
		{libSystem, "_opendir$INODE64", "arm64", false, 0},
		{libSystem, "_nobody_has_this", "arm64", false, 0},
		{libcxx, "__ZnwmSt11align_val_t", "x86_64", true, machoobj.Make(10, 13)},
		{libcxx, "__ZdlPvSt11align_val_t", "x86_64", true, machoobj.Make(10, 13)},
		{libcxx, "__ZnwmSt11align_val_tRKSt9nothrow_t", "x86_64", true, machoobj.Make(10, 13)},
		{libcxx, "__Znwm", "x86_64", false, 0},
		{libcxx, "__ZNSt3__18to_charsEPcS0_d", "x86_64", true, machoobj.Make(13, 3)},
		{libcxx, "__ZNSt3__13pmr20get_default_resourceEv", "arm64", true, machoobj.Make(14, 0)},
		{libcxx, "__ZNKSt3__115basic_stringbufIcNS_11char_traitsIcEENS_9allocatorIcEEE3strEv",
			"arm64", true, machoobj.Make(12, 0)},
		{"/System/Library/Frameworks/Accelerate.framework/Versions/A/Accelerate",
			"_dgesv$NEWLAPACK$ILP64", "arm64", true, machoobj.Make(13, 3)},
		{"/usr/lib/libz.1.dylib", "_inflate", "arm64", false, 0},
	} {
		a := Symbol(c.library, c.name, c.arch)
		if a.Known != c.known || a.Since != c.since {
			t.Errorf("%s of %s on %s is %+v, want %v since %v", c.name, c.library, c.arch, a,
				c.known, c.since)
		}
	}
}

// Symbols of libSystem are listed for arm64 and x86_64 only: nothing can be said about i386.
func TestSystemListed(t *testing.T) {
	for arch, want := range map[string]bool{"arm64": true, "x86_64": true, "i386": false} {
		if got := SystemListed(libSystem, arch); got != want {
			t.Errorf("%s: %v, want %v", arch, got, want)
		}
	}
}

func TestLibraries(t *testing.T) {
	for library, want := range map[string]bool{
		"/usr/lib/libz.1.dylib": true, "/usr/lib/libz.dylib": true, "/usr/lib/libz.1.2.8.dylib": true,
		"/usr/lib/libnotthere.9.dylib": false, "/usr/lib/libomp.dylib": false,
		"/usr/lib/libc++.1.dylib": true, "/usr/lib/swift/libswiftCore.dylib": true,
		"/System/Library/Frameworks/Metal.framework/Versions/A/Metal":      true,
		"/Library/Frameworks/Python.framework/Versions/3.12/Python":        false,
		"/System/Library/Frameworks/Accelerate.framework/Accelerate":       true,
		"/System/Library/Frameworks/../../../usr/local/lib/libother.dylib": false,
	} {
		if got := Library(library); got.Known != want {
			t.Errorf("%s is %+v", library, got)
		}
	}
	metal := Library("/System/Library/Frameworks/Metal.framework/Versions/A/Metal")
	if metal.Since != machoobj.Make(10, 11) || !metal.After(machoobj.Make(10, 9)) {
		t.Errorf("Metal is %+v", metal)
	}
	if _, ok := Fallback("@rpath/libc++.1.dylib"); !ok {
		t.Error("libc++ is not found in /usr/lib")
	}
}

func TestMerge(t *testing.T) {
	mavericks := machoobj.Make(10, 9)
	merged := Merge(slices.Concat(Targets("arm64", bigSur), Targets("x86_64", mavericks),
		Targets("universal2", mavericks)))
	if want := Targets("universal2", mavericks); !slices.Equal(merged, want) {
		t.Errorf("the tags together promise %v", merged)
	}
}
