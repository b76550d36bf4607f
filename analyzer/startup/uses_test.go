package startup

import "testing"

func TestUses(t *testing.T) {
	for name, c := range map[string]struct {
		source          string // of p/__init__.py, which imports p._a and p._b
		together, other bool
	}{
		"both":          {"from . import _a, _b", true, false},
		"if and else":   {"if x:\n  from . import _a as m\nelse:\n  from . import _b as m\n", false, true},
		"elif":          {"if x:\n  import p._a\nelif y:\n  pass\nelif z:\n  import p._b\n", false, true},
		"in a function": {"def f():\n  if x:\n    import p._a\n  else:\n    import p._b\n", false, true},
		"in a loop":     {"for x in y:\n  if x:\n    import p._a\n  else:\n    import p._b\n", false, true},
		"loop over constants": {
			"import importlib\nfor n in ('_a', '_b'):\n  importlib.import_module('.' + n, __name__)\n",
			true, false,
		},
		"loop with an f-string": {
			"for n in ['a', 'b',]:\n  m = importlib.import_module(f'{__package__}._{n}')\n", true, false,
		},
		"loop that ends early": {
			"for n in ('_a', '_b'):\n  importlib.import_module('p.' + n)\n  break\n", false, false,
		},
		"loop with a changed name": {
			"for n in ('_a', '_b'):\n  n = f(n)\n  importlib.import_module('p.' + n)\n" +
				"if x:\n  import p._a\nelse:\n  import p._b\n", false, true,
		},
		"except":          {"try:\n  from ._a import f\nexcept ImportError:\n  from ._b import f\n", false, true},
		"of other errors": {"try:\n  from ._a import f\nexcept KeyError:\n  from ._b import f\n", false, false},
		"one branch":      {"if x:\n  import p._a\n  import p._b\n", false, false},
		"two statements":  {"if x:\n  import p._a\nif y:\n  import p._b\n", false, false},
		"also in any case": {
			"if x:\n  import p._a\nelse:\n  import p._b\ndef f():\n  import p._a\n", false, false,
		},
	} {
		uses := program("p/__init__.py", c.source).Uses([]string{"p/_a", "p/_b"})
		a, b := uses["p/_a"], uses["p/_b"]
		if got := len(a.By) > 0 && len(b.By) > 0; got != c.together {
			t.Errorf("%s: together: %t", name, got)
		}
		if got := a.Chosen && b.Chosen && a.Instead(b); got != c.other {
			t.Errorf("%s: either: %t, %+v %+v", name, got, a, b)
		}
	}
}
