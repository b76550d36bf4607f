package pkgmeta

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{"Friendly-Bard": "friendly-bard",
		"friendly.bard": "friendly-bard", "FrIeNdLy-._.-bArD": "friendly-bard",
		"nvidia_nvjitlink_cu12": "nvidia-nvjitlink-cu12", "": "", "a_": "a-"} {
		if got := Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseWheelName(t *testing.T) {
	for in, want := range map[string]string{
		"warp_lang-1.6.2-py3-none-manylinux2014_x86_64.whl": "warp_lang 1.6.2  " +
			"py3-none-manylinux2014_x86_64",
		"torch-2.6.0+cu124-cp312-cp312-linux_x86_64.whl": "torch 2.6.0+cu124  " +
			"cp312-cp312-linux_x86_64",
		"a-1.0-1build-py2.py3-none-any.whl": "a 1.0 1build " +
			"py2-none-any py3-none-any",
		"numpy-2.0-cp39-abi3-manylinux_2_17_aarch64.manylinux2014_aarch64.whl": "numpy 2.0  cp39-abi3-manylinux_2_17_aarch64 cp39-abi3-manylinux2014_aarch64",
		"x-1.0.dev0_g12-py3-none-any.whl":                                      "error",
		"x-1.0-py3-none.whl":                                                   "error",
		"x-1.0-b1-py3-none-any.whl":                                            "error",
		"x-1.0--py3-none-any.whl":                                              "error",
		"x-1.0-py3-none-any.zip":                                               "error",
		"../x-1.0-py3-none-any.whl":                                            "error",
		"x-latest-py3-none-any.whl":                                            "error",
		"x-1.0-py3..py2-none-any.whl":                                          "error",
		"-1.0-py3-none-any.whl":                                                "error",
		"x-1-" + strings.Repeat("a.", 99) + "a-" + strings.Repeat("b.", 99) + "b-any.whl":    "error",
		"x-1-" + strings.Repeat("a.", 9999) + "a-" + strings.Repeat("b.", 999) + "b-any.whl": "error",
	} {
		w, err := ParseWheelName(in)
		got := "error"
		if err == nil {
			got = strings.Join([]string{w.Name, w.Version, w.Build}, " ")
			for _, tag := range w.Tags {
				got += " " + tag.String()
			}
		} else if len(err.Error()) > 500 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
		if got != want {
			t.Errorf("%.80s: got %q, want %q (%v)", in, got, want, err)
		}
	}
}

func TestParseMetadata(t *testing.T) {
	m, err := ParseMetadata(
		[]byte(
			"Metadata-Version: 2.1\r\nname: Warp.Lang\nVersion: 1.6.2\nSummary: a\n  " +
				"folded\nRequires-Python: >=3.8\nRequires-Dist: numpy\nRequires-Dist: -r evil\n" +
				"Requires-Dist: nvidia-nvjitlink-cu12 (>=12.1) ;\n  extra == 'cuda'\n\nRequires-Dist: " +
				"not-this\nVersion: 9\n",
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "Warp.Lang" || m.Version != "1.6.2" || m.RequiresPython != ">=3.8" ||
		len(m.Requires) != 2 ||
		len(m.Problems) != 1 {
		t.Fatalf("%+v", m)
	}
	if !strings.Contains(m.Problems[0], `"-r evil"`) {
		t.Error(m.Problems)
	}
	if r := m.Requires[1]; r.Spec != ">=12.1" {
		t.Errorf("%+v", r)
	}
}

func TestBounds(t *testing.T) {
	many := func(line string, n int) []byte {
		return []byte("Name: a\nVersion: 1\n" + strings.Repeat(line, n))
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no name":             {[]byte("Version: 1\n"), "no Name"},
		"empty":               {nil, "no Name"},
		"20 MB":               {many("Summary: x", 2_000_000), "limit of 4194304"},
		"11,000 requirements": {many("Requires-Dist: p\n", 11_000), "limit of 10000"},
		"endless version": {[]byte("Name: a\nVersion: " + strings.Repeat("1.", 500_000) + "1\n"),
			""},
		"not text":        {[]byte("Name: a\nVersion: 1\nSummary: \xff\xfe\x00\n"), ""},
		"200,000 headers": {[]byte("Name: a\nVersion: 1\n" + strings.Repeat("X: y\n", 200_000)), ""},
		"deep marker": {many("Requires-Dist: a; "+strings.Repeat("(",
			3000)+"os_name=='x'"+strings.Repeat(")", 3000)+"\n", 1), ""},
		"endless marker": {many("Requires-Dist: a; "+strings.Repeat("os_name=='x' or ",
			50_000)+"os_name=='y'\n", 1), ""},
		"garbage requirements": {many("Requires-Dist: ;;;\n", 9000), ""},
	} {
		m, err := ParseMetadata(c.data)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		case err == nil && len(fmt.Sprint(m.Problems)) > 20_000:
			t.Errorf("%s: %d bytes of problems", name, len(fmt.Sprint(m.Problems)))
		}
	}
	if _, err := ParseRequirement("a; " + strings.Repeat("(", 40) + "os_name=='x'" +
		strings.Repeat(")", 40)); err == nil ||
		!strings.Contains(err.Error(), "more than 32 nested parentheses") {
		t.Error(err)
	}
	if _, err := ParseVersion("1." + strings.Repeat("9", 19)); err == nil ||
		!strings.Contains(err.Error(), "18 digits") {
		t.Error(err)
	}
}

func TestParseWheel(t *testing.T) {
	w, err := ParseWheel(
		[]byte(
			"Wheel-Version: 1.0\nGenerator: bdist_wheel (0.37.1)\nRoot-Is-Purelib: false\nTag: " +
				"cp312-cp312-manylinux_2_17_x86_64\nTag: cp312-cp312-manylinux2014_x86_64\nBuild: 2\n",
		),
	)
	if err != nil || w.Purelib || w.Build != "2" || len(w.Tags) != 2 ||
		w.Tags[1].Platform != "manylinux2014_x86_64" ||
		w.Generator != "bdist_wheel (0.37.1)" {
		t.Fatalf("%+v %v", w, err)
	}
	if _, err := ParseWheel([]byte("Tag: " + strings.Repeat("a.b.", 20000) + "-" +
		strings.Repeat("c.d.", 20000) + "-any\n")); err == nil {
		t.Error("a tag set of 1.6 billion tags is accepted")
	}
	if _, err := ParseWheel([]byte(strings.Repeat("Tag: cp312-cp312-any\n", 5000))); err == nil {
		t.Error("5,000 tags are accepted")
	}
}

func TestPin(t *testing.T) {
	for in, want := range map[string]string{"==12.6.85": "12.6.85", ">=1,==2.0+cu124": "2.0+cu124",
		"==2.*": "", ">=1": "", "": "", "===1.0": "1.0", "===odd": ""} {
		s, err := ParseSpec(in)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := s.Pin()
		if v.String() != want || ok != (want != "") {
			t.Errorf("%q: %s %v", in, v, ok)
		}
		q, err := ParseRequirement("one" + in)
		if w, same := q.Pin(); err != nil || w.String() != v.String() || same != ok {
			t.Errorf("one%s: %s %v, %v", in, w, same, err)
		}
	}
}

func TestRequirementAdmits(t *testing.T) {
	for _, c := range []struct {
		in, version string
		want        bool
	}{
		{"numpy<2,>=1.23.2", "1.26.4", true}, {"numpy<2,>=1.23.2", "2.0.2", false},
		{"numpy", "2.1.0rc1", true}, {"numpy (>=1) ; python_version < '3'", "1.0", true},
	} {
		q, err := ParseRequirement(c.in)
		v, bad := ParseVersion(c.version)
		if err != nil || bad != nil || q.Admits(v) != c.want {
			t.Errorf("%s admits %s: %v, %v, %v", c.in, c.version, !c.want, err, bad)
		}
	}
	if (Requirement{Spec: "about 2"}).Admits(Version{}) {
		t.Error("an invalid specifier admits a version")
	}
}

// The normal form of a version parses to an equal version.
func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{"1.0", "1!2.0rc1.post2.dev3+cu124.4", "v1-1", "2.6.0+CU_124", "1.0-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVersion(s)
		if err != nil {
			return
		}
		w, err := ParseVersion(v.String())
		if err != nil || v.Compare(w) != 0 || w.String() != v.String() {
			t.Fatalf("%q: %s and %s, %v", s, v, w, err)
		}
		for _, op := range []string{"==", ">=", "<="} {
			if spec, err := ParseSpec(op + v.Public().String()); err != nil || !spec.Admits(v) {
				t.Fatalf("%s is not in %s: %v", v, op+v.Public().String(), err)
			}
		}
		if spec, err := ParseSpec(">" + v.Public().String()); err != nil || spec.Admits(v) {
			t.Fatalf("%s is after itself: %v", v, err)
		}
	})
}

