package result_test

import (
	"testing"

	"github.com/compat-app/compat/analyzer/result"
)

// A cause is new if one of its findings is new.
func TestMarkExisting(t *testing.T) {
	r := result.New("test")
	r.Findings = []result.Finding{
		{Rule: "a", Symbol: "x", New: true},
		{Rule: "a", Symbol: "y", New: true},
		{Rule: "b", Symbol: "z", New: true},
	}
	r.Causes = []result.Cause{
		{ID: "a", New: true, Findings: []int{0, 1}},
		{ID: "b", New: true, Findings: []int{2}},
	}
	r.MarkExisting([]string{r.Findings[0].Identity(), r.Findings[2].Identity()})
	if !r.Causes[0].New || r.Causes[1].New {
		t.Errorf("new: %v %v, want true and false", r.Causes[0].New, r.Causes[1].New)
	}
}
