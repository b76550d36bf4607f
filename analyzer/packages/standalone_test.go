package packages

import (
	"regexp"
	"strings"
	"testing"
)

// TestStandaloneList reads the whole list, and looks up a wheel of it.
func TestStandaloneList(t *testing.T) {
	line := regexp.MustCompile(`^[\w.+-]+\.whl [0-9a-f]{32}( shares)?$`)
	lines := strings.Split(strings.Trim(standaloneList(), "\n"), "\n")
	shares := map[bool]string{}
	for n, l := range lines {
		if !line.MatchString(l) || n > 0 && lines[n-1] >= l {
			t.Fatalf("line %q after %q", l, lines[max(n-1, 0)])
		}
		shares[strings.HasSuffix(l, " shares")] = l
	}
	for want, l := range shares {
		words := strings.Fields(l)
		rest := strings.Repeat("0", 32)
		if known, shares := History().StandsAlone(words[0], words[1]+rest); !known || shares != want {
			t.Errorf("%s: known %v, shares %v", l, known, shares)
		}
		for _, x := range [][2]string{
			{words[0], rest + words[1]}, {words[0], words[1]}, {words[0], ""}, {"", words[1] + rest},
			{words[0][1:], words[1] + rest}, {l + "\n" + words[0], words[1] + rest},
		} {
			if known, _ := History().StandsAlone(x[0], x[1]); known {
				t.Errorf("%q is known", x)
			}
		}
	}
}

func TestLoadable(t *testing.T) {
	for name, want := range map[string]bool{
		"pyarrow/libarrow.so.2600": true, "torch/lib/libtorch.so": true, "a/_c.so": true,
		"liba.cpython-312-x86_64-linux-gnu.so": true, "a/lib.cpython-312-x86_64-linux-gnu.so": false,
		"a/_c.cpython-312-x86_64-linux-gnu.so": false, "a/_c.abi3.so": false,
		"scipy.libs/libgfortran-0b1c2d3e.so.5": false, "a/data.txt": false, "bin/ruff": false,
	} {
		if got := Loadable(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
