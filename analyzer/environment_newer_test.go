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
		{"not the newest", []string{"1.12"}, "grid", "1.1"},
		{"neither the next nor the newest", []string{"1.1", "1.12"}, "grid", "1.2"},
		{"none of the next", []string{"1.1", "1.2", "1.3", "1.4", "1.12"}, "grid", ""},
		{"what another package allows", []string{"1.1", "1.12"}, "grid<1.12", "1.2"},
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
		if reads == 0 || reads > 6 {
			t.Errorf("%s: %d releases were read", c.name, reads)
		}
		if c.want == "" {
			if len(x.Fixes) > 0 || !strings.Contains(x.Action, "If the newest release has it too") {
				t.Errorf("%s: cause %+v", c.name, x)
			}
			continue
		}
		title := "Change grid from 1.0 to " + c.want + " in pins.txt:4"
		if len(x.Fixes) != 1 || x.Fixes[0].Title.String() != title || !x.Fixes[0].Verified ||
			x.Action != "Choose another version of grid (pins.txt:4)." {
			t.Errorf("%s: cause %+v", c.name, x)
		}
	}
}

// TestForward checks that packages that fail with a newer version of another one can be changed to
// releases that work with it, unless they are many: one package before the other one goes back, of
// several after that.
func TestForward(t *testing.T) {
	const old, kept = "needed libone.so\nimport gone@ONE libone.so\n",
		"needed libone.so\nimport kept@ONE libone.so\n"
	const back = "Change one from 2.0 to 1.0 in pins.txt:1"
	for _, c := range []struct {
		failing []string
		want    []string
	}{
		{[]string{"mesh"}, []string{"Change mesh from 1.0 to 1.1 in pins.txt:2", back}},
		{[]string{"grid", "mesh"}, []string{
			back, "Change grid from 1.0 to 1.1 in pins.txt:2; change mesh from 1.0 to 1.1 in pins.txt:3",
		}},
		{[]string{"grid", "late"}, []string{back}}, // no release of late works
		{[]string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, []string{back}},
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
			got = append(got, x.Title.String())
			if !x.Verified || x.Clears != len(r.Causes[0].Findings) {
				t.Errorf("%s: fix %+v", c.failing, x)
			}
		}
		if !slices.Equal(got, c.want) || len(r.Plan.Fixes) != 1 ||
			r.Plan.Fixes[0].Title.String() != c.want[0] {
			t.Errorf("%s: %q, plan %+v; want %q", c.failing, got, r.Plan, c.want)
		}
	}
}

