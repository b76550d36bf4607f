package judge

import (
	"path"
	"testing"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// pip installs the second wheel of each release instead of the first one, or does not.
func TestInstead(t *testing.T) {
	for _, c := range []struct {
		first, second, on string
		want              bool
	}{
		{"cp312-cp312-manylinux2014_x86_64", "cp312-cp312-musllinux_1_2_x86_64", "alpine3.20", true},
		{"cp312-cp312-musllinux_1_2_x86_64", "cp312-cp312-manylinux2014_x86_64", "debian12", true},
		// The first is for the system.
		{"cp312-cp312-manylinux2014_x86_64", "cp312-cp312-manylinux_2_28_x86_64", "debian12", false},
		{"cp312-cp312-linux_x86_64", "cp312-cp312-musllinux_1_2_x86_64", "alpine3.20", false},
		// It is for a newer version of the system.
		{"cp312-cp312-manylinux_2_28_x86_64", "cp312-cp312-manylinux2014_x86_64", "rhel7", true},
		{"cp312-cp312-manylinux_2_34_x86_64", "cp312-cp312-manylinux_2_28_x86_64", "rhel7", false},
		// The second is for other interpreters.
		{"cp311-cp311-manylinux2014_x86_64", "cp312-cp312-musllinux_1_2_x86_64", "alpine3.20", false},
		{"cp311-cp311-manylinux2014_x86_64", "cp312-abi3-musllinux_1_2_x86_64", "alpine3.20", false},
		{"cp313-cp313t-manylinux2014_x86_64", "cp313-cp313-musllinux_1_2_x86_64", "alpine3.20", false},
		{"cp313-cp313t-manylinux2014_x86_64", "cp312-abi3-musllinux_1_2_x86_64", "alpine3.20", false},
		{"py3-none-manylinux2014_x86_64", "cp312-cp312-musllinux_1_2_x86_64", "alpine3.20", false},
		{"cp38-abi3-manylinux2014_x86_64", "cp312-cp312-musllinux_1_2_x86_64", "alpine3.20", false},
		// Or for them and more.
		{"cp313-cp313-manylinux2014_x86_64", "cp312-abi3-musllinux_1_2_x86_64", "alpine3.20", true},
		{"cp313-cp313t-manylinux2014_x86_64", "py3-none-musllinux_1_2_x86_64", "alpine3.20", true},
		{"cp312-abi3-manylinux2014_x86_64", "cp38-abi3-musllinux_1_2_x86_64", "alpine3.20", true},
		{"cp312-abi3-manylinux2014_x86_64", "cp312-cp312-musllinux_1_2_x86_64", "alpine3.20", true},
		{"cp311.cp312-none-manylinux2014_x86_64", "py3-none-any", "alpine3.20", true},
		{"cp312-cp312-macosx_13_0_arm64", "cp312-cp312-macosx_11_0_universal2", "macosx_12_0_arm64", true},
		{"cp312-cp312-macosx_11_0_x86_64", "cp312-cp312-macosx_11_0_arm64", "macosx_12_0_arm64", true},
		{"cp312-cp312-macosx_11_0_arm64", "cp312-cp312-macosx_12_0_arm64", "macosx_13_0_arm64", false},
		{"cp312-cp312-win_amd64", "cp312-cp312-win_arm64", "win_arm64", true},
		{"cp312-cp312-win_amd64", "cp312-cp312-win_arm64", "win_amd64", false},
	} {
		var wheels []*facts.Artifact
		for _, tags := range []string{c.first, c.second} {
			file := "dist/tool-1.0-" + tags + ".whl"
			name, err := pkgmeta.ParseWheelName(path.Base(file))
			if err != nil {
				t.Fatal(err)
			}
			wheels = append(wheels, &facts.Artifact{Path: file, Wheel: &name})
		}
		arch := "x86_64"
		if platform.SystemOf(c.on) != platform.Linux {
			arch = ""
		}
		p, err := platform.Lookup(c.on, arch)
		if err != nil {
			t.Fatal(err)
		}
		other := PublishedWheels(wheels).instead(wheels[0], p)
		if got := other == wheels[1]; got != c.want {
			t.Errorf("%s: the second of %s and %s is installed: %v", c.on, c.first, c.second, got)
		}
	}
}
