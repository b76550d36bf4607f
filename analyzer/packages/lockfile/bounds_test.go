package lockfile_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
)

// TestBounds reads files that make a decoder use much time or memory.
func TestBounds(t *testing.T) {
	const pins = "version = 1\n[[package]]\nname = \"a\"\nversion = \"1\"\n"
	lines := func(form string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	nested := func(open, closed string, n int) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(closed, n)
	}
	alias := "a: &b [x]\ndependencies:\n  - pip: *b\n"
	literal := "y = '''\n" + strings.Repeat("[", 100) + "'''\n"
	for _, c := range []struct{ name, text, want string }{
		{"uv.lock", "x = " + nested("[", "]", 200_000) + "\n" + pins, "line 1: it is nested"},
		{"uv.lock", pins + "source = " + nested("{a = ", "}", 9000) + "\n", "line 5: it is nested"},
		{"uv.lock", "x = \"]]]\" # [[[[\n" + pins + literal, ""},
		{"uv.lock", "x = \"\"\"" + strings.Repeat("[", 100) + "\"\"\"\"\"\n" + pins, ""},
		{"uv.lock", lines("k%d = 1\n", 200_000) + pins, ""},
		{"uv.lock", lines("[x.k%d]\n", 200_000) + pins, ""},
		{"uv.lock", pins + "y = [" + strings.Repeat("1,", 300_000) + "]\n", "more than 200000 values"},
		{"uv.lock", strings.Repeat("a.", 300_000) + "b = 1\n" + pins, "more than 200000 values"},
		{"uv.lock", strings.Repeat(pins, 30_000), "more than 20000 packages"},
		{"pdm.lock", pins + "marker = \"" + strings.Repeat("(", 100_000) + "\"\n", "longer than"},
		{"uv.lock", pins + strings.Repeat("#\n", 9<<20), "more than 16 MiB"},
		{"environment.yml", alias, "alias"},
		{"environment.yml", "x: " + nested("[", "]", 5000) + "\n", "nested"},
		{"environment.yml", lines("k%d: 1\n", 100_000) + "dependencies:\n  - pip: [a==1]\n", ""},
		{"environment.yml", lines("k%d: 1\n", 300_000), "more than 200000 values"},
		{"conda-lock.yml", strings.Repeat("- ", 100_000) + "a\n", "max depth"},
		{"conda-lock.yml", strings.Repeat("? ", 100_000) + "a\n", "YAML"},
		{"Pipfile.lock", `{"default":` + nested(`{"a":`, "}", 100_000) + "}", "not a Pipfile.lock"},
		{"Pipfile.lock", `{"default":{` + lines(`"k%d":{},`, 300_000) + `"z":{}}}`, "more than 200000"},
		{"requirements.txt", "a==1;" + strings.Repeat("(", 1<<20), "longer than"},
		{"requirements.txt", lines("a%d==1\n", 30_000), "more than 20000 packages"},
	} {
		start := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := choose(c.name, []byte(c.text), lockfile.Choice{Python: "3.12", Arch: "x86_64"})
		runtime.ReadMemStats(&after)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %.40q: %v, want %q", c.name, c.text, err, c.want)
		}
		allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
		if allocated > 200 {
			t.Errorf("%s %.40q: %d MiB for %d KiB", c.name, c.text, allocated, len(c.text)>>10)
		}
		t.Logf("%s %.40q: %v, %d MiB", c.name, c.text, time.Since(start), allocated)
	}
}
