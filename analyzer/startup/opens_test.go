package startup

import "testing"

// Only what the import of a package loads in any case, where nothing handles that this fails, is
// known to be loaded before what follows.
func TestOpens(t *testing.T) {
	const load = "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libx.so'))\n"
	for name, c := range map[string]struct {
		sources []string
		want    bool
	}{
		"at the top": {[]string{"p/__init__.py", load}, true},
		"with TensorFlow": {[]string{"p/__init__.py",
			"load_library.load_op_library(resource_loader.get_path_to_datafile('libx.so'))\n"}, true},
		"with TensorFlow, from a folder below": {[]string{"p/__init__.py", "from .sub import a\n",
			"p/sub/a.py", "tf.load_op_library(tf.compat.v1.resource_loader." +
				"get_path_to_datafile('../libx.so'))\n"}, true},
		"in a class": {[]string{"p/__init__.py", "class A:\n  x = " + load}, true},
		"called":     {[]string{"p/__init__.py", "def f():\n  " + load + "f()\n"}, true},
		"called elsewhere": {
			[]string{"p/__init__.py", "from .a import f\nf()\n", "p/a.py", "def f():\n  " + load}, true,
		},
		"calls another": {
			[]string{"p/__init__.py", "def f():\n  " + load + "def g():\n  return f()\ng()\n"}, true,
		},
		"decorated":      {[]string{"p/__init__.py", "@safe\ndef f():\n  " + load + "f()\n"}, false},
		"decorated call": {[]string{"p/__init__.py", "@safe()\ndef f():\n  " + load + "f()\n"}, false},
		"another decorated": {
			[]string{"p/__init__.py", "@safe\ndef g(): pass\ndef f():\n  " + load + "f()\n"}, true,
		},
		"a generator": {[]string{"p/__init__.py", "def f():\n  yield 1\n  " + load + "f()\n"}, false},
		"a coroutine": {[]string{"p/__init__.py", "async def f():\n  " + load + "f()\n"}, false},
		"inside": {
			[]string{"p/__init__.py", "def g():\n def f():\n  " + load + " f()\ng()\n"}, false,
		},
		"defined again": {
			[]string{"p/__init__.py", "def f():\n  " + load + "def f(): pass\nf()\n"}, false,
		},
		"defined for a condition": {
			[]string{"p/__init__.py", "if g():\n def f():\n  " + load + "f()\n"}, false,
		},
		"called for a condition": {
			[]string{"p/__init__.py", "def f():\n  " + load + "if g(): f()\n"}, false,
		},
		"not called":      {[]string{"p/__init__.py", "def f():\n  " + load}, false},
		"passed on":       {[]string{"p/__init__.py", "def f():\n  " + load + "safe(f)\n"}, false},
		"in a module":     {[]string{"p/__init__.py", "from . import a", "p/a.py", load}, true},
		"not imported":    {[]string{"p/__init__.py", "", "p/a.py", load}, false},
		"other parts":     {[]string{"p/a.py", load}, false},
		"for a condition": {[]string{"p/__init__.py", "if f():\n  " + load}, false},
		"OSError": {
			[]string{"p/__init__.py", "try:\n  " + load + "except OSError: pass"}, false,
		},
		"any exception": {[]string{"p/__init__.py", "try:\n  " + load + "except: pass"}, false},
		"ImportError": {
			[]string{"p/__init__.py", "try:\n  " + load + "except ImportError: pass"}, true,
		},
		"no such file": {
			[]string{"p/__init__.py", "try:\n  " + load + "except FileNotFoundError: pass"}, true,
		},
		"raised again": {
			[]string{"p/__init__.py", "try:\n  " + load + "except OSError:\n  raise"}, true,
		},
		"suppressed":       {[]string{"p/__init__.py", "with suppress(OSError):\n  " + load}, false},
		"unknown manager":  {[]string{"p/__init__.py", "with quiet():\n  " + load}, false},
		"without warnings": {[]string{"p/__init__.py", "with catch_warnings():\n  " + load}, true},
		"import handled": {
			[]string{"p/__init__.py", "try:\n  from . import a\nexcept Exception: pass", "p/a.py", load}, false,
		},
		"call handled": {
			[]string{"p/__init__.py", "def f():\n  " + load + "try:\n  f()\nexcept OSError: pass"}, false,
		},
	} {
		c.sources[1] = "import ctypes, os\n" + c.sources[1]
		if len(c.sources) > 2 {
			c.sources[3] = "import ctypes, os\n" + c.sources[3]
		}
		at := "p/libx.so"
		if _, ok := program(c.sources...).Index().Opens(at); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	x := program("p/__init__.py", "import ctypes, os, q\n"+load+"import r\n").Index()
	before, ok := x.Opens("p/libx.so")
	if !ok || len(before.Events) == 0 || before.Events[len(before.Events)-1].Name != "q" {
		t.Errorf("before it is loaded: %v, %v", before, ok)
	}
	if _, ok := x.Opens("p/liby.so"); ok {
		t.Error("a library that nothing loads")
	}
}
