package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// AddGaps reports what could not be looked up of the packages in an artifact's environment, where
// the answer depends on it; Judge was called for the case before. It is Unread when a source could
// not be reached, and for what the user gave: a pinned version that does not exist, or two that
// contradict each other. A package that only the artifact requires and no source knows is a note.
func (s *Session) AddGaps(ctx context.Context, r *result.Report, c Case, found []Found) {
	if note := s.judge.once.note(); note != "" {
		r.AddNote(note)
	}
	for _, a := range s.baseline.packages {
		for _, rule := range a.full {
			r.AddNote(fmt.Sprintf(
				"%s: %s has more findings than are listed (at most %d for an object, %d in all)",
				c.Artifact.Path, rule, MaxFindings, maxOfRule,
			))
		}
		if u := a.Unavailable(); u != nil {
			r.AddUnread(
				result.Unread{
					Path: c.Artifact.Path,
					Reason: fmt.Sprintf(
						"package %s could not be looked up, and the result depends on it: %v",
						u.Requirement,
						u.Err,
					),
				},
			)
		}
		told := s.unmet(ctx, r, c.Artifact, a)
		s.contradictions(r, c.Artifact, a)
		s.outside(r, a.Set)
		var names []string
		for _, u := range a.Unresolved {
			if u.Direct && errors.Is(u.Err, packages.ErrUnknown) &&
				!slices.Contains(told, u.Package) && !s.known(u.Package) &&
				(s.mayDepend(a, u.Package, found) || a.Given[u.Package] != "" &&
					(len(found) > 0 || !s.judge.options.NoIndex)) {
				names = append(names, u.Package)
			}
		}
		switch list := some(names); {
		case len(names) == 0:
		case s.judge.options.NoIndex:
			r.AddNote(
				"could not look up " + list +
					" in the built-in package history; name a package index with --index-url or PIP_INDEX_URL",
			)
		default:
			r.AddNote("could not look up " + list + ": no such package or version in the index")
		}
	}
}

// known reports whether a release of a package was looked up at the other end of the range: the
// oldest version often has no wheel.
func (s *Session) known(name string) bool {
	return slices.ContainsFunc(s.baseline.packages, func(a *packageSet) bool {
		return a.Release(name) != nil
	})
}

// mayDepend reports whether a finding may be due to a package of which nothing is known: a library
// is missing that it may contain, or a symbol that no library defines.
func (s *Session) mayDepend(a *packageSet, name string, found []Found) bool {
	return s.wants(a, name) != "" || slices.ContainsFunc(found, func(f Found) bool {
		return f.Symbol != "" && f.Library == ""
	})
}

// unmet spoils the verdict where the answer depends on what the user gave and nobody has; it
// returns which packages these are. Without an index only a package counts of which other versions
// are known: of one that the history does not hold it is told that an index was not named.
func (s *Session) unmet(ctx context.Context, r *result.Report, f *facts.Artifact,
	a *packageSet) (told []string) {
	first := func(name string) bool {
		return slices.ContainsFunc(
			s.judge.options.First,
			func(n string) bool { return pkgmeta.Normalize(n) == name },
		)
	}
	why := ""
	depends := func(name string) bool {
		if m := s.wants(a, name); m != "" {
			why = ", because no other package provides " + m
			return true
		}
		return first(name)
	}
	var pins []string
	var err error
	for _, u := range a.Unresolved {
		if raw := a.Given[u.Package]; raw != "" && errors.Is(u.Err, packages.ErrUnknown) &&
			(!s.judge.options.NoIndex || s.holds(ctx, u.Package)) &&
			depends(u.Package) {
			told, pins, err = append(told, u.Package), append(pins, s.origin(raw)), u.Err
		}
	}
	switch {
	case len(pins) == 0:
	case s.judge.options.NoIndex:
		r.AddUnread(
			result.Unread{
				Path: f.Path,
				Reason: fmt.Sprintf(
					"%s could not be looked up, and the result depends on it%s: it is not in the built-in "+
						"package history; name a package index with --index-url or PIP_INDEX_URL",
					some(pins),
					why,
				),
			},
		)
	default:
		r.AddUnread(
			result.Unread{
				Path: f.Path,
				Reason: fmt.Sprintf(
					"%s could not be looked up, and the result depends on it%s: %v; give an existing version, "+
						"or an index that has it",
					some(pins),
					why,
					err,
				),
			},
		)
	}
	pins, why = nil, ""
	for _, rel := range a.Releases {
		if raw := a.Given[rel.Name]; raw != "" && !rel.Known && exact(f) && depends(rel.Name) {
			pins = append(pins, s.origin(raw))
		}
	}
	if len(pins) > 0 {
		on := s.judge.options.on(f, a.platform.Arch)
		r.AddUnread(
			result.Unread{
				Path: f.Path,
				Reason: fmt.Sprintf(
					"the libraries of %s are not known, and the result depends on them%s: it has no wheel for "+
						"Python %s on %s; give a version that has one",
					some(pins),
					why,
					on.Python,
					on.Arch,
				),
			},
		)
	}
	return told
}

