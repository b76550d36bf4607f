package judge

import (
	"fmt"
	"slices"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Judge checks artifacts with a list of rules. It is not safe for concurrent use.
type Judge struct {
	rules   []*Rule
	options Options
	given   []pkgmeta.Requirement  // Options.With, parsed
	names   func() map[string]bool // normalized, of the packages in given
	origins map[string]Origin      // origins of given, by text

	source packages.Source
	cache  *releaseCache
	demand *demand      // wraps the source if each request is a transfer; otherwise nil
	conda  *condaSource // the packages of the conda environment; nil if there is none

	environment *Environment // of which the artifact is a part; nil if there is none
}

// New returns a Judge. It returns an error for a requirement or a package name that cannot be
// parsed.
func New(rules []*Rule, o Options) (*Judge, error) {
	j := &Judge{rules: rules, options: o, origins: map[string]Origin{}}
	source := o.Source
	if source == nil {
		source = packages.History()
	}
	if o.Conda != nil {
		j.conda = newCondaSource(source, o.Conda)
		source = j.conda
	}
	if j.demand = newDemand(source, o); j.demand != nil {
		j.source, j.cache = j.demand, j.demand.cache
	} else {
		j.cache = newReleaseCache(source, o.NoHistory)
		j.source = j.cache
	}
	for _, w := range o.With {
		q, err := pkgmeta.ParseRequirement(w)
		if err != nil {
			return nil, fmt.Errorf("invalid %w", err) // it begins with "requirement"
		}
		j.given = append(j.given, q)
		if from, ok := o.Origins[w]; ok {
			j.origins[q.Raw] = from
		}
	}
	if err := j.importFirst(); err != nil {
		return nil, err
	}
	j.names = sync.OnceValue(func() map[string]bool {
		names := make(map[string]bool, len(j.given))
		for _, q := range j.given {
			names[q.Name] = true
		}
		return names
	})
	return j, nil
}

// importFirst adds requirements on the packages of Options.First that are in the conda environment.
func (j *Judge) importFirst() error {
	for _, p := range j.options.First {
		name := pkgmeta.Normalize(p)
		if name == "" {
			return fmt.Errorf("%q is not a package name", p)
		}
		if j.conda != nil && j.conda.version(name) != "" && !requires(j.given, name) {
			// it is imported from the conda environment
			j.given = append(j.given, pkgmeta.Requirement{Name: name, Raw: name})
		}
	}
	return nil
}

// Session checks artifacts that were given together, and caches what all scenarios share. It is
// not safe for concurrent use.
type Session struct {
	judge     *Judge
	artifacts []*facts.Artifact
	projects  []string             // of the artifacts, see projectsOf
	named     map[string][]sibling // objects by SONAME and file name; nil until they are needed
	wheels    wheels               // among the artifacts
	together  map[string]*together // by target, see togetherWith
	others    others               // of the current artifact, see othersOf
	openings  func() []opening     // of all artifacts that are installed together
	compared  map[*facts.Artifact][]*Compared

	resolver  *resolver
	libraries *libraries
	releases  map[releaseOn]*packages.Release // see Releases
	listed    map[releaseOn]*packages.Release // see Releases
	texts     map[textsKey]texts              // see textsOf
	globals   map[globalsOf][]Global          // see Pass.GlobalsOfReleases
	starts    *starts                         // of the current artifact
	baseline  *loadState                      // of the current artifact, without a fix
}

// Session starts a session. Libraries are compared with earlier builds; notes explain which
// builds could not be compared. names contains the names of the artifacts' symbols.
func (j *Judge) Session(
	artifacts []*facts.Artifact,
	earlier []*Earlier,
	names *elfobj.Names,
) (s *Session, notes []string) {
	index := symindex.New(names)
	for _, f := range artifacts {
		for _, o := range f.Objects {
			index.Of(o.Imports, false)
		}
	}
	s = &Session{
		judge:     j,
		artifacts: artifacts,
		projects:  projectsOf(artifacts),
		together:  map[string]*together{},
		compared:  map[*facts.Artifact][]*Compared{},
		libraries: newLibraries(j.options, index),
		releases:  map[releaseOn]*packages.Release{},
		listed:    map[releaseOn]*packages.Release{},
		texts:     map[textsKey]texts{},
		globals:   map[globalsOf][]Global{},
		openings:  sync.OnceValue(func() []opening { return openingsOf(artifacts) }),
	}
	s.resolver = newResolver(s)
	if j.environment != nil {
		e := j.environment
		s.libraries.installed, s.libraries.platforms, s.openings = e.installed, e.platforms, e.openings
	} else {
		s.wheels = wheelsOf(artifacts)
	}
	return s, s.compare(earlier)
}

// project returns the normalized project of a wheel; "" for another artifact.
func project(f *facts.Artifact) string {
	if f.Wheel == nil {
		return ""
	}
	return pkgmeta.Normalize(f.Wheel.Name)
}

// others are the artifacts that can be installed with an artifact on a platform.
type others struct {
	of        *facts.Artifact
	on        *platform.Platform
	artifacts []*facts.Artifact
}

// othersOf returns the other artifacts that can be installed in the environment of an artifact on a
// platform: all but wheels of the same project, of which pip installs one, and those that another
// wheel for the target stands for. In an environment they are all. The list is made only where a
// rule asks for it, since those of all artifacts have the square of their number.
func (s *Session) othersOf(f *facts.Artifact, p *platform.Platform) []*facts.Artifact {
	if s.others.of == f && s.others.on == p { // the same for all fixes that are tried
		return s.others.artifacts
	}
	own, with := project(f), s.judge.environment
	artifacts, projects := s.installable(f, p)
	out := others{of: f, on: p, artifacts: make([]*facts.Artifact, 0, len(artifacts))}
	for n, x := range artifacts {
		if (x != f || with != nil) && (own == "" || projects[n] != own) {
			out.artifacts = append(out.artifacts, x)
		}
	}
	s.others = out
	return out.artifacts
}

// installable returns the artifacts that can be installed on a platform of an artifact, with their
// projects: all artifacts, without those that another wheel for the target stands for.
func (s *Session) installable(
	f *facts.Artifact, p *platform.Platform,
) (artifacts []*facts.Artifact, projects []string) {
	if with := s.judge.environment; with != nil {
		return with.artifacts, with.projects
	}
	if t := s.togetherWith(f, p); t != nil {
		return t.standing(s)
	}
	return s.artifacts, s.projects
}

// projectsOf returns the normalized projects of artifacts; "" for one that is no wheel.
func projectsOf(artifacts []*facts.Artifact) []string {
	out := make([]string, len(artifacts))
	for n, a := range artifacts {
		out[n] = project(a)
	}
	return out
}

// Case is one artifact on one target in one scenario.
type Case struct {
	Artifact *facts.Artifact
	Target   Target
	Scenario fix.Scenario
}

// Found is a finding with the fixes to try.
type Found struct {
	*result.Finding
	Candidates []fix.Candidate
	// The ends of the declared ranges at which it occurs; with one set only the first.
	At [2]bool
	// Lowered is set for a warning that is an error of the oldest versions only.
	Lowered bool
}

// Given reports whether the user gave a requirement on a package, or a wheel of it.
func (s *Session) Given(name string) bool {
	name = pkgmeta.Normalize(name)
	return s.judge.names()[name] || s.wheels[name] != nil
}

// Pinned reports whether the artifacts are the packages of an environment.
func (s *Session) Pinned() bool { return s.judge.environment != nil }

// Pin reports whether the user gave a requirement on a package, and whether it is of a lock file
// that a tool writes.
func (s *Session) Pin(name string) (given, locked bool) {
	for _, q := range s.judge.given {
		if q.Name == name {
			file := s.judge.origins[q.Raw].File
			return true, file != "" && lockfile.Updates(file)
		}
	}
	return false, false
}

// Implied reports whether a package is in the environment only because another one needs it: no
// file names it.
func (s *Session) Implied(name string) bool {
	return slices.ContainsFunc(s.judge.given, func(q pkgmeta.Requirement) bool {
		return q.Name == name && s.judge.origins[q.Raw].Implied
	})
}

// Admitted returns the versions of a package that the other packages of the environment allow; all
// of them without one.
func (s *Session) Admitted(name string, versions []string) []string {
	if s.judge.environment == nil {
		return versions
	}
	return s.judge.environment.Admitted(name, versions)
}

// Requirements returns the requirements of the user, followed by those of the artifact.
func (s *Session) Requirements(a *facts.Artifact) []pkgmeta.Requirement {
	all := slices.Clone(s.judge.given)
	if a.Metadata != nil {
		all = append(all, a.Metadata.Requires...)
	}
	return all
}

func requires(list []pkgmeta.Requirement, name string) bool {
	name = pkgmeta.Normalize(name)
	return slices.ContainsFunc(list, func(q pkgmeta.Requirement) bool { return q.Name == name })
}
