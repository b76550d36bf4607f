package index

import (
	"errors"
	"fmt"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
)

// The sources of a package are read with a request for each and cached, those of other packages and
// of another folder are not, and too many are refused.
func TestTexts(t *testing.T) {
	many := []string{}
	for n := range 500 {
		many = append(many, fmt.Sprintf("demo/m%d.py", n), "pass")
	}
	s := serve(t, map[string][]wheel{
		"demo": {
			build(t, "demo-1.0-py3-none-manylinux2014_x86_64.whl", "",
				"demo/lib/libdemo.so.1", string(object(t, "libdemo.so.1", "demo_run", "DEMO_1")),
				"demo/__init__.py", "import demo.a", "demo/a.py", "x = 1", "demo/notes.txt", "no source",
				"other/__init__.py", "import demo", "other.py", "pass"),
			build(t, "demo-2.0-py3-none-manylinux2014_x86_64.whl", "", many...),
			{name: "demo-3.0.tar.gz"},
		},
	})
	i := s.index(t, nil)
	for range 2 {
		for top, want := range map[string]string{
			"demo":  "map[demo/__init__.py:import demo.a demo/a.py:x = 1]",
			"other": "map[other.py:pass other/__init__.py:import demo]", "none": "map[]",
		} {
			texts, err := Several{i}.Texts(ctx, &packages.Release{Name: "demo", Version: "1.0"},
				linux, top)
			if err != nil || fmt.Sprint(texts) != want {
				t.Errorf("%s: %v, want %s, %v", top, texts, want, err)
			}
		}
		if n := len(s.takeRequests()); n > 8 {
			t.Errorf("%d requests", n)
		}
	}
	for version, want := range map[string]error{
		"2.0": packages.ErrUnavailable, "3.0": packages.ErrUnknown, "4.0": packages.ErrUnknown,
	} {
		r := &packages.Release{Name: "demo", Version: version}
		if _, err := i.Texts(ctx, r, linux, "demo"); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", version, err, want)
		}
	}
	g := i.Guard("else")
	r := &packages.Release{Name: "demo", Version: "1.0"}
	if _, err := g.Texts(ctx, r, linux, "demo"); !errors.Is(err, packages.ErrUnavailable) {
		t.Errorf("a name that is not allowed: %v", err)
	}
}