// A requirement that parses can be evaluated, and its written form parses to the same requirement.
func FuzzParseRequirement(f *testing.F) {
	for _, s := range []string{"a", "a[b,c]>=1,<2; python_version >= '3.8' and extra == 'x'",
		"a @ https://x ; os_name=='posix'", "a (==1.*)", "a; (os_name=='a' or os_name not in \"b\")"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRequirement(s)
		if err != nil {
			return
		}
		text := r.Name
		if r.Extras != nil {
			text += "[" + strings.Join(r.Extras, ",") + "]"
		}
		if r.URL != "" {
			text += " @ " + r.URL + " "
		} else {
			text += r.Spec
		}
		if r.Marker != "" {
			text += ";" + r.Marker
		}
		again, err := ParseRequirement(text)
		if err != nil || again.Name != r.Name || again.Spec != r.Spec || again.Marker != r.Marker ||
			again.URL != r.URL ||
			!slices.Equal(again.Extras, r.Extras) {
			t.Fatalf("%q: %+v, then %q: %+v, %v", s, r, text, again, err)
		}
		env := DefaultMarkerEnv("3.12", "x86_64")
		one, err1 := r.Applies(env)
		two, err2 := again.Applies(env, "")
		if one != two || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q: %v %v, %v %v", s, one, err1, two, err2)
		}
	})
}

