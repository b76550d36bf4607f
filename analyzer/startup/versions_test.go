package startup

import "testing"

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
