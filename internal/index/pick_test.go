package index

import (
	"net/url"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// filesWith returns wheels with these tag sets, separated by spaces.
func filesWith(t *testing.T, wheels string) []file {
	t.Helper()
	var files []file
	for tags := range strings.FieldsSeq(wheels) {
		w, err := pkgmeta.ParseWheelName("x-1-" + tags + ".whl")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{name: tags, tags: w.Tags})
	}
	return files
}

func TestPick(t *testing.T) {
	for _, c := range []struct {
		python, arch, wheels, want string
	}{
		{"3.12", "x86_64", "cp311-cp311-manylinux2014_x86_64 cp312-cp312-manylinux2014_x86_64 " +
			"cp313-cp313-manylinux2014_x86_64", "cp312-cp312-manylinux2014_x86_64"},
		{"3.12.4", "x86_64", "cp312-cp312-manylinux_2_17_x86_64 cp312-cp312-manylinux_2_28_x86_64 " +
			"cp312-cp312-musllinux_1_2_x86_64", "cp312-cp312-manylinux_2_28_x86_64"},
		{"3.12", "aarch64", "cp312-cp312-manylinux2014_x86_64 cp312-cp312-manylinux2014_aarch64",
			"cp312-cp312-manylinux2014_aarch64"},
		{"3.12", "x86_64", "cp38-abi3-manylinux2014_x86_64 py3-none-any",
			"cp38-abi3-manylinux2014_x86_64"},
		{"3.12", "x86_64", "cp313-abi3-manylinux2014_x86_64 py3-none-any", "py3-none-any"},
		{"3.12", "x86_64", "cp38-abi3-linux_x86_64 cp39-abi3-linux_x86_64", "cp39-abi3-linux_x86_64"},
		{"3.12", "x86_64", "py3-none-any py3-none-manylinux1_x86_64 " +
			"py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64",
			"py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"},
		{"3.12", "x86_64", "py2.py3-none-any", "py2.py3-none-any"},
		{"3.12", "x86_64", "py2-none-any", "-py2-none-any"},
		{"3.12", "x86_64", "cp312-cp312t-linux_x86_64 cp312-cp312-musllinux_1_2_x86_64",
			"cp312-cp312-musllinux_1_2_x86_64"},
		{"3.12", "x86_64", "cp313-cp313t-linux_x86_64 pp310-pypy310_pp73-linux_x86_64 " +
			"cp312-cp312-win_amd64 cp312-cp312-macosx_11_0_arm64", "-cp313-cp313t-linux_x86_64"},
		{"", "", "cp311-cp311-manylinux2014_aarch64 cp312-cp312-manylinux2014_aarch64",
			"cp312-cp312-manylinux2014_aarch64"},
		{"3.12", "x86_64", "cp312-cp312-manylinux_x86_64 cp312-cp312-manylinux_2_x86_64",
			"-cp312-cp312-manylinux_x86_64"},
	} {
		files := filesWith(t, c.wheels)
		best, fits := pick(files, packages.Target{Python: c.python, Arch: c.arch})
		got := best.name
		if !fits {
			got = "-" + got
		}
		if got != c.want {
			t.Errorf("%s %s of %s: %s, want %s", c.python, c.arch, c.wheels, got, c.want)
		}
	}
	if best, fits := pick([]file{{name: "x-1.tar.gz"}}, packages.Target{}); best != nil || fits {
		t.Error(best, fits)
	}
	builds := []file{
		{name: "1", build: "2", tags: []pkgmeta.Tag{{Python: "py3", ABI: "none", Platform: "any"}}},
		{
			name:  "2",
			build: "10a",
			tags:  []pkgmeta.Tag{{Python: "py3", ABI: "none", Platform: "any"}},
		},
	}
	if best, _ := pick(builds, linux); best.name != "2" {
		t.Error(best.name)
	}
}

