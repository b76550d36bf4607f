package fix_test

import (
	"testing"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// wheel returns a wheel of which "wheel tags" accepts the tags, or one that has to be extracted.
func wheel(t *testing.T, file string, extract bool) *fix.Wheel {
	t.Helper()
	name, _, err := pkgmeta.ParseVariantName(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &fix.Wheel{File: file, Tags: name.Tags, Build: name.Build}
	if extract {
		w.Extract, w.Folder, w.Meta = "unzip", "tool-1.0", "tool-1.0/WHEEL"
	}
	return w
}

// One command changes all wheels; the name is the one that the wheel package writes.
func TestRetagCommand(t *testing.T) {
	const first = "tool-1.0-py2.py3-none-manylinux1_x86_64.whl"
	const second = "tool-1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
	const variant = "tool-1.0-cp312-cp312-manylinux_2_17_x86_64-v3.whl"
	to := pkgmeta.Tag{Platform: "manylinux_2_31_x86_64"}
	for name, c := range map[string]struct {
		all  []fix.Retagging
		want shellword.Line
		file string // of the first
	}{
		"two wheels": {
			[]fix.Retagging{{wheel(t, first, false), to}, {wheel(t, second, false), to}},
			"wheel tags --remove --platform-tag manylinux_2_31_x86_64 " + first + " " + second,
			"tool-1.0-py2.py3-none-manylinux_2_31_x86_64.whl",
		},
		"two tags": {
			[]fix.Retagging{
				{wheel(t, first, false), pkgmeta.Tag{Python: "py3"}},
				{wheel(t, second, false), pkgmeta.Tag{Platform: "win32", ABI: "abi3"}},
			},
			"wheel tags --remove --python-tag py3 " + first + "\n" +
				"wheel tags --remove --abi-tag abi3 --platform-tag win32 " + second,
			"tool-1.0-py3-none-manylinux1_x86_64.whl",
		},
		"a variant wheel": {
			[]fix.Retagging{{wheel(t, variant, true), to}},
			"unzip && { printf 'Tag: %s\\n' cp312-cp312-manylinux_2_31_x86_64; " +
				"grep -v '^Tag:' tool-1.0/WHEEL; } >WHEEL && mv WHEEL tool-1.0/WHEEL && " +
				"python -m wheel pack tool-1.0 && " +
				"mv tool-1.0-cp312-cp312-manylinux_2_31_x86_64.whl " +
				"tool-1.0-cp312-cp312-manylinux_2_31_x86_64-v3.whl && rm -r tool-1.0 " + variant,
			"tool-1.0-cp312-cp312-manylinux_2_31_x86_64-v3.whl",
		},
		"WHEEL has other tags": {
			[]fix.Retagging{{wheel(t, second, true), pkgmeta.Tag{}}},
			"unzip && { printf 'Tag: %s\\n' cp312-cp312-manylinux_2_17_x86_64 " +
				"cp312-cp312-manylinux2014_x86_64; grep -v '^Tag:' tool-1.0/WHEEL; } >WHEEL && " +
				"mv WHEEL tool-1.0/WHEEL && " +
				"python -m wheel pack tool-1.0 && rm -r tool-1.0 " + second,
			"tool-1.0-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		},
		"a build number": {
			[]fix.Retagging{{wheel(t, "tool-1.0-7-py3-none-any.whl", true), pkgmeta.Tag{Python: "py2"}}},
			"unzip && { printf 'Tag: %s\\n' py2-none-any; grep -v '^Tag:' tool-1.0/WHEEL; } >WHEEL && " +
				"mv WHEEL tool-1.0/WHEEL && python -m wheel pack --build-number 7 tool-1.0 && " +
				"rm -r tool-1.0 tool-1.0-7-py3-none-any.whl",
			"tool-1.0-7-py2-none-any.whl",
		},
	} {
		if got := fix.RetagCommand(c.all); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
		if got := c.all[0].File(); got != c.file {
			t.Errorf("%s: the file is %s, want %s", name, got, c.file)
		}
	}
}

// "wheel pack" sorts the tags of the file name, so a file with another order is replaced.
func TestRepack(t *testing.T) {
	for file, want := range map[string]shellword.Line{
		"tool-1.0-cp36-abi3-manylinux1_x86_64.whl": "python -m wheel pack tool-1.0 && rm -r tool-1.0",
		"tool-1.0-7-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": "python -m wheel pack " +
			"--build-number 7 tool-1.0 && " +
			"mv tool-1.0-7-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl " +
			"tool-1.0-7-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl && rm -r tool-1.0",
	} {
		if got := wheel(t, file, true).Repack(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
}

// Changes of different fields are one change; different values of one field are not.
func TestMergeRetags(t *testing.T) {
	w := wheel(t, "tool-1.0-cp36-abi3-manylinux1_x86_64.whl", false)
	platform := []fix.Retagging{{w, pkgmeta.Tag{Platform: "manylinux_2_31_x86_64"}}}
	python := []fix.Retagging{{w, pkgmeta.Tag{Python: "cp38"}}}
	all, ok := fix.MergeRetags(platform, python)
	if want := (pkgmeta.Tag{Python: "cp38", Platform: "manylinux_2_31_x86_64"}); !ok ||
		len(all) != 1 || all[0].To != want {
		t.Errorf("%+v %v", all, ok)
	}
	if platform[0].To.Python != "" {
		t.Error("the first change was modified")
	}
	if all, ok := fix.MergeRetags(python, []fix.Retagging{{w, pkgmeta.Tag{Python: "cp39"}}}); ok {
		t.Errorf("%+v", all)
	}
}

// The tag that a command sets is read from the command, not from the name of the wheel in it.
func TestPlatformTag(t *testing.T) {
	const file = "tool-1.0-cp312-cp312-manylinux_2_17_x86_64.whl"
	for _, to := range []pkgmeta.Tag{
		{Platform: "manylinux_2_31_x86_64"},
		{Python: "cp311", Platform: "manylinux_2_31_x86_64"},
	} {
		for _, extract := range []bool{false, true} {
			command := fix.RetagCommand([]fix.Retagging{{Wheel: wheel(t, file, extract), To: to}})
			if got := fix.PlatformTag(command); got != to.Platform {
				t.Errorf("%q in %s", got, command)
			}
		}
	}
	for _, command := range []shellword.Line{"", "--platform-tag", "wheel tags --python-tag cp311 " + file} {
		if got := fix.PlatformTag(command); got != "" {
			t.Errorf("%q in %s", got, command)
		}
	}
}
