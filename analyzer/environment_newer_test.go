package analyzer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
)

// TestNewerRelease checks that for an error that only the package itself can remove, the nearest newer
// release without it is offered, that few are read, and that nothing is claimed if there is none.
func TestNewerRelease(t *testing.T) {
	versions := map[string]string{"grid==1.0": "", "grid==2.0rc1": ""}
	for i := 1; i <= 12; i++ {
		versions[fmt.Sprintf("grid==1.%d", i)] = ""
	}
	for _, c := range []struct {
		name  string
		bad   []string // versions that fail too
		limit string   // requirement of another package
		want  string
	}{
		{"the next", nil, "grid", "1.1"},
		{"not the next", []string{"1.1", "1.2"}, "grid", "1.3"},
		{"not the newest", []string{"1.12"}, "grid", ""},
		{"what another package allows", []string{"1.12"}, "grid<1.12", "1.1"},
	} {
		reads := 0
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian13",
			With: []string{"grid==1.0", "user==1.0"},
			Wheels: []analyzer.Input{
				extension(t, "grid", "1.0", "execstack yes\n"), extension(t, "user", "1.0", "", c.limit),
			},
			Origins: map[string]analyzer.Origin{"grid==1.0": {File: "pins.txt", Line: 4}},
			Other: func(_ context.Context, name, version string) (*analyzer.Input, error) {
				reads++
				text := ""
				if slices.Contains(c.bad, version) {
					text = "execstack yes\n"
				}
				in := extension(t, name, version, text)
				return &in, nil
			},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{
			Source: stock{t, versions},
		})
		if err != nil || len(r.Causes) != 1 {
			t.Fatalf("%s: %+v, %v", c.name, r, err)
		}
		x := r.Causes[0]
		if reads == 0 || reads > 5 {
			t.Errorf("%s: %d releases were read", c.name, reads)
		}
		if c.want == "" {
			if len(x.Fixes) > 0 || !strings.Contains(x.Action, "If the newest release has it too") {
				t.Errorf("%s: cause %+v", c.name, x)
			}
			continue
		}
		title := "Change grid from 1.0 to " + c.want + " in pins.txt:4"
		if len(x.Fixes) != 1 || x.Fixes[0].Title != title || !x.Fixes[0].Verified ||
			x.Action != "Choose another version of grid (pins.txt:4)." {
			t.Errorf("%s: cause %+v", c.name, x)
		}
	}
}

// TestForward checks that packages that fail with a newer version of another one can be changed to
// releases that work with it, as the second fix of the cause, unless they are many.
func TestForward(t *testing.T) {
	const old, kept = "needed libone.so\nimport gone@ONE libone.so\n",
		"needed libone.so\nimport kept@ONE libone.so\n"
	const back = "Change one from 2.0 to 1.0 in pins.txt:1"
	for _, c := range []struct {
		failing []string
		want    []string
	}{
		{[]string{"mesh"}, []string{back, "Change mesh from 1.0 to 1.1 in pins.txt:2"}},
		{[]string{"grid", "mesh"}, []string{
			back, "Change grid from 1.0 to 1.1 in pins.txt:2; change mesh from 1.0 to 1.1 in pins.txt:3",
		}},
		{[]string{"grid", "late"}, []string{back}}, // no release of late works
		{[]string{"grid", "mesh", "plot", "tile"}, []string{back}},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			With:    []string{"one==2.0"},
			Origins: map[string]analyzer.Origin{"one==2.0": {File: "pins.txt", Line: 1}},
			Other: func(_ context.Context, name, version string) (*analyzer.Input, error) {
				text := kept
				if name == "late" {
					text = old
				}
				in := extension(t, name, version, text, "one")
				return &in, nil
			},
		}
		releases := map[string]string{
			"one==1.0": "gone@ONE kept@ONE", "one==2.0": "kept@ONE",
		}
		for i, name := range c.failing {
			e.With = append(e.With, name+"==1.0")
			e.Origins[name+"==1.0"] = analyzer.Origin{File: "pins.txt", Line: i + 2}
			e.Wheels = append(e.Wheels, extension(t, name, "1.0", old, "one"))
			releases[name+"==1.0"], releases[name+"==1.1"] = "", ""
			releases[name+"==1.2"] = "requires one>=3" // the pin does not satisfy it
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{
			Source: stock{t, releases},
		})
		if err != nil || len(r.Causes) != 1 {
			t.Fatalf("%s: %+v, %v", c.failing, r, err)
		}
		var got []string
		for _, x := range r.Causes[0].Fixes {
			got = append(got, x.Title)
			if !x.Verified || x.Clears != len(r.Causes[0].Findings) {
				t.Errorf("%s: fix %+v", c.failing, x)
			}
		}
		if !slices.Equal(got, c.want) || len(r.Plan.Fixes) != 1 || r.Plan.Fixes[0].Title != back {
			t.Errorf("%s: %q, plan %+v; want %q", c.failing, got, r.Plan, c.want)
		}
	}
}
