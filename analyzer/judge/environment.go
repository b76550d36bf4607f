package judge

import (
	"context"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// Environment checks artifacts that are installed together with all packages of Options.With, which
// include the artifacts. The packages are resolved and their libraries converted once for all
// artifacts: doing so for each would cost the square of their number. It is not safe for concurrent
// use.
type Environment struct {
	judge     *Judge // without an artifact; its demand is that of all artifacts
	artifacts []*facts.Artifact
	sets      map[string][]*packages.Set
	installed *packageLibraries
}

// NewEnvironment returns an Environment. Errors are those of New.
func NewEnvironment(rules []*Rule, o Options, artifacts []*facts.Artifact) (*Environment, error) {
	j, err := New(rules, o)
	if err != nil {
		return nil, err
	}
	return &Environment{
		judge:     j,
		artifacts: artifacts,
		sets:      map[string][]*packages.Set{},
		installed: newPackageLibraries(),
	}, nil
}

// Session starts a session for one of the artifacts. names contains the names of its symbols.
func (e *Environment) Session(f *facts.Artifact, names *elfobj.Names) *Session {
	j := *e.judge
	j.environment = e
	if e.judge.demand != nil {
		j.demand = e.judge.demand.fresh() // a fix for one artifact is tried with what it needs
		j.source = j.demand
	}
	s, _ := j.Session([]*facts.Artifact{f}, nil, names)
	return s
}

// resolve returns the packages of the environment, in a new slice: one set, or two if some packages
// have no version and the ends of their ranges differ. The requirements of all artifacts count as
// those of the artifact.
func (e *Environment) resolve(
	ctx context.Context,
	on packages.Target,
	p *platform.Platform,
	partial bool,
) ([]*packages.Set, error) {
	key := setsKey(on, p, partial, nil, nil)
	if sets, ok := e.sets[key]; ok {
		return slices.Clone(sets), nil
	}
	var declared []pkgmeta.Requirement
	for _, f := range e.artifacts {
		own, err := requirements(f, fix.Scenario{})
		if err != nil {
			return nil, err
		}
		if err := e.judge.options.enable(own, on); err != nil {
			return nil, err
		}
		declared = append(declared, own...)
		if d := e.judge.demand; d != nil {
			d.want(f, p, fix.Scenario{})
		}
	}
	var lazy packages.Lazy
	if partial {
		lazy = e.judge.demand.lazy(e.artifacts, p)
	}
	sets, err := e.judge.resolve(ctx, on, e.judge.given, declared, lazy)
	if err == nil {
		e.sets[key] = slices.Clone(sets)
	}
	return sets, err
}
