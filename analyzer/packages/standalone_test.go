package packages

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestStandaloneList reads the whole list, and looks up a wheel of each kind.
func TestStandaloneList(t *testing.T) {
	line := regexp.MustCompile(`^[\w.+-]+\.whl [0-9a-f]{32}( release|( shares)?( with (,?[\w-]+==[\w.+]+)+)?)$`)
	lines := standaloneList()
	rest := strings.Repeat("0", 32)
	for n, text := range lines {
		if !line.MatchString(text) || n > 0 && lines[n-1] >= text {
			t.Fatalf("line %q after %q", text, lines[max(n-1, 0)])
		}
		words := strings.Fields(text)
		l, ok := History().Listed(words[0], words[1]+rest)
		if !ok || l.Alone == strings.HasSuffix(text, " release") ||
			l.Shares != slices.Contains(words, "shares") ||
			len(l.With) != strings.Count(text, "==") {
			t.Fatalf("%s: %+v, %v", text, l, ok)
		}
		if n > 0 {
			continue
		}
		for _, x := range [][2]string{
			{words[0], rest + words[1]}, {words[0], words[1]}, {words[0], ""}, {"", words[1] + rest},
			{words[0][1:], words[1] + rest}, {text + "\n" + words[0], words[1] + rest},
		} {
			if _, ok := History().Listed(x[0], x[1]); ok {
				t.Errorf("%q is listed", x)
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
