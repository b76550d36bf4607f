package startup

import (
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	imported := "from q.config import USE\n"
	for name, c := range map[string]struct {
		init, config string
		want         string // what is loaded: "never", "may" or "always"
	}{
		"not set":          {imported + "if USE:\n  LOAD", "USE = False", "never"},
		"set":              {imported + "if USE:\n  LOAD", "USE = True", "always"},
		"not":              {imported + "if not USE:\n  LOAD", "USE = False", "always"},
		"the other branch": {imported + "if USE:\n  pass\nelse:\n  LOAD", "USE = False", "always"},
		"else of one set":  {imported + "if USE:\n  pass\nelse:\n  LOAD", "USE = True", "never"},
		"with a variable": {
			imported + "if (USE or os.getenv('Q_X')) and (1 != 2):\n  LOAD", "USE = False", "never",
		},
		"with a condition": {imported + "if USE and x():\n  LOAD", "USE = False", "may"},
		"two": {
			"from q.config import USE, MORE\nif USE:\n  if MORE:\n    LOAD", "USE = True\nMORE = True", "may",
		},
		"two, one not set": {
			"from q.config import USE, MORE\nif USE:\n  if MORE:\n    LOAD", "USE = False\nMORE = True", "never",
		},
		"renamed": {
			"from q.config import USE as _USE_IT\nif _USE_IT:\n  LOAD", "USE = False", "never",
		},
		"of a module":       {"from q import config\nif config.USE:\n  LOAD", "USE = False", "never"},
		"through another":   {"from q.other import USE\nif USE:\n  LOAD", "USE = False", "never"},
		"in its own module": {"USE = False\nif USE:\n  LOAD", "", "never"},
		"evaluated": {
			imported + "if USE:\n  LOAD", "USE = os.getenv('Q_USE', '0') == '1'", "never",
		},
		"in a function": {
			imported + "if USE:\n  def f():\n    LOAD\n  f()", "USE = False", "never",
		},
		"called function": {imported + "def f():\n  LOAD\nif USE:\n  f()", "USE = True", "always"},
		"elif":            {imported + "if USE:\n  pass\nelif x:\n  LOAD", "USE = False", "may"},
		"elif of one set": {imported + "if USE:\n  pass\nelif x:\n  LOAD", "USE = True", "never"},
		"after an elif": {
			imported + "if x:\n  pass\nelif USE:\n  LOAD\nelse:\n  pass", "USE = True", "may",
		},
		"twice": {imported + "if USE:\n  LOAD", "USE = False\nif x:\n  USE = True", "may"},
		"in another branch": {
			imported + "if USE:\n  LOAD", "if x:\n  USE = False\nelse:\n  USE = True", "may",
		},
		"by a function": {
			imported + "if USE:\n  LOAD", "USE = False\ndef on():\n  global USE\n  USE = True\n", "may",
		},
		"imported or set": {
			"try:\n  from q.config import USE\nexcept ImportError:\n  USE = False\nif USE:\n  LOAD",
			"USE = True", "may",
		},
		"of a replaced module": {
			"from q import config\nconfig = f(config)\nif config.USE:\n  LOAD", "USE = False", "may",
		},
		"annotated too":  {imported + "if USE:\n  LOAD", "USE = False\nUSE: bool = x()", "may"},
		"one of several": {imported + "if USE:\n  LOAD", "USE = False\nUSE, b = f()", "may"},
		"computed":       {imported + "if USE:\n  LOAD", "USE = x()", "may"},
		"not read":       {"from r.config import USE\nif USE:\n  LOAD", "USE = False", "may"},
		"no constant":    {"from q.config import use\nif use:\n  LOAD", "use = False", "may"},
	} {
		p := program("q/config.py", c.config+"\n", "q/other.py", "from .config import USE\n",
			"p/__init__.py", strings.ReplaceAll(c.init, "LOAD", "ctypes.CDLL(d / 'libq.so.1')")+
				"\nimport p._m\n")
		got := "never"
		for _, e := range p.Import("p", "p/_m").Events {
			if e.Load && e.May {
				got = "may"
			} else if e.Load {
				got = "always"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
