package startup

import (
	"slices"
	"strings"
	"testing"
)

func TestImports(t *testing.T) {
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
		"in a function":      {"def f():\n\timport p._m\n", nil, false},
		"in a text":          {"\"\"\"\nimport p._m\n\"\"\"\n", nil, false},
		"by another source":  {"", []string{"p/a.py", "import p._m\n"}, false},
		"of another package": {"import q", []string{"q/__init__.py", "import p._m"}, false},
		"with a source":      {"import p._m", []string{"p/_m.py", "f = 1\n"}, false},
		"a longer name":      {"import p._module", nil, false},
	} {
		s := Imports{}
		for pair := range slices.Chunk(append(c.others, "p/__init__.py", c.init), 2) {
			name, imports := ReadImports(pair[0], pair[1])
			s[name] = imports
		}
		if got := s.Need("p", "p/_m"); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	name, got := ReadImports("p/a/b.py", "from .c import d\nfrom ..e.f import *\n")
	if want := []string{"p/a/c", "p/a/c/d", "p/e/f", "p/e/f/*"}; name != "p/a/b" ||
		!slices.Equal(got, want) {
		t.Errorf("%s %q", name, got)
	}
}

// Indented statements import nothing in any case.
func FuzzReadImports(f *testing.F) {
	f.Add("import a\nfrom . import (\n b)\n'''\nimport c\n'''\n")
	f.Fuzz(func(t *testing.T, text string) {
		ReadImports("p/__init__.py", text)
		indented := " " + strings.ReplaceAll(text, "\n", "\n ")
		if _, imports := ReadImports("p/__init__.py", indented); imports != nil {
			t.Errorf("%q", imports)
		}
	})
}