func TestInstalled(t *testing.T) {
	for in, want := range map[string]string{"a/b.so": "a/b.so", "x-1.data/platlib/a/b.so": "a/b.so",
		"x-1.data/purelib/b.so": "b.so", "x-1.data/data/lib/b.so": "x-1.data/data/lib/b.so",
		"b.so": "b.so"} {
		if got := installed(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// Any page is parsed without a panic, and every file belongs to the project, has a version and
// uses https.
func FuzzPage(f *testing.F) {
	f.Add(
		[]byte(
			`{"meta":{"api-version":"1.1"},"files":[{"filename":"demo-1-py3-none-any.whl","url":"x","hashes":{"sha256":"00"},"yanked":"no","core-metadata":{"sha256":"1"}}]}`,
		),
	)
	f.Add(
		[]byte(
			`<base href="/x/"><a href="../demo-1-py3-none-any.whl#sha256=00&x=1" data-yanked data-core-metadata=true>demo-1-py3-none-any.whl</a>`,
		),
	)
	f.Add([]byte(`<a href="javascript:x">demo-1.tar.gz</a><a href=//other/demo-2.zip>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		base := &url.URL{Scheme: "https", Host: "host", Path: "/simple/demo/"}
		var all []file
		add := func(entries []entry, at *url.URL) {
			for _, e := range entries {
				if f, ok := e.file("demo", at); ok {
					all = append(all, f)
				}
			}
		}
		if entries, err := parseJSON(body); err == nil {
			add(entries, base)
		}
		if entries, at, err := parseHTML(body, base); err == nil {
			add(entries, at)
		}
		for _, f := range all {
			if f.version.String() == "" || f.url.Scheme != "https" ||
				f.sha256 != "" && len(f.sha256) != 64 ||
				f.size < 0 {
				t.Fatalf("%+v", f)
			}
		}
	})
}

func FuzzNetrc(f *testing.F) {
	f.Add("machine host login a password b\nmacdef x\n\ndefault login a")
	f.Fuzz(func(t *testing.T, text string) {
		if h := netrc(text, "host"); h != "" && !strings.HasPrefix(h, "Basic ") {
			t.Fatal(h)
		}
	})
}

func TestPickForLibc(t *testing.T) {
	for _, c := range []struct{ libc, version, wheels, want string }{
		{"glibc", "2.17", "cp312-cp312-manylinux_2_17_x86_64 cp312-cp312-manylinux_2_28_x86_64",
			"cp312-cp312-manylinux_2_17_x86_64"},
		{"glibc", "2.36", "cp312-cp312-manylinux_2_17_x86_64 cp312-cp312-manylinux_2_28_x86_64",
			"cp312-cp312-manylinux_2_28_x86_64"},
		{"glibc", "2.36", "cp312-cp312-manylinux_2_39_x86_64 cp312-cp312-musllinux_1_2_x86_64", ""},
		{"musl", "1.2.5", "cp312-cp312-manylinux_2_17_x86_64 cp312-cp312-musllinux_1_1_x86_64 " +
			"cp312-cp312-musllinux_1_2_x86_64", "cp312-cp312-musllinux_1_2_x86_64"},
		{"musl", "1.1.24", "cp312-cp312-musllinux_1_1_x86_64 cp312-cp312-musllinux_1_2_x86_64",
			"cp312-cp312-musllinux_1_1_x86_64"},
		{"musl", "1.2.5", "cp312-cp312-manylinux_2_17_x86_64", ""},
		{"musl", "1.2.5", "cp312-cp312-manylinux_2_17_x86_64 py3-none-any", "py3-none-any"},
		{"musl", "1.2.5", "cp312-cp312-linux_x86_64 py3-none-any", "cp312-cp312-linux_x86_64"},
	} {
		files := filesWith(t, c.wheels)
		on := packages.Target{Python: "3.12", Arch: "x86_64", Libc: c.libc, LibcVersion: c.version}
		best, fits := pick(files, on)
		got := ""
		if fits {
			got = best.name
		}
		if got != c.want {
			t.Errorf("%s %s of %s: %q, want %q", c.libc, c.version, c.wheels, got, c.want)
		}
	}
}

func TestPickForPython(t *testing.T) {
	tags := []pkgmeta.Tag{{Python: "py3", ABI: "none", Platform: "any"}}
	for pythons, want := range map[string]bool{
		"": true, ">=3.9": true, ">=3.12.4": true, ">=3.13": false, "<3.12": false, "!=3.12.1": true,
		"nonsense": true,
	} {
		files := []file{{name: "x", tags: tags, requiresPython: pythons}}
		if _, fits := pick(files, packages.Target{Python: "3.12"}); fits != want {
			t.Errorf("%q: %t", pythons, fits)
		}
	}
}

// What runs on several interpreters is installed with a release that needs a later one of them.
func TestPickForSeveralPythons(t *testing.T) {
	files := filesWith(t, "cp310-cp310-manylinux_2_28_x86_64 cp313-cp313-manylinux_2_28_x86_64")
	for _, c := range []struct{ python, pythons, want string }{
		{"3.9", ">=3.9", "cp310-cp310-manylinux_2_28_x86_64"},
		{"3.9", ">=3.9,!=3.10.*", "cp313-cp313-manylinux_2_28_x86_64"},
		{"3.9", "", ""},
		{"3.9", ">=3.9,<3.10", ""},
		{"3.13", ">=3.9", "cp313-cp313-manylinux_2_28_x86_64"},
	} {
		got := ""
		on := packages.Target{Python: c.python, Pythons: c.pythons, Arch: "x86_64"}
		if best, fits := pick(files, on); fits {
			got = best.name
		}
		if got != c.want {
			t.Errorf("Python %s of %q: %q, want %q", c.python, c.pythons, got, c.want)
		}
	}
}

// Of a wheel that is not read as a whole, the files are read that the loader of its system loads, and
// the sources that may change where that searches.
func TestLoaded(t *testing.T) {
	for _, c := range []struct{ tag, objects, sources string }{
		{"manylinux_2_28_x86_64", "a.so libb.so.1", ""},
		{"macosx_11_0_arm64", "a.so libb.so.1 c.dylib D.DLL e.pyd",
			"__init__.py pkg/__init__.py pkg/sub/__init__.py"},
		{"win_amd64", "a.so libb.so.1 c.dylib D.DLL e.pyd",
			"__init__.py pkg/__init__.py pkg/sub/__init__.py pkg/sub/load.py"},
	} {
		f := file{tags: []pkgmeta.Tag{{Python: "cp312", ABI: "cp312", Platform: c.tag}}}
		objects, sources := f.loaded()
		var o, s []string
		for name := range strings.FieldsSeq("a.so libb.so.1 c.dylib D.DLL e.pyd __init__.py " +
			"pkg/__init__.py pkg/sub/__init__.py pkg/sub/load.py README") {
			if objects.MatchString(name) {
				o = append(o, name)
			}
			if sources != nil && sources.MatchString(name) {
				s = append(s, name)
			}
		}
		if strings.Join(o, " ") != c.objects || strings.Join(s, " ") != c.sources {
			t.Errorf("%s: objects %q, sources %q", c.tag, o, s)
		}
	}
}
