package analyzer_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// TestNoWheel checks the findings for pins without a wheel for the environment.
func TestNoWheel(t *testing.T) {
	env := func(platform string, missing ...analyzer.NoWheel) *analyzer.Environment {
		return &analyzer.Environment{
			On:       packages.Target{Python: "3.12", Arch: "x86_64"},
			Platform: platform,
			NoWheel:  missing,
		}
	}
	binary := analyzer.NoWheel{
		Package: "widget", Version: "2.0",
		Reason: "widget==2.0 has no wheel for musl; there are wheels for glibc",
		At:     analyzer.Origin{File: "uv.lock", Line: 4}, Others: []string{"2.1", "1.8"},
	}
	built := analyzer.NoWheel{
		Package: "built", Version: "1.0",
		Reason: "built==1.0 has no wheel for Python 3.12; there are wheels for Python 3.11",
		Source: true, Python: "3.11", For: "Python 3.12",
	}
	a := analyzer.New(rules.All())
	heads := []*analyzer.Environment{
		env("alpine3.20", binary, built),
		env("musllinux_1_2", binary),
		env("debian12"),
	}
	r, err := a.CheckEnvironments(t.Context(), heads, nil, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 2 {
		t.Fatalf("findings %+v", r.Findings)
	}
	f := r.Findings[0]
	if f.Severity != analyzer.Error || f.Package != "widget" || !f.New ||
		!strings.Contains(f.Message, "uv.lock:4") || len(f.On) != 2 ||
		len(f.Fixes) != 1 || f.Fixes[0].Requirement != "widget==2.1" {
		t.Errorf("finding %+v", f)
	}
	if f := r.Findings[1]; f.Severity != analyzer.Warning || f.Package != "built" ||
		!strings.Contains(f.Message, "built from source") ||
		len(f.Fixes) != 1 || !strings.Contains(f.Fixes[0].Title, "Use Python 3.11") {
		t.Errorf("finding %+v", f)
	}
	if len(r.Causes) != 2 || r.Causes[0].Title != "widget==2.0 has no wheel for musl" {
		t.Errorf("causes %+v", r.Causes)
	}
	verdicts := map[string]analyzer.Verdict{}
	for _, x := range r.Targets {
		verdicts[x.Name] = x.Verdict
	}
	if verdicts["musllinux_1_2_x86_64"] != analyzer.Incompatible ||
		verdicts["debian12"] == analyzer.Incompatible {
		t.Errorf("targets %+v", r.Targets)
	}

	// A finding that the base has too is not new.
	older := binary
	older.Version = "1.9"
	r, err = a.CheckEnvironment(
		t.Context(), env("alpine3.20", binary), env("alpine3.20", older), analyzer.Options{},
	)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].New {
		t.Errorf("findings %+v, error %v", r.Findings, err)
	}
}

// TestOnlyPackagesWithoutWheel checks that an environment of which nothing was checked is not
// compatible.
func TestOnlyPackagesWithoutWheel(t *testing.T) {
	built := analyzer.NoWheel{Package: "built", Version: "1.0", Reason: "no wheel", Source: true}
	listed := []analyzer.Artifact{{Path: "pure-1-py3-none-any.whl", Kind: analyzer.KindWheel}}
	source := []analyzer.Unread{{Path: "other==1", Reason: "published as source only"}}
	none := []analyzer.NoWheel{built}
	for name, c := range map[string]struct {
		environment analyzer.Environment
		want        analyzer.Verdict
	}{
		"no wheel fits":      {analyzer.Environment{NoWheel: none}, analyzer.NotJudged},
		"source only":        {analyzer.Environment{Skipped: source}, analyzer.NotJudged},
		"one fits":           {analyzer.Environment{NoWheel: none, Listed: listed}, analyzer.Compatible},
		"no package at all":  {analyzer.Environment{}, analyzer.Compatible},
		"pure packages only": {analyzer.Environment{Listed: listed}, analyzer.Compatible},
	} {
		c.environment.On = packages.Target{Python: "3.12", Arch: "x86_64"}
		c.environment.Platform = "debian12"
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), &c.environment, nil, analyzer.Options{},
		)
		if err != nil || r.Verdict != c.want || len(r.Targets) > 0 && r.Targets[0].Verdict != c.want {
			t.Errorf("%s: %s, targets %+v, error %v; want %s", name, r.Verdict, r.Targets, err, c.want)
		}
	}
}

