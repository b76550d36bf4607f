package pinned

import (
	"cmp"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/index"
)

// largeWheel is a wheel with more than maxObjects of shared objects.
type largeWheel struct {
	*index.TooLargeError
	*opening
}

// unmatched returns the wheels that have to be read, the smallest first, and the names of the
// others as NAME==VERSION. Those need not be read, because they are published files, and the
// packages whose libraries they need have exactly the versions that they were published with: those
// that a release in the history requires with ==, such as torch, whose requirements are those of
// all CUDA packages.
func (e *Pinned) unmatched(large []largeWheel) (unread []largeWheel, matched []string) {
	pins := e.releases()
	for _, l := range large {
		ok := l.Known != nil && slices.ContainsFunc(large, func(by largeWheel) bool {
			return by.Known != nil && e.together(l.Known, by.Known, pins)
		})
		if ok {
			matched = append(matched, l.Known.ID().String())
		} else {
			unread = append(unread, l)
		}
	}
	slices.SortStableFunc(unread, func(a, b largeWheel) int { return cmp.Compare(a.Packed, b.Packed) })
	return unread, matched
}

// together reports whether by is r or requires exactly its version, and each package that may have
// libraries that r needs is pinned to the version that by requires exactly.
func (e *Pinned) together(r, by *packages.Release, pins map[string]packages.ID) bool {
	env := e.On.Markers()
	needs, complete := needed(r)
	serves := func(name string) bool {
		provides, _ := packages.History().Provides(name, func(file string) bool {
			return !complete || needs[file]
		})
		return provides
	}
	found := r.ID() == by.ID()
	exact := map[string]bool{}
	for _, q := range by.Requires {
		version, pinned := exactly(q, env)
		if !pinned {
			continue
		}
		exact[q.Name] = true
		if !pkgmeta.SameVersion(pins[q.Name].Version, version) && serves(q.Name) {
			return false
		}
		found = found || q.Name == r.Name && pkgmeta.SameVersion(version, r.Version)
	}
	return found && !slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
		applies, err := q.Applies(env)
		return (applies || err != nil) && !exact[q.Name] && serves(q.Name)
	})
}

// exactly returns the version that a requirement pins; ok is false if it pins none or does not
// apply.
func exactly(q pkgmeta.Requirement, env pkgmeta.MarkerEnv) (version string, ok bool) {
	applies, err := q.Applies(env)
	if err != nil || !applies {
		return "", false
	}
	spec, err := pkgmeta.ParseSpec(q.Spec)
	if err != nil {
		return "", false
	}
	v, ok := spec.Pin()
	return v.String(), ok
}

// needed returns the libraries of other packages or of the system that a release needs. complete is
// false if that is not known of all its libraries.
func needed(r *packages.Release) (names map[string]bool, complete bool) {
	names, complete = map[string]bool{}, true
	for _, l := range r.Libraries {
		complete = complete && (l.Known || l.Needed != nil)
		for _, n := range l.Needed {
			names[n] = true
		}
	}
	for _, l := range r.Libraries {
		delete(names, l.SONAME)
		delete(names, path.Base(l.Path))
	}
	return names, complete
}
