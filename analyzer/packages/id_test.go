package packages

import "testing"

func TestPinned(t *testing.T) {
	for requirement, want := range map[string]ID{
		"Foo.Bar==1.0":                           {"foo-bar", "1.0"},
		"foo == v1.0-RC1":                        {"foo", "1.0rc1"},
		`foo[x]===1.0 ; python_version > "3.8"`:  {"foo", "1.0"},
		"foo>=1.0":                               {},
		"foo==1.*":                               {},
		"foo":                                    {},
		"foo==not a version":                     {},
		"foo @ file:///tmp/foo-1.0-py3-none.whl": {},
	} {
		got, ok := Pinned(requirement)
		if ok != (want != ID{}) || ok && got != want {
			t.Errorf("%s: %v, %v, want %v", requirement, got, ok, want)
		}
	}
	for a, b := range map[string]string{"foo==1.0": "foo==1", "foo===1.0.0": "foo==v1"} {
		x, _ := Pinned(a)
		y, _ := Pinned(b)
		if x == y || x.Key() != y.Key() {
			t.Errorf("%s and %s are not one release: %v, %v", a, b, x.Key(), y.Key())
		}
	}
	if id := (ID{"foo", "main"}); id.Key() != id {
		t.Errorf("the key of a version that is none: %v", id.Key())
	}
}
