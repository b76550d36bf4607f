package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

func TestRules(t *testing.T) {
	for _, r := range rules.All() {
		t.Run(
			r.ID,
			func(t *testing.T) { analyzertest.Run(t, filepath.Join("testdata", r.ID), rules.All()) },
		)
	}
}

// TestEveryRuleHasCases checks that every rule has a check, a case that it reports and one that it
// does not.
func TestEveryRuleHasCases(t *testing.T) {
	for _, r := range rules.All() {
		finding := regexp.MustCompile(`(?m)^(existing )?(error|warning|note) ` + r.ID + ` `)
		if r.Check == nil && r.Windows == nil && r.MacOS == nil && r.Android == nil &&
			r.Pyodide == nil && r.IOS == nil && r.Environment == nil &&
			r.ID != analyzer.RuleSupportRemoved { // it compares reports
			t.Errorf("%s has no check", r.ID)
		}
		files, err := filepath.Glob(filepath.Join("testdata", r.ID, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		reports, silent := false, false
		for _, file := range files {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range a.Files {
				if f.Name == "want" {
					found := finding.Match(f.Data)
					reports, silent = reports || found, silent || !found
				}
			}
		}
		if !reports || !silent {
			t.Errorf("testdata/%s: reports %v, silent %v; add a case of each", r.ID, reports, silent)
		}
	}
}

func TestEveryRuleIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules.All() {
		if seen[r.ID] {
			t.Errorf("%s is listed twice", r.ID)
		}
		seen[r.ID] = true
		if r.Title == "" || len(r.Doc) < 200 || len(r.References) == 0 || r.Severity == "" {
			t.Errorf(
				"%s: needs a title, a text that says what, why and what to do, references and "+
					"a severity",
				r.ID,
			)
		}
		if r.Severity == analyzer.Warning && r.Cause.Warns == "" {
			t.Errorf("%s: its findings are warnings, and Cause.Warns does not say why", r.ID)
		}
		if _, err := os.Stat(strings.ReplaceAll(r.ID, "-", "_") + ".go"); err != nil {
			t.Errorf("%s: its file is not called after it: %v", r.ID, err)
		}
	}
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		known := false
		for _, id := range rules.IDs() {
			known = known || id == f.Name()
		}
		if !known {
			t.Errorf("testdata/%s belongs to no rule", f.Name())
		}
	}
}
