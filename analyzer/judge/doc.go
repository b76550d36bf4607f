// Package judge checks one artifact in one environment: the platform, the packages that are
// installed with it and the process that loads it.
//
//	j, err := judge.New(rules, judge.Options{With: []string{"torch==2.7.0"}})
//	s, _ := j.Session(set.Artifacts, nil, names)
//	targets, _, err := judge.Targets(artifact, judge.Platforms{})
//	outcome, err := s.Judge(ctx, judge.Case{Artifact: artifact, Target: targets[0], Scenario: scenario})
//
// A Session loads and binds every object as the platform's loader would, and runs the rules over
// the result. Data goes one way: artifact -> package sets (resolver) -> load state -> rules ->
// Outcome. It tries no fix; package trial calls Session.Try with a changed scenario.
//
// Nothing here opens a file or a socket. What is known of other packages comes from a
// packages.Source, and files of the system from the functions in Folder and Conda.
package judge
