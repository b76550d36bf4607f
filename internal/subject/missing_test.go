package subject

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/internal/artifact"
)

func TestLacking(t *testing.T) {
	const native = nativeCode
	run := artifact.Run{
		ID: 7, Path: ".github/workflows/wheels.yml", Status: "completed", Conclusion: "success",
		SHA: "0123456789abcdef0123456789abcdef01234567", Branch: "feature",
	}
	base := run
	base.ID, base.Branch, base.SHA = 3, "main", "fedcba9876543210fedcba9876543210fedcba98"
	upload := func(name string) artifact.Upload {
		return artifact.Upload{Workflow: base.Path, Name: name, Stable: artifact.Stable(name, base)}
	}
	cp311, cp312 := "widget-cp311-cp311-manylinux_x86_64", "widget-cp312-cp312-manylinux_x86_64"
	for name, c := range map[string]struct {
		expects    []string
		has        []string
		base, head contents
		want       []string
	}{
		"the same names": {[]string{"wheels", "docs"}, []string{"docs", "wheels"}, nil, contents{}, nil},
		"a name less": {[]string{"wheels", "cuda"}, []string{"wheels"}, nil, contents{},
			[]string{"cuda"}},
		"names with commit, branch and run": {
			[]string{"wheels-fedcba9", "main-wheels", "wheels-3"},
			[]string{"wheels-0123456", "feature-wheels", "wheels-7"}, nil, contents{}, nil,
		},
		"names with versions": {[]string{"cuda-12.1", "cuda-11.8"}, []string{"cuda-12.4", "cuda-11.8"},
			nil, contents{}, []string{"cuda-12.1"}},
		"another name for the same wheels": {[]string{"wheels"}, []string{"dist"},
			contents{"wheels": {cp311, native}}, contents{"dist": {cp311, cp312, native}}, nil},
		"a wheel less": {[]string{"wheels"}, []string{"wheels"},
			contents{"wheels": {cp311, cp312, native}}, contents{"wheels": {cp312, native}},
			[]string{cp311}},
		"a pure wheel": {[]string{"wheels"}, []string{"wheels"}, contents{"wheels": {cp311, native}},
			contents{"wheels": {"widget-py3-none-any"}}, []string{"wheels"}},
		"no native code": {[]string{"libs"}, []string{"libs", "decoy"}, contents{"libs": {native}},
			contents{"libs": {}, "decoy": {native}}, []string{"libs"}},
		"another project": {[]string{"wheels"}, []string{"wheels"}, contents{"wheels": {cp311, native}},
			contents{"wheels": {"gadget-cp311-cp311-manylinux_x86_64", native}}, nil},
		"one of two projects": {[]string{"wheels"}, []string{"wheels"},
			contents{"wheels": {cp311, "gadget-py3-none-any", native}},
			contents{"wheels": {cp311, native}}, []string{"gadget-py3-none-any"}},
		"the contents of the base are not known": {[]string{"wheels"}, []string{"wheels"}, nil,
			contents{"wheels": {}}, nil},
		"the contents of the head are not known yet": {[]string{"wheels", "cuda"}, []string{"wheels"},
			contents{"wheels": {cp311, native}}, nil, []string{"cuda"}},
	} {
		found := &artifact.Found{Runs: []artifact.Run{run}}
		for _, n := range c.has {
			found.Items = append(found.Items, artifact.Item{Name: n, Run: run.ID})
		}
		var expects []artifact.Upload
		for _, n := range c.expects {
			expects = append(expects, upload(n))
		}
		var got []string
		for _, m := range lacking(expects, found, c.base, c.head) {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: lacks %q, want %q", name, got, c.want)
		}
	}
}

func TestWheelKinds(t *testing.T) {
	for file, want := range map[string][]string{
		"widget-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": {
			"widget-cp311-cp311-manylinux_x86_64"},
		"a.b_c-1.0-7-cp38-abi3-macosx_11_0_arm64.whl": {"a_b_c-abi3-macosx_arm64"},
		"a-1.0+cu121-cp311-cp311-win_amd64.whl":       {"a-cp311-cp311-win_amd64"},
		"a-1.0-py2.py3-none-any.whl":                  {"a-py2-none-any", "a-py3-none-any"},
		"a-1.0-cp311-cp311-musllinux_1_2_aarch64.whl": {"a-cp311-cp311-musllinux_aarch64"},
		"a-1.0-cp311-cp311-win32.whl":                 {"a-cp311-cp311-win32"},
		"a-1.0-cp311-cp311-plan9_x.whl":               {"a-cp311-cp311-plan9_x"},
		"notes.txt":                                   nil,
	} {
		if got := wheelKinds(file); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
