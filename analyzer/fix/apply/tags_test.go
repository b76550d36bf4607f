package apply

import "testing"

// Of two tags, one is kept that is as new as the newer one and has the architecture of both.
func TestNewerPlatform(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"manylinux_2_17_x86_64", "manylinux_2_28_x86_64", "manylinux_2_28_x86_64"},
		{"manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64"},
		{"macosx_12_0_universal2", "macosx_10_15_x86_64", "macosx_12_0_x86_64"},
		{"macosx_11_0_arm64", "macosx_12_0_universal2", "macosx_12_0_arm64"},
		{"manylinux_2_17_x86_64", "musllinux_1_2_x86_64", ""},
		{"", "manylinux_2_17_x86_64", ""},
	} {
		if got := newerPlatform(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}
