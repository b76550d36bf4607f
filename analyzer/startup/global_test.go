package startup

import (
	"slices"
	"testing"
)

// TestGlobal checks what a source opens with RTLD_GLOBAL.
func TestGlobal(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   []string
	}{
		"mode": {
			"import ctypes\n" +
				"ctypes.CDLL('libs/liba.so.1', mode=ctypes.RTLD_GLOBAL)\n",
			[]string{"liba.so.1"},
		},
		"second": {
			"from ctypes import *\n" +
				"CDLL('libs/liba.so.1', RTLD_GLOBAL)\n",
			[]string{"liba.so.1"},
		},
		"local": {
			"import ctypes\n" +
				"ctypes.CDLL('libs/liba.so.1', ctypes.RTLD_LOCAL)\n",
			nil,
		},
		"a name": {
			"import os, ctypes\n" +
				"m = os.RTLD_NOW | os.RTLD_GLOBAL\n" +
				"ctypes.CDLL('libs/liba.so.1', m)\n",
			[]string{"liba.so.1"},
		},
		"other mode": {
			"import os, ctypes\n" +
				"m = os.RTLD_GLOBAL\n" +
				"ctypes.CDLL('libs/liba.so.1', mode=n)\n",
			nil,
		},
		"flags": {
			"import os, sys\n" +
				"sys.setdlopenflags(os.RTLD_GLOBAL)\n" +
				"from . import _m\n",
			[]string{"p/_m"},
		},
		"set back": {
			"import os, sys\n" +
				"f = sys.getdlopenflags()\n" +
				"sys.setdlopenflags(f | os.RTLD_GLOBAL)\n" +
				"from . import _m\n" +
				"sys.setdlopenflags(f)\n" +
				"from . import _n\n",
			[]string{"p/_m"},
		},
		"function": {
			"import os, sys\n" +
				"def both():\n" +
				"    sys.setdlopenflags(os.RTLD_GLOBAL)\n" +
				"both()\n" +
				"from . import _m\n",
			[]string{"p/_m"},
		},
		"not called": {
			"import os, sys\n" +
				"def both():\n" +
				"    sys.setdlopenflags(os.RTLD_GLOBAL)\n" +
				"from . import _m\n",
			nil,
		},
		"a condition": {
			"import os, sys\n" +
				"if X:\n" +
				"    sys.setdlopenflags(os.RTLD_GLOBAL)\n" +
				"from . import _m\n",
			[]string{"p/_m"},
		},
		"branches": {
			"import os, sys\n" +
				"if X:\n" +
				"    sys.setdlopenflags(os.RTLD_GLOBAL)\n" +
				"elif Y:\n" +
				"    sys.setdlopenflags(os.RTLD_LOCAL)\n" +
				"from . import _m\n" +
				"if X:\n" +
				"    sys.setdlopenflags(F)\n" +
				"elif Y:\n" +
				"    sys.setdlopenflags(F)\n" +
				"from . import _n\n",
			[]string{"p/_m"},
		},
		"no modules": {
			"import os, sys, ctypes\n" +
				"sys.setdlopenflags(os.RTLD_GLOBAL)\n" +
				"ctypes.CDLL('libs/liba.so.1')\n",
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Program{}
			module, m := ReadModule("p/__init__.py", c.source, System{})
			p[module] = m
			var got []string
			for _, e := range p.Import("p", "").Events {
				if e.Global {
					got = append(got, e.Name)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
