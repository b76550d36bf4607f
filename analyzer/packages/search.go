package packages

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Limits of a resolution: what a package requires, and how many versions it has, is up to whoever
// published it. A search that reaches one of them no longer goes back, and what it could not
// satisfy is in Conflicts. pip resolves popular packages with less than 30 versions that it drops.
const (
	maxDropped    = 100        // releases that were looked up, beyond one of each package
	maxTries      = 5_000      // releases that were chosen
	maxCompared   = 10_000_000 // versions that were compared with the requirements
	maxCandidates = 200        // versions of a package at a time
)

// search finds one version of each package with which all requirements are satisfied. Like
// resolvelib, which pip uses, it chooses one package after the other, and if none of the versions
// of a package fits, it goes back to the last choice that excludes them (conflict-directed
// backjumping; Prosser, "Hybrid algorithms for the constraint satisfaction problem", 1993).
type search struct {
	Request
	lookups *lookups
	env     pkgmeta.MarkerEnv
	roots   []requirement // of the user and of the artifact
	// By package: the requirement of the user in effect, and those that it replaced.
	given    map[string]requirement
	replaced []requirement
	lookUp   map[string]bool // the packages to look up; nil: all
	followed map[string]bool // packages that the user does not require and that were looked up
	beyond   bool            // there are more than maxFollowed of them
	// relaxed is how many of the levels of a package were given up; see levels.
	relaxed  map[string]int
	replaces map[string]bool // installed packages of which another version is needed
	tries    int
	compared int  // versions
	greedy   bool // a limit was reached: the search does not go back

	// The state of the search. trail has a package for each requirement in wants, in the order in
	// which they were added.
	names  []string       // in order of discovery
	place  map[string]int // of each of the names
	wants  map[string][]requirement
	chosen map[string]*choice
	trail  []string
	// turns has the turn of each package to choose, and earlier turns, which next drops.
	turns turns
}

// requirement is a requirement with its origin.
type requirement struct {
	pkgmeta.Requirement
	spec pkgmeta.Spec
	by   string
	from ID  // the package that declares it; zero for the user and the artifact
	rank int // 0 the user, 1 the artifact, 2 a package; lower ranks take precedence
	// because are the packages whose chosen releases it is due to: the one that declares it and, if
	// it is of an extra, those that request the extra.
	because []string
}

// choice is what was chosen for a package: a release, or why there is none.
type choice struct {
	version string
	release *Release
	err     error
}

// dead is why a search failed: the chosen packages that have to change, and the package none of
// whose versions fits.
type dead struct {
	because map[string]bool
	end     string
}

func newSearch(source Source, q Request) *search {
	s := &search{
		Request:  q,
		lookups:  newLookups(source, q),
		env:      q.On.Markers(),
		given:    map[string]requirement{},
		followed: map[string]bool{},
	}
	if q.Lazy != nil {
		s.lookUp = map[string]bool{}
	}
	var given []string
	with := slices.Clone(q.With)
	for _, w := range q.With {
		if of, ok := s.ofWheel(w.Name); ok {
			with = append(with, of)
		}
	}
	for _, w := range with {
		r, ok := s.requirement(w, nil)
		if !ok {
			continue // a lock file has a pin for each system
		}
		if before, again := s.given[w.Name]; again {
			s.replaced = append(s.replaced, before)
			r.Extras = merged(before.Extras, r.Extras)
		} else {
			given = append(given, w.Name)
		}
		r.by, s.given[w.Name] = User, r
		if s.lookUp != nil {
			s.lookUp[w.Name] = true
		}
	}
	for _, name := range given {
		s.roots = append(s.roots, s.given[name])
	}
	for _, w := range q.Requires {
		if r, ok := s.requirement(w, nil); ok {
			r.by, r.rank = Artifact, 1
			s.roots = append(s.roots, r)
		}
	}
	return s
}

