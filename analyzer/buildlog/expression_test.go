package buildlog

import (
	"regexp"
	"testing"
)

func TestExpressions(t *testing.T) {
	if len(expressions) < len(patterns) {
		t.Fatalf("%d expressions for %d patterns", len(expressions), len(patterns))
	}
	for _, e := range expressions {
		if _, err := regexp.Compile(e.text); err != nil {
			t.Error(err)
		}
	}
}
