package judge

import (
	"context"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Judge checks artifacts with a list of rules. It is not safe for concurrent use.
type Judge struct {
	rules   []*Rule
	options Options
	given   []pkgmeta.Requirement // Options.With, parsed
	origins map[string]Origin     // origins of given, by text

	source packages.Source
	cache  *releaseCache
	demand *demand      // wraps the source if each request is a transfer; otherwise nil
	conda  *condaSource // the packages of the conda environment; nil if there is none
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
			return nil, fmt.Errorf("invalid requirement %q: %w", w, err)
		}
		j.given = append(j.given, q)
		if from, ok := o.Origins[w]; ok {
			j.origins[q.Raw] = from
		}
	}
	for _, p := range o.First {
		name := pkgmeta.Normalize(p)
		if name == "" {
			return nil, fmt.Errorf("%q is not a package name", p)
		}
		if j.conda != nil && j.conda.version(name) != "" && !requires(j.given, name) {
			// it is imported from the conda environment
			j.given = append(j.given, pkgmeta.Requirement{Name: name, Raw: name})
		}
	}
	return j, nil
}

// Session checks artifacts that were given together, and caches what all scenarios share. It is
// not safe for concurrent use.
type Session struct {
	judge     *Judge
	artifacts []*facts.Artifact
	compared  map[*facts.Artifact][]*Compared

	resolver  *resolver
	libraries *libraries
	releases  map[releaseOn]*packages.Release // see Releases
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
		compared:  map[*facts.Artifact][]*Compared{},
		resolver:  newResolver(j),
		libraries: newLibraries(j.options, index),
		releases:  map[releaseOn]*packages.Release{},
	}
	return s, s.compare(earlier)
}

// installedWith returns the other artifacts that can be installed in the environment of an
// artifact: all but wheels of the same project, of which pip installs one.
func (s *Session) installedWith(f *facts.Artifact) []*facts.Artifact {
	return slices.DeleteFunc(slices.Clone(s.artifacts), func(x *facts.Artifact) bool {
		return x == f || f.Wheel != nil && x.Wheel != nil &&
			pkgmeta.Normalize(f.Wheel.Name) == pkgmeta.Normalize(x.Wheel.Name)
	})
}

// Case is one artifact on one target in one scenario.
type Case struct {
	Artifact *facts.Artifact
	Target   Target
	Scenario fix.Scenario
}

// Outcome is what the rules found in a case.
type Outcome struct {
	Found []Found
	Sets  []*packages.Set // the packages of the environment, at both ends of the declared ranges
	// Unchecked is the number of files that were not loaded because there are too many.
	Unchecked int
}

// Found is a finding with the fixes to try.
type Found struct {
	*result.Finding
	Candidates []fix.Candidate
	// The ends of the declared ranges at which it occurs; with one set only the first.
	At [2]bool
}

// Judge checks a case without a fix, at both ends of the declared ranges. Each finding is
// returned once, from the end where it is more severe. If there are no errors, only packages
// that provide needed libraries are looked up; an error and its fixes depend on all packages.
func (s *Session) Judge(ctx context.Context, c Case) (*Outcome, error) {
	return s.judgeIn(ctx, c, false, nil)
}

// Try checks a case with a fix applied. It stops and returns nil at the first finding for which
// hopeless returns true; hopeless may be nil.
func (s *Session) Try(
	ctx context.Context,
	c Case,
	hopeless func(*result.Finding) bool,
) (*Outcome, error) {
	return s.judgeIn(ctx, c, true, hopeless)
}

func (s *Session) judgeIn(
	ctx context.Context,
	c Case,
	trial bool,
	hopeless func(*result.Finding) bool,
) (*Outcome, error) {
	if c.Target.Platform.OS == platform.Linux && s.resolver.partial(c.Artifact) {
		out, err := s.judgeOnce(ctx, c, trial, nil)
		if err != nil || !slices.ContainsFunc(
			out.Found,
			func(x Found) bool { return x.Severity == result.Error },
		) {
			return out, err
		}
		s.resolver.full[c.Artifact] = true
	}
	return s.judgeOnce(ctx, c, trial, hopeless)
}

