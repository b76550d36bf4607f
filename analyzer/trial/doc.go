// Package trial verifies fixes: it applies a fix to the scenario, checks the artifact again, and offers
// the fix if its finding is gone and no new one appeared.
//
//	err := trial.Verify(ctx, session, c, outcome, outcome.Found)
//
// It also searches the versions of a package for the nearest one that works, and finds where in a
// declared range a finding begins. The number of trials is bounded (maxTrials, maxWork); fixes that
// were not tried are marked as not verified.
package trial
