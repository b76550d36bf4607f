package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// End selects an end of the declared version ranges.
type End string

const (
	Lowest  End = "lowest"
	Highest End = "highest"
)

// maxFollowed limits how many packages one resolution looks up that only the artifact and other
// packages require: a package may require any number. The largest CUDA stacks have about 30. The
// packages that the user requires are not limited, because all of them are needed.
const maxFollowed = 500

// ErrTooMany is the error for a required package that was not looked up, because there are too
// many. It wraps neither ErrUnknown nor ErrUnavailable.
var ErrTooMany error = tooMany{}

type tooMany struct{}

func (tooMany) Error() string {
	return fmt.Sprintf("not looked up, because more than %d packages are required that nothing pins",
		maxFollowed)
}

// Set is the result of a resolution: one release per package.
type Set struct {
	// in order of discovery: requirements of the user, of the artifact, of packages
	Releases   []*Release
	Conflicts  []Conflict
	Unresolved []Unresolved
	// by package: the user's requirement that is in effect, as it was written
	Given    map[string]string
	Replaced []Replaced
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
	Requirement string
	Extras      []string // all that are requested of the package
	Direct      bool     // required by the user or the artifact, not only by a package
	Err         error    // wraps ErrUnknown or ErrUnavailable, or is ErrTooMany
}

// requirement is a requirement with its origin.
type requirement struct {
	pkgmeta.Requirement
	by   string
	from ID  // the package that declares it; zero for the user and the artifact
	rank int // 0 the user, 1 the artifact, 2 a package; lower ranks take precedence
}

// Values of Conflict.By that are not packages.
const (
	Artifact = "the artifact"
	User     = "the user"
)

// Resolve selects one release of every package that with (from the user), requires (from the
// artifact) and the selected packages require: the lowest or the highest version that satisfies all
// requirements. If no version does, the user's requirements take precedence over the artifact's,
// and those over the packages'; the others are reported as Conflicts. A later requirement in with
// replaces an earlier one for the same package. The only errors are those of ctx.
func Resolve(
	ctx context.Context,
	source Source,
	on Target,
	with, requires []pkgmeta.Requirement,
	end End,
) (*Set, error) {
	return ResolveLazily(ctx, source, on, with, requires, end, nil, nil)
}

// Lazy decides which packages a lazy resolution looks up after the ones chosen so far. enough
// reports whether these suffice, so that packages with unknown contents need not be looked up.
// provides reports whether a package may contain something that is still missing; known is false if
// that cannot be decided without looking the package up.
type Lazy func(chosen *Set) (enough bool, provides func(name string) (provides, known bool))

// ResolveLazily is Resolve for a source whose lookups are expensive. It looks up the packages that
// the user requires and, of the others, only those that are needed, beginning with those known to
// provide something missing. Requirements of packages that are not looked up are ignored. A
// nil lazy looks up all of them.
//
// installed returns the version of a package that is already installed, "" for none. That version
// is chosen at both ends if it satisfies all requirements; otherwise it is replaced, as pip does. A
// nil function means that nothing is installed.
func ResolveLazily(
	ctx context.Context,
	source Source,
	on Target,
	with, requires []pkgmeta.Requirement,
	end End,
	lazy Lazy,
	installed func(name string) string,
) (*Set, error) {
	env := pkgmeta.DefaultMarkerEnv(on.Python, on.Arch)
	r := resolver{
		source:       source,
		target:       on,
		end:          end,
		installed:    installed,
		requirements: map[string][]requirement{},
		extras:       map[string][]string{},
		chosen:       map[string]*Release{},
		given:        map[string]bool{},
		followed:     map[string]bool{},
		unresolved:   map[string]error{},
	}
	if lazy != nil {
		r.lookUp = map[string]bool{}
	}
	for _, q := range with {
		if ok, err := q.Applies(env); err != nil || !ok {
			continue // a lock file has a pin for each system
		}
		if before, again := r.requirements[q.Name]; again {
			r.replaced = append(r.replaced, before...)
			r.requirements[q.Name] = nil
		}
		r.given[q.Name] = true
		r.add(env, nil, requirement{q, User, ID{}, 0})
		if lazy != nil {
			r.lookUp[q.Name] = true
		}
	}
	for _, q := range requires {
		r.add(env, nil, requirement{q, Artifact, ID{}, 1})
	}
	for {
		// Each round chooses a version of every package under the requirements known so far. New
		// requirements of a package that has a version already are considered in the next round.
		for round := 0; round < 16; round++ {
			changed, err := r.round(ctx, env)
			if err != nil {
				return r.set(), err
			}
			if !changed {
				break
			}
		}
		set := r.set()
		if lazy == nil || r.beyond {
			return set, nil
		}
		next := r.next(lazy(set))
		if next == "" {
			return set, nil
		}
		r.lookUp[next] = true
	}
}