// TestPinThatOthersAllow checks that the version for a package without a wheel is one that the
// requirements of the other packages allow, or that it says which do not.
func TestPinThatOthersAllow(t *testing.T) {
	missing := analyzer.NoWheel{
		Package: "widget", Version: "2.0", Reason: "no wheel", Others: []string{"2.1", "2.4", "1.8"},
	}
	for _, c := range []struct{ requires, pin, cost string }{
		{"widget>=1", "widget==2.1", ""},
		{"widget!=2.1", "widget==2.4", ""},
		{"widget<2", "widget==1.8", ""},
		{"widget==2.0", "widget==2.1", "user 1.0 requires widget==2.0, not 2.1"},
		{"widget<2; extra == 'old'", "widget==2.1", ""},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			NoWheel: []analyzer.NoWheel{missing},
			Listed: []analyzer.Artifact{{Path: "user-1.0-py3-none-any.whl", Wheel: &analyzer.Wheel{
				Name: "user", Version: "1.0", Requires: []string{c.requires},
			}}},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{})
		if err != nil || len(r.Findings) != 1 || len(r.Findings[0].Fixes) != 1 {
			t.Fatalf("%s: %+v, %v", c.requires, r, err)
		}
		x := r.Findings[0].Fixes[0]
		cost := strings.Join(x.Cost, "\n")
		if x.Requirement != c.pin || !strings.Contains(cost, c.cost) || (cost == "") != (c.cost == "") {
			t.Errorf("%s: pin %s, cost %q; want %s, %q", c.requires, x.Requirement, cost, c.pin, c.cost)
		}
	}
}

// TestPinThatUninstallableAllow checks that the version for a package without a wheel has as its
// cost what another package without a wheel requires, whose wheels are for newer systems.
func TestPinThatUninstallableAllow(t *testing.T) {
	none := func(name, version string, others ...string) analyzer.NoWheel {
		return analyzer.NoWheel{Package: name, Version: version, Reason: "no wheel", Others: others}
	}
	e := &analyzer.Environment{
		On:       packages.Target{Python: "3.12", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.26"},
		Platform: "amazonlinux2",
		NoWheel:  []analyzer.NoWheel{none("core", "2.0"), none("blas", "12.8", "12.6")},
	}
	r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{
		Source: stock{t, map[string]string{"core==2.0": "requires blas==12.8"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Findings, func(f analyzer.Finding) bool { return f.Package == "blas" })
	const want = fix.ConflictsWith + "core 2.0 requires blas==12.8, not 12.6"
	if x := r.Findings[i].Fixes; len(x) != 1 || !slices.Equal(x[0].Cost, []string{want}) {
		t.Errorf("fixes %+v", x)
	}
}

// shelf has version 1.0 of the packages package0 to package(n-1), each with one library that
// defines a function. It counts the lookups.
type shelf struct {
	t        *testing.T
	n        int
	requires map[string][]pkgmeta.Requirement // by package
	versions map[string][]string              // by package and interpreter; nil = 1.0
	lookups  int
}

func (s *shelf) Versions(_ context.Context, name string, on packages.Target) ([]string, error) {
	if s.versions != nil {
		return s.versions[name+" "+on.Python], nil
	}
	return []string{"1.0"}, nil
}

func (s *shelf) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	s.lookups++
	n := -1
	if _, err := fmt.Sscanf(name, "package%d", &n); err != nil || n >= s.n {
		return nil, packages.ErrUnknown
	}
	library := "lib" + name + ".so"
	o, err := elftest.Parse("elf x86_64\nsoname " + library + "\nexport function_of_" + name + "\n")
	if err != nil {
		s.t.Error(err)
	}
	return &packages.Release{
		Name: name, Version: version, Known: true, Requires: s.requires[name],
		Libraries: []packages.Library{packages.NewLibrary(name+"/"+library, o)},
	}, nil
}

// user returns a wheel of a package that imports a function from the library of another one.
func user(t *testing.T, name, other, function string, requires ...string) analyzer.Input {
	t.Helper()
	o, err := elftest.Parse("elf x86_64\nsoname lib" + name + ".so\nneeded lib" + other + ".so\n" +
		"import " + function + "\n")
	if err != nil {
		t.Fatal(err)
	}
	data, err := elftest.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	w := cases.Wheel{
		Name: name, Version: "1.0", Tags: []string{"py3-none-manylinux2014_x86_64"},
		Files:    map[string][]byte{name + "/lib" + name + ".so": data},
		Requires: requires,
	}
	file, content := w.File()
	return analyzer.Input{Name: file, Content: bytes.NewReader(content), Size: int64(len(content))}
}

func pins(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("package%d==1.0", i))
	}
	return out
}

// TestLargeEnvironment checks that all packages of a large environment are considered, and that
// each is looked up once.
func TestLargeEnvironment(t *testing.T) {
	for _, n := range []int{500, 5000} {
		source := &shelf{t: t, n: n}
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12", With: pins(n),
			Wheels: []analyzer.Input{
				user(t, "package449", "package452", "function_of_package452"),
				user(t, "package450", "package451", "a_function_that_was_removed"),
			},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), e, nil, analyzer.Options{Source: source},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != 1 || r.Findings[0].Package != "package450" ||
			r.Findings[0].Symbol != "a_function_that_was_removed" || r.Verdict != analyzer.Incompatible {
			t.Errorf("%d pins: verdict %s, findings %+v", n, r.Verdict, r.Findings)
		}
		if len(r.Targets) != 1 || len(r.Targets[0].With) != n {
			t.Errorf("%d pins: checked with %d packages", n, len(r.Targets[0].With))
		}
		if source.lookups > n+n/10 {
			t.Errorf("%d pins: %d lookups", n, source.lookups)
		}
	}
}

