package apply

import "testing"

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
