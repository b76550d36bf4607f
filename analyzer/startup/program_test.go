package startup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// program reads sources: pairs of a file and its text.
func program(sources ...string) Program {
	p := Program{}
	for pair := range slices.Chunk(sources, 2) {
		name, m := ReadModule(pair[0], pair[1], System{})
		p[name] = m
	}
	return p
}

func TestNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		init   string // of the package p
		others []string
		want   bool
	}{
		"relative":        {"from ._m import f\n", nil, true},
		"by name":         {"from . import a, _m as m # native\n", nil, true},
		"absolute":        {"import sys, p._m\n", nil, true},
		"several lines":   {"from . import (\n  a,  # x)\n  _m,\n)\n", nil, true},
		"of its package":  {"from p import _m", nil, true},
		"continued":       {"from . import a, \\\n  _m\n", nil, true},
		"through another": {"import p.a.b", []string{"p/a/b.py", "from .. import _m"}, true},
		"of a package on the way": {
			"import p.a.b", []string{"p/a/__init__.py", "import p._m", "p/a/b.py", ""}, true,
		},
		"in a try statement": {"try:\n    from ._m import f\nexcept: pass", nil, false},
		"in one that handles it": {
			"try:\n  from . import _m\nexcept (KeyError, ImportError) as e:\n  _m = None\n", nil, false,
		},
		"in one for other errors": {
			"try:\n  from . import _m\nexcept (KeyError, ValueError) as e:\n  _m = None\n", nil, true,
		},
		"in one that raises another": {
			"try:\n  from . import _m\nexcept ImportError as e:\n  x = 1\n  raise Other() from e\n", nil, true,
		},
		"in one that may raise another": {
			"try:\n  from . import _m\nexcept ImportError as e:\n  if e.x:\n    raise\n", nil, false,
		},
		"suppressed":         {"with suppress(ImportError):\n  import p._m\n", nil, false},
		"with a lock":        {"with lock:\n  import p._m\n", nil, true},
		"for type checkers":  {"if TYPE_CHECKING:\n  import p._m\n", nil, false},
		"in a class":         {"class A:\n  from p import _m\n", nil, true},
		"in a function":      {"def f():\n\timport p._m\n", nil, false},
		"in a called one":    {"def f():\n\timport p._m\nf()", nil, true},
		"in a mentioned one": {"def f():\n\timport p._m\ng(f)", nil, false},
		"in a called one of another": {
			"from .a import f as g\ng()", []string{"p/a.py", "def f(): from . import _m"}, true,
		},
		"in an attribute": {
			"from . import a\na.f()", []string{"p/a.py", "from .b import f", "p/b.py", "def f(): import p._m"}, true,
		},
		"by its name":        {"import importlib as i\nx = i.import_module('._m', __name__)", nil, true},
		"by a computed name": {"import importlib as i\nx = i.import_module(f'._{m}', __name__)", nil, false},
		"in a text":          {"\"\"\"\nimport p._m\n\"\"\"\n", nil, false},
		"by another source":  {"", []string{"p/a.py", "import p._m\n"}, false},
		"of another package": {"import q", []string{"q/__init__.py", "import p._m"}, true},
		"with a source":      {"import p._m", []string{"p/_m.py", "f = 1\n"}, false},
		"a longer name":      {"import p._module", nil, false},
		"after a function": {
			"def f(x):\n\n  '''\nimport a\n'''\n  # (\n\n  return (x,\n1)\n\n# a\nfrom p import _m", nil, true,
		},
		"in the text of a function": {
			"class A:\n  def f(x):\n\n    '''\nimport p._m\n'''\n\n    return 1\n", nil, false,
		},
		"on one line":       {"import os; import p._m", nil, true},
		"after a condition": {"if x: import p._m", nil, false},
	} {
		if got := program(append(c.others, "p/__init__.py", c.init)...).Needs("p", "p/_m"); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestStarts(t *testing.T) {
	for name, c := range map[string]struct {
		sources []string
		want    string // of each start: events, "?" after those that may be
	}{
		"nothing before": {[]string{"p/__init__.py", "from . import _m\nimport q"}, "[]"},
		"a package before": {
			[]string{"p/__init__.py", "import os, q\nfrom . import _m", "q/__init__.py", "from . import _c"},
			"[q/_c]",
		},
		"a package that is not read": {[]string{"p/__init__.py", "import q.r as r\nimport p._m"}, "[q q/r]"},
		"a library": {
			[]string{"p/__init__.py", "import ctypes as c\nc.CDLL(join(d, 'libq.so.1'))\nimport p._m"},
			"[load libq.so.1]",
		},
		"a library too late": {
			[]string{"p/__init__.py", "import p._m\nimport ctypes as c\nc.CDLL(join(d, 'libq.so.1'))\n"}, "[]",
		},
		"a library without a folder": {
			[]string{"p/__init__.py", "import ctypes\nctypes.CDLL('libq.so.1')\nimport p._m"}, "[]",
		},
		"a computed library": {
			[]string{"p/__init__.py", "import ctypes\nctypes.CDLL(find())\nimport p._m"}, "[load ?]",
		},
		"by a class of its own": {
			[]string{"p/__init__.py", "class L(ctypes.CDLL): pass\nL(d / 'libq.so.1')\nimport p._m"}, "[load ?]",
		},
		"by getattr": {
			[]string{"p/__init__.py", "getattr(ctypes, 'CDLL')(d / 'libq.so.1')\nimport p._m"}, "[load ?]",
		},
		"one that a loader knows": {
			[]string{"p/__init__.py", "from x import load_dynamic_lib\nload_dynamic_lib('nvrtc')\nimport p._m"},
			"[x x/load_dynamic_lib load nvrtc]",
		},
		"in a function that is called": {
			[]string{"p/__init__.py", "def f():\n  ctypes.CDLL(d / 'libq.so.1')\nf()\nimport p._m"},
			"[load libq.so.1]",
		},
		"in a function that is not called": {
			[]string{"p/__init__.py", "def f():\n  ctypes.CDLL(d / 'libq.so.1')\nimport p._m\nf()"}, "[]",
		},
		"in a method": {
			[]string{"p/__init__.py", "class A:\n  def f(self):\n    ctypes.CDLL(d / 'libq.so.1')\nA().f()\nimport p._m"},
			"[load libq.so.1?]",
		},
		"under a condition": {
			[]string{"p/__init__.py", "if x:\n  ctypes.CDLL(d / 'libq.so.1')\nimport p._m"},
			"[load libq.so.1?]",
		},
		"in a source that is not imported": {
			[]string{"p/__init__.py", "import p._m", "p/a.py", "ctypes.CDLL(d / 'libq.so.1')"}, "[]",
		},
		"by each importer": {
			[]string{"p/__init__.py", "", "p/a.py", "import q\nfrom . import _m", "p/b.py", "def f():\n  from . import _m"},
			"[q] []",
		},
		"by none": {[]string{"p/__init__.py", "import q"}, "[q]"},
		"in a .pth file": {
			[]string{"p/__init__.py", "import p._m", "a.pth", "import q\n"}, "[q]",
		},
	} {
		var got []string
		for _, r := range program(c.sources...).Index().Starts("p/_m") {
			var events []string
			for _, e := range r.Events {
				text := e.Name
				if e.Load {
					text = "load " + text
				}
				if e.May {
					text += "?"
				}
				events = append(events, text)
			}
			got = append(got, fmt.Sprint(events))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// Sources of any content are read, and statements in a function happen only if it is called.
func FuzzReadModule(f *testing.F) {
	f.Add("import a\nfrom . import (\n b)\n'''\nimport c\n'''\ntry: x()\nexcept: raise\n")
	f.Fuzz(func(t *testing.T, text string) {
		name, m := ReadModule("p/__init__.py", text, System{})
		Program{name: m}.Index().Starts("p/_m")
		_, m = ReadModule("p/__init__.py", "def f():\n "+strings.ReplaceAll(text, "\n", "\n "), System{})
		for _, s := range m.top.steps {
			if strings.Count(text, "\"") == 0 && !s.may {
				t.Errorf("%v", s)
			}
		}
	})
}

// What a function returns is executed, also after other statements; what follows is not.
func TestReturnedLoad(t *testing.T) {
	const text = `
from helper import load_lib
def load():
    name = "libfirst.so"
    return load_lib("libfirst.so")
    load_lib("libsecond.so")
load()
`
	name, m := ReadModule("pkg/__init__.py", text, System{Name: "linux"})
	var loaded []string
	for _, e := range (Program{name: m}).Import(name, "").Events {
		if e.Load {
			loaded = append(loaded, e.Name)
		}
	}
	if !slices.Equal(loaded, []string{"libfirst.so"}) {
		t.Errorf("the import loads %q", loaded)
	}
}
