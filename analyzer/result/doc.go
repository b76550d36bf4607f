// Package result contains the result of an analysis as plain data: the JSON of
// compat/report/v1.
//
// The main type is Report. It lists Findings, each about a symbol, library or file that does
// not work on a target, with the fixes that were tried. The package only computes verdicts:
// findings are created by the rules, fixes by package trial.
package result
