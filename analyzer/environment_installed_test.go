package analyzer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
)

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
