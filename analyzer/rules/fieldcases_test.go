package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

// TestFieldCases runs stories of failures that users reported, and checks each against the entry in
// fieldcases/cases.txt. -update writes the want section of a story, but not the table.
func TestFieldCases(t *testing.T) {
	table, err := os.ReadFile("fieldcases/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	reported := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		w := strings.Fields(line)
		if len(w) != 5 || reported[w[0]] {
			t.Fatalf("%q: a line is FILE CLASS RULE CULPRIT FIX, once for each file", line)
		}
		reported[w[0]] = true
		t.Run(w[0], func(t *testing.T) {
			r := analyzertest.Analyze(t, filepath.Join("fieldcases", w[0]+".txtar"), rules.All())
			rule, culprit, kind := w[2], w[3], w[4]
			if rule == "-" {
				if len(r.Findings) > 0 {
					t.Errorf("it is fine, and shows %s", r.Findings[0].Message)
				}
				return
			}
			i := slices.IndexFunc(r.Findings, func(f analyzer.Finding) bool {
				return f.Rule == rule && f.Severity != analyzer.Note &&
					(slices.Contains([]string{f.Symbol, f.Version, f.Library, f.Package}, culprit) ||
						strings.Contains(f.Object, culprit))
			})
			if i < 0 {
				t.Fatalf("no finding of %s names %s", rule, culprit)
			}
			if kind != "-" &&
				!slices.ContainsFunc(r.Findings[i].Fixes, func(x fix.Fix) bool { return string(x.Kind) == kind }) {
				t.Errorf("%s offers no fix of kind %s: %+v", rule, kind, r.Findings[i].Fixes)
			}
		})
	}
	files, err := filepath.Glob("fieldcases/*.txtar")
	if err != nil || len(files) != len(reported) {
		t.Errorf("%d stories and %d lines in the table, %v", len(files), len(reported), err)
	}
}
