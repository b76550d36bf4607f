package rules_test

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

// TestUnreachedIsUndecided counts imports that a library defines, of which it is not known whether
// something loads it.
func TestUnreachedIsUndecided(t *testing.T) {
	r := analyzertest.Analyze(t, "testdata/dependency-library-not-reachable/undecided.txtar",
		rules.All())
	i := slices.IndexFunc(r.Artifacts, func(a result.Artifact) bool {
		return a.Wheel != nil && a.Wheel.Name == "computed"
	})
	if i < 0 || r.Artifacts[i].Accounting == nil {
		t.Fatalf("artifacts %+v", r.Artifacts)
	}
	got := *r.Artifacts[i].Accounting
	want := result.Undecided{Reason: result.NotReached, Library: "libdep.so.3", Count: 1}
	if got.Imports != 2 || got.Found != 1 || !slices.Equal(got.Why, []result.Undecided{want}) {
		t.Errorf("%+v", got)
	}
}
