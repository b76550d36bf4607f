package analyzer

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/result"
)

func TestLostSupport(t *testing.T) {
	for _, c := range []struct {
		name      string
		base, now string // the tags of wheels
		lost      string // what the note names; "" for no note
	}{
		{"nothing", "cp312-cp312-win_amd64", "cp312-cp312-win_amd64", ""},
		{"more", "cp312-cp312-win_amd64", "cp312-cp312-win_amd64 cp313-cp313-win_amd64", ""},
		{"another version of a system", "cp312-cp312-macosx_11_0_arm64 cp312-cp312-manylinux2014_x86_64",
			"cp312-cp312-macosx_14_0_arm64 cp312-cp312-manylinux_2_28_x86_64",
			"Linux (x86_64) with glibc before 2.28, macOS (arm64) before 14.0"},
		{"another version for one Python",
			"cp311-cp311-musllinux_1_1_x86_64 cp312-cp312-musllinux_1_1_x86_64",
			"cp311-cp311-musllinux_1_2_x86_64 cp312-cp312-musllinux_1_1_x86_64",
			"CPython 3.11 on Alpine Linux (x86_64) with musl before 1.2"},
		{"an older version too", "cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64",
			"cp312-cp312-manylinux_2_28_x86_64 cp310-abi3-manylinux2010_x86_64", ""},
		{"an older version", "cp312-cp312-macosx_14_0_arm64", "cp312-cp312-macosx_11_0_arm64", ""},
		{"unknown version", "cp312-cp312-linux_x86_64", "cp312-cp312-manylinux_2_28_x86_64", ""},
		{"older phones", "cp313-cp313-android_21_arm64_v8a", "cp313-cp313-android_24_arm64_v8a",
			"Android (arm64_v8a) before API level 24"},
		{"a system", "cp311-cp311-win_arm64 cp311-cp311-win_amd64", "cp311-cp311-win_amd64",
			"Windows (ARM64)"},
		{"a slice", "cp312-cp312-macosx_11_0_universal2", "cp312-cp312-macosx_11_0_arm64",
			"macOS (x86_64)"},
		{"slices in two wheels", "cp312-cp312-macosx_10_13_universal2",
			"cp312-cp312-macosx_11_0_arm64 cp312-cp312-macosx_10_13_x86_64", ""},
		{"another libc", "cp312-cp312-musllinux_1_2_aarch64 cp312-cp312-manylinux_2_28_aarch64",
			"cp312-cp312-manylinux_2_28_aarch64", "Alpine Linux (aarch64)"},
		{"a Python", "cp39-cp39-win32 cp310-cp310-win32 cp39-cp39-win_amd64 cp310-cp310-win_amd64",
			"cp310-cp310-win32 cp310-cp310-win_amd64", "CPython 3.9"},
		{"a Python on a system",
			"cp39-cp39-win32 cp310-cp310-win32 cp39-cp39-win_amd64 cp310-cp310-win_amd64",
			"cp310-cp310-win32 cp39-cp39-win_amd64 cp310-cp310-win_amd64",
			"CPython 3.9 on Windows (32-bit)"},
		{"wheels for another Python", "cp312-cp312-manylinux_2_28_x86_64",
			"cp311-cp311-manylinux_2_28_x86_64 cp311-cp311-macosx_11_0_arm64", "CPython 3.12"},
		{"wheels for another system", "cp311-cp311-win32", "cp311-cp311-win_amd64 cp312-cp312-win32",
			"CPython 3.11 on Windows (32-bit)"},
		{"free-threaded", "cp313-cp313-win32 cp313-cp313t-win32", "cp313-cp313-win32",
			"free-threaded CPython 3.13"},
		{"the stable ABI replaces wheels", "cp311-cp311-win32 cp312-cp312-win32", "cp311-abi3-win32", ""},
		{"a newer stable ABI", "cp38-abi3-win32", "cp310-abi3-win32", "CPython 3.8, CPython 3.9"},
		{"no stable ABI", "cp311-abi3-win32", "cp312-cp312-win32", "CPython 3.11"},
		{"PyPy", "pp310-pypy310_pp73-win32 cp310-cp310-win32", "cp310-cp310-win32", "PyPy 3.10"},
		{"pure", "py3-none-any", "cp312-cp312-win32", "other systems"},
		{"pure now", "cp312-cp312-win32 pp310-pypy310_pp73-win32", "py3-none-any", ""},
		{"only libraries", "py3-none-win32 py3-none-win_amd64", "py3-none-win_amd64",
			"Windows (32-bit)"},
		{"Android", "cp313-cp313-android_21_arm64_v8a cp313-cp313-ios_13_0_arm64_iphoneos",
			"cp313-cp313-android_21_arm64_v8a", "iOS (arm64_iphoneos)"},
		{"a hostile version", "cp39999999999-abi3-win32 cp312-cp312-win32", "cp312-cp312-win32", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, r := []WheelFile{}, result.New("")
			for tag := range strings.FieldsSeq(c.base) {
				before = append(before, WheelFile{Name: "Widget-1.0-" + tag + ".whl"})
			}
			for tag := range strings.FieldsSeq(c.now) {
				r.Artifacts = append(r.Artifacts, Artifact{
					Path: "dist.zip/widget-1.1-" + tag + ".whl", Wheel: &Wheel{},
				})
			}
			New(nil).AddLostSupport(r, append(before, WheelFile{Name: "other-1.0-py3-none-any.whl"},
				WheelFile{Name: "x.zip"}), "main", Options{})
			got := ""
			for _, n := range r.Notes {
				got, _ = strings.CutPrefix(n, "widget has no wheel for ")
				got, _, _ = strings.Cut(got, ", but main has; ")
				if n := len(r.Findings); n != strings.Count(got, ", ")+1 {
					t.Errorf("%d findings", n)
				}
			}
			if got != c.lost {
				t.Errorf("lost %q, want %q", got, c.lost)
			}
		})
	}
}

