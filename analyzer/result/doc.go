// Package result is what an analysis returns, as plain data: the JSON of compat/report/v1.
//
// Report is the main type. It lists Findings, each of which is one symbol, library or file that
// does not work on a target, with the fixes that were tried. The package computes nothing but
// verdicts: findings come from the rules, fixes from package trial.
package result
