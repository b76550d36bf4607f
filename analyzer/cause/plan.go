package cause

import "github.com/compat-app/compat/analyzer/result"

// plan selects the first fix of each cause that is an error. It is not verified: package trial
// verifies it.
func plan(causes []result.Cause) result.Plan {
	p := result.Plan{Fixes: []result.PlannedFix{}, Leaves: []string{}}
	for _, c := range causes {
		switch {
		case c.Severity != result.Error:
		case len(c.Fixes) == 0:
			p.Leaves = append(p.Leaves, c.ID)
		default:
			p.Fixes = append(p.Fixes, result.PlannedFix{Cause: c.ID, Fix: c.Fixes[0].Fix})
		}
	}
	return p
}