// TestLostPythons compares wheels with their Requires-Python: TAG[REQUIRES].
func TestLostPythons(t *testing.T) {
	list := func(text, version string) (out []WheelFile) {
		for part := range strings.SplitSeq(text, " ") {
			tag, requires, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
			out = append(out, WheelFile{"widget-" + version + "-" + tag + ".whl", requires})
		}
		return out
	}
	for _, c := range []struct {
		name      string
		base, now string
		lost      string
	}{
		{"the same", "py3-none-any[>=3.8]", "py3-none-any[>=3.8]", ""},
		{"any Python", "py3-none-any[>=3.8]", "py3-none-any[>=3.10]", "Python 3.8, Python 3.9"},
		{"a library", "py3-none-win_amd64[>=3.8] py3-none-win32[>=3.8]",
			"py3-none-win_amd64[>=3.10] py3-none-win32[>=3.10]", "Python 3.8, Python 3.9"},
		{"on one system", "py3-none-win_amd64[>=3.8] py3-none-win32[>=3.8]",
			"py3-none-win_amd64[>=3.9] py3-none-win32[>=3.8]", "Python 3.8 on Windows (x86-64)"},
		{"the stable ABI", "cp38-abi3-win32[>=3.8]", "cp38-abi3-win32[>=3.10]",
			"CPython 3.8, CPython 3.9"},
		{"a newer stable ABI, which was required before", "cp38-abi3-win32[>=3.10]",
			"cp310-abi3-win32[>=3.10]", ""},
		{"a newer stable ABI", "cp38-abi3-win32[>=3.9]", "cp310-abi3-win32[>=3.8]", "CPython 3.9"},
		{"the tag allows one", "cp311-cp311-win32[>=3.8]", "cp311-cp311-win32[>=3.11]", ""},
		{"of several", "cp39-cp39-win32[>=3.8] cp311-cp311-win32[>=3.8]",
			"cp39-cp39-win32[>=3.10] cp311-cp311-win32[>=3.10]", "CPython 3.9"},
		{"an upper limit", "py3-none-any[>=3.13]", "py3-none-any[>=3.13,<3.15]", "Python 3.15"},
		{"a gap", "py3-none-any[>=3.11]", "py3-none-any[>=3.11,!=3.12.*]", "Python 3.12"},
		{"a patch release", "py3-none-any[>=3.8]", "py3-none-any[>=3.8.1]", ""},
		{"more", "py3-none-any[>=3.10]", "py3-none-any[>=3.8]", ""},
		{"no Python 2 before", "py2.py3-none-any[>=3.8]", "py3-none-any[>=3.8]", ""},
		{"Python 2", "py2.py3-none-any[>=2.7,!=3.0.*]", "py3-none-any[>=3.1]", "Python 2"},
		{"PyPy", "pp310-pypy310_pp73-win32[>=3.8] pp39-pypy39_pp73-win32[>=3.8]",
			"py3-none-win32[>=3.10]", "PyPy 3.9"},
		{"built now", "py3-none-win32[>=3.14]", "cp314-cp314-win32[>=3.14]", "Python 3.15"},
		{"pure now", "cp39-cp39-win32[>=3.8] cp310-cp310-win32[>=3.8]", "py3-none-any[>=3.10]",
			"CPython 3.9"},
		{"none before", "py3-none-any", "py3-none-any[>=3.10]", ""},
		{"none now", "py3-none-any[>=3.8]", "py3-none-any", ""},
		{"of one wheel not known", "py3-none-win32[>=3.8] py3-none-any[>=3.8]",
			"py3-none-win32[>=3.10] py3-none-any", ""},
		{"cannot be read", "py3-none-any[>=3.8]", "py3-none-any[>=3.x]", ""},
		{"allows none that is known", "py3-none-any[>=3.8]", "py3-none-any[>=3.50]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := result.New("")
			for _, w := range list(c.now, "1.1") {
				r.Artifacts = append(r.Artifacts, Artifact{
					Path: w.Name, Wheel: &Wheel{RequiresPython: w.RequiresPython},
				})
			}
			New(nil).AddLostSupport(r, list(c.base, "1.0"), "main", Options{})
			got := ""
			for _, n := range r.Notes {
				got, _ = strings.CutPrefix(n, "widget has no wheel for ")
				got, _, _ = strings.Cut(got, ", but main has; ")
			}
			if got != c.lost {
				t.Errorf("lost %q, want %q", got, c.lost)
			}
			for _, f := range r.Findings {
				if f.Rule != RuleSupportRemoved || f.Severity != Note || f.Object != "widget" {
					t.Errorf("finding %+v", f)
				}
			}
		})
	}
}