// holds tells whether the source knows a package in any version.
func (s *Session) holds(ctx context.Context, name string) bool {
	versions, err := s.judge.source.Versions(ctx, name)
	return err == nil && len(versions) > 0
}

// exact tells whether a wheel is for one version of Python. Of others the oldest is taken, for
// which a package beside it need not have a wheel.
func exact(f *facts.Artifact) bool {
	return f.Wheel != nil && !slices.ContainsFunc(f.Wheel.Tags, func(t pkgmeta.Tag) bool {
		return t.ABI == "abi3" || t.ABI == "none" || !strings.HasPrefix(t.Python, "cp")
	})
}

// wants is a library that is needed, that nothing at hand brings, and that a package may of which
// nothing is known; "" where there is none. What a driver or a system package brings, and what
// another package needs of the system, is no package's, unless it is known to have brought it; and
// nor is the interpreter.
func (s *Session) wants(a *packageSet, name string) string {
	for _, v := range a.views {
		for _, m := range v.Loading.Missing {
			if _, bySystem := platform.Known(m.Name); bySystem || m.NeededBy != v.Library {
				brings := gpu.Package(m.Name, gpu.MajorOfPackage(name)) == name
				if !brings && !s.judge.options.NoHistory {
					brings, _ = packages.History().
						Provides(name, func(file string) bool { return platform.Stem(file) == platform.Stem(m.Name) })
				}
				if !brings {
					continue
				}
			}
			if !strings.HasPrefix(m.Name, "libpython") {
				return m.Name
			}
		}
	}
	return ""
}

// contradictions tells of requirements of the user's that are not met because a later one took
// their place. What is given beside a lock file is meant to; of two lock files, or two requirements
// that were given, nobody knows which is meant.
func (s *Session) contradictions(r *result.Report, f *facts.Artifact, a *packageSet) {
	for _, x := range a.Replaced {
		was, now := s.origin(x.Was), s.origin(x.Now)
		switch {
		case s.judge.origins[x.Was].Lock && !s.judge.origins[x.Now].Lock:
			r.AddNote(now + " replaces " + was)
		case a.dependsOn(x.Package) || s.wants(a, x.Package) != "":
			r.AddUnread(
				result.Unread{
					Path: f.Path,
					Reason: fmt.Sprintf(
						"%s and %s conflict, and the result depends on it: the second one was used; remove one of them",
						was,
						now,
					),
				},
			)
		default:
			r.AddNote(was + " and " + now + " conflict: the second one was used")
		}
	}
}

// dependsOn tells whether an object loads a library of a package, or of one that it requires in
// turn, or was built against it where no library shows that.
func (a *packageSet) dependsOn(name string) bool {
	reached := []string{name}
	for i := 0; i < len(reached); i++ {
		if rel := a.Release(reached[i]); rel != nil {
			for _, q := range rel.Requires {
				if !slices.Contains(reached, q.Name) {
					reached = append(reached, q.Name)
				}
			}
		}
	}
	for _, v := range a.views {
		if v.NumPy == facts.NumPy1 && slices.Contains(reached, "numpy") {
			return true
		}
		for _, x := range v.Loading.Found {
			if x.Library.Kind == dynlink.FromPackage &&
				slices.Contains(reached, x.Library.Package.Name) {
				return true
			}
		}
	}
	return slices.ContainsFunc(a.first, func(l *dynlink.Library) bool {
		return slices.Contains(reached, l.Package.Name)
	})
}

// outside tells of what the user gave that somebody beside it does not admit: the user's word
// counts, and no installer would install both.
func (s *Session) outside(r *result.Report, set *packages.Set) {
	for _, x := range set.Conflicts {
		raw := set.Given[x.Package]
		q, err := pkgmeta.ParseRequirement(raw)
		if raw == "" || err != nil || x.By == packages.User {
			continue
		}
		spec, err := pkgmeta.ParseSpec(q.Spec)
		if _, pinned := spec.Pin(); err != nil || x.By != packages.Artifact && !pinned {
			continue
		}
		r.AddNote(
			fmt.Sprintf(
				"%s does not satisfy %s, which requires %s. pip does not install both; "+
					"compat checked it anyway",
				s.origin(raw),
				x.By,
				x.Requirement,
			),
		)
	}
}

// origin is a requirement of the user's and where it stands.
func (s *Session) origin(raw string) string {
	return raw + " (" + s.judge.origins[raw].String() +
		")"
}

// some lists names, not too many of them.
func some(names []string) string {
	const shown = 4
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
