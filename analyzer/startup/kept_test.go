package startup

import "testing"

func TestKeeps(t *testing.T) {
	const load = "import os, ctypes\ntry:\n" +
		"  lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'a.so'))\n"
	for name, c := range map[string]struct {
		source string // of p/__init__.py
		other  string // of p/native.py
		keeps  bool
	}{
		"handled":                  {load + "except OSError:\n  lib = None\n", "", true},
		"bare":                     {load + "except:\n  pass\n", "", true},
		"another exception":        {load + "except KeyError:\n  pass\n", "", false},
		"of an import":             {load + "except ImportError:\n  pass\n", "", false},
		"raises again":             {load + "except OSError:\n  raise\n", "", false},
		"raises another":           {load + "except OSError as e:\n  raise ImportError('x') from e\n", "", false},
		"raises under a condition": {load + "except OSError:\n  if DEBUG:\n    raise\n", "", false},
		"first clause raises":      {load + "except OSError:\n  raise\nexcept Exception:\n  pass\n", "", false},
		"other clause raises":      {load + "except KeyError:\n  raise\nexcept OSError:\n  pass\n", "", true},
		"ends":                     {load + "except OSError:\n  sys.exit(1)\n", "", false},
		"loads another": {
			load + "except OSError:\n  lib = ctypes.CDLL('libb.so')\n", "", false,
		},
		"calls a function": {
			"def fail():\n  raise ImportError\n" + load + "except OSError:\n  fail()\n", "", false,
		},
		"raises later":  {load + "except OSError:\n  lib = None\nif lib is None:\n  raise ImportError\n", "", false},
		"asserts later": {load + "except OSError:\n  lib = None\nassert lib\n", "", false},
		"uses it later": {load + "except OSError:\n  lib = None\nlib.f.restype = int\n", "", false},
		"uses it if it is there": {
			load + "except OSError:\n  lib = None\nif lib:\n  lib.f.restype = int\n", "", true,
		},
		"uses it in the try block": {load + "  lib.f.restype = int\nexcept OSError:\n  lib = None\n", "", true},
		"suppress": {
			"import ctypes\nwith suppress(OSError):\n  ctypes.CDLL(os.path.dirname(__file__) + '/a.so')\n",
			"", true,
		},
		"suppress another": {
			"import ctypes\nwith suppress(KeyError):\n  ctypes.CDLL(os.path.dirname(__file__) + '/a.so')\n",
			"", false,
		},
		"pattern": {
			"try:\n  f = list(Path(__file__).parent.glob('a*.so'))\n  torch.ops.load_library(str(f[0]))\n" +
				"except:\n  pass\n", "", true,
		},
		"pattern of another": {
			"try:\n  f = list(Path(__file__).parent.glob('b*.so'))\n  torch.ops.load_library(str(f[0]))\n" +
				"except:\n  pass\n", "", false,
		},
		"f-string": {
			"try:\n  torch.ops.load_library(f'{here}/a{suffix}.so')\nexcept OSError:\n  pass\n", "", true,
		},
		"unknown function": {
			"try:\n  tf.load_op_library(HERE + '/a.so')\nexcept OSError:\n  pass\n", "", false,
		},
		"unknown function, any exception": {
			"try:\n  tf.load_op_library(HERE + '/a.so')\nexcept Exception:\n  pass\n", "", true,
		},
		"nothing loads it": {"import ctypes\n", "", false},
		"twice": {
			load + "except OSError:\n  pass\n" + load + "finally:\n  pass\n", "", false,
		},
		"function": {
			"def f():\n  try:\n    return CDLL(dirname(__file__) + '/a.so')\n" +
				"  except OSError:\n    return None\nf()\n",
			"", true,
		},
		"function that raises at its end": {
			"def f():\n  try:\n    return CDLL(dirname(__file__) + '/a.so')\n  except OSError:\n    pass\n" +
				"  raise ImportError\nf()\n", "", false,
		},
		"call of it": {
			"def f():\n  return CDLL(dirname(__file__) + '/a.so')\ntry:\n  f()\nexcept OSError:\n  pass\n",
			"", true,
		},
		"one of two calls": {
			"def f():\n  return CDLL(dirname(__file__) + '/a.so')\ntry:\n  f()\nexcept OSError:\n  pass\nf()\n",
			"", false,
		},
		"import of the source": {
			"try:\n  from . import native\nexcept Exception:\n  native = None\n",
			"lib = CDLL(dirname(__file__) + '/a.so')\nlib.f.restype = int\n", true,
		},
		"import of a source that uses what was loaded before": {
			load + "except OSError:\n  pass\ntry:\n  from . import native\nexcept Exception:\n  pass\n",
			"import torch\nf = torch.ops.p.f\n", false,
		},
		"import that handles only its own error": {
			"try:\n  from . import native\nexcept ImportError:\n  native = None\n",
			"lib = CDLL(dirname(__file__) + '/a.so')\n", false,
		},
		"two imports": {
			"try:\n  from . import native\nexcept Exception:\n  pass\nfrom . import native\n",
			"lib = CDLL(dirname(__file__) + '/a.so')\n", false,
		},
	} {
		p := Program{}
		for file, text := range map[string]string{"p/__init__.py": c.source, "p/native.py": c.other} {
			name, m := ReadModule(file, text, System{Name: "linux"})
			p[name] = m
		}
		if got := p.Index().Keeps("p/a.so", "a.so"); got != c.keeps {
			t.Errorf("%s: %t", name, got)
		}
	}
}
