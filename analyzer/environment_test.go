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
		Reason: "widget==2.0 has no wheel for musl", Detail: "there are wheels for glibc",
		At: analyzer.Origin{File: "uv.lock", Line: 4}, Others: []string{"2.1", "1.8"},
	}
	built := analyzer.NoWheel{
		Package: "built", Version: "1.0",
		Reason: "built==1.0 has no wheel for Python 3.12", Detail: "there are wheels for Python 3.11",
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
		len(f.Fixes) != 1 || !strings.Contains(f.Fixes[0].Title.String(), "Use Python 3.11") {
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
		Libraries: []packages.Library{packages.NewLibrary(name+"/"+library, o, nil)},
	}, nil
}

// built returns an object from its text form without the first line.
func built(t *testing.T, text string) []byte {
	t.Helper()
	return elftest.File(t, "elf x86_64\n"+text)
}

// input returns a wheel as it is given to a check.
func input(w cases.Wheel) analyzer.Input {
	file, content := w.File()
	return analyzer.Input{Name: file, Content: bytes.NewReader(content), Size: int64(len(content))}
}

// user returns a wheel of a package that imports a function from the library of another one.
func user(t *testing.T, name, other, function string, requires ...string) analyzer.Input {
	t.Helper()
	data := built(t, "soname lib"+name+".so\nneeded lib"+other+".so\nimport "+function+"\n")
	return input(cases.Wheel{
		Name: name, Version: "1.0", Tags: []string{"py3-none-manylinux2014_x86_64"},
		Files:    map[string][]byte{name + "/lib" + name + ".so": data},
		Requires: requires,
	})
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
			x.Fixes[0].Title.String() != "Change package2 from 1.0 to "+version+" in pins.txt:7" {
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
		if x.Title.String() != c.title || strings.Join(x.Cost, "\n") != c.cost {
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
		Libraries: []packages.Library{packages.NewLibrary(name+"/lib"+name+".so", o, nil)},
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

// extension returns a wheel with one extension module, whose object is text and its imports.
func extension(t *testing.T, name, version, text string, requires ...string) analyzer.Input {
	t.Helper()
	data := built(t, "export PyInit__x\n"+text)
	return input(cases.Wheel{
		Name: name, Version: version, Tags: []string{"cp312-cp312-manylinux2014_x86_64"},
		Files:    map[string][]byte{name + "/_x.cpython-312-x86_64-linux-gnu.so": data},
		Requires: requires,
	})
}

// TestModuleOfAnotherPython checks that modules which the interpreter does not find by their file
// names are reported where the package imports them in any case, also of a wheel without an ABI tag.
func TestModuleOfAnotherPython(t *testing.T) {
	imports := []byte("from . import _x\n")
	for _, c := range []struct {
		tag, file, python string
		source            []byte
		want              int
	}{
		{"cp313-none", "_x.cpython-313-x86_64-linux-gnu.so", "3.13t", imports, 1},
		{"cp313-none", "_x.cpython-313-x86_64-linux-gnu.so", "3.13", imports, 0},
		{"py3-none", "_x.cpython-311-x86_64-linux-gnu.so", "3.12", imports, 1},
		{"py3-none", "_x.cpython-311-x86_64-linux-gnu.so", "3.12", []byte("try:\n    import _x\nexcept ImportError: pass\n"), 0},
		{"py3-none", "_x.cpython-312-x86_64-linux-gnu.so", "3.12.4", imports, 0},
		{"py3-none", "_x.abi3.so", "3.12", imports, 0},
		{"py3-none", "_x.so", "3.12", imports, 0},
	} {
		e := &analyzer.Environment{
			On: packages.Target{Python: c.python, Arch: "x86_64"}, Platform: "debian12",
			Wheels: []analyzer.Input{input(cases.Wheel{
				Name: "tool", Version: "1.0", Tags: []string{c.tag + "-manylinux2014_x86_64"},
				Files: map[string][]byte{
					"tool/__init__.py": c.source, "tool/" + c.file: built(t, "export PyInit__x\n"),
				},
			})},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{})
		if err != nil || len(r.Findings) != c.want {
			t.Errorf("%s %s on %s: findings %+v, error %v; want %d", c.tag, c.file, c.python, r.Findings,
				err, c.want)
		}
	}
}
