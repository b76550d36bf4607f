package analyzer_test

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
)

// TestNoWheel checks the findings for pins without a wheel for the environment.
func TestNoWheel(t *testing.T) {
	env := func(platform string, missing ...analyzer.NoWheel) *analyzer.Environment {
		return &analyzer.Environment{
			On:       packages.Target{Python: "3.12", Arch: "x86_64"},
			Platform: platform,
			NoWheel:  missing,
		}
	}
	binary := analyzer.NoWheel{
		Package: "widget", Version: "2.0", Reason: "widget==2.0 has no wheel for this platform",
		At: analyzer.Origin{File: "uv.lock", Line: 4}, Newest: "2.1",
	}
	built := analyzer.NoWheel{
		Package: "built", Version: "1.0", Reason: "built==1.0 has no wheel for this platform",
		Source: true,
	}
	a := analyzer.New(rules.All())
	heads := []*analyzer.Environment{
		env("alpine3.20", binary, built),
		env("musllinux_1_2", binary),
		env("debian12"),
	}
	r, err := a.CheckEnvironments(t.Context(), heads, nil, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 2 {
		t.Fatalf("findings %+v", r.Findings)
	}
	f := r.Findings[0]
	if f.Severity != analyzer.Error || f.Package != "widget" || !f.New ||
		!strings.Contains(f.Message, "uv.lock:4") || len(f.On) != 2 ||
		len(f.Fixes) != 1 || f.Fixes[0].Requirement != "widget==2.1" {
		t.Errorf("finding %+v", f)
	}
	if f := r.Findings[1]; f.Severity != analyzer.Warning || f.Package != "built" ||
		!strings.Contains(f.Message, "built from source") {
		t.Errorf("finding %+v", f)
	}
	verdicts := map[string]analyzer.Verdict{}
	for _, x := range r.Targets {
		verdicts[x.Name] = x.Verdict
	}
	if verdicts["musllinux_1_2_x86_64"] != analyzer.Incompatible ||
		verdicts["debian12"] == analyzer.Incompatible {
		t.Errorf("targets %+v", r.Targets)
	}

	// A finding that the base has too is not new.
	older := binary
	older.Version = "1.9"
	r, err = a.CheckEnvironment(
		t.Context(), env("alpine3.20", binary), env("alpine3.20", older), analyzer.Options{},
	)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].New {
		t.Errorf("findings %+v, error %v", r.Findings, err)
	}
}
