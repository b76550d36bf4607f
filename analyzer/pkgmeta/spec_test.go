package pkgmeta

import "testing"

// A specifier that admits only older versions lowers what is installed.
func TestBelow(t *testing.T) {
	v, err := ParseVersion("2.7")
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]bool{
		"<2.6": true, "<=2.6": true, "==2.5.1": true, "==2.5.*": true, ">=2.5,<2.7": true,
		"": false, "<=2.7": false, "==2.7": false, "==2.8": false, ">=2.8": false, ">=2.8,<3": false,
		"!=2.7": false, "==2.7.*": false, "~=2.5.0": true, "~=2.5": false,
	} {
		s, err := ParseSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Below(v); got != want {
			t.Errorf("%s: %v", spec, got)
		}
	}
}
