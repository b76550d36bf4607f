package trial

import "testing"

// A tag that was found for one slice of a universal wheel is tried for the others as well.
func TestOnArch(t *testing.T) {
	for _, c := range []struct{ name, arch, usual, want string }{
		{"macosx_12_0_x86_64/x86_64", "x86_64", "macosx_11_0_x86_64/x86_64", "macosx_12_0_x86_64/x86_64"},
		{"macosx_12_0_x86_64/x86_64", "arm64", "macosx_11_0_arm64/arm64", "macosx_12_0_arm64/arm64"},
		{"manylinux_9_99_x86_64/x86_64", "aarch64", "manylinux_2_17_aarch64", "manylinux_2_17_aarch64"},
		{"debian12", "x86_64", "debian11", "debian12"},
	} {
		if got := onArch(c.name, c.arch, c.usual); got != c.want {
			t.Errorf("%s for %s: %s, want %s", c.name, c.arch, got, c.want)
		}
	}
}