// TestTooManyRequirements checks that the packages that only other packages require are limited,
// and that the verdict says so.
func TestTooManyRequirements(t *testing.T) {
	check := func(n int) *analyzer.Report {
		source := &shelf{t: t, n: 2000, requires: map[string][]pkgmeta.Requirement{}}
		for i := range n {
			q, err := pkgmeta.ParseRequirement(fmt.Sprintf("package%d", i+1))
			if err != nil {
				t.Fatal(err)
			}
			source.requires["package0"] = append(source.requires["package0"], q)
		}
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			With:   []string{"package0==1.0", "package1999==1.0"},
			Wheels: []analyzer.Input{user(t, "package1999", "package0", "function_of_package0")},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), e, nil, analyzer.Options{Source: source},
		)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := check(100); r.Verdict != analyzer.Compatible {
		t.Errorf("verdict %s, unread %v, findings %v", r.Verdict, r.Unread, r.Findings)
	}
	r := check(1500)
	if r.Verdict != analyzer.Unchecked || !slices.ContainsFunc(r.Unread, func(u analyzer.Unread) bool {
		return strings.Contains(u.Reason, "more than 500 packages")
	}) {
		t.Errorf("verdict %s, unread %v", r.Verdict, r.Unread)
	}
}

// TestFileConflict checks that packages which install different objects at one path are one cause
// that says which one to keep, and that packages with the same content are none.
func TestFileConflict(t *testing.T) {
	wheel := func(name, version, folder, function string, requires ...string) analyzer.Input {
		o, err := elftest.Parse("elf x86_64\nexport PyInit__m\nexport " + function + "\n")
		if err != nil {
			t.Fatal(err)
		}
		data, err := elftest.Write(o)
		if err != nil {
			t.Fatal(err)
		}
		w := cases.Wheel{
			Name: name, Version: version, Tags: []string{"cp312-abi3-manylinux2014_x86_64"},
			Files:    map[string][]byte{folder + "/_m.abi3.so": data, folder + "/_longer.abi3.so": data},
			Requires: requires,
		}
		file, content := w.File()
		return analyzer.Input{
			Name: file, Content: bytes.NewReader(content), Size: int64(len(content)),
		}
	}
	const (
		one  = "cv 1.0 and cv-gpu 2.0 install 2 of the same files, such as cv/_m.abi3.so"
		last = ". The package that is installed last overwrites the files of the others"
	)
	for _, c := range []struct {
		name              string
		wheels            []analyzer.Input
		message, fix, pip string
		installed         func(wheel, object string) bool // Changed
	}{
		{
			"pinned", []analyzer.Input{wheel("cv", "1.0", "cv", "a"), wheel("cv_gpu", "2.0", "cv", "b")},
			one + last, "Keep one of cv and cv-gpu, and remove the other", "", nil,
		},
		{
			"one is required",
			[]analyzer.Input{
				wheel("cv", "1.0", "cv", "a"),
				wheel("cv_gpu", "2.0", "cv_gpu-2.0.data/platlib/cv", "b"),
				wheel("user", "3", "user", "f", "cv-gpu>=2", "cv>=1; extra == 'cpu'"),
			},
			one + last + ". user 3 requires cv-gpu", "Remove cv (pins.txt:1)", "", nil,
		},
		{
			"both are required",
			[]analyzer.Input{
				wheel("cv", "1.0", "cv", "a"), wheel("cv_gpu", "2.0", "cv", "b"),
				wheel("user", "3", "user", "f", "cv-gpu>=2"), wheel("also", "3", "also", "f", "cv", "cv-gpu"),
			},
			one + last + ". also 3 requires cv. user 3, also 3 require cv-gpu",
			"Keep one of cv and cv-gpu, and remove the other", "", nil,
		},
		{
			"three",
			[]analyzer.Input{
				wheel("cv", "1.0", "cv", "a"), wheel("cv_gpu", "2.0", "cv", "b"),
				wheel("cv_all", "4.0", "cv", "c"),
			},
			"cv 1.0, cv-gpu 2.0 and cv-all 4.0 install 2 of the same files, such as cv/_m.abi3.so" + last,
			"Keep one of cv, cv-gpu and cv-all, and remove the others", "", nil,
		},
		{
			"the same content",
			[]analyzer.Input{wheel("cv", "1.0", "cv", "a"), wheel("cv_gpu", "2.0", "cv", "a")},
			"", "", "", nil,
		},
		{
			"installed",
			[]analyzer.Input{
				wheel("cv", "1.0", "cv", "a"), wheel("cv_gpu", "2.0", "cv", "a"),
				wheel("user", "3", "user", "f", "cv-gpu"),
			},
			one + ". The installed files are those of cv. user 3 requires cv-gpu",
			"Remove cv (pins.txt:1), and install cv-gpu again",
			"python -m pip uninstall -y cv && " +
				"python -m pip install --force-reinstall --no-deps cv-gpu==2.0",
			func(wheel, _ string) bool { return strings.HasPrefix(wheel, "cv_gpu-") },
		},
		{
			"installed and the same content",
			[]analyzer.Input{wheel("cv", "1.0", "cv", "a"), wheel("cv_gpu", "2.0", "cv", "a")}, "", "", "",
			func(string, string) bool { return false },
		},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			With: []string{"cv==1.0", "cv-gpu==2.0"}, Wheels: c.wheels, Changed: c.installed,
			Origins: map[string]analyzer.Origin{"cv==1.0": {File: "pins.txt", Line: 1}},
		}
		if c.installed != nil {
			e.Prefix = &analyzer.Conda{Owner: func(string) string { return "" }}
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.message == "" {
			if len(r.Findings) > 0 {
				t.Errorf("%s: findings %+v", c.name, r.Findings)
			}
			continue
		}
		if len(r.Causes) != 1 || r.Verdict == analyzer.Incompatible {
			t.Errorf("%s: verdict %s, causes %+v", c.name, r.Verdict, r.Causes)
			continue
		}
		x, f := r.Causes[0], r.Findings[0]
		if f.Message != c.message || f.Rule != analyzer.RuleConflict || f.Severity != analyzer.Warning {
			t.Errorf("%s: finding %+v; want %q", c.name, f, c.message)
		}
		title, _, _ := strings.Cut(c.message, ". The ")
		if x.Title != title || len(x.Fixes) != 1 || x.Fixes[0].Title != c.fix ||
			string(x.Fixes[0].Command) != c.pip || x.Action != c.fix+"." {
			t.Errorf("%s: cause %+v; want %q and %q", c.name, x, title, c.fix)
		}
	}
}

