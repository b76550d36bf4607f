package packages

import (
	"errors"
	"iter"
	"slices"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Set is the result of a resolution: one release per package.
type Set struct {
	// Newest is set if a fresh install picks this set today: it was resolved at the highest end.
	Newest     bool
	Conflicts  []Conflict
	Unresolved []Unresolved
	// by package: the user's requirement that is in effect, as it was written
	Given    map[string]string
	Replaced []Replaced

	// in order of discovery: requirements of the user, of the artifact, of packages
	releases []*Release
	places   map[string]int // by package: its index in releases; nil until it is needed
	of       *Set           // the set that In made it of, which has the same releases; or nil
	left     string         // the package that In left out
}

// Replaced is a requirement of the user that a later one for the same package replaced and that the
// chosen release does not satisfy.
type Replaced struct {
	Package  string
	Was, Now string // as they were written
}

// Conflict is a requirement that the chosen release does not satisfy.
type Conflict struct {
	By          string // NAME==VERSION, Artifact or User
	Release     ID     // the package with the requirement; zero for Artifact and User
	Requirement string // as NAMESPEC
	Package     string
	Chosen      string // the version that was chosen nevertheless
}

// Unresolved is a required package that the source could not describe.
type Unresolved struct {
	Package     string
	Version     string // that was chosen; "" if none was
	Requirement string
	Extras      []string // all that are requested of the package
	Direct      bool     // required by the user or the artifact, not only by a package
	Err         error    // wraps ErrUnknown or ErrUnavailable, or is ErrTooMany
}

// set returns what was chosen.
func (s *search) set() *Set {
	set := &Set{Newest: s.End == Highest, Given: map[string]string{}}
	for name, w := range s.given {
		if len(s.wants[name]) > 0 { // a wheel may stand for a package that nothing requires
			set.Given[name] = w.Raw
		}
	}
	for _, name := range s.ranked() {
		c, ws := s.chosen[name], s.wants[name]
		switch {
		case c == nil:
		case c.err != nil:
			u := Unresolved{
				Package: name, Version: c.version, Requirement: ws[0].Name + ws[0].Spec,
				Direct: ws[0].rank < 2, Err: c.err,
			}
			for _, w := range ws {
				u.Extras = merged(u.Extras, w.Extras)
			}
			set.Unresolved = append(set.Unresolved, u)
		default:
			set.releases = append(set.releases, c.release)
			s.unsatisfied(set, c.release)
		}
	}
	return set
}

// ranked returns the packages in the order of the result: those that the user and the artifact
// require, and then those that these require, breadth first.
func (s *search) ranked() []string {
	var order []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name], order = true, append(order, name)
		}
	}
	for _, w := range s.roots {
		add(w.Name)
	}
	for i := 0; i < len(order); i++ {
		if c := s.chosen[order[i]]; c != nil && c.release != nil {
			for _, q := range c.release.Requires {
				if len(s.wants[q.Name]) > 0 {
					add(q.Name)
				}
			}
		}
	}
	return order
}

// unsatisfied adds the requirements that a chosen release does not satisfy.
func (s *search) unsatisfied(set *Set, r *Release) {
	v, err := pkgmeta.ParseVersion(r.Version)
	if err != nil {
		return
	}
	for _, w := range s.wants[r.Name] {
		if !w.spec.Admits(v) {
			set.Conflicts = append(set.Conflicts, Conflict{
				By: w.by, Release: w.from, Requirement: w.Name + w.Spec, Package: r.Name, Chosen: r.Version,
			})
		}
	}
	for _, w := range s.replaced {
		if w.Name == r.Name && !w.spec.Admits(v) {
			set.Replaced = append(set.Replaced,
				Replaced{Package: r.Name, Was: w.Raw, Now: s.given[r.Name].Raw})
		}
	}
}

// Impossible returns a requirement that no set satisfies together with the others, so that nothing
// can be installed; nil if the set can be, or if the user's requirements decide what is installed.
func (s *Set) Impossible() *Conflict {
	if len(s.Conflicts) == 0 || len(s.Given) > 0 {
		return nil
	}
	return &s.Conflicts[0]
}

// All iterates over the releases in order of discovery: what the requirements of the user need, of
// the artifact, of packages.
func (s *Set) All() iter.Seq[*Release] {
	return func(yield func(*Release) bool) {
		left := -1
		if s.of != nil {
			if at, ok := s.of.place(s.left); ok {
				left = at
			}
		}
		for at, r := range s.releases {
			if at != left && !yield(r) {
				return
			}
		}
	}
}

