package analyzer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// TestFileConflict checks that packages which install different objects at one path are one cause
// that says which one to keep, and that packages with the same content are none.
func TestFileConflict(t *testing.T) {
	wheel := func(name, version, folder, function string, requires ...string) analyzer.Input {
		data := built(t, "export PyInit__m\nexport "+function+"\n")
		return input(cases.Wheel{
			Name: name, Version: version, Tags: []string{"cp312-abi3-manylinux2014_x86_64"},
			Files:    map[string][]byte{folder + "/_m.abi3.so": data, folder + "/_longer.abi3.so": data},
			Requires: requires,
		})
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
		if f.Message != c.message || f.Rule != "file-conflict" || f.Severity != analyzer.Warning {
			t.Errorf("%s: finding %+v; want %q", c.name, f, c.message)
		}
		title, _, _ := strings.Cut(c.message, ". The ")
		if x.Title != title || len(x.Fixes) != 1 || x.Fixes[0].Title.String() != c.fix ||
			string(x.Fixes[0].Command) != c.pip || x.Action != c.fix+"." {
			t.Errorf("%s: cause %+v; want %q and %q", c.name, x, title, c.fix)
		}
	}
}

// TestFirstWithFileConflict checks that a package is not judged as if one had been imported before
// that installs the same files: only one of the two exists.
func TestFirstWithFileConflict(t *testing.T) {
	wheel := func(name, folder, function string) analyzer.Input {
		return input(cases.Wheel{
			Name: name, Version: "1.0", Tags: []string{"cp312-abi3-manylinux2014_x86_64"},
			Files: map[string][]byte{
				folder + "/libcv.so": built(t, "soname libcv.so\nexport "+function+"\n"),
				folder + "/_m.abi3.so": built(t, "needed libcv.so\nrunpath $ORIGIN\nimport "+function+
					"\nexport PyInit__m\n"),
			},
		})
	}
	for _, c := range []struct {
		folder string
		fails  bool
	}{{"cv", false}, {"other", true}} {
		e := &analyzer.Environment{
			On: packages.Target{Python: "3.12", Arch: "x86_64"}, Platform: "debian12", Complete: true,
			With:   []string{"cv==1.0", "cv-gpu==1.0"},
			Wheels: []analyzer.Input{wheel("cv", "cv", "a"), wheel("cv_gpu", c.folder, "b")},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil,
			analyzer.Options{
				First: []string{"cv"}, Source: stock{t, map[string]string{"cv==1.0": "", "cv-gpu==1.0": ""}},
			})
		if err != nil || r.Fails(analyzer.Error) != c.fails {
			t.Errorf("%s: %+v, %v", c.folder, r.Findings, err)
		}
	}
}

// TestConflictWithUnread checks that a package whose wheel is not read, because the built-in history
// knows it, conflicts with another one that installs the same libraries.
func TestConflictWithUnread(t *testing.T) {
	e := &analyzer.Environment{
		On: packages.Target{
			Python: "3.12", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36",
		},
		Platform: "debian12",
		With:     []string{"nvidia-cudnn-cu13==9.28.1.4", "nvidia-cudnn-cu12==9.5.1.17"},
		Wheels: []analyzer.Input{input(cases.Wheel{
			Name: "nvidia_cudnn_cu13", Version: "9.28.1.4", Tags: []string{"py3-none-manylinux2014_x86_64"},
			Files: map[string][]byte{
				"nvidia/cudnn/lib/libcudnn.so.9": built(t, "soname libcudnn.so.9\nexport a\n"),
				"nvidia/cudnn/lib/libother.so.9": built(t, "soname libother.so.9\nexport a\n"),
			},
		})},
	}
	r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Findings {
		if f.Rule == "file-conflict" {
			got = append(got, r.PackageOf(f.Artifact)+": "+f.Message)
		}
	}
	const message = ": nvidia-cudnn-cu13 9.28.1.4 and nvidia-cudnn-cu12 9.5.1.17 both install " +
		"nvidia/cudnn/lib/libcudnn.so.9. The package that is installed last overwrites the files of " +
		"the others"
	slices.Sort(got)
	want := []string{"nvidia-cudnn-cu12 9.5.1.17" + message, "nvidia-cudnn-cu13 9.28.1.4" + message}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
