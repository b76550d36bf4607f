package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// levels are the steps in which the requirements on a package are given up if no set satisfies all
// of them: those of packages, those of the artifact, and all but the first. In each step the
// versions that can be installed on the target are candidates first, and then all.
const levels = 8

// counts reports whether a requirement, the nth on its package, counts at a level. What the user
// pins is chosen in any case, so the requirements on it only exclude versions of packages that the
// user does not pin.
func (s *search) counts(level, n int, w requirement) bool {
	if _, pinned := s.pin(w.Name); pinned {
		return w.rank == 0 || level == 0 && slices.ContainsFunc(w.because, func(by string) bool {
			_, pinned := s.pin(by)
			return !pinned
		})
	}
	step := level / 2
	return w.rank <= 2-step || step == 3 && n == 0
}

// candidates returns the releases of a package that satisfy the requirements on it, the preferred
// first; none if the search has to go back. If none of the requirements can be satisfied, the only
// candidate has the error. The error is that of ctx.
func (s *search) candidates(ctx context.Context, name string) ([]*choice, error) {
	if !s.follows(name) {
		return []*choice{{err: ErrTooMany}}, nil
	}
	if v, pinned := s.pin(name); pinned {
		// it may be missing from the index, as local versions such as +rocm6.3 are
		return []*choice{{version: v}}, nil
	}
	if v := s.installed(name); v != "" {
		return []*choice{{version: v}}, nil
	}
	for again := false; ; again = true {
		for ; s.relaxed[name] < levels; s.relaxed[name]++ {
			level := s.relaxed[name]
			specs := s.counted(name, level)
			if len(specs) == 0 {
				continue
			}
			listed, err := s.lookups.versions(ctx, name, level%2 == 1, again)
			if err != nil {
				return s.unlisted(name, err), ctx.Err()
			}
			found, err := s.installable(ctx, name, s.ordered(listed, specs))
			if len(found) == 0 && err == nil && level < 2 {
				found, err = s.yanked(ctx, name)
			}
			if err != nil || len(found) > 0 || !s.greedy && level == 0 {
				return found, err
			}
		}
		// One may have been published since the versions were cached.
		if again || s.lookups.fresh[name] {
			err := fmt.Errorf("no version of %s meets %s: %w", name, s.wants[name][0].Raw, ErrUnknown)
			return []*choice{{err: err}}, nil
		}
		s.relaxed[name] = 0
	}
}

// installed returns the installed version of a package if it satisfies all requirements, else "".
func (s *search) installed(name string) string {
	if s.Installed == nil || s.replaces[name] {
		return ""
	}
	v, err := pkgmeta.ParseVersion(s.Installed(name))
	if err != nil || !admit(s.counted(name, 0), v) {
		return ""
	}
	return v.String()
}

// yanked returns the release that a requirement pins although it is not listed, as pip does.
func (s *search) yanked(ctx context.Context, name string) ([]*choice, error) {
	for _, w := range s.wants[name] {
		if v, ok := w.spec.Pin(); ok && admit(s.counted(name, 0), v) {
			c := &choice{version: v.String()}
			if err := s.lookups.complete(ctx, name, c); err != nil || c.err == nil {
				return []*choice{c}, err
			}
		}
	}
	return nil, nil
}

// unlisted returns the candidates of a package whose versions the source does not list.
func (s *search) unlisted(name string, err error) []*choice {
	if NoAnswer(err) { // the history may know a release that a package pins
		for _, w := range s.wants[name] {
			if v, ok := w.spec.Pin(); ok {
				return []*choice{{version: v.String()}}
			}
		}
	}
	return []*choice{{err: fmt.Errorf("versions of %s: %w", name, err)}}
}

// counted returns the specifiers on a package that count at a level.
func (s *search) counted(name string, level int) (specs []pkgmeta.Spec) {
	for n, w := range s.wants[name] {
		if s.counts(level, n, w) {
			specs = append(specs, w.spec)
		}
	}
	return specs
}

// admit reports whether all specifiers admit a version.
func admit(specs []pkgmeta.Spec, v pkgmeta.Version) bool {
	return !slices.ContainsFunc(specs, func(s pkgmeta.Spec) bool { return !s.Admits(v) })
}

// ordered returns the first maxCandidates versions that specifiers admit, beginning with the end
// that is requested. Pre-releases are only candidates without final releases, as in PEP 440.
func (s *search) ordered(versions []pkgmeta.Version, specs []pkgmeta.Spec) []*choice {
	var final, pre []*choice
	for n := range versions {
		v := versions[n]
		if s.End == Highest {
			v = versions[len(versions)-1-n]
		}
		s.compared++
		switch {
		case !admit(specs, v):
		case !v.IsPreRelease():
			if final = append(final, &choice{version: v.String()}); len(final) == maxCandidates {
				return final
			}
		case len(pre) < maxCandidates && len(final) == 0:
			pre = append(pre, &choice{version: v.String()})
		}
	}
	if len(final) == 0 {
		return pre
	}
	return final
}

// installable drops the oldest versions if they have no wheel, as far as there is a later one with
// a wheel: what is built from their source is not known.
func (s *search) installable(ctx context.Context, name string, all []*choice) ([]*choice, error) {
	if s.End == Highest {
		return all, nil
	}
	for n, c := range all {
		if err := s.lookups.complete(ctx, name, c); err != nil {
			return nil, err
		}
		if !errors.Is(c.err, ErrUnknown) {
			return all[n:], nil
		}
	}
	return all, nil
}

// follows reports whether a package is looked up: all that the user requires, and others up to
// maxFollowed.
func (s *search) follows(name string) bool {
	if _, given := s.given[name]; given || s.followed[name] {
		return true
	}
	if len(s.followed) >= maxFollowed {
		s.beyond = true
		return false
	}
	s.followed[name] = true
	return true
}

// pin returns the version of a package that the user pins.
func (s *search) pin(name string) (version string, ok bool) {
	w, given := s.given[name]
	if !given {
		return "", false
	}
	v, ok := w.spec.Pin()
	return v.String(), ok
}

// fits reports whether the chosen version of a package satisfies a requirement, which was added
// last, or the requirement was given up.
func (s *search) fits(version string, w requirement) bool {
	if !s.counts(s.relaxed[w.Name], len(s.wants[w.Name])-1, w) {
		return true
	}
	v, err := pkgmeta.ParseVersion(version)
	return err != nil || w.spec.Admits(v)
}
