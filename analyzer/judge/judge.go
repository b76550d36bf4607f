package judge

import (
	"context"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Outcome is what the rules found in a case.
type Outcome struct {
	Found []Found
	Sets  []*packages.Set // the packages of the environment, at both ends of the declared ranges
	// Unchecked is the number of files that were not loaded because there are too many.
	Unchecked int
}

// Judge checks a case without a fix, at both ends of the declared ranges. A fresh install gets the
// newest versions, so what fails only with the oldest ones is no error but a warning, unless
// Options.WholeRanges is set. Each finding is returned once, from the end where it is more severe.
// If nothing fails, only packages that provide needed libraries are looked up; an error and its
// fixes depend on all packages.
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
		if err != nil || !slices.ContainsFunc(out.Found, func(x Found) bool {
			return x.Severity == result.Error || x.Lowered
		}) {
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
		// The oldest version of a package often has no wheel for the platform. What is not known
		// there says nothing if the newest was read, and the newest says by itself if it was not.
		passed := func(f *result.Finding) bool {
			return f.Unknown && len(state.packages) == 2 && !set.Newest
		}
		stop := hopeless
		if hopeless != nil {
			stop = func(f *result.Finding) bool { return !passed(f) && hopeless(f) }
		}
		found, err := s.runRules(ctx, c, trial, set, stop)
		if found == nil || err != nil {
			return nil, err
		}
		for _, rule := range s.judge.rules {
			for _, x := range found[rule] {
				if passed(x.Finding) {
					continue
				}
				if !set.Newest && !s.judge.options.WholeRanges && x.Severity == result.Error {
					lower := *x.Finding // the package set keeps the original
					lower.Severity, lower.Why = result.Warning, lowered
					x.Finding, x.Lowered = &lower, true
				}
				id := x.Identity()
				i, known := at[id]
				if !known {
					i = len(out.Found)
					at[id] = i
					out.Found = append(out.Found, x)
				} else if x.Severity.Rank() > out.Found[i].Severity.Rank() {
					out.Found[i].Finding, out.Found[i].Candidates = x.Finding, x.Candidates
					out.Found[i].Lowered = false
				}
				out.Found[i].At[n] = true
			}
		}
	}
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
	sources := &sources{session: s, ctx: ctx, on: releases.on, set: set, facts: c.Artifact}
	out := map[*Rule][]Found{}
	var pass *Pass
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
			if pass == nil {
				pass = s.pass(c, trial, set, linking, releases, sources)
			}
			pass.start(rule, func(x *result.Finding, candidates []fix.Candidate) {
				known = append(known, Found{Finding: x, Candidates: candidates})
			})
			check(pass)
			if !linking.used {
				set.found[rule] = known
			}
			if pass.dropped {
				set.full = append(set.full, rule.ID)
			}
		}
		if len(known) > 0 {
			out[rule], pass = known, nil // the candidates may use it
		}
		if hopeless != nil &&
			slices.ContainsFunc(known, func(x Found) bool { return hopeless(x.Finding) }) {
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// pass returns the input of rules, which start completes for each.
func (s *Session) pass(
	c Case, trial bool, set *packageSet, linking *linking, releases *Releases, sources *sources,
) *Pass {
	return &Pass{
		Facts:        c.Artifact,
		Platform:     c.Target.Platform,
		Packages:     set.Set,
		Views:        set.views,
		Dependencies: set.dependencies,
		Windows:      set.windows,
		MacOS:        set.macOS,
		Android:      set.android,
		IOS:          set.iOS,
		Pyodide:      set.pyodide,
		Scenario:     c.Scenario,
		Python:       s.judge.options.On.Python,
		Requested:    c.Target.Requested,
		Excluded:     c.Target.Excluded,
		Trial:        trial,
		GPU:          s.judge.options.GPU,
		Link:         s.judge.options.Link,
		Installed:    s.judge.options.Conda != nil,
		Releases:     releases,
		Compared:     s.compared[c.Artifact],
		ABI:          &s.judge.options.ABI,
		Pinned:       s.Pinned(),
		sources:      sources,
		linking:      linking,
	}
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

// lowered is why a finding is only a warning that does not occur with what is installed today.
const lowered = "only older releases that its requirements allow fail, not what pip installs today"