func (s *Session) judgeOnce(
	ctx context.Context,
	c Case,
	trial bool,
	hopeless func(*result.Finding) bool,
) (*Outcome, error) {
	state, err := s.load(ctx, c, trial)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Sets: state.sets}
	for _, set := range state.packages {
		if set.windows != nil {
			out.Unchecked += set.windows.Unchecked
		}
	}
	at := map[string]int{} // index in out.Found by identity
	for n, set := range state.packages {
		found, err := s.runRules(ctx, c, trial, set, hopeless)
		if found == nil || err != nil {
			return nil, err
		}
		for _, rule := range s.judge.rules {
			for _, x := range found[rule] {
				id := x.Identity()
				i, known := at[id]
				if !known {
					i = len(out.Found)
					at[id] = i
					out.Found = append(out.Found, x)
				} else if x.Severity.Rank() > out.Found[i].Severity.Rank() {
					out.Found[i].Finding, out.Found[i].Candidates = x.Finding, x.Candidates
				}
				out.Found[i].At[n] = true
			}
		}
	}
	// The oldest version of a package often has no wheel for the platform. If the newest has the
	// library, there is nothing to report.
	out.Found = slices.DeleteFunc(out.Found, func(x Found) bool {
		return x.Unknown && len(out.Sets) == 2 && x.At[0] != x.At[1]
	})
	return out, ctx.Err()
}

// runRules runs every rule on one package set. It returns nil as soon as hopeless returns true
// for a finding.
func (s *Session) runRules(
	ctx context.Context,
	c Case,
	trial bool,
	set *packageSet,
	hopeless func(*result.Finding) bool,
) (map[*Rule][]Found, error) {
	linking := newLinking(set.linker, c.Scenario)
	releases := s.Releases(ctx, c)
	out := map[*Rule][]Found{}
	for _, rule := range s.order(hopeless != nil) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		known, ok := set.found[rule]
		check := rule.check(c.Target.Platform)
		if check == nil {
			continue
		}
		if !ok {
			linking.used = false
			pass := &Pass{
				Facts:     c.Artifact,
				Platform:  c.Target.Platform,
				Packages:  set.Set,
				Views:     set.views,
				Windows:   set.windows,
				MacOS:     set.macOS,
				Scenario:  c.Scenario,
				Requested: c.Target.Requested,
				Trial:     trial,
				GPU:       s.judge.options.GPU,
				Link:      s.judge.options.Link,
				Releases:  releases,
				Compared:  s.compared[c.Artifact],
				ABI:       &s.judge.options.ABI,
				given:     s.judge.given,
				linking:   linking,
				rule:      rule,
				counts:    map[string]int{},
			}
			pass.emit = func(x *result.Finding, candidates []fix.Candidate) {
				known = append(known, Found{Finding: x, Candidates: candidates})
			}
			check(pass)
			if !linking.used {
				set.found[rule] = known
			}
			if pass.dropped {
				set.full = append(set.full, rule.ID)
			}
		}
		out[rule] = known
		if hopeless != nil &&
			slices.ContainsFunc(known, func(x Found) bool { return hopeless(x.Finding) }) {
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// order returns the rules in the order in which they run. If quick is set, rules that need no
// symbols come first, because they may quickly show that a fix fails.
func (s *Session) order(quick bool) []*Rule {
	if !quick {
		return s.judge.rules
	}
	return slices.SortedStableFunc(slices.Values(s.judge.rules), func(a, b *Rule) int {
		switch {
		case a.Quick == b.Quick:
			return 0
		case a.Quick:
			return -1
		}
		return 1
	})
}

// Given reports whether the user gave a requirement on a package.
func (s *Session) Given(name string) bool { return requires(s.judge.given, name) }

// Requirements returns the requirements of the user, followed by those of the artifact.
func (s *Session) Requirements(a *facts.Artifact) []pkgmeta.Requirement {
	all := slices.Clone(s.judge.given)
	if a.Metadata != nil {
		all = append(all, a.Metadata.Requires...)
	}
	return all
}

func requires(list []pkgmeta.Requirement, name string) bool {
	return slices.ContainsFunc(
		list,
		func(q pkgmeta.Requirement) bool { return q.Name == pkgmeta.Normalize(name) },
	)
}
