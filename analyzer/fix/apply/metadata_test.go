package apply

import (
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// The lines of a file may have different ends: skbuild appends a line of Windows to WHEEL.
func TestEndsOfLines(t *testing.T) {
	tags := []pkgmeta.Tag{{Python: "cp311", ABI: "cp311", Platform: "manylinux_2_34_x86_64"}}
	for before, want := range map[string]string{
		"Root-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n\nBuild: 0\r\n": "Root-Is-Purelib: false\n" +
			"Tag: cp311-cp311-manylinux_2_34_x86_64\n\nBuild: 0\r\n",
		"Root-Is-Purelib: false\r\nTag: a-b-c\nBuild: 0\r\n": "Root-Is-Purelib: false\r\n" +
			"Tag: cp311-cp311-manylinux_2_34_x86_64\r\nBuild: 0\r\n",
		"Wheel-Version: 1.0\nTag: a-b-c": "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_34_x86_64\n",
	} {
		if got := string(writeTags([]byte(before), tags)); got != want {
			t.Errorf("%q: %q, want %q", before, got, want)
		}
	}
}

// A requirement replaces that of its package, also if the name has "extra", and never what is
// required for an extra or with extras.
func TestRequire(t *testing.T) {
	const before = "Name: tool\nRequires-Dist: extra-lib>=1; python_version>\"3.8\"\n" +
		"Requires-Dist: torch[opt]>=2\nRequires-Dist: torch; extra == \"t\"\n\ntext\n"
	got, err := require([]byte(before), []string{"extra-lib>=2", "torch>=2.7"})
	const want = "Name: tool\nRequires-Dist: extra-lib>=2; python_version>\"3.8\"\n" +
		"Requires-Dist: torch[opt]>=2\nRequires-Dist: torch; extra == \"t\"\n" +
		"Requires-Dist: torch>=2.7\n\ntext\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// A line of blanks continues a field, as the paragraphs of a license do, and does not end the
// fields.
func TestRequireAfterBlankLine(t *testing.T) {
	const license = "Name: tool\nLicense: a\n        \n        b\n"
	const before = license + "Requires-Dist: numpy (>=1.9.0)\n\ntext\n"
	const want = license + "Requires-Dist: numpy>=1.9.0,<2\n\ntext\n"
	got, err := require([]byte(before), []string{"numpy<2"})
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
