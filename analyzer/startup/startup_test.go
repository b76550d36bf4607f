package startup

import (
	"slices"
	"strings"
	"testing"
)

func TestExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		`os.path.dirname(__file__)`: "pkg",
		`os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, 'pkg.libs'))`: "pkg.libs",
		`os.path.join(sys.prefix, "Library", "bin")`:                                      "../../Library/bin",
		`Path(__file__).resolve().parents[1] / "x.libs"`:                                  "x.libs",
		`str(pathlib.Path(__file__).parent.joinpath('a', "b"))`:                           "pkg/a/b",
		`f"{base}/lib"`:  "pkg/lib",
		`base + "\\lib"`: "pkg/lib",
		`os.path.dirname(os.path.dirname(__file__))`:     ".",
		`[base + '/one', base + "/two"]`:                 "pkg/one pkg/two",
		`Path(__file__).parent.with_suffix(".libs")`:     "pkg.libs",
		`base + ("/a" if sys.maxsize > 2**32 else "/b")`: "pkg/a pkg/b",
		`os.environ["SOMEWHERE"]`:                        "unknown",
		`find_it()`:                                      "unknown",
		`"C:/tools/bin"`:                                 "unknown",
	} {
		var out Effects
		readSource(
			&out,
			"pkg/__init__.py",
			"base = os.path.dirname(__file__)\nos.add_dll_directory("+expression+")\n",
		)
		got := strings.Join(out.Directories, " ")
		if len(out.unknown) > 0 {
			got = "unknown"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// FuzzReadSource checks that the reader terminates, and that results are inside of the
// installation.
func FuzzReadSource(f *testing.F) {
	f.Add(
		"import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), f'{x}', \"a\" 'b'))\n",
	)
	f.Add(
		"os.environ['PATH'] = a + os.pathsep + os.environ['PATH']\nfor x in glob(p / " +
			"'*.dll'):\n\tWinDLL(x)\n",
	)
	f.Add(strings.Repeat("((((x:=", 100) + strings.Repeat(")", 300))
	f.Fuzz(func(t *testing.T, src string) {
		var out Effects
		readSource(&out, "pkg/__init__.py", src)
		for _, d := range slices.Concat(out.Directories, out.Preloaded, out.Path) {
			if strings.HasPrefix(d, "/") || strings.HasPrefix(d, "../../..") {
				t.Errorf("%q gives %q", src, d)
			}
		}
	})
}

func TestMentions(t *testing.T) {
	effects := Effects{unknown: []string{strings.ToLower("add(root / 'Foo.libs')\nx_bin = 1")}}
	for folder, want := range map[string]bool{
		"foo.libs": true, "site/FOO.LIBS": true, "libs": true, "oo.libs": false, "bin": false, ".": false,
	} {
		if got := effects.Mentions(folder); got != want {
			t.Errorf("Mentions(%q) = %v", folder, got)
		}
	}
}

func TestImported(t *testing.T) {
	for line, want := range map[string]string{
		"import numpy\n":               "numpy",
		"import\tos.path as p":         "os",
		"from scipy_1.linalg import x": "scipy_1",
		"from . import core":           "",
		"from .core import x":          "",
		"important = 1":                "",
		"importlib.import_module(1)":   "",
		"  import indented":            "",
		"import":                       "",
		"":                             "",
	} {
		if got := imported([]byte(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
