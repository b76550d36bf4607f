package docgen_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage checks that every line of the threat model, every layer of the sandbox and every
// kind of stored data in SECURITY.md names tests, and that all tests that the page names exist.
func TestSecurityPage(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	data, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, model, _ := strings.Cut(string(data), "## Threat model")
	model, _, ok := strings.Cut(model, "\n## Not promised")
	if !ok {
		t.Fatal("SECURITY.md does not say what is not promised after the threat model")
	}
	known := testNames(t, root)
	name := regexp.MustCompile("`([a-z0-9]+\\.(?:Test|Fuzz)\\w+)`")
	rows := 0
	for line := range strings.Lines(model) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| from ") ||
			strings.HasPrefix(line, "| layer ") || strings.HasPrefix(line, "| what ") {
			continue
		}
		rows++
		if !name.MatchString(line) {
			t.Errorf("no test covers: %s", line)
		}
	}
	if rows < 30 {
		t.Errorf("the threat model and the layers have %d lines", rows)
	}
	for _, m := range name.FindAllStringSubmatch(string(data), -1) {
		if !known[m[1]] {
			t.Errorf("%s is not a test of this repository", m[1])
		}
	}
}

// testNames returns the tests below a folder, as the name of the package's folder and of the
// function.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		data, err := os.ReadFile(file)
		for _, m := range function.FindAllStringSubmatch(string(data), -1) {
			names[filepath.Base(filepath.Dir(file))+"."+m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
