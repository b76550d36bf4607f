package startup

import (
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for name, c := range map[string]struct {
		source     string // of p/__init__.py, which imports p._a and p._b
		from, to   int    // the versions of Python
		a, b       bool   // whether its import imports it
		sure, none bool   // whether p._a is imported in any case, or in no version
	}{
		"new":       {newer, 12, 13, true, false, true, false},
		"old":       {newer, 11, 12, false, true, false, true},
		"later":     {newer, 13, 0, true, false, true, false},
		"both":      {newer, 8, 0, true, true, false, false},
		"not known": {newer, 0, 0, true, true, false, false},
		"greater": {
			"if sys.version_info > (3, 12):\n  import p._a\nelse:\n  import p._b\n",
			12, 13, true, false, true, false,
		},
		"two numbers": {
			"if sys.version_info[:2] > (3, 12):\n  import p._a\nelse:\n  import p._b\n",
			12, 13, false, true, false, true,
		},
		"equal": {
			"if sys.version_info[:2] == (3, 12): import p._a\nelse: import p._b\n",
			12, 13, true, true, true, false, // what is not 3.12 is no range
		},
		"elif": {
			"if version_info < (3, 9):\n  import p._b\nelif version_info < (3, 13):\n  import p._a\n" +
				"else:\n  import p._b\n",
			12, 13, true, false, true, false,
		},
		"another condition": {
			"if sys.version_info < (3, 9) or x:\n  import p._b\nelse:\n  import p._a\n",
			12, 13, true, true, false, false,
		},
		"another condition after it": {
			"if sys.version_info < (3, 9):\n  import p._b\nelif x:\n  import p._b\nelse:\n  import p._a\n",
			12, 13, true, true, false, false,
		},
		"in another condition": {
			"if x:\n  if sys.version_info >= (3, 9):\n    import p._a\n  else:\n    import p._b\n",
			12, 13, true, false, false, false,
		},
		"patch release": {
			"if sys.version_info >= (3, 12, 4):\n  import p._a\nelse:\n  import p._b\n",
			12, 13, true, true, false, false,
		},
		"else of a loop": {
			"if sys.version_info < (3, 9):\n  import p._b\nfor x in y: pass\nelse:\n  import p._a\n",
			12, 13, true, false, false, false,
		},
	} {
		p := program("p/__init__.py", c.source).For(Versions{c.from, c.to})
		got := map[string]bool{}
		for _, e := range p.Import("p", "").Events {
			got[e.Name] = true
		}
		if got["p/_a"] != c.a || got["p/_b"] != c.b {
			t.Errorf("%s: imports %v", name, got)
		}
		u := p.Uses([]string{"p/_a"})["p/_a"]
		if sure := len(u.By) > 0; sure != c.sure || u.Never != c.none {
			t.Errorf("%s: sure %t, never %t", name, sure, u.Never)
		}
	}
}

const newer = "import sys\nif sys.version_info >= (3, 12):\n  from ._a import *\n" +
	"else:\n  from ._b import *\n"

// Conditions on the system and on constants are evaluated.
func TestConditions(t *testing.T) {
	linux := System{Name: "linux", Machine: "x86_64"}
	for head, want := range map[string]int{ // 1: it holds, -1: it does not, 0: it is not known
		"sys.platform == 'win32'":                           -1,
		"sys.platform != 'win32'":                           1,
		"sys.platform.startswith('linux')":                  1,
		"sys.platform.startswith(('win32', 'cygwin'))":      -1,
		"sys.platform in ('darwin', 'win32')":               -1,
		"sys.platform not in {'darwin', 'win32'}":           1,
		"'linux' in sys.platform":                           1,
		"os.name == 'nt'":                                   -1,
		"os.name == 'nt' and x":                             -1,
		"os.name == 'posix' and x":                          0,
		"os.name == 'posix' or x":                           1,
		"not (os.name == 'nt' or sys.platform == 'darwin')": 1,
		"platform.system() == 'Windows'":                    -1,
		"platform.system().lower() == 'linux'":              1,
		"platform.machine() in ('x86_64', 'AMD64')":         1,
		"platform.machine() == 'aarch64'":                   -1,
		"hasattr(os, 'add_dll_directory')":                  -1,
		"hasattr(os, name)":                                 0,
		"False":                                             -1,
		"0":                                                 -1,
		"True":                                              1,
		"not TYPE_CHECKING":                                 1,
		"__name__ == '__main__'":                            -1,
		"os.environ.get('P_FAST') == '1'":                   -1,
		"os.environ.get('P_FAST', '1') == '1'":              1,
		"not os.getenv('P_OFF')":                            1,
		"os.environ.get('CUDA_PATH')":                       0,
		"os.environ.get(name)":                              0,
		"sys.platform[:3] == 'win'":                         0,
		"sys.platform == name":                              0,
		"sys.platform == 'win32' if x else y":               0,
		"f()":                                               0,
		"x is None":                                         0,
		strings.Repeat("(", 500) + "False" + strings.Repeat(")", 500): 0,
		"sys.version_info >= (3, 8)":                                  0,
		"sys.platform == 'linux' and sys.version_info >= (3, 8) or x": 0,
	} {
		all := tokens(head)
		got := (&moduleReader{system: linux}).evaluate(all[:len(all)-1])
		n := 0
		if got.known {
			n = -1
			if got.holds {
				n = 1
			}
		}
		if n != want {
			t.Errorf("%.80s: %d, want %d", head, n, want)
		}
		if got := (&moduleReader{}).evaluate(all[:len(all)-1]); got.known &&
			(strings.Contains(head, "platform") || strings.Contains(head, "os.name")) {
			t.Errorf("%.80s: known on a system that is not known", head)
		}
	}
}

