// Package judge checks one artifact in one environment: the platform, the packages that are
// installed with it and the process that loads it.
//
//	j, err := judge.New(rules, judge.Options{With: []string{"torch==2.7.0"}})
//	s, _ := j.Session(set.Artifacts, nil, names)
//	targets, _, err := judge.Targets(artifact, judge.Platforms{})
//	c := judge.Case{Artifact: artifact, Target: targets[0], Scenario: scenario}
//	outcome, err := s.Judge(ctx, c)
//
// A Session loads and binds every object like the platform's loader, and runs the rules on the
// result. Data flows in one direction: artifact -> package sets (resolver) -> load state ->
// rules -> Outcome. It tries no fixes; package trial calls Session.Try with a changed scenario.
//
// The package opens no file or socket. Other packages are provided by a packages.Source, and
// files of the system by the functions in Folder and Conda.
package judge