// TestRequiredPackageIsMissing checks that a package with native code which an installed one
// requires and which is not installed is a warning, and an error if an object needs its library.
func TestRequiredPackageIsMissing(t *testing.T) {
	const needs = " requires torch>=2, which is not installed"
	for _, c := range []struct {
		name     string
		requires []string // of the installed package tool
		with     []string // others that are installed
		want     string   // of the only finding
	}{
		{"native", []string{"torch>=2"}, nil, "tool 2" + needs},
		{
			"for each Python",
			[]string{"torch<2; python_version < '3.9'", "torch>=2; python_version >= '3.9'"}, nil,
			"tool 2" + needs,
		},
		{"of another machine", []string{"torch>=2; platform_machine == 'aarch64'"}, nil, ""},
		{"pure", []string{"nothing-like-it"}, nil, ""},
		{"installed", []string{"torch>=2"}, []string{"torch==2.6.0+cpu"}, ""},
		{"extra", []string{"torch>=2; extra == 'fast'"}, nil, ""},
		{"required extra", []string{"tool[fast]", "torch>=2; extra == 'fast'"}, nil, "tool 2" + needs},
		{"another build", []string{"onnxruntime"}, []string{"onnxruntime-gpu==1.20.0"}, ""},
		{
			"another build too", []string{"opencv-python-headless"},
			[]string{"opencv-contrib-python==4.10.0.84"}, "",
		},
		{
			"another CUDA", []string{"nvidia-cublas-cu12"}, []string{"nvidia-cublas-cu11==11.11.3.6"},
			"tool 2 requires nvidia-cublas-cu12, which is not installed",
		},
	} {
		for _, complete := range []bool{true, false} {
			e := &analyzer.Environment{
				On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
				With: append([]string{"tool==2"}, c.with...), Complete: complete,
				Listed: []analyzer.Artifact{{Path: "tool-2-py3-none-any.whl", Wheel: &analyzer.Wheel{
					Name: "tool", Version: "2", Requires: c.requires,
				}}},
			}
			r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.Findings {
				got = append(got, f.Message)
			}
			if want := c.want; complete && strings.Join(got, "\n") != want || !complete && got != nil {
				t.Errorf("%s: %q; want %q", c.name, got, want)
			}
		}
	}
	e := &analyzer.Environment{
		On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12", Complete: true,
		With: []string{"vision==1.0", "sound==1.0"},
		Wheels: []analyzer.Input{
			user(t, "vision", "c10", "c10_f", "torch"), user(t, "sound", "z", "f", "torch>=2"),
		},
	}
	r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool {
		return c.Rules[0] == analyzer.RuleUnmet
	})
	if i < 0 || r.Causes[i].Severity != analyzer.Error || len(r.Causes[i].Findings) != 2 ||
		r.Causes[i].Title != "vision 1.0 requires torch, which is not installed (and 1 more requirement)" ||
		r.Causes[i].Action != "Add torch>=2 to the packages of the environment." ||
		string(r.Causes[i].Fixes[0].Command) != "pip install 'torch>=2'" {
		t.Errorf("causes %+v", r.Causes)
	}
	if f := r.Findings[r.Causes[i].Findings[0]]; !strings.HasSuffix(f.Message,
		"vision/libvision.so needs its libc10.so") {
		t.Errorf("finding %+v", f)
	}
}

