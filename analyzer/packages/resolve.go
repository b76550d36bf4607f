package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// End is one end of the declared ranges.
type End string

const (
	Lowest  End = "lowest"
	Highest End = "highest"
)

// maxReleases bounds how many packages one resolution follows; the deepest CUDA stacks have about
// 30.
const maxReleases = 200

// Set is one release per package.
type Set struct {
	// in the order they were reached: what the user gave, what the artifact declares, what those
	// require
	Releases  []*Release
	Conflicts []Conflict
	Unlooked  []Unlooked
	// by package, the requirement of the user's that counts, as it was written
	Given    map[string]string
	Replaced []Replaced
}

// Replaced is a requirement of the user's that a later one of the same package took the place of,
// and that the chosen release does not meet.
type Replaced struct {
	Package  string
	Was, Now string // as they were written
}

// Conflict is a requirement that the chosen release does not meet.
type Conflict struct {
	By          string // NAME==VERSION, Artifact or User
	Release     ID     // the package that has the requirement; zero for Artifact and User
	Requirement string // as NAMESPEC
	Package     string
	Chosen      string // the version that was chosen all the same
}

// Unlooked is a required package that the source could not describe.
type Unlooked struct {
	Package     string
	Requirement string
	Direct      bool  // the user or the artifact asks for it, and not only a package
	Err         error // wraps ErrUnknown or ErrUnavailable
}

// wish is a requirement with who made it.
type wish struct {
	pkgmeta.Requirement
	by   string
	from ID  // the package that made it; zero for the user and the artifact
	rank int // 0 the user, 1 the artifact, 2 a package: a lower rank wins over a higher one's
}

// Names by which those who are no package stand in conflicts.
const (
	Artifact = "the artifact"
	User     = "the user"
)

// Resolve picks one release for every package that with and requires ask for, and for what those
// require in turn: the lowest or the highest version that meets every wish. Where no version meets
// them all, what the user gave wins over what the artifact declares, and that over what packages
// require; the rest are Conflicts. A later requirement of with replaces an earlier one of the same
// package. The error is only ever that of ctx.
func Resolve(
	ctx context.Context,
	source Source,
	on On,
	with, requires []pkgmeta.Requirement,
	end End,
) (*Set, error) {
	return resolve(ctx, source, on, with, requires, end, nil, nil)
}

// Lean says which packages a resolution can do without.
type Lean struct {
	// Enough tells whether nothing is wanted any more beside the packages chosen so far for which
	// packages of which nothing is known were worth a look.
	Enough func(*Set) bool
	// Brings tells whether a package may bring some of what is still wanted, as far as that is
	// known without asking for it.
	Brings func(name string, s *Set) (brings, known bool)
}

// ResolveLean is Resolve for a source that costs: what the user gave is looked up, and of other
// packages no more than are needed, those first of which it is known that they bring what is
// wanted. What the others require is not heeded.
//
// installed says which version of a package is there already, "" for none: it is taken at either
// end where it meets every wish, and replaced as by pip elsewhere. nil: nothing is.
func ResolveLean(
	ctx context.Context,
	source Source,
	on On,
	with, requires []pkgmeta.Requirement,
	end End,
	lean *Lean,
	installed func(name string) string,
) (*Set, error) {
	return resolve(ctx, source, on, with, requires, end, lean, installed)
}

func resolve(
	ctx context.Context,
	source Source,
	on On,
	with, requires []pkgmeta.Requirement,
	end End,
	lean *Lean,
	installed func(name string) string,
) (*Set, error) {
	env := pkgmeta.DefaultMarkerEnv(on.Python, on.Arch)
	r := resolver{
		source:    source,
		on:        on,
		end:       end,
		installed: installed,
		wishes:    map[string][]wish{},
		extras:    map[string][]string{},
		chosen:    map[string]*Release{},
	}
	if lean != nil {
		r.due = map[string]bool{}
	}
	for _, q := range with {
		if ok, err := q.Applies(env); err != nil || !ok {
			continue // a lock file has a pin for each system
		}
		if before, again := r.wishes[q.Name]; again {
			r.replaced = append(r.replaced, before...)
			r.wishes[q.Name] = nil
		}
		r.add(env, nil, wish{q, User, ID{}, 0})
		if lean != nil {
			r.due[q.Name] = true
		}
	}
	for _, q := range requires {
		r.add(env, nil, wish{q, Artifact, ID{}, 1})
	}
	for {
		// Each round settles every package under the wishes known so far; a new wish on a settled
		// package settles it again.
		for round := 0; round < 16; round++ {
			changed, err := r.round(ctx, env)
			if err != nil {
				return r.set(), err
			}
			if !changed {
				break
			}
		}
		if lean == nil {
			return r.set(), nil
		}
		next := r.next(lean)
		if next == "" {
			return r.set(), nil
		}
		r.due[next] = true
	}
}

// next is the package to look up next in a lean resolution, "" when there is enough.
func (r *resolver) next(lean *Lean) string {
	s := r.set()
	unknown := ""
	for i := 0; i < len(r.order) && i < maxReleases; i++ {
		name := r.order[i]
		if r.due[name] || len(r.wishes[name]) == 0 {
			continue
		}
		brings, known := lean.Brings(name, s)
		if brings {
			return name
		}
		if !known && unknown == "" {
			unknown = name
		}
	}
	if lean.Enough(s) {
		return ""
	}
	return unknown
}

type resolver struct {
	source    Source
	on        On
	end       End
	order     []string
	wishes    map[string][]wish
	extras    map[string][]string
	chosen    map[string]*Release
	unlooked  map[string]error
	installed func(name string) string // nil: nothing is
	replaced  []wish                   // of the user
	// in a lean resolution, the packages that are looked up; nil: all
	due map[string]bool
}

