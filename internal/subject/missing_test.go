package subject

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/internal/artifact"
)

func TestLacking(t *testing.T) {
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
			contents{"wheels": {cp311, nativeCode}}, contents{"dist": {cp311, cp312, nativeCode}}, nil},
		"a wheel less": {[]string{"wheels"}, []string{"wheels"},
			contents{"wheels": {cp311, cp312, nativeCode}}, contents{"wheels": {cp312, nativeCode}},
			[]string{cp311}},
		"a pure wheel": {[]string{"wheels"}, []string{"wheels"}, contents{"wheels": {cp311, nativeCode}},
			contents{"wheels": {"widget-py3-none-any"}}, []string{"wheels"}},
		"no native code": {[]string{"libs"}, []string{"libs", "decoy"}, contents{"libs": {nativeCode}},
			contents{"libs": {}, "decoy": {nativeCode}}, []string{"libs"}},
		"a wheel without its native code": {[]string{"wheels"}, []string{"wheels"},
			contents{"wheels": {cp311, cp311 + native, nativeCode}},
			contents{"wheels": {cp311, "gadget-cp311-cp311-win32" + native, nativeCode}}, []string{cp311}},
		"a pure wheel of another project, and a library": {[]string{"wheels"}, []string{"wheels"},
			contents{"wheels": {cp311, cp311 + native, nativeCode}},
			contents{"wheels": {"gadget-py3-none-any", nativeCode}}, []string{"wheels"}},
		"a wheel that moved to another artifact": {[]string{"all"}, []string{"all", "wheels"},
			contents{"all": {cp311, cp311 + native, nativeCode}},
			contents{"all": {nativeCode}, "wheels": {cp311, cp311 + native, nativeCode}}, nil},
		"a wheel with native code less": {[]string{"wheels"}, []string{"wheels"},
			contents{"wheels": {cp311, cp311 + native, cp312, cp312 + native, nativeCode}},
			contents{"wheels": {cp312, cp312 + native, nativeCode}}, []string{cp311}},
		"a branch named like another artifact": {[]string{"wheels-main", "wheels-feature"},
			[]string{"wheels-feature"}, nil, contents{}, []string{"wheels-main"}},
		"another project": {[]string{"wheels"}, []string{"wheels"}, contents{"wheels": {cp311, nativeCode}},
			contents{"wheels": {"gadget-cp311-cp311-manylinux_x86_64", nativeCode}}, nil},
		"one of two projects": {[]string{"wheels"}, []string{"wheels"},
			contents{"wheels": {cp311, "gadget-py3-none-any", nativeCode}},
			contents{"wheels": {cp311, nativeCode}}, []string{"gadget-py3-none-any"}},
		"the contents of the base are not known": {[]string{"wheels"}, []string{"wheels"}, nil,
			contents{"wheels": {}}, nil},
		"the contents of the head are not known yet": {[]string{"wheels", "cuda"}, []string{"wheels"},
			contents{"wheels": {cp311, nativeCode}}, nil, []string{"cuda"}},
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