// TestUnmetRequirement checks that a requirement that a pin does not satisfy is a warning on the
// line of the pin, with the version that all packages allow, although everything loads.
func TestUnmetRequirement(t *testing.T) {
	for _, c := range []struct {
		requires string
		fix      string
		versions []string
	}{
		{"package2>=1.1,<2", "package2==1.1", []string{"0.9", "1.0", "1.1", "1.2", "2.0"}},
		{"package2<1", "package2==0.9", []string{"0.8", "0.9", "1.0", "1.1"}},
		{"package2>=3", "", []string{"0.9", "1.0", "1.1"}},
		{"package2>=1.1; extra == 'more'", "-", []string{"1.0", "1.1"}},
		{"package2>=1.1; python_version < '3'", "-", []string{"1.0", "1.1"}},
		{"package2<2", "-", []string{"1.0", "1.1"}},
		{"absent>=1", "-", []string{"1.0"}},
	} {
		w := user(t, "package1", "package2", "function_of_package2", c.requires)
		source := &shelf{t: t, n: 9, versions: map[string][]string{
			"package2 3.12": c.versions, "package1 3.12": {"1.0"},
		}}
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			With: []string{"package1==1.0", "package2==1.0"}, Wheels: []analyzer.Input{w},
			Origins: map[string]analyzer.Origin{"package2==1.0": {File: "pins.txt", Line: 7}},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), e, nil, analyzer.Options{Source: source},
		)
		if err != nil {
			t.Fatal(err)
		}
		if c.fix == "-" {
			if len(r.Findings) != 0 {
				t.Errorf("%s: findings %+v", c.requires, r.Findings)
			}
			continue
		}
		if len(r.Findings) != 1 || len(r.Causes) != 1 || r.Verdict != analyzer.Compatible {
			t.Errorf("%s: verdict %s, findings %+v", c.requires, r.Verdict, r.Findings)
			continue
		}
		x := r.Causes[0]
		if x.Severity != analyzer.Warning || x.Rules[0] != analyzer.RuleUnmet ||
			x.File != "pins.txt" || x.Line != 7 || x.ID != "requirement-not-met-package2" {
			t.Errorf("%s: cause %+v", c.requires, x)
		}
		if c.fix == "" {
			if len(x.Fixes) > 0 {
				t.Errorf("%s: fixes %+v", c.requires, x.Fixes)
			}
			continue
		}
		_, version, _ := strings.Cut(c.fix, "==")
		if len(x.Fixes) != 1 || x.Fixes[0].Requirement != c.fix || !x.Fixes[0].Verified ||
			x.Fixes[0].Title != "Change package2 from 1.0 to "+version+" in pins.txt:7" {
			t.Errorf("%s: fixes %+v; want %s", c.requires, x.Fixes, c.fix)
		}
	}
}

// TestUnpinnedRequirement checks that a package that nothing pins, of which the newest version does
// not fit the pins, is not reported, nor a cost of a fix.
func TestUnpinnedRequirement(t *testing.T) {
	q, err := pkgmeta.ParseRequirement("package2>=2")
	if err != nil {
		t.Fatal(err)
	}
	source := &shelf{
		t: t, n: 9, requires: map[string][]pkgmeta.Requirement{"package3": {q}},
		versions: map[string][]string{
			"package1 3.12": {"1.0"}, "package2 3.12": {"1.0", "2.0"}, "package3 3.12": {"1.0"},
		},
	}
	for pin, want := range map[string]int{"package3==1.0": 1, "": 0} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			With: []string{"package1==1.0", "package2==1.0"},
			Wheels: []analyzer.Input{
				user(t, "package1", "package2", "function_of_package2", "package2", "package3"),
			},
		}
		if pin != "" {
			e.With = append(e.With, pin)
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), e, nil, analyzer.Options{Source: source},
		)
		if err != nil || len(r.Findings) != want {
			t.Errorf("pin %q: findings %+v, error %v; want %d", pin, r.Findings, err, want)
		}
	}
}