// add keeps a wish whose marker applies; it reports whether it is new.
func (r *resolver) add(env pkgmeta.MarkerEnv, extras []string, w wish) bool {
	if ok, err := w.Applies(env, extras...); err != nil || !ok {
		return false
	}
	for _, have := range r.wishes[w.Name] {
		if have.by == w.by && have.Raw == w.Raw {
			return false
		}
	}
	if _, known := r.wishes[w.Name]; !known || !slices.Contains(r.order, w.Name) {
		r.order = append(r.order, w.Name)
	}
	r.wishes[w.Name] = append(r.wishes[w.Name], w)
	for _, x := range w.Extras {
		if !slices.Contains(r.extras[w.Name], x) {
			r.extras[w.Name] = append(r.extras[w.Name], x)
		}
	}
	return true
}

func (r *resolver) round(ctx context.Context, env pkgmeta.MarkerEnv) (changed bool, err error) {
	// Wishes of packages that are no longer chosen would pin for ever: they are gathered anew each
	// round.
	for n, ws := range r.wishes {
		r.wishes[n] = slices.DeleteFunc(
			ws,
			func(w wish) bool { return w.rank == 2 && !r.chose(w.from) },
		)
	}
	for i := 0; i < len(r.order) && i < maxReleases; i++ {
		name := r.order[i]
		if r.due != nil && !r.due[name] {
			continue
		}
		if len(r.wishes[name]) == 0 {
			if r.chosen[name] != nil {
				delete(r.chosen, name)
				changed = true
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		version, err := r.choose(ctx, name)
		if err == nil && r.chosen[name] != nil && r.chosen[name].Version == version {
			continue
		}
		var rel *Release
		if err == nil {
			rel, err = r.source.Release(ctx, name, version, r.on)
		}
		if err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if r.unlooked == nil {
				r.unlooked = map[string]error{}
			}
			r.unlooked[name] = err
			continue
		}
		delete(r.unlooked, name)
		r.chosen[name] = rel
		changed = true
		for _, q := range rel.Requires {
			r.add(env, r.extras[name], wish{q, rel.ID().String(), rel.ID(), 2})
		}
	}
	return changed, nil
}

// chose reports whether a release is among the chosen ones.
func (r *resolver) chose(id ID) bool {
	rel := r.chosen[id.Name]
	return rel != nil && rel.ID() == id
}

// choose picks the version at the asked end that meets the wishes, giving up those of the highest
// rank first.
func (r *resolver) choose(ctx context.Context, name string) (string, error) {
	ws := r.wishes[name]
	for _, w := range ws {
		if v, ok := exact(w); ok && w.rank == 0 {
			// what the user pins need not be listed anywhere: local versions such as +rocm6.3 are
			// not
			return v, nil
		}
	}
	if r.installed != nil {
		if v, err := pkgmeta.ParseVersion(r.installed(name)); err == nil && meets(v, ws, 2) {
			return v.String(), nil
		}
	}
	listed, err := r.source.Versions(ctx, name)
	if err != nil {
		return "", fmt.Errorf("versions of %s: %w", name, err)
	}
	versions := Sorted(listed)
	if len(versions) == 0 {
		return "", fmt.Errorf("%s has no version: %w", name, ErrUnknown)
	}
	for rank := 2; rank >= 0; rank-- {
		if !slices.ContainsFunc(ws, func(w wish) bool { return w.rank <= rank }) {
			break
		}
		if v := pick(versions, ws, rank, r.end); v != "" {
			return v, nil
		}
	}
	return "", fmt.Errorf("no version of %s meets %s: %w", name, ws[0].Raw, ErrUnknown)
}

// pick takes the version at an end that meets every wish up to a rank; a final one before a
// pre-release.
func pick(versions []pkgmeta.Version, ws []wish, rank int, end End) string {
	var fits []pkgmeta.Version
	for _, v := range versions {
		if meets(v, ws, rank) {
			fits = append(fits, v)
		}
	}
	if final := slices.DeleteFunc(slices.Clone(fits), pkgmeta.Version.IsPreRelease); len(
		final,
	) > 0 {
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

func meets(v pkgmeta.Version, ws []wish, rank int) bool {
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

// exact is the version of a ==VERSION requirement.
func exact(w wish) (string, bool) {
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
		ws := r.wishes[name]
		if len(ws) > 0 && ws[0].rank == 0 {
			s.Given[name] = ws[0].Raw
		}
		if err := r.unlooked[name]; err != nil && len(ws) > 0 {
			s.Unlooked = append(
				s.Unlooked,
				Unlooked{
					Package:     name,
					Requirement: ws[0].Name + ws[0].Spec,
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
			if !meets(v, []wish{w}, 2) {
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
			if w.Name == name && !meets(v, []wish{w}, 2) {
				s.Replaced = append(
					s.Replaced,
					Replaced{Package: name, Was: w.Raw, Now: s.Given[name]},
				)
			}
		}
	}
	return s
}

// Release returns the chosen release of a package, nil when it is not in the set.
func (s *Set) Release(name string) *Release {
	for _, r := range s.Releases {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Unavailable returns the first package that could not be reached for at all, so that a gap may be
// the source's and not the artifact's; nil when there is none.
func (s *Set) Unavailable() *Unlooked {
	for i := range s.Unlooked {
		if errors.Is(s.Unlooked[i].Err, ErrUnavailable) {
			return &s.Unlooked[i]
		}
	}
	return nil
}

// Pins tells whether a package of the set requires one exact version of another.
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
