package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

func TestRules(t *testing.T) {
	for _, r := range rules.All() {
		if slices.Contains([]string{
			analyzer.RuleNoWheel, analyzer.RuleHash, analyzer.RuleUnmet, analyzer.RuleBroken,
			analyzer.RuleConflict,
		}, r.ID) {
			continue // they are about environments, which package analyzer tests
		}
		t.Run(
			r.ID,
			func(t *testing.T) { analyzertest.Run(t, filepath.Join("testdata", r.ID), rules.All()) },
		)
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
