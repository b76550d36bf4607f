package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
)

// The sources of a package are read and cached, those of other packages and of another folder are
// not.
func TestTexts(t *testing.T) {
	s := serve(t, map[string][]wheel{
		"demo": {
			build(t, "demo-1.0-py3-none-manylinux2014_x86_64.whl", "",
				"demo/lib/libdemo.so.1", string(object(t, "libdemo.so.1", "demo_run", "DEMO_1")),
				"demo/__init__.py", "import demo.a", "demo/a.py", "x = 1", "demo/notes.txt", "no source",
				"other/__init__.py", "import demo", "other.py", "pass"),
			{name: "demo-3.0.tar.gz"},
		},
	})
	i := s.index(t, nil)
	for range 2 {
		for top, want := range map[string]string{
			"demo":  "map[demo/__init__.py:import demo.a demo/a.py:x = 1]",
			"other": "map[other.py:pass other/__init__.py:import demo]", "none": "map[]",
		} {
			r := &packages.Release{Name: "demo", Version: "1.0"}
			got, err := Several{i}.Texts(ctx, r, linux, top, nil)
			if err != nil || fmt.Sprint(got.Texts) != want || got.Others != nil {
				t.Errorf("%s: %v, want %s, %v", top, got, want, err)
			}
		}
		if n := len(s.takeRequests()); n > 8 {
			t.Errorf("%d requests", n)
		}
	}
	for version, want := range map[string]error{
		"3.0": packages.ErrUnknown, "4.0": packages.ErrUnknown,
	} {
		r := &packages.Release{Name: "demo", Version: version}
		if _, err := i.Texts(ctx, r, linux, "demo", nil); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", version, err, want)
		}
	}
	g := i.Guard("else")
	r := &packages.Release{Name: "demo", Version: "1.0"}
	if _, err := g.Texts(ctx, r, linux, "demo", nil); !errors.Is(err, packages.ErrUnavailable) {
		t.Errorf("a name that is not allowed: %v", err)
	}
}

// Of a package with many sources, those that are wanted are read, from a wheel that is downloaded
// as a whole and from one that is not.
func TestManyTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4*firstWindow)
	for n := range noise {
		noise[n] = byte(random.Uint32())
	}
	for name, data := range map[string]string{"small": "", "large": string(noise)} {
		members := []string{"demo/data.bin", data, "demo/__init__.py", "import demo.m7"}
		for n := range 500 {
			members = append(members, fmt.Sprintf("demo/m%d.py", n), fmt.Sprintf("x = %d", n))
		}
		s := serve(t, map[string][]wheel{
			"demo": {build(t, "demo-1.0-py3-none-manylinux2014_x86_64.whl", "", members...)},
		})
		i := s.index(t, nil)
		r := &packages.Release{Name: "demo", Version: "1.0"}
		all, err := i.Texts(ctx, r, linux, "demo", nil)
		if err != nil || len(all.Others) != 501 || len(all.Texts) != 0 {
			t.Fatalf("%s: %d paths and %d texts, %v", name, len(all.Others), len(all.Texts), err)
		}
		const want = "map[demo/m400.py:x = 400 demo/m7.py:x = 7]"
		for range 2 {
			some, err := i.Texts(ctx, r, linux, "demo",
				[]string{"demo/m7.py", "demo/none.py", "demo/m400.py"})
			if err != nil || fmt.Sprint(some.Texts) != want {
				t.Errorf("%s: %v, want %s, %v", name, some, want, err)
			}
		}
		if n := len(s.takeRequests()); n > 5 {
			t.Errorf("%s: %d requests", name, n)
		}
		if _, err = i.Texts(ctx, r, linux, "demo", all.Others); !errors.Is(err,
			packages.ErrUnavailable) {
			t.Errorf("%s: all at once: %v", name, err)
		}
	}
}