// TestPartners checks that packages that require another version of a package than the one that is
// pinned can be changed to the releases that are published for it: those that fail with it and those
// that only require it. If it was changed since the base, that is the first fix.
func TestPartners(t *testing.T) {
	const (
		old  = "needed libcore.so\nimport gone@ONE libcore.so\n"
		kept = "needed libcore.so\nimport kept@ONE libcore.so\n"
		back = "Change core from 2.0 to 1.0 in uv.lock:1"

		vision = "Change vision from 1.0 to 1.1 in uv.lock:3"
		audio  = "; change audio from 1.0 to 1.1 in uv.lock:4"
		train  = "; change train from 1.0 to 1.1 in uv.lock:5"
		one    = "Change one from 1.0 to 2.0 in uv.lock:2"
		cost   = "core 2.0 also requires other versions of one"
	)
	for _, c := range []struct {
		name  string
		with  []string // the packages after core and one
		one   string   // exports of one 2.0, which core 2.0 requires and needs; "" if one 1.0 will do
		train string   // requirement of the only newer release of train
		base  bool     // core was changed
		want  []string
		plan  []string
		cost  string // of the newer releases
	}{
		{"one package", []string{"vision"}, "", "", false, []string{back, vision}, []string{back}, ""},
		{"one that only requires it", []string{"vision", "audio"}, "", "", false,
			[]string{back, vision + audio}, []string{back}, ""},
		{"one without a library", []string{"vision", "audio", "train"}, "", "core<3", false,
			[]string{back, vision + audio + train}, []string{back}, ""},
		{"there is no release of one", []string{"vision", "audio", "train"}, "", "core<2", false,
			[]string{back}, []string{back}, ""},
		{"it was changed", []string{"vision", "audio"}, "", "", true,
			[]string{vision + audio, back}, []string{vision + audio}, ""},
		{"it requires others", []string{"vision", "audio"}, "old@ONE new@ONE", "", true,
			[]string{vision + audio, back}, []string{vision + audio, one}, cost},
		{"one fix is enough", []string{"vision", "audio"}, "old@ONE new@ONE", "", false,
			[]string{back, vision + audio}, []string{back, back}, cost},
		{"what it requires does not work", []string{"vision", "audio"}, "new@ONE", "", true,
			[]string{back, vision + audio}, []string{back, back}, cost},
	} {
		reads := map[string]int{}
		environment := func(core string) *analyzer.Environment {
			e := &analyzer.Environment{
				On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
				With:    []string{"core==" + core, "one==1.0"},
				Origins: map[string]analyzer.Origin{},
				Other: func(_ context.Context, name, version string) (*analyzer.Input, error) {
					reads[name]++
					in := extension(t, name, version, old) // for the release after core 2.0
					if version == "1.1" {
						in = extension(t, name, version, kept+"needed libone.so\nimport old@ONE libone.so\n",
							"core==2.0")
					}
					return &in, nil
				},
			}
			if core == "2.0" && c.one != "" {
				e.Wheels = append(e.Wheels, extension(t, "core", core,
					"needed libone.so\nimport new@ONE libone.so\n", "one==2.0"))
			}
			for _, name := range c.with {
				e.With = append(e.With, name+"==1.0")
				switch name {
				case "vision":
					e.Wheels = append(e.Wheels, extension(t, name, "1.0", old, "core==1.0"))
				case "audio":
					e.Wheels = append(e.Wheels, extension(t, name, "1.0", "", "core==1.0"))
				}
			}
			for i, w := range e.With {
				e.Origins[w] = analyzer.Origin{File: "uv.lock", Line: i + 1}
			}
			return e
		}
		var base *analyzer.Environment
		if c.base {
			base = environment("1.0")
		}
		releases := map[string]string{
			"core==1.0": "gone@ONE kept@ONE", "core==2.0": "kept@ONE",
			"one==1.0": "old@ONE", "one==2.0": c.one,
			"vision==1.0": "requires core==1.0", "vision==1.1": "requires core==2.0",
			"vision==1.2": "requires core==3.0",
			"audio==1.0":  "requires core==1.0", "audio==1.1": "requires core==2.0", "audio==1.2": "",
			"train==1.0": "requires core<2", "train==1.1": "requires " + c.train,
		}
		if c.train == "" {
			delete(releases, "train==1.1")
		}
		if c.one != "" {
			releases["core==2.0"] += " requires one==2.0"
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), environment("2.0"), base, analyzer.Options{
				Source: without{stock{t, releases}, "train"},
			},
		)
		if err != nil || len(r.Causes) == 0 {
			t.Fatalf("%s: %+v, %v", c.name, r, err)
		}
		var got, plan []string
		at := slices.IndexFunc(r.Causes, func(x analyzer.Cause) bool { return x.ID == "package-core" })
		if at < 0 {
			t.Fatalf("%s: causes %+v", c.name, r.Causes)
		}
		for _, x := range r.Causes[at].Fixes {
			got = append(got, x.Title.String())
			if !x.Verified || x.Clears != len(r.Causes[at].Findings) ||
				strings.Contains(x.Title.String(), "vision") && strings.Join(x.Cost, "; ") != c.cost {
				t.Errorf("%s: fix %+v", c.name, x)
			}
		}
		for _, x := range r.Plan.Fixes {
			plan = append(plan, x.Title.String())
		}
		slices.Sort(plan)
		slices.Sort(c.plan)
		if !slices.Equal(got, c.want) || !slices.Equal(plan, c.plan) || !r.Plan.Verified {
			t.Errorf("%s: %q, plan %q %t; want %q, %q", c.name, got, plan, r.Plan.Verified, c.want, c.plan)
		}
		offered := len(c.want) > 1
		for name, n := range reads {
			if n > 1 || name == "train" || !offered {
				t.Errorf("%s: %d releases of %s were read", c.name, n, name)
			}
		}
		if action := r.Causes[at].Action; c.base && !strings.Contains(action,
			"Choose newer versions of vision and audio, or another version of core (uv.lock:1).") {
			t.Errorf("%s: action %q", c.name, action)
		}
	}
}

// without is a stock of which one package has no library.
type without struct {
	stock
	name string
}

func (s without) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	r, err := s.stock.Release(ctx, name, version, on)
	if err == nil && name == s.name {
		r.Libraries = nil
	}
	return r, err
}