func TestCounterparts(t *testing.T) {
	before := []string{
		"demo-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
		"demo-1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
		"demo-1.0-cp312-cp312-musllinux_1_1_x86_64.whl",
		"demo-1.0-cp312-cp312-macosx_10_13_x86_64.whl",
		"demo-1.0-cp312-cp312-macosx_11_0_arm64.whl",
		"demo-1.0-cp39-abi3-win_amd64.whl",
		"other-1.0-cp312-cp312-manylinux_2_17_x86_64.whl",
	}
	for _, c := range []struct{ wheels, want string }{
		{"demo-1.1-cp312-cp312-manylinux_2_28_x86_64.whl", "1"},
		{"Demo-1.1-cp312-cp312-macosx_11_0_universal2.whl", "3 4"},
		{"demo-1.1-cp312-cp312-win_amd64.whl", "5"},
		{"demo-1.1-cp310-abi3-manylinux_2_28_x86_64.whl", "0"},
		{"demo-1.1-cp312-cp312-musllinux_1_2_x86_64.whl demo-1.1-cp311-cp311-manylinux2014_x86_64.whl",
			"0 2"},
		{"demo-1.1-cp313-cp313-manylinux_2_28_x86_64.whl", ""},
		{"demo-1.1-cp312-cp312-win_arm64.whl", ""},
		{"third-1.1-cp312-cp312-manylinux_2_28_x86_64.whl", ""},
	} {
		var want []string
		for _, i := range strings.Fields(c.want) {
			want = append(want, before[i[0]-'0'])
		}
		if got := Counterparts(strings.Fields(c.wheels), before); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.wheels, got, want)
		}
	}
}
