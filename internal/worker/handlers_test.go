package worker

import (
	"testing"

	"github.com/compat-app/compat/internal/job"
)

func TestEveryKindHasAHandler(t *testing.T) {
	for _, k := range job.Kinds() {
		if handlers[k].do == nil {
			t.Errorf("no handler for jobs of kind %s", k)
		}
	}
	if len(handlers) != len(job.Kinds()) {
		t.Errorf("%d handlers for %d kinds", len(handlers), len(job.Kinds()))
	}
}
