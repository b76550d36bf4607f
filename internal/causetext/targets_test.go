package causetext

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/result"
)

func TestOnTarget(t *testing.T) {
	r := &analyzer.Report{Causes: []analyzer.Cause{
		{Severity: analyzer.Error, Targets: []string{"a", "b"}},
		{Severity: analyzer.Warning, Targets: []string{"b", "c"}},
		{Severity: analyzer.Warning, Targets: []string{"d", "c"}},
	}}
	for target, want := range map[string]string{
		"a": " (error 1)",
		"b": " (error 1; warning 2)",
		"c": " (warnings 2 and 3)",
		"d": " (warning 3)",
		"e": "",
	} {
		if got := onTarget(r, target, ""); got != want {
			t.Errorf("on %s: got %q, want %q", target, got, want)
		}
	}
}

// The oldest and the newest versions have a line each if one of them fails, and platforms with the
// same result share a line.
func TestCheckedOn(t *testing.T) {
	r := analyzer.NewReport("")
	with := []string{"numpy==1.23.2", "six==1.5.0", "torch==2.7.0", "numpy==2.4.6", "six==1.17.0"}
	for _, name := range []string{"a", "b", "c"} {
		r.Targets = append(r.Targets, analyzer.Target{
			Name: name, Verdict: analyzer.Incompatible, With: with,
		})
	}
	r.Artifacts = []analyzer.Artifact{{Targets: []string{"a", "b", "c"}}}
	r.Findings = []analyzer.Finding{
		{Range: &result.Range{Fails: packages.Highest}}, {OnlyAt: packages.Lowest}, {},
	}
	r.Causes = []analyzer.Cause{
		{Severity: analyzer.Error, Targets: []string{"a", "b"}, Findings: []int{0}},
		{Severity: analyzer.Warning, Targets: []string{"a", "b"}, Findings: []int{1}},
		{Severity: analyzer.Error, Targets: []string{"c"}, Findings: []int{2}},
	}
	const want = "`a`, `b`: incompatible (error 1), with the newest versions that the wheel allows: " +
		"`numpy==2.4.6`, `six==1.17.0`, `torch==2.7.0`\n" +
		"`a`, `b`: compatible (warning 2), with the oldest versions that the wheel allows: " +
		"`numpy==1.23.2`, `six==1.5.0`, `torch==2.7.0`\n" +
		"`c`: incompatible (error 3), with `numpy==1.23.2 (oldest allowed) or ==2.4.6 (newest allowed)`, " +
		"`six==1.5.0 (oldest allowed) or ==1.17.0 (newest allowed)`, `torch==2.7.0`"
	lines := func() string {
		var out []string
		for _, x := range CheckedOn(r) {
			out = append(out, x.Markdown(8))
		}
		return strings.Join(out, "\n")
	}
	if got := lines(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Of two artifacts it is not known which was installed with which version.
	r.Artifacts = append(r.Artifacts, r.Artifacts[0])
	if got := lines(); strings.Contains(got, "that the wheel allows") {
		t.Errorf("of two artifacts: got\n%s", got)
	}
}
