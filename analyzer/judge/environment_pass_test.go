package judge_test

import (
	"testing"

	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/result"
)

// TestEnvironmentFindings checks what a finding of an environment has in JSON, and that the findings
// of a rule are limited like those of an artifact.
func TestEnvironmentFindings(t *testing.T) {
	report := result.New("test")
	report.Targets = []result.Target{{Name: "debian12"}, {Name: "debian13"}}
	rule := &judge.Rule{ID: "unmet", Severity: result.Warning}
	rule.Environment = func(p *judge.EnvironmentPass) {
		for range judge.MaxFindings + 1 {
			p.Report(result.Finding{RequiredBy: "tool", Requirement: "numpy<2", Package: "numpy"})
		}
		p.Report(result.Finding{Package: "widget", InstalledFor: "macOS", On: []string{}})
	}
	new(judge.EnvironmentPass).Run(t.Context(), []*judge.Rule{rule, {ID: "other"}}, nil, report)
	if len(report.Findings) != judge.MaxFindings+1 || len(report.Notes) != 1 {
		t.Fatalf("%d findings, notes %q", len(report.Findings), report.Notes)
	}
	f, last := report.Findings[0], report.Findings[judge.MaxFindings]
	if f.Rule != "unmet" || f.Object != "tool" || f.Version != "numpy<2" || !f.New ||
		f.Severity != result.Warning || f.Target != "debian12" || f.Fixes == nil {
		t.Errorf("finding %+v", f)
	}
	if last.Object != "widget" || last.Version != "macOS" || last.Target != "" {
		t.Errorf("finding %+v", last)
	}
}
