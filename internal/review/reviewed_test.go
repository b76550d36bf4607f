package review

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/pinned"
)

// TestRecordedIsReviewed checks that a changed package that was not opened is listed as reviewed.
func TestRecordedIsReviewed(t *testing.T) {
	w := &pinned.Wheels{Recorded: []string{"Solver==2.0", "other==1.0"}}
	w.Wheels = []analyzer.Input{{Name: "core-3.1-cp312-cp312-manylinux_2_28_x86_64.whl"}}
	e := &environmentReview{out: &comment.Dependencies{}}
	e.reviewed(nil, opened{w, w}, []change{{name: "core"}, {name: "solver"}})
	if got := strings.Join(e.out.Reviewed, " "); got != "solver==2.0 core==3.1" {
		t.Errorf("reviewed %s", got)
	}
}
