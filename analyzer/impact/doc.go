// Package impact finds out which packages a release breaks: those that load its libraries and do
// not work with them any more.
//
//	new, err := impact.Read(ctx, input, options)
//	q := impact.Question{New: new, Old: old, On: on, Platform: "debian12", Analyzer: a}
//	entry, err := q.Judge(ctx, dependent)
//
// A dependent is checked with the analyzer's rules twice, in environments that differ in the
// release only. What it lacks with the new release and not with the old one is what the release
// breaks. So the answer is the one that check and env would give, for each side. Types and sizes of
// variables, which loaders do not compare, are compared here, for the symbols that the dependent
// imports.
package impact