// TestPackagesWithoutWheel checks that packages without a wheel for one reason are one cause, and
// that the interpreter that is suggested has wheels of all packages, or that its cost says which
// have none.
func TestPackagesWithoutWheel(t *testing.T) {
	missing := func(name, lacks, python string) analyzer.NoWheel {
		return analyzer.NoWheel{
			Package: name, Version: "1.0", For: lacks, Python: python,
			Reason: name + "==1.0 has no wheel for " + lacks,
			At:     analyzer.Origin{File: "pins.txt", Line: 3},
		}
	}
	check := func(source packages.Source, list ...analyzer.NoWheel) *analyzer.Report {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.13", Arch: "x86_64"}, Platform: "alpine3.20", NoWheel: list,
			With:    []string{"other==1.0"},
			Origins: map[string]analyzer.Origin{"other==1.0": {File: "pins.txt", Line: 9}},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), e, nil, analyzer.Options{Source: source},
		)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := check(nil, missing("a", "musl", ""), missing("b", "musl", ""), missing("c", "aarch64", ""))
	if len(r.Causes) != 2 || len(r.Findings) != 3 ||
		r.Causes[0].Title != "2 packages have no wheel for musl: a==1.0 and b==1.0" ||
		r.Causes[1].Title != "c==1.0 has no wheel for aarch64 (pins.txt:3)" || r.Causes[0].Line != 3 {
		t.Errorf("causes %+v", r.Causes)
	}
	one := []string{"1.0"}
	for _, c := range []struct {
		versions    map[string][]string
		title, cost string
	}{
		{
			map[string][]string{"a 3.12": one, "other 3.12": one},
			"Use Python 3.12, for which all packages have a wheel", "",
		},
		{
			map[string][]string{"a 3.12": one, "a 3.11": one, "other 3.11": one},
			"Use Python 3.11, for which all packages have a wheel", "",
		},
		{
			map[string][]string{"a 3.12": one, "other 3.12": {"1.1"}},
			"Use Python 3.12", "no wheel for Python 3.12: other==1.0",
		},
	} {
		r := check(&shelf{t: t, versions: c.versions}, missing("a", "Python 3.13", "3.12"))
		if len(r.Causes) != 1 || len(r.Causes[0].Fixes) != 1 {
			t.Fatalf("causes %+v", r.Causes)
		}
		x := r.Causes[0].Fixes[0]
		if x.Title != c.title || strings.Join(x.Cost, "\n") != c.cost {
			t.Errorf("fix %q, cost %q; want %q, %q", x.Title, x.Cost, c.title, c.cost)
		}
	}
}

// stock is a source of releases whose library exports the functions after the name, and which
// require what is after "requires".
type stock struct {
	t        *testing.T
	releases map[string]string // NAME==VERSION
}

func (s stock) Versions(_ context.Context, name string, _ packages.Target) (out []string, _ error) {
	for id := range s.releases {
		if n, version, _ := strings.Cut(id, "=="); n == name {
			out = append(out, version)
		}
	}
	return out, nil
}

func (s stock) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	text, ok := s.releases[name+"=="+version]
	if !ok {
		return nil, packages.ErrUnknown
	}
	exports, requires, _ := strings.Cut(text, "requires ")
	lines := "elf x86_64\nsoname lib" + name + ".so\nverdef lib" + name + ".so\nverdef ONE\n"
	for f := range strings.FieldsSeq(exports) {
		lines += "export " + f + "\n"
	}
	o, err := elftest.Parse(lines)
	if err != nil {
		s.t.Error(err)
	}
	r := &packages.Release{
		Name: name, Version: version, Known: true,
		Libraries: []packages.Library{packages.NewLibrary(name+"/lib"+name+".so", o)},
	}
	if requires != "" {
		q, err := pkgmeta.ParseRequirement(requires)
		if err != nil {
			s.t.Error(err)
		}
		r.Requires = append(r.Requires, q)
	}
	return r, nil
}

