package cause_test

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/result"
)

// TestPlatforms checks on which systems the text says that a wheel fails and works.
func TestPlatforms(t *testing.T) {
	on := func(target string, f result.Finding) result.Finding {
		f.Target = target
		return f
	}
	newer := tooNew("a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64")
	missing := result.Finding{Rule: "library-not-found", Object: "a.so", Library: "libfoo.so.1"}
	for name, c := range map[string]struct {
		findings     []result.Finding
		fails, works string
	}{
		"a newer glibc": {
			[]result.Finding{newer},
			"RHEL 7, RHEL 8, Debian 10",
			"Ubuntu 20.04, Debian 11, RHEL 9, Ubuntu 22.04, Debian 12, Ubuntu 24.04, Debian 13",
		},
		"a system older than the target is not listed": {
			[]result.Finding{on("manylinux_2_28_x86_64", tooNew("a.so", "std", "libstdc++.so.6",
				"GLIBCXX_3.4.25", ""))},
			"RHEL 7",
			"RHEL 8, Debian 10, Ubuntu 20.04, Debian 11, RHEL 9, Ubuntu 22.04, Debian 12, Ubuntu 24.04, " +
				"Debian 13",
		},
		"no listed system fails": {
			[]result.Finding{on("manylinux_2_5_x86_64", tooNew("a.so", "memcpy", "libc.so.6",
				"GLIBC_2.14", ""))},
			"the oldest systems of manylinux1",
			"RHEL 7, RHEL 8, Debian 10, Ubuntu 20.04, Debian 11, RHEL 9, Ubuntu 22.04, Debian 12, " +
				"Ubuntu 24.04, Debian 13",
		},
		"symbols that are internal to glibc": {
			[]result.Finding{on("manylinux_2_28_x86_64", tooNew("a.so", "__h_errno", "libc.so.6",
				"GLIBC_PRIVATE", ""))},
			"", "",
		},
		"another error on all systems": {
			[]result.Finding{newer, missing}, "RHEL 7, RHEL 8, Debian 10", "",
		},
		"another error on one system": {
			[]result.Finding{newer, on("debian12", missing)},
			"RHEL 7, RHEL 8, Debian 10",
			"Ubuntu 20.04, Debian 11, RHEL 9, Ubuntu 22.04, Ubuntu 24.04, Debian 13",
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := report(c.findings...).Causes[0]
			if fails := strings.Join(first.Fails, ", "); fails != c.fails {
				t.Errorf("fails on %q, want %q", fails, c.fails)
			}
			if works := strings.Join(first.Works, ", "); works != c.works {
				t.Errorf("works on %q, want %q", works, c.works)
			}
		})
	}
}