// ofWheel returns the requirement that a wheel of a package stands for, if the user gave one.
func (s *search) ofWheel(name string) (pkgmeta.Requirement, bool) {
	if s.Wheel == nil {
		return pkgmeta.Requirement{}, false
	}
	spec := "==" + s.Wheel(name)
	return pkgmeta.Requirement{Name: name, Spec: spec, Raw: name + spec}, spec != "=="
}

// requirement returns a requirement if its marker applies.
func (s *search) requirement(q pkgmeta.Requirement, extras []string) (requirement, bool) {
	ok, err := q.Applies(s.env, extras...)
	return requirement{Requirement: q, spec: s.lookups.spec(q.Spec)}, ok && err == nil
}

// run searches until a set satisfies all requirements. If none does, the package where the first
// attempt failed is relaxed, and it searches again.
func (s *search) run(ctx context.Context) error {
	s.relaxed, s.replaces = map[string]int{}, map[string]bool{}
	for {
		s.names, s.trail, s.turns = nil, nil, nil
		s.place, s.wants = map[string]int{}, map[string][]requirement{}
		s.chosen = map[string]*choice{}
		for _, r := range s.roots {
			s.add(r)
		}
		failed, err := s.solve(ctx)
		if err != nil || failed == nil {
			return err
		}
		s.greedy = s.atLimit()
		if s.installed(failed.end) != "" {
			s.replaces[failed.end] = true
		} else {
			s.relaxed[failed.end]++
		}
	}
}

// decision is the choice of a release of a package.
type decision struct {
	name       string
	candidates []*choice // that were not tried yet
	mark       int       // the length of search.trail before the current one
	failed     *dead     // why those before it do not work
}

