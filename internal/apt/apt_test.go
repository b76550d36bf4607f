package apt

import "testing"

func TestMirror(t *testing.T) {
	for text, want := range map[string]string{
		"Types: deb\n# a comment\nURIs: http://mirror.invalid/debian\nSuites: x\n": "http://mirror.invalid/debian",
		"deb [arch=amd64] https://mirror.invalid/debian/ stable main\n":            "https://mirror.invalid/debian/",
		"deb http://mirror.invalid/debian-security stable main\n":                  "",
		"# deb http://mirror.invalid/debian stable main\n":                         "",
	} {
		got := ""
		if m := debianURI.FindStringSubmatch(text); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for deb, want := range map[string]string{
		"/x/libc6_2.31-13+deb11u11_amd64.deb": "libc6=2.31-13+deb11u11",
		"libgcc-s1_1%3a12.2.0-14_amd64.deb":   "libgcc-s1=1:12.2.0-14",
		"strange.deb":                         "strange.deb",
	} {
		if got := Version(deb); got != want {
			t.Errorf("Version(%s) = %s, want %s", deb, got, want)
		}
	}
}
