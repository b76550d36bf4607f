package elfobj

import "testing"

func TestOrigin(t *testing.T) {
	for _, test := range []struct {
		entry, want string
		ok          bool
	}{
		{"$ORIGIN", "/a/b", true},
		{"$ORIGIN/../lib", "/a/lib", true},
		{"${ORIGIN}/c", "/a/b/c", true},
		{"/usr/lib", "/usr/lib", false},
		{"lib/$ORIGIN", "lib/$ORIGIN", false},
		{"", "", false},
	} {
		if got, ok := Origin(test.entry, "/a/b"); got != test.want || ok != test.ok {
			t.Errorf("Origin(%q): %q, %t, want %q, %t", test.entry, got, ok, test.want, test.ok)
		}
	}
}
