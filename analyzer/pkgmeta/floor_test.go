package pkgmeta

import "testing"

// An upper bound keeps the lower one of what it replaces; another lower bound replaces it.
func TestWithFloor(t *testing.T) {
	for _, c := range []struct{ spec, other, want string }{
		{"<2", ">=1.22.3", ">=1.22.3,<2"},
		{"<2", ">1.0,!=1.5.*,<3", ">1.0,!=1.5.*,<2"},
		{"<2", "", "<2"},
		{"<2", "==1.26", "<2"},
		{">=2.3,<2.4", ">=2.0", ">=2.3,<2.4"},
		{"==2.7.0", ">=2.6", "==2.7.0"},
		{"~=1.4", ">=1.0", "~=1.4"},
	} {
		spec, err := ParseSpec(c.spec)
		other, errOther := ParseSpec(c.other)
		if err != nil || errOther != nil {
			t.Fatal(err, errOther)
		}
		if got := spec.WithFloor(other); got != c.want {
			t.Errorf("%s with %s: got %s, want %s", c.spec, c.other, got, c.want)
		}
	}
}
