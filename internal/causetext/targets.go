package causetext

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
)

// OnTarget says which causes a report has on a platform that was checked, after its verdict: " (a
// warning: cause 1)", " (causes 1 and 2)"; "" if there are none. What was only warned about is
// compatible, so the verdict alone would contradict the cause.
func OnTarget(r *analyzer.Report, name string) string {
	var errors, warnings []int
	for i, c := range r.Causes {
		switch on := slices.Contains(c.Targets, name); {
		case on && c.Severity == analyzer.Error:
			errors = append(errors, i+1)
		case on:
			warnings = append(warnings, i+1)
		}
	}
	var parts []string
	if errors != nil {
		parts = append(parts, ranges(errors))
	}
	switch len(warnings) {
	case 0:
	case 1:
		parts = append(parts, "a warning: "+ranges(warnings))
	default:
		parts = append(parts, "warnings: "+ranges(warnings))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
