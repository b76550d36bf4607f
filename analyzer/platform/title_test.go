package platform

import "testing"

func TestTitle(t *testing.T) {
	for target, want := range map[string]string{
		"debian11":               "Debian 11",
		"debian11/aarch64":       "Debian 11",
		"amazonlinux2023/x86_64": "Amazon Linux 2023",
		"manylinux_2_17_x86_64":  "manylinux2014",
		"manylinux_2_28_aarch64": "manylinux_2_28",
		"macosx_11_0_arm64":      "macosx_11_0_arm64",
		"/":                      "/",
		"/srv/image":             "/srv/image",
		"roots/alpine":           "roots/alpine",
		"debian-root":            "debian-root",
		"debian":                 "debian",
	} {
		if got := Title(target); got != want {
			t.Errorf("Title(%q) = %q, want %q", target, got, want)
		}
	}
}
