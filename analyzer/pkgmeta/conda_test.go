package pkgmeta

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// testdata/conda.txt has the answers of conda's VersionSpec: the versions that match each spec.
func TestCondaSpec(t *testing.T) {
	text, err := os.ReadFile("testdata/conda.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	versions := strings.Fields(strings.TrimPrefix(lines[0], "versions: "))
	for _, line := range lines[1:] {
		spec, list, _ := strings.Cut(line, ":")
		s, err := ParseCondaSpec("x " + spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		var got []string
		for _, v := range versions {
			ok, err := s.Admits(v, "")
			if err != nil {
				t.Errorf("%s: %v", v, err)
			}
			if ok {
				got = append(got, v)
			}
		}
		if want := strings.Fields(list); !slices.Equal(got, want) {
			t.Errorf("%s admits\n%q, want\n%q", spec, got, want)
		}
	}
}

func TestCondaSpecForms(t *testing.T) {
	for _, c := range []struct{ text, version, build, want string }{
		{"python_abi 3.11.* *_cp311", "3.11", "4_cp311", "yes"},
		{"python_abi 3.11.* *_cp311", "3.11", "4_cp312", "no"},
		{"python_abi 3.11.* *_cp311", "3.11", "", "yes"},
		{"libblas 3.9.0 20_linux64_openblas", "3.9.0", "21_linux64_openblas", "no"},
		{"numpy 1.26.4 py311*", "1.26.4", "py311h7125741_0", "yes"},
		{"pytorch * cuda*", "2.4", "cpu_py311", "no"},
		{"numpy", "2.1", "0", "yes"},
		{"NumPy>=1.2, <2", "1.26", "0", "yes"},
		{"numpy >=1.2 , <2", "2.1", "0", "no"},
		{"numpy=1.26", "1.26.4", "0", "yes"},
		{"numpy=1.26=py311_0", "1.26.4", "py311_0", "no"},
		{"libgcc-ng ==15.2.0=*_18", "15.2.0", "h69a702a_18", "yes"},
		{"libgcc-ng ==15.2.0=*_18", "15.2.0", "h69a702a_7", "no"},
		{"numpy 1.26=py311_0", "1.26", "py311_0", "error"},
		{"numpy[version='<2']", "2.1", "0", "error"},
		{"conda-forge::numpy", "2.1", "0", "error"},
		{"numpy ^1.*$", "2.1", "0", "error"},
		{"numpy >=<1", "2.1", "0", "error"},
		{"numpy (1|2)", "2.1", "0", "error"},
		{"numpy 1 2 3", "2.1", "0", "error"},
		{"numpy 1..2", "2.1", "0", "error"},
		{"numpy <2", "odd version", "0", "error"},
		{"numpy !=1.2*", "2.1", "0", "error"},
		{"numpy =*", "2.1", "0", "error"},
		{"", "1", "0", "error"},
	} {
		got := "error"
		if s, err := ParseCondaSpec(c.text); err == nil {
			if ok, err := s.Admits(c.version, c.build); err == nil {
				got = map[bool]string{true: "yes", false: "no"}[ok]
			}
		}
		if got != c.want {
			t.Errorf("%s for %s %s: %s, want %s", c.text, c.version, c.build, got, c.want)
		}
	}
}

func FuzzCondaSpec(f *testing.F) {
	f.Add("python_abi 3.11.* *_cp311", "3.11")
	f.Add("x 1!1.2_+a.post1|<2,!=1.*", "1.0.dev")
	f.Fuzz(func(t *testing.T, spec, version string) {
		v, err := parseCondaVersion(version)
		if err != nil {
			return
		}
		if v.compare(v) != 0 || !v.begins(v) {
			t.Errorf("%q differs from itself", version)
		}
		s, err := ParseCondaSpec(spec)
		if err != nil {
			return
		}
		if _, err := s.Admits(version, ""); err != nil {
			t.Errorf("%q admits %q: %v", spec, version, err)
		}
	})
}