// Empty reports whether the set has no release.
func (s *Set) Empty() bool {
	for range s.All() {
		return false
	}
	return true
}

// Replace sets the release of a package that the set has.
func (s *Set) Replace(r *Release) {
	if at, ok := s.place(r.Name); ok {
		s.releases[at] = r
	}
}

// In returns the set as an artifact sees it that is one of its packages: without the project of the
// artifact, and with the requirements that the artifact declares instead of those that Resolve was
// given as the artifact's. It shares Given and the releases with s: copies for all packages of an
// environment would have the square of their number.
func (s *Set) In(project string, declared []pkgmeta.Requirement) *Set {
	specs := map[string]bool{}
	for _, q := range declared {
		specs[q.Name+q.Spec], specs[q.Name] = true, true
	}
	out := &Set{Newest: s.Newest, Given: s.Given, releases: s.releases, of: s, left: project}
	for _, c := range s.Conflicts {
		if c.Package != project && c.Release.Name != project &&
			(c.By != Artifact || specs[c.Requirement]) {
			out.Conflicts = append(out.Conflicts, c)
		}
	}
	for _, u := range s.Unresolved {
		if u.Package != project {
			u.Direct = s.Given[u.Package] != "" || specs[u.Package]
			out.Unresolved = append(out.Unresolved, u)
		}
	}
	for _, r := range s.Replaced {
		if r.Package != project {
			out.Replaced = append(out.Replaced, r)
		}
	}
	return out
}

// place returns the index of a package in releases. The place of each is found once for a set and
// all that In makes of it.
func (s *Set) place(name string) (at int, ok bool) {
	if s.of != nil {
		at, ok = s.of.place(name)
		return at, ok && name != s.left
	}
	if s.places == nil {
		s.places = make(map[string]int, len(s.releases))
		for i, r := range s.releases {
			s.places[r.Name] = i
		}
	}
	at, ok = s.places[name]
	return at, ok
}

// Release returns the chosen release of a package, nil if the package is not in the set.
func (s *Set) Release(name string) *Release {
	if at, ok := s.place(name); ok {
		return s.releases[at]
	}
	return nil
}

// Ordered returns those of some releases that are in the set, in its order.
func (s *Set) Ordered(some iter.Seq[*Release]) (out []*Release) {
	var places []int
	for r := range some {
		if at, ok := s.place(r.Name); ok && s.releases[at] == r {
			places = append(places, at)
		}
	}
	slices.Sort(places)
	for _, at := range places {
		out = append(out, s.releases[at])
	}
	return out
}

// Union collects the releases of sets. Its zero value has none.
type Union struct {
	releases map[*Release]bool
	sets     map[*Set]*Set // the first of those that In made of a set, by that set
}

// Add returns the releases of a set that no other has that was added, in their order. The sets of
// the packages of an environment, which In made of one, cost no more than the first of them.
func (u *Union) Add(s *Set) (fresh []*Release) {
	if u.releases == nil {
		u.releases, u.sets = map[*Release]bool{}, map[*Set]*Set{}
	}
	add := func(r *Release) {
		if r != nil && !u.releases[r] {
			u.releases[r] = true
			fresh = append(fresh, r)
		}
	}
	of := s
	if s.of != nil {
		of = s.of
	}
	if first := u.sets[of]; first != nil {
		add(s.Release(first.left)) // the first has all others
		return fresh
	}
	u.sets[of] = s
	for r := range s.All() {
		add(r)
	}
	return fresh
}

// Names reports whether the set has a release of a package, or a requirement for one that could
// not be looked up.
func (s *Set) Names(name string) bool {
	return s.Release(name) != nil || slices.ContainsFunc(s.Unresolved, func(u Unresolved) bool {
		return u.Package == name
	})
}

// Unavailable returns the first package that the source could not look up (ErrUnavailable), among
// those for which a function returns true; nil without one.
func (s *Set) Unavailable(relevant func(u *Unresolved) bool) *Unresolved {
	for i := range s.Unresolved {
		if u := &s.Unresolved[i]; errors.Is(u.Err, ErrUnavailable) && relevant(u) {
			return u
		}
	}
	return nil
}