// solve chooses a release of each package that is not chosen yet; nil if that succeeds. The error
// is that of ctx. The decisions are a slice and no recursion: a list of requirements may have as
// many as its author likes.
func (s *search) solve(ctx context.Context) (*dead, error) {
	var open []*decision
	for {
		d, err := s.decide(ctx)
		if d == nil || err != nil {
			return nil, err
		}
		open = append(open, d)
		failed, err := s.try(ctx, d)
		for failed != nil && err == nil {
			if open = open[:len(open)-1]; len(open) == 0 {
				return failed, nil
			}
			if d = open[len(open)-1]; !s.back(d, failed) {
				failed, err = s.try(ctx, d)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// decide returns the next decision, nil if all packages are chosen.
func (s *search) decide(ctx context.Context) (*decision, error) {
	name := s.next()
	if name == "" {
		return nil, ctx.Err()
	}
	candidates, err := s.candidates(ctx, name)
	if err != nil {
		return nil, err
	}
	failed := &dead{because: map[string]bool{}}
	for _, w := range s.wants[name] {
		for _, n := range w.because {
			failed.because[n] = true
		}
	}
	return &decision{name: name, candidates: candidates, failed: failed}, nil
}

// try chooses the first of the remaining candidates that excludes no release that is chosen
// already. If there is none, it returns why.
func (s *search) try(ctx context.Context, d *decision) (*dead, error) {
	for len(d.candidates) > 0 {
		c := d.candidates[0]
		d.candidates = d.candidates[1:]
		if err := s.lookups.complete(ctx, d.name, c); err != nil {
			return nil, err
		}
		d.mark = len(s.trail)
		s.tries++
		if s.otherPython(d.name, c) {
			if d.failed.end = cmp.Or(d.failed.end, d.name); s.atLimit() {
				break
			}
			continue
		}
		failed := s.choose(d.name, c)
		if failed == nil {
			return nil, nil
		}
		if s.back(d, failed) {
			return failed, nil
		}
	}
	d.failed.end = cmp.Or(d.failed.end, d.name)
	delete(d.failed.because, d.name)
	return d.failed, nil
}

// back takes back the current choice of a decision because of a failure. over is set if no other
// candidate can help, because the failure does not depend on the choice, or the search has to stop.
func (s *search) back(d *decision, failed *dead) (over bool) {
	s.undo(d.name, d.mark)
	if !failed.because[d.name] || s.atLimit() {
		return true
	}
	maps.Copy(d.failed.because, failed.because)
	d.failed.end = cmp.Or(d.failed.end, failed.end)
	return false
}

// otherPython reports whether the METADATA of a listed release excludes the interpreter. If that of
// all releases does, they are candidates nevertheless.
func (s *search) otherPython(name string, c *choice) bool {
	_, pinned := s.pin(name)
	return c.release != nil && !pinned && s.relaxed[name] == 0 && s.installed(name) == "" &&
		!AdmitsPython(c.release.RequiresPython, s.On.Python)
}

// atLimit reports whether the search has to stop going back.
func (s *search) atLimit() bool {
	return s.tries >= maxTries || s.compared >= maxCompared || s.lookups.more >= maxDropped
}

// choose sets the choice for a package and adds what its release requires. The result is nil if
// that excludes no release that is chosen already.
func (s *search) choose(name string, c *choice) *dead {
	s.chosen[name] = c
	return s.follow(name)
}

// follow adds what the chosen release of a package requires with the extras that are requested now.
func (s *search) follow(name string) *dead {
	release := s.chosen[name].release
	if release == nil {
		return nil
	}
	var extras, requesting []string
	for _, w := range s.wants[name] {
		if len(w.Extras) > 0 {
			extras, requesting = merged(extras, w.Extras), merged(requesting, w.because)
		}
	}
	for _, q := range s.lookups.applicable(s, release, extras) {
		q.because = []string{name}
		if q.extra {
			q.because = merged(q.because, requesting)
		}
		if failed := s.add(q.requirement); failed != nil {
			return failed
		}
	}
	return nil
}

// add adds a requirement. The result is nil if it excludes no release that is chosen already.
func (s *search) add(w requirement) *dead {
	for _, have := range s.wants[w.Name] {
		if have.by == w.by && have.Raw == w.Raw {
			return nil
		}
	}
	if len(s.wants[w.Name]) == 0 {
		s.place[w.Name] = len(s.names)
		s.names = append(s.names, w.Name)
		if q, ok := s.ofWheel(w.Name); ok && w.rank > 0 {
			given, _ := s.requirement(q, nil)
			given.by, s.given[w.Name] = User, given
			if s.lookUp != nil {
				s.lookUp[w.Name] = true
			}
			s.wants[w.Name], s.trail = append(s.wants[w.Name], given), append(s.trail, w.Name)
		}
	}
	s.wants[w.Name], s.trail = append(s.wants[w.Name], w), append(s.trail, w.Name)
	s.queue(w.Name)
	c := s.chosen[w.Name]
	switch {
	case c == nil:
		return nil
	case c.release != nil && !s.greedy && !s.fits(c.release.Version, w):
		failed := &dead{because: map[string]bool{w.Name: true}, end: w.Name}
		for _, n := range w.because {
			failed.because[n] = true
		}
		return failed
	case len(w.Extras) > 0:
		return s.follow(w.Name)
	}
	return nil
}

// undo takes back a choice, and the requirements that were added since the mark.
func (s *search) undo(name string, mark int) {
	delete(s.chosen, name)
	for _, n := range slices.Backward(s.trail[mark:]) {
		if s.wants[n] = s.wants[n][:len(s.wants[n])-1]; len(s.wants[n]) == 0 {
			s.names = s.names[:len(s.names)-1]
		}
		s.queue(n)
	}
	s.trail = s.trail[:mark]
	s.queue(name)
}

// merged returns the elements of two lists, each once.
func merged(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// nextLazy returns the package to look up next in a lazy resolution, "" when there is enough.
func (s *search) nextLazy(enough bool, provides func(string) (provides, known bool)) string {
	unknown := ""
	for _, name := range s.names {
		if s.lookUp[name] {
			continue
		}
		has, known := provides(name)
		if has {
			return name
		}
		if !known && unknown == "" {
			unknown = name
		}
	}
	if enough {
		return ""
	}
	return unknown
}