func FuzzParseFiles(f *testing.F) {
	f.Add([]byte("Name: a\nVersion: 1\nRequires-Dist: b\n\nbody"), "x-1-py3-none-any.whl")
	f.Add([]byte("Tag: py2.py3-none-any\n"), "x-1-2-py2.py3-none-any.whl")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		if m, err := ParseMetadata(data); err == nil && (m.Name == "" || m.Version == "") {
			t.Fatal("no name and no error")
		}
		if w, err := ParseWheel(data); err == nil && len(w.Tags) > maxTags {
			t.Fatal(len(w.Tags))
		}
		if w, err := ParseWheelName(name); err == nil &&
			(len(w.Tags) == 0 || len(w.Tags) > maxTags || w.Name == "") {
			t.Fatalf("%+v", w)
		}
	})
}

func TestSameVersion(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"13.0.3", "13.0.3.0", true}, {"1.0", "1", true}, {"1.0+cu12", "1.0", false},
		{"0.0", "0", true}, {"0", "0.1", false}, {"1!0.0.post1", "1!0-1", true},
		{"1.0.1", "1.0.10", false}, {"1.0rc1", "1.0.0-rc.1", true},
		{"unknown", "unknown", true}, {"unknown", "1.0", false}, {"", "1", false},
	} {
		if got := SameVersion(c.a, c.b); got != c.same {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.same)
		}
		v, errV := ParseVersion(c.a)
		w, errW := ParseVersion(c.b)
		if errV == nil && errW == nil && (v.Key() == w.Key()) != c.same {
			t.Errorf("keys %q and %q, same: %v", v.Key(), w.Key(), c.same)
		}
	}
}

func TestSpecKeeping(t *testing.T) {
	for _, c := range []struct{ spec, old, want string }{
		{"<2", ">=1.22.3", ">=1.22.3,<2"},
		{"<2", ">=1.22, !=1.24.0, <3", ">=1.22,!=1.24.0,<2"},
		{"<2", ">1.0,!=1.5.*,<3", ">1.0,!=1.5.*,<2"}, {"~=1.4", ">=1.0", "~=1.4"},
		{">=2.7", "<3", "<3,>=2.7"}, {">=2.7", ">=2", ">=2.7"}, {">=2.7,<2.8", ">=2,<3", ">=2.7,<2.8"},
		{"<2", ">=2", "<2"}, {"<2", ">2.1", "<2"}, {">=2.7", "<2.6", ">=2.7"}, // contradicted
		{"<2", "~=1.22", "~=1.22,<2"}, {">=1.25", "~=1.22", "~=1.22,>=1.25"}, {">=2", "~=1.22", ">=2"},
		{"<2", "==1.*", "==1.*,<2"}, {">=2", "==1.*", ">=2"},
		{">=2.7", "==2.5", ">=2.7"}, {"==2.7", ">=2", "==2.7"}, {"<2", "", "<2"}, {"<2", "<2", "<2"},
		{"!=1.24.0", ">=1.22,!=1.24.0", ">=1.22,!=1.24.0"},
	} {
		spec, err1 := ParseSpec(c.spec)
		old, err2 := ParseSpec(c.old)
		if got := spec.Keeping(old).String(); err1 != nil || err2 != nil || got != c.want {
			t.Errorf("%q keeping %q: %q, want %q", c.spec, c.old, got, c.want)
		}
	}
}
