package judge

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/compat-app/compat/analyzer/dynlink"
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
	projects  []string // of the artifacts, see projectsOf
	sets      map[string][]*packages.Set
	installed *packageLibraries
	platforms map[*platform.Platform][]*dynlink.Library
	openings  func() []opening                 // found once for all artifacts
	versions  map[string]*pkgmeta.Version      // of the given packages; nil until it is needed
	required  map[string][]pkgmeta.Requirement // of all wheels, by package; likewise
	known     *contents                        // likewise
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
		projects:  projectsOf(artifacts),
		sets:      map[string][]*packages.Set{},
		installed: newPackageLibraries(),
		platforms: map[*platform.Platform][]*dynlink.Library{},
		openings:  sync.OnceValue(func() []opening { return openingsOf(artifacts) }),
	}, nil
}

// Session starts a session for one of the artifacts. names contains the names of its symbols.
func (e *Environment) Session(f *facts.Artifact, names *elfobj.Names) *Session {
	j := *e.judge
	j.environment = e
	j.options.First = e.first(f)
	if e.judge.demand != nil {
		j.demand = e.judge.demand.fresh() // a fix for one artifact is tried with what it needs
		j.source = j.demand
	}
	s, _ := j.Session([]*facts.Artifact{f}, nil, names)
	return s
}

// first returns the packages that are imported before an artifact. Those that install some of its
// objects too are not: only one of two files of one path exists.
func (e *Environment) first(f *facts.Artifact) []string {
	all := e.judge.options.First
	if len(all) == 0 {
		return all
	}
	own := map[string]bool{}
	for _, o := range f.Objects {
		own[o.Path] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return slices.ContainsFunc(e.artifacts, func(a *facts.Artifact) bool {
			return a != f && a.Wheel != nil && pkgmeta.Normalize(a.Wheel.Name) == pkgmeta.Normalize(name) &&
				slices.ContainsFunc(a.Objects, func(o *facts.Object) bool { return own[o.Path] })
		})
	})
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
	sets, err := e.judge.resolve(ctx, on, e.judge.given, declared, lazy, nil)
	if err == nil {
		e.sets[key] = slices.Clone(sets)
	}
	return sets, err
}

// Unmet is a requirement of a package that the version in the environment does not satisfy.
type Unmet struct {
	By          packages.ID
	Artifact    *facts.Artifact // of By; nil if it was not read
	Requirement string          // as NAMESPEC
	Package     string          // normalized name of the required package
	// Version is the closest one that satisfies the requirements of all wheels; "" if none is known.
	Version string
}

// Unmet returns the requirements of the packages that were read, and of those that were looked up,
// which the packages of the environment do not satisfy: first those of the wheels, in their order.
// Requirements of extras, on packages that the environment does not have, and of packages that it
// does not pin, of which another version can be chosen, are left out. The
// error is that of ctx.
func (e *Environment) Unmet(ctx context.Context) (out []Unmet, _ error) {
	add := func(
		by packages.ID,
		f *facts.Artifact,
		requirement, name string,
		v pkgmeta.Version,
	) {
		if !slices.ContainsFunc(out, func(u Unmet) bool {
			return u.By.Name == by.Name && u.Package == name
		}) {
			out = append(out, Unmet{by, f, requirement, name, e.nearest(ctx, name, requirement, v)})
		}
	}
	for _, f := range e.artifacts {
		if f.Metadata == nil {
			continue
		}
		for _, q := range f.Metadata.Requires {
			v := e.version(q.Name)
			if v == nil || !e.applies(q) || admits(q, *v) {
				continue
			}
			by := packages.ID{
				Name: pkgmeta.Normalize(f.Metadata.Name), Version: f.Metadata.Version,
			}
			add(by, f, q.Name+q.Spec, q.Name, *v)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.sets)) {
		for _, set := range e.sets[key] {
			for _, x := range set.Conflicts {
				v := e.version(x.Package)
				if v != nil && e.version(x.Release.Name) != nil {
					add(x.Release, nil, x.Requirement, x.Package, *v)
				}
			}
		}
	}
	return out, ctx.Err()
}

// version returns the version of a package in the environment, or nil.
func (e *Environment) version(name string) *pkgmeta.Version {
	if e.versions == nil {
		e.versions = map[string]*pkgmeta.Version{}
		for _, q := range e.judge.given {
			if spec, err := pkgmeta.ParseSpec(q.Spec); err == nil && e.applies(q) {
				if v, ok := spec.Pin(); ok {
					e.versions[q.Name] = &v
				}
			}
		}
	}
	return e.versions[name]
}

// applies reports whether a requirement applies without an extra. One whose marker cannot be
// evaluated does not.
func (e *Environment) applies(q pkgmeta.Requirement) bool {
	ok, err := q.Applies(e.judge.options.On.Markers())
	return err == nil && ok
}

// nearest returns the final version next to one, the newer one of two, that a requirement and all
// wheels of the environment allow and that can be installed; "" if none is known.
func (e *Environment) nearest(
	ctx context.Context,
	name, requirement string,
	from pkgmeta.Version,
) string {
	listed, err := e.judge.source.Versions(ctx, name, e.judge.options.On)
	if err != nil {
		return ""
	}
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		return ""
	}
	below := ""
	for _, v := range packages.Sorted(e.Admitted(name, listed)) {
		switch {
		case v.IsPreRelease(), !admits(q, v):
		case v.Compare(from) > 0:
			return v.String()
		default:
			below = v.String()
		}
	}
	return below
}

// Admitted returns the versions of a package that the requirements of all wheels allow.
func (e *Environment) Admitted(name string, versions []string) (out []string) {
	if e.required == nil {
		e.required = map[string][]pkgmeta.Requirement{}
		for _, f := range e.artifacts {
			if f.Metadata == nil {
				continue
			}
			for _, q := range f.Metadata.Requires {
				if e.applies(q) {
					e.required[q.Name] = append(e.required[q.Name], q)
				}
			}
		}
	}
	for _, text := range versions {
		v, err := pkgmeta.ParseVersion(text)
		if err == nil && !slices.ContainsFunc(e.required[name], func(q pkgmeta.Requirement) bool {
			return !admits(q, v)
		}) {
			out = append(out, text)
		}
	}
	return out
}

// admits reports whether a requirement allows a version. One that cannot be parsed does.
func admits(q pkgmeta.Requirement, v pkgmeta.Version) bool {
	spec, err := pkgmeta.ParseSpec(q.Spec)
	return err != nil || spec.Admits(v)
}