// What is executed on Linux before p._m is imported, and whether it is imported.
func TestConditionsInProgram(t *testing.T) {
	const load = "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', 'libx.so'))\n"
	for name, c := range map[string]struct {
		source string // of p/__init__.py
		want   string // paths of libraries that are loaded before, ? for a condition, then the module
	}{
		"plain":         {load + "import p._m", "p/lib/libx.so p/_m"},
		"other system":  {"if os.name == 'nt':\n " + load + "import p._m", "p/_m"},
		"else":          {"if os.name == 'nt':\n pass\nelse:\n " + load + "import p._m", "p/lib/libx.so p/_m"},
		"elif":          {"if x:\n pass\nelif os.name == 'posix':\n " + load + "import p._m", "?p/lib/libx.so p/_m"},
		"after another": {"if os.name == 'posix':\n pass\nelif x:\n " + load + "import p._m", "p/_m"},
		"not known":     {"if x:\n " + load + "import p._m", "?p/lib/libx.so p/_m"},
		"function":      {"def f():\n " + load + "import p._m", "p/_m"},
		"return":        {"def f():\n if os.name == 'posix':\n  return\n " + load + "f()\nimport p._m", "p/_m"},
		"return on Windows": {
			"def f():\n if os.name == 'nt':\n  return\n " + load + "f()\nimport p._m", "p/lib/libx.so p/_m",
		},
		"return under a condition": {
			"def f():\n if x: return\n " + load + "f()\nimport p._m", "?p/lib/libx.so p/_m",
		},
		"match": {
			"match sys.platform:\n case 'win32' | 'cygwin':\n  " + load + " case _:\n  import p._m", "p/_m",
		},
		"match another": {
			"match x:\n case 'win32':\n  " + load + " case _:\n  import p._m", "?p/lib/libx.so ?p/_m",
		},
		"loop":    {"for n in ('a', 'b'):\n ctypes.CDLL(os.path.join(os.path.dirname(__file__), f'lib{n}.so'))\nimport p._m", "p/liba.so p/libb.so p/_m"},
		"pathlib": {"ctypes.CDLL(str(Path(__file__).parent.parent / 'q' / 'lib.so'))\nimport p._m", "q/lib.so p/_m"},
		"name": {
			"here = os.path.dirname(os.path.abspath(__file__))\nctypes.CDLL(os.path.join(here, 'a.so'), mode=4)\nimport p._m",
			"p/a.so p/_m",
		},
		"name with two values": {"d = os.path.dirname(__file__)\nd = f(d)\nctypes.CDLL(d)\nimport p._m", "?* p/_m"},
		"of another module":    {"ctypes.CDLL(os.path.join(os.path.dirname(q.__file__), x))\nimport p._m", "?* p/_m"},
		"find_library":         {"n = ctypes.util.find_library('x')\nif n: ctypes.CDLL(n)\nimport p._m", "p/_m"},
		"for Windows":          {"os.add_dll_directory(x)\nctypes.WinDLL(x)\nimport p._m", "p/_m"},
		"else of try":          {"try:\n import json\nexcept ImportError:\n pass\nelse:\n import p._m", "p/_m"},
		"else of another try":  {"try:\n import q\nexcept ImportError:\n pass\nelse:\n import p._m", "q ?p/_m"},
		"end of Python":        {"try:\n import p._m\nexcept ImportError:\n sys.exit(1)", "p/_m"},
	} {
		_, m := ReadModule("p/__init__.py", c.source, System{Name: "linux"})
		var got []string
		for _, e := range (Program{"p": m}).Import("p", "").Events {
			text := e.Name
			if e.Load {
				if text = e.At; text == "" {
					text = "*"
				}
			}
			if e.May {
				text = "?" + text
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A module is optional if whatever imports a source that imports it handles that this fails.
func TestUsesOfGuarded(t *testing.T) {
	const guarded = "try:\n from . import a\nexcept ImportError: pass\n"
	for name, c := range map[string]struct {
		sources []string
		want    bool
	}{
		"guarded": {[]string{"p/__init__.py", guarded, "p/a.py", "from . import _m"}, true},
		"by two": {
			[]string{"p/__init__.py", guarded + "import p.b", "p/a.py", "import p._m", "p/b.py", "import p._m"}, false,
		},
		"not guarded": {[]string{"p/__init__.py", "from . import a", "p/a.py", "from . import _m"}, false},
		"through another": {
			[]string{"p/__init__.py", guarded, "p/a.py", "import p.b", "p/b.py", "import p._m"}, true,
		},
	} {
		u := program(c.sources...).Uses([]string{"p/_m"})["p/_m"]
		if u == nil || u.Optional != c.want {
			t.Errorf("%s: %+v", name, u)
		}
	}
}