// next returns the package to look up next in a lazy resolution, "" when there is enough.
func (r *resolver) next(enough bool, provides func(string) (provides, known bool)) string {
	unknown := ""
	for _, name := range r.order {
		if r.lookUp[name] || len(r.requirements[name]) == 0 {
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

type resolver struct {
	source       Source
	target       Target
	end          End
	order        []string
	requirements map[string][]requirement
	extras       map[string][]string
	chosen       map[string]*Release
	unresolved   map[string]error
	installed    func(name string) string // nil: nothing is installed
	replaced     []requirement            // requirements of the user
	given        map[string]bool          // packages that the user requires
	followed     map[string]bool          // other packages that were looked up
	beyond       bool                     // there are more than maxFollowed of them
	// the packages to look up in a lazy resolution; nil: all
	lookUp map[string]bool
}

// add stores a requirement if its marker applies; it reports whether the requirement is new.
func (r *resolver) add(env pkgmeta.MarkerEnv, extras []string, w requirement) bool {
	if ok, err := w.Applies(env, extras...); err != nil || !ok {
		return false
	}
	for _, have := range r.requirements[w.Name] {
		if have.by == w.by && have.Raw == w.Raw {
			return false
		}
	}
	if _, known := r.requirements[w.Name]; !known {
		r.order = append(r.order, w.Name)
	}
	r.requirements[w.Name] = append(r.requirements[w.Name], w)
	for _, x := range w.Extras {
		if !slices.Contains(r.extras[w.Name], x) {
			r.extras[w.Name] = append(r.extras[w.Name], x)
		}
	}
	return true
}

func (r *resolver) round(ctx context.Context, env pkgmeta.MarkerEnv) (changed bool, err error) {
	// Requirements of releases that are no longer chosen would never be dropped, so they are
	// removed at the start of each round.
	for n, ws := range r.requirements {
		r.requirements[n] = slices.DeleteFunc(
			ws,
			func(w requirement) bool { return w.rank == 2 && !r.isChosen(w.from) },
		)
	}
	for i := 0; i < len(r.order); i++ { // it grows in the loop
		name := r.order[i]
		if r.lookUp != nil && !r.lookUp[name] {
			continue
		}
		if len(r.requirements[name]) == 0 {
			if r.chosen[name] != nil {
				delete(r.chosen, name)
				changed = true
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if !r.follows(name) {
			r.unresolved[name] = ErrTooMany
			continue
		}
		version, err := r.choose(ctx, name, false)
		if err == nil && r.chosen[name] != nil && r.chosen[name].Version == version {
			continue
		}
		var rel *Release
		if err == nil {
			rel, err = r.source.Release(ctx, name, version, r.target)
		}
		if err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			r.unresolved[name] = err
			continue
		}
		delete(r.unresolved, name)
		r.chosen[name] = rel
		changed = true
		for _, q := range rel.Requires {
			r.add(env, r.extras[name], requirement{q, rel.ID().String(), rel.ID(), 2})
		}
	}
	return changed, nil
}

// follows reports whether a package is looked up: all that the user requires, and others up to
// maxFollowed.
func (r *resolver) follows(name string) bool {
	if !r.given[name] && len(r.followed) < maxFollowed {
		r.followed[name] = true
	}
	r.beyond = r.beyond || !r.given[name] && !r.followed[name]
	return r.given[name] || r.followed[name]
}

// isChosen reports whether a release is among the chosen ones.
func (r *resolver) isChosen(id ID) bool {
	rel := r.chosen[id.Name]
	return rel != nil && rel.ID() == id
}

// choose returns the version at the requested end that satisfies the requirements, if possible one
// that can be installed on the target. If none satisfies all requirements, those of the highest
// rank are dropped first. If none satisfies the remaining ones either, the versions are requested
// again, because one may have been published since they were cached.
func (r *resolver) choose(ctx context.Context, name string, again bool) (string, error) {
	ws := r.requirements[name]
	for _, w := range ws {
		if v, ok := exact(w); ok && w.rank == 0 {
			// a version that the user pins may be missing from the index, as local versions such as
			// +rocm6.3 are
			return v, nil
		}
	}
	if r.installed != nil {
		if v, err := pkgmeta.ParseVersion(r.installed(name)); err == nil && meets(v, ws, 2) {
			return v.String(), nil
		}
	}
	on := r.target
	on.Fresh = again
	listed, err := r.source.Versions(ctx, name, on)
	if errors.Is(err, ErrUnreachable) { // the history may know a release that a package pins
		for _, w := range ws {
			if v, ok := exact(w); ok {
				return v, nil
			}
		}
	}
	if err != nil {
		return "", fmt.Errorf("versions of %s: %w", name, err)
	}
	versions, all := Sorted(listed), []pkgmeta.Version(nil)
	for rank := 2; rank >= 0; rank-- {
		if !slices.ContainsFunc(ws, func(w requirement) bool { return w.rank <= rank }) {
			break
		}
		if v := pick(versions, ws, rank, r.end); v != "" {
			return v, nil
		}
		if all == nil {
			if listed, err = r.source.Versions(ctx, name, Target{}); err != nil {
				return "", fmt.Errorf("versions of %s: %w", name, err)
			}
			if all = Sorted(listed); len(all) == 0 {
				return "", fmt.Errorf("%s has no version: %w", name, ErrUnknown)
			}
		}
		if v := pick(all, ws, rank, r.end); v != "" {
			return v, nil
		}
	}
	if !again {
		return r.choose(ctx, name, true)
	}
	return "", fmt.Errorf("no version of %s meets %s: %w", name, ws[0].Raw, ErrUnknown)
}

// pick returns the version at an end that satisfies all requirements up to a rank, "" for none.
// Final releases are preferred to pre-releases, as in PEP 440.
func pick(versions []pkgmeta.Version, ws []requirement, rank int, end End) string {
	var fits []pkgmeta.Version
	for _, v := range versions {
		if meets(v, ws, rank) {
			fits = append(fits, v)
		}
	}
	if final := slices.DeleteFunc(slices.Clone(fits), pkgmeta.Version.IsPreRelease); len(final) > 0 {
		fits = final
	}
	switch {
	case len(fits) == 0:
		return ""
	case end == Lowest:
		return fits[0].String()
	}
	return fits[len(fits)-1].String()
}

func meets(v pkgmeta.Version, ws []requirement, rank int) bool {
	for _, w := range ws {
		if w.rank > rank {
			continue
		}
		if s, err := pkgmeta.ParseSpec(w.Spec); err == nil && !s.Admits(v) {
			return false
		}
	}
	return true
}

// exact returns the version of a ==VERSION requirement.
func exact(w requirement) (string, bool) {
	s, err := pkgmeta.ParseSpec(w.Spec)
	if err != nil {
		return "", false
	}
	v, ok := s.Pin()
	return v.String(), ok
}

func (r *resolver) set() *Set {
	s := &Set{Given: map[string]string{}}
	for _, name := range r.order {
		ws := r.requirements[name]
		if len(ws) > 0 && ws[0].rank == 0 {
			s.Given[name] = ws[0].Raw
		}
		if err := r.unresolved[name]; err != nil && len(ws) > 0 {
			s.Unresolved = append(
				s.Unresolved,
				Unresolved{
					Package:     name,
					Requirement: ws[0].Name + ws[0].Spec,
					Extras:      r.extras[name],
					Direct:      ws[0].rank < 2,
					Err:         err,
				},
			)
		}
		rel := r.chosen[name]
		if rel == nil {
			continue
		}
		s.Releases = append(s.Releases, rel)
		v, err := pkgmeta.ParseVersion(rel.Version)
		if err != nil {
			continue
		}
		for _, w := range ws {
			if !meets(v, []requirement{w}, 2) {
				s.Conflicts = append(
					s.Conflicts,
					Conflict{
						By:          w.by,
						Release:     w.from,
						Requirement: w.Name + w.Spec,
						Package:     name,
						Chosen:      rel.Version,
					},
				)
			}
		}
		for _, w := range r.replaced {
			if w.Name == name && !meets(v, []requirement{w}, 2) {
				s.Replaced = append(s.Replaced, Replaced{Package: name, Was: w.Raw, Now: s.Given[name]})
			}
		}
	}
	return s
}

// In returns the set as an artifact sees it that is one of its packages: without the project of the
// artifact, and with the requirements that the artifact declares instead of those that Resolve was
// given as the artifact's. It shares Given with s.
func (s *Set) In(project string, declared []pkgmeta.Requirement) *Set {
	specs := map[string]bool{}
	for _, q := range declared {
		specs[q.Name+q.Spec], specs[q.Name] = true, true
	}
	out := &Set{Given: s.Given}
	out.Releases = make([]*Release, 0, len(s.Releases))
	for _, r := range s.Releases {
		if r.Name != project {
			out.Releases = append(out.Releases, r)
		}
	}
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

// Release returns the chosen release of a package, nil if the package is not in the set.
func (s *Set) Release(name string) *Release {
	for _, r := range s.Releases {
		if r.Name == name {
			return r
		}
	}
	return nil
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

// Pins reports whether a package of the set requires one exact version of another.
func (s *Set) Pins(name string) bool {
	for _, r := range s.Releases {
		for _, q := range r.Requires {
			if spec, err := pkgmeta.ParseSpec(q.Spec); q.Name == name && err == nil {
				if _, exact := spec.Pin(); exact {
					return true
				}
			}
		}
	}
	return false
}
