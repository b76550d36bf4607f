// Package trial verifies fixes: it applies a fix to the scenario, checks the artifact again, and
// offers the fix if its finding is gone and no new one appeared.
//
//	v := trial.New(ctx, session, c, outcome)
//	err := v.Fixes(outcome.Found, outcome.Sets)
//	… the findings of all targets are grouped by cause …
//	err = trial.Plan(verifiers, report, nil)
//
// It also searches the versions of a package for the nearest one that works, and determines at
// which version in a declared range a finding starts. Plan verifies the fixes of whole causes,
// and all of them together. The number of trials is limited (maxTrials, maxWork); fixes that
// were not tried are marked as not verified.
package trial
