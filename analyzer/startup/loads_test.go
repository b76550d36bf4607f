package startup

import (
	"strings"
	"testing"
)

func TestLoads(t *testing.T) {
	tests := []struct {
		name, source string
		help, other  bool // whether libhelp and libother may be loaded
	}{
		{"nothing", "import os\nx = array.ctypes.data_as(ctypes.c_void_p)\n", false, false},
		{"by name", `ctypes.CDLL("libhelp.so.1", mode=RTLD_GLOBAL)`, true, false},
		{"by path", `ctypes.CDLL("/usr/lib/libhelp.so")`, true, false},
		{"as it was before auditwheel", `CDLL('libhelp.so.1')`, true, false},
		{"found", `lib = CDLL(ctypes.util.find_library("help"))`, true, true},
		{"found by name", `lib = CDLL(find_library("help"))`, true, false},
		{"the process", `ctypes.CDLL(None)`, false, false},
		{"computed", `ctypes.CDLL(os.path.join(here, "libhelp.so.1"))`, true, true},
		{"two literals", `ctypes.CDLL("lib" "help.so.1")`, true, true},
		{"formatted", `ctypes.CDLL(f"{here}/libhelp.so.1")`, true, true},
		{"loader object", `cdll.LoadLibrary("libhelp.so.1")`, true, false},
		{"attribute", `lib = ctypes.cdll.help`, true, true},
		{"item", `lib = ctypes.cdll["libhelp.so.1"]`, true, true},
		{"function as a value", "load = ctypes.CDLL\nload(name)", true, true},
		{"renamed import", "from ctypes import CDLL as C\nC(name)", true, true},
		{"import only", "from ctypes import (\n    CDLL,\n    c_int)\n", false, false},
		{"import, then a call", "import ctypes; ctypes.CDLL(name)", true, true},
		{"cffi", `lib = ffi.dlopen("libhelp.so.1")`, true, false},
		{"numpy", `np.ctypeslib.load_library("libhelp", here)`, true, false},
		{"torch", `torch.ops.load_library(str(path))`, true, true},
		{"TensorFlow", `tf.load_op_library(path)`, true, true},
		{"as a module", `imp.load_dynamic("x", path)`, true, true},
		{"search path", `os.environ["LD_LIBRARY_PATH"] = here; os.execv(exe, args)`, true, true},
		{"a definition", "def load_library(path):\n    return path\n", false, false},
		{"in a comment", "# ctypes.CDLL(path)\n", false, false},
		{"in a text", `"""Call ctypes.CDLL(path) first."""`, false, false},
		{"hidden code", "exec(marshal.loads(code))", true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ReadLoads("pkg/__init__.py", test.source)
			for library, want := range map[string]bool{
				"libhelp.so.1": test.help, "libhelp-0123abcd.so.1": test.help, "libother.so": test.other,
			} {
				if got := l.May(library); got != want {
					t.Errorf("may load %s: %v, want %v", library, got, want)
				}
			}
		})
	}
	if l := ReadLoads("pkg/tests/test_a.py", "ctypes.CDLL(path)"); l.May("libhelp.so") {
		t.Error("a test is read, although importing the package does not run it")
	}
}

func TestLoadsGlobally(t *testing.T) {
	tests := map[string]bool{
		`ctypes.CDLL(os.path.join(here, "libhelp.so.1"))`:                   false,
		`ctypes.CDLL(name, use_errno=True,)`:                                false,
		`ctypes.CDLL(name, mode=flags)`:                                     true,
		`CDLL(*arguments)`:                                                  true,
		`CDLL(name, 0x102)`:                                                 true,
		`ctypes.cdll.LoadLibrary(name)`:                                     false,
		`lib = ctypes.cdll["libhelp.so.1"]`:                                 false,
		"load = ctypes.CDLL\nload(name, 0x102)":                             true,
		"from ctypes import CDLL as C\nC(name, 0x102)":                      true,
		"from ctypes import CDLL\n":                                         false,
		`sys.setdlopenflags(flags)`:                                         true,
		`flags |= getattr(os, "RTLD_GLOBAL")`:                               true,
		`# RTLD_GLOBAL`:                                                     false,
		`np.ctypeslib.load_library("libhelp", here)`:                        false,
		`ffi.dlopen("libhelp.so.1")`:                                        false,
		`ffi.dlopen("libhelp.so.1", flags)`:                                 true,
		`framework.preload(name)`:                                           true,
		`spec = importlib.util.spec_from_file_location("_nb", find("_nb"))`: false,
		`os.environ["LD_PRELOAD"] = name; os.execv(exe, args)`:              true,
		"exec(marshal.loads(code))":                                         true,
	}
	for source, want := range tests {
		if got := ReadLoads("pkg/__init__.py", source).MayGlobal(); got != want {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}

// A source with more names than are stored may load any library.
func TestLoadsAreBounded(t *testing.T) {
	var l Loads
	for range maxNames + 1 {
		l.Add(Loads{names: []string{strings.Repeat("x", len(l.names)+1)}})
	}
	if !l.May("libhelp.so") || len(l.names) > maxNames {
		t.Errorf("%d names are stored; may load any library: %v", len(l.names), l.unknown)
	}
}

// Code that follows a source does not make it load less.
func FuzzReadLoads(f *testing.F) {
	f.Add("from ctypes import CDLL\nCDLL('libhelp.so')")
	f.Add("(\n'''")
	f.Fuzz(func(t *testing.T, source string) {
		before := ReadLoads("pkg/a.py", source)
		after := ReadLoads("pkg/a.py", source+"\nx = 1\n")
		if before.unknown && !after.unknown || before.global && !after.global {
			t.Errorf("%q loads less with a line after it", source)
		}
		if len(before.names) > maxNames {
			t.Errorf("%d names", len(before.names))
		}
	})
}
