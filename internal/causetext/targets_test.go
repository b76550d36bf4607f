package causetext

import (
	"testing"

	"github.com/compat-app/compat/analyzer"
)

func TestOnTarget(t *testing.T) {
	r := &analyzer.Report{Causes: []analyzer.Cause{
		{Severity: analyzer.Error, Targets: []string{"a", "b"}},
		{Severity: analyzer.Warning, Targets: []string{"b", "c"}},
		{Severity: analyzer.Warning, Targets: []string{"d", "c"}},
	}}
	for target, want := range map[string]string{
		"a": " (cause 1)",
		"b": " (cause 1; a warning: cause 2)",
		"c": " (warnings: causes 2 and 3)",
		"d": " (a warning: cause 3)",
		"e": "",
	} {
		if got := OnTarget(r, target); got != want {
			t.Errorf("on %s: got %q, want %q", target, got, want)
		}
	}
}
