package cause_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/result"
)

// One number is named for macOS: that of the tag, which covers the symbols, what files were built
// for, and that tags have no minor version.
func TestOneVersionOfMacOS(t *testing.T) {
	const libcxx = "/usr/lib/libc++.1.dylib"
	of := func(version, tag string) result.Finding {
		f := tooNew("widget/_ext.so", "_new", libcxx, version, tag)
		f.Target = "macosx_10_15_x86_64"
		return f
	}
	built := result.Finding{Rule: "minimum-os-too-new", Object: "widget/libown.dylib",
		Version: "12.7", Target: "macosx_10_15_x86_64", Severity: result.Warning,
		Fixes: of("12.7", "macosx_13_0_universal2").Fixes}
	for _, c := range []struct {
		findings []result.Finding
		title    string
		fails    []string
	}{
		{[]result.Finding{of("12.0", "macosx_12_0_x86_64")},
			"tagged macosx_10_15, but needs macosx_12_0", []string{"macOS before 12.0"}},
		{[]result.Finding{of("12.3", "macosx_13_0_x86_64")},
			"tagged macosx_10_15, but needs macosx_13_0", nil},
		{[]result.Finding{of("12.0", "macosx_13_0_universal2"), built},
			"tagged macosx_10_15, but needs macosx_13_0", nil},
	} {
		r := report(c.findings...)
		if len(r.Causes) != 1 {
			t.Fatalf("%s: %d causes", c.title, len(r.Causes))
		}
		x := r.Causes[0]
		if x.Title != c.title || !slices.Equal(x.Fails, c.fails) {
			t.Errorf("got %q, fails on %q; want %q, %q", x.Title, x.Fails, c.title, c.fails)
		}
		if len(c.findings) > 1 && !x.Covers {
			t.Errorf("%s: what files were built for is said too", c.title)
		}
		if !strings.HasPrefix(x.Reason, "needs macosx_") {
			t.Errorf("%s: the reason is %q", c.title, x.Reason)
		}
	}
}