// TestConcreteFix checks that a fix of an environment names a version, also where a rule or another
// package requires a range: a lock file has no ranges.
func TestConcreteFix(t *testing.T) {
	grid := func(text string, requires ...string) analyzer.Input {
		o, err := elftest.Parse("elf x86_64\nexport PyInit__g\n" + text)
		if err != nil {
			t.Fatal(err)
		}
		data, err := elftest.Write(o)
		if err != nil {
			t.Fatal(err)
		}
		w := cases.Wheel{
			Name: "grid", Version: "1.0", Tags: []string{"cp312-cp312-manylinux2014_x86_64"},
			Files:    map[string][]byte{"grid/_g.cpython-312-x86_64-linux-gnu.so": data},
			Requires: requires,
		}
		file, content := w.File()
		return analyzer.Input{Name: file, Content: bytes.NewReader(content), Size: int64(len(content))}
	}
	const old = "section .rodata 6e756d70792e636f72652e5f6d756c746961727261795f756d61746800\n"
	numpys := map[string]string{
		"numpy==1.25.2": "", "numpy==1.26.4": "", "numpy==2.0.0rc1": "", "numpy==2.0.2": "",
	}
	for _, c := range []struct {
		name     string
		wheel    analyzer.Input
		with     []string
		releases map[string]string
		is       string // title of the cause
		title    string
		command  string
		admits   string // requirement of the finding's first fix
	}{
		{"a range of the wheel", grid(old, "numpy<2,>=1.23.2"), []string{"grid==1.0", "numpy==2.0.2"},
			numpys, "grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to 1.26.4 in uv.lock:2", "uv lock --upgrade-package numpy==1.26.4",
			"numpy<2,>=1.23.2"},
		{"a range of a rule", grid(old, "numpy"), []string{"grid==1.0", "numpy==2.0.2"}, numpys,
			"grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to 1.26.4 in uv.lock:2", "uv lock --upgrade-package numpy==1.26.4",
			"numpy<2"},
		{"what others allow", grid(old, "numpy!=1.26.4"), []string{"grid==1.0", "numpy==2.0.2"}, numpys,
			"grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to 1.25.2 in uv.lock:2", "uv lock --upgrade-package numpy==1.25.2",
			"numpy<2"},
		{"no version is known", grid(old, "numpy"), []string{"grid==1.0", "numpy==2.0.2"},
			map[string]string{"numpy==2.0.2": ""}, "grid 1.0: built against NumPy 1, fails with numpy 2.0.2",
			"Change numpy from 2.0.2 to a version <2 in uv.lock:2", "uv lock --upgrade-package 'numpy<2'",
			"numpy<2"},
		{"the requirement of another package", grid("needed libone.so\nimport new@ONE libone.so\n", "one"),
			[]string{"grid==1.0", "one==1.0", "two==1.0"},
			map[string]string{
				"one==1.0": "old@ONE", "one==2.0": "old@ONE new@ONE requires two>=2,<4",
				"two==1.0": "", "two==2.0": "", "two==3.0": "", "two==3.1": "", "two==4.0": "",
			},
			"grid 1.0: fails with one 1.0, which lacks new",
			"Change one from 1.0 to 2.0 in uv.lock:2; change two from 1.0 to 3.1 in uv.lock:3",
			"uv lock --upgrade-package one==2.0 --upgrade-package two==3.1",
			"one>=2.0"},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12", With: c.with,
			Wheels: []analyzer.Input{c.wheel}, Origins: map[string]analyzer.Origin{},
		}
		for i, w := range c.with {
			e.Origins[w] = analyzer.Origin{File: "uv.lock", Line: i + 1}
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(
			t.Context(), e, nil, analyzer.Options{Source: stock{t, c.releases}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Causes) == 0 || !slices.ContainsFunc(r.Causes[0].Fixes, func(x analyzer.CauseFix) bool {
			return x.Title == c.title && string(x.Command) == c.command
		}) {
			t.Errorf("%s: verdict %s, causes %+v", c.name, r.Verdict, r.Causes)
		}
		if title := r.Causes[0].Title; !strings.HasPrefix(title, c.is) {
			t.Errorf("%s: title %q, want %q", c.name, title, c.is)
		}
		if fixes := r.Findings[0].Fixes; fixes[0].Requirement != c.admits {
			t.Errorf("%s: fixes %+v", c.name, fixes)
		}
	}
}

// TestCombinedFixes checks that the fixes of several causes of an environment are tried together, that
// another version is searched if they contradict each other, and that it is reported if there is none.
func TestCombinedFixes(t *testing.T) {
	wheel := func(name, text string, requires ...string) analyzer.Input {
		return extension(t, name, "1.0", text, requires...)
	}
	grid := wheel("grid", "section .rodata 6e756d70792e636f72652e5f6d756c746961727261795f756d61746800\n",
		"numpy")
	mesh := wheel("mesh", "needed libone.so\nimport new@ONE libone.so\n", "one")
	late := wheel("late", "needed libone.so\nimport old@ONE libone.so\n", "one")
	for _, c := range []struct {
		name     string
		one2     string // the release of one that is the next to have the symbol
		one3     string
		want     []string
		verified bool
		cost     string
	}{
		{"they fit", "old@ONE new@ONE requires numpy<2", "old@ONE new@ONE",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==2.0",
			}, true, "another version of numpy: one 2.0 requires numpy<2, not 2.0.2"},
		{"another version fits", "old@ONE new@ONE requires numpy>=2", "old@ONE new@ONE requires numpy<2",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==3.0",
			}, true, ""},
		{"none fits", "old@ONE new@ONE requires numpy>=2", "old@ONE new@ONE requires numpy>=2",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==2.0",
			}, false, "pip cannot resolve this: one==2.0 requires numpy>=2, not 1.26.4"},
		{"another package needs the old version", "new@ONE", "new@ONE",
			[]string{
				"uv lock --upgrade-package numpy==1.26.4", "uv lock --upgrade-package one==2.0",
			}, false, fix.Remain + ": "},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12",
			With:   []string{"grid==1.0", "mesh==1.0", "numpy==2.0.2", "one==1.0"},
			Wheels: []analyzer.Input{grid, mesh}, Origins: map[string]analyzer.Origin{},
		}
		if strings.HasPrefix(c.cost, fix.Remain) {
			e.With, e.Wheels = append(e.With, "late==1.0"), append(e.Wheels, late)
		}
		for i, w := range e.With {
			e.Origins[w] = analyzer.Origin{File: "uv.lock", Line: i + 1}
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{
			Source: stock{t, map[string]string{
				"numpy==1.26.4": "", "numpy==2.0.2": "", "one==1.0": "old@ONE", "one==2.0": c.one2,
				"one==3.0": c.one3,
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got, costs []string
		for _, x := range r.Plan.Fixes {
			got = append(got, string(x.Command))
			costs = append(costs, x.Cost...)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || r.Plan.Verified != c.verified ||
			!strings.HasPrefix(strings.Join(costs, "; "), c.cost) || c.cost == "" && costs != nil {
			t.Errorf("%s: plan %+v", c.name, r.Plan)
		}
		for i, x := range r.Causes[:len(r.Plan.Fixes)] {
			if len(x.Fixes) == 0 || x.Fixes[0].Command != r.Plan.Fixes[i].Command {
				t.Errorf("%s: cause %+v", c.name, x)
			}
		}
	}
}

// extension returns a wheel with one extension module, whose object is text and its imports.
func extension(t *testing.T, name, version, text string, requires ...string) analyzer.Input {
	t.Helper()
	o, err := elftest.Parse("elf x86_64\nexport PyInit__x\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	data, err := elftest.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	w := cases.Wheel{
		Name: name, Version: version, Tags: []string{"cp312-cp312-manylinux2014_x86_64"},
		Files:    map[string][]byte{name + "/_x.cpython-312-x86_64-linux-gnu.so": data},
		Requires: requires,
	}
	file, content := w.File()
	return analyzer.Input{Name: file, Content: bytes.NewReader(content), Size: int64(len(content))}
}

// TestOneFixIsEnough checks the plan for a package that was changed without the packages that it
// requires: to change it back removes what fails with it and what it fails with, and the versions
// that it requires are not part of the plan.
func TestOneFixIsEnough(t *testing.T) {
	const usesNew = "needed libone.so\nimport new@ONE libone.so\n"
	with := []string{"core==2.0", "vision==1.0", "one==1.0", "onnx==1.0"}
	e := &analyzer.Environment{
		On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12", With: with,
		Wheels: []analyzer.Input{
			extension(t, "core", "2.0", usesNew, "one==2.0"),
			extension(t, "vision", "1.0", "needed libcore.so\nimport f@ONE libcore.so\n", "core"),
		},
		Origins: map[string]analyzer.Origin{},
	}
	for i, w := range with {
		e.Origins[w] = analyzer.Origin{File: "uv.lock", Line: i + 1}
	}
	check := func() *analyzer.Report {
		t.Helper()
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{
			Source: stock{t, map[string]string{
				"core==1.0": "f requires one==1.0", "core==2.0": "g requires one==2.0",
				"one==1.0": "old@ONE", "one==2.0": "old@ONE new@ONE",
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := check()
	if len(r.Causes) != 2 || !r.Plan.Verified || len(r.Plan.Fixes) != 2 {
		t.Fatalf("plan %+v, causes %+v", r.Plan, r.Causes)
	}
	for i, x := range r.Plan.Fixes {
		if got := string(x.Command); got != "uv lock --upgrade-package core==1.0" {
			t.Errorf("plan: %s", got)
		}
		if c := r.Causes[i].Fixes[0]; c.Command != x.Command || !c.Verified {
			t.Errorf("cause %d: %+v", i+1, c)
		}
	}

	// A package without a wheel has none with another version of another package either.
	e.NoWheel = []analyzer.NoWheel{{
		Package: "onnx", Version: "1.0", Reason: "onnx==1.0 has no wheel for Python 3.12",
		Others: []string{"1.1"}, At: e.Origins["onnx==1.0"],
	}}
	r = check()
	if len(r.Causes) != 3 || r.Plan.Verified || len(r.Plan.Fixes) != 3 {
		t.Fatalf("plan %+v, causes %+v", r.Plan, r.Causes)
	}
	for i, c := range r.Causes {
		want := "core==1.0"
		if c.Rules[0] == analyzer.RuleNoWheel {
			want = "onnx==1.1"
		}
		if x := r.Plan.Fixes[i]; x.Requirement != want || c.Fixes[0].Requirement != want ||
			x.Verified != (want == "core==1.0") {
			t.Errorf("plan %+v, cause %+v; want %s", x, c, want)
		}
	}
}

// TestInstallerOfTheSystem checks that a package of the system is installed with a program that the
// system has: releases before RHEL 8 have no dnf.
func TestInstallerOfTheSystem(t *testing.T) {
	for platform, want := range map[string]string{
		"amazonlinux2": "yum install ", "rhel7": "yum install ", "rhel8": "dnf install ",
		"amazonlinux2023": "dnf install ", "debian12": "apt-get install ", "alpine3.20": "apk add ",
	} {
		r, err := analyzer.New(rules.All()).Check(
			t.Context(), []analyzer.Input{extension(t, "draw", "1.0", "needed libX11.so.6\n")},
			analyzer.Options{Platforms: []string{platform}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Findings, func(f analyzer.Finding) bool {
			return slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
				return strings.HasPrefix(string(x.Command), want)
			})
		}) {
			t.Errorf("%s: findings %+v; want %s", platform, r.Findings, want)
		}
	}
}

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
