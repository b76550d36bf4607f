package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"go.yaml.in/yaml/v4"
)

var (
	pageCommand = regexp.MustCompile("(?m)(?:^ {4}|^\\s*- |^\\s*sh '|audit-command = \"|, \"|&& |\\| `|Command: )" +
		"compat (\\S+) ([^`\n]*)")
	substitution = regexp.MustCompile(`\$\([^)]*\)`)
	pageTarget   = regexp.MustCompile("(?m)(?:^ {4}|`)make ([a-z0-9]+)(?:`|$| [A-Z]+=)")
	pageYAML     = regexp.MustCompile("(?ms)^```yaml\\n(.*?)^```")
	pageTable    = regexp.MustCompile("(?ms)^```toml\\n(\\[+tool\\.compat.*?)^```")
	afterWords   = regexp.MustCompile(`'$|"\]?$| {2,}#.*$`)
)

// The commands of the pages have commands, flags and targets of make that exist, and their
// configuration is valid.
func TestPagesHaveCommandsThatExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageCommand.FindAllStringSubmatch(string(text), -1) {
			line := substitution.ReplaceAllString(afterWords.ReplaceAllString(m[2], ""), "words")
			if strings.Contains(line, "…") { // an abbreviated command
				continue
			}
			root := newRootCommand(environment{Getenv: os.LookupEnv})
			c, rest, err := root.Find(append([]string{m[1]}, strings.Fields(line)...))
			if err == nil && c == root {
				t.Errorf("%s: there is no command %s", page, m[1])
			} else if err == nil {
				err = c.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s: compat %s %s: %v", page, m[1], line, err)
			}
			seen[filepath.Base(page)]++
		}
		for _, m := range pageTarget.FindAllStringSubmatch(string(text), -1) {
			if !bytes.Contains(makefile, []byte("\n"+m[1]+":")) {
				t.Errorf("%s: make has no target %s", page, m[1])
			}
			seen["make"]++
		}
		for _, m := range pageYAML.FindAllStringSubmatch(string(text), -1) {
			if err := yaml.Unmarshal([]byte(m[1]), new(any)); err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
			seen["yaml"]++
		}
		for _, m := range pageTable.FindAllStringSubmatch(string(text), -1) {
			if _, problems, found := config.ParseProject([]byte(m[1]), rules.IDs()); !found ||
				len(problems) > 0 {
				t.Errorf("%s: %s: %v", page, m[1], problems)
			}
			seen["toml"]++
		}
	}
	if seen["ci.md"] < 12 || seen["README.md"] < 5 || seen["toml"] < 1 || seen["make"] < 8 ||
		seen["yaml"] < 5 {
		t.Errorf("commands were not found: %v", seen)
	}
}
