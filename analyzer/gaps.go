package analyzer

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
)

// gaps says what could not be looked up of the packages beside an artifact, where the answer
// depends on it. It spoils the verdict when a source could not be asked, and when it is what the
// user gave: a pinned version that nobody has, or two that contradict each other. A package of the
// artifact's own requirements that no source knows is told.
func (c *check) gaps(ctx context.Context, r *Report, f *facts.Artifact, found []judged) {
	for _, a := range c.first.acts {
		if u := a.set.Unavailable(); u != nil {
			r.AddUnread(
				Unread{
					Path: f.Path,
					Reason: fmt.Sprintf(
						"package %s could not be looked up, and the answer depends on it: %v",
						u.Requirement,
						u.Err,
					),
				},
			)
		}
		told := c.unmet(ctx, r, f, a)
		c.contradictions(r, f, a)
		c.outside(r, a.set)
		var names []string
		for _, u := range a.set.Unlooked {
			if u.Direct && errors.Is(u.Err, packages.ErrUnknown) &&
				!slices.Contains(told, u.Package) &&
				(len(found) > 0 || a.set.Given[u.Package] != "" && !c.options.NoIndex) {
				names = append(names, u.Package)
			}
		}
		switch list := some(names); {
		case len(names) == 0:
		case c.options.NoIndex:
			r.AddNote(
				"could not look up " + list + " in the embedded history: name a package index with --index-url or PIP_INDEX_URL",
			)
		default:
			r.AddNote("could not look up " + list + ": no such package or version in the index")
		}
	}
}

// unmet spoils the verdict where the answer depends on what the user gave and nobody has; it
// returns which packages these are. Without an index only a package counts of which other versions
// are known: of one that the history does not hold it is told that an index was not named.
func (c *check) unmet(ctx context.Context, r *Report, f *facts.Artifact, a *act) (told []string) {
	first := func(name string) bool {
		return slices.ContainsFunc(
			c.options.First,
			func(n string) bool { return pkgmeta.Normalize(n) == name },
		)
	}
	why := ""
	depends := func(name string) bool {
		if m := c.wants(a, name); m != "" {
			why = ", because nothing at hand brings " + m
			return true
		}
		return first(name)
	}
	var pins []string
	var err error
	for _, u := range a.set.Unlooked {
		if raw := a.set.Given[u.Package]; raw != "" && errors.Is(u.Err, packages.ErrUnknown) &&
			(!c.options.NoIndex || c.holds(ctx, u.Package)) &&
			depends(u.Package) {
			told, pins, err = append(told, u.Package), append(pins, c.origin(raw)), u.Err
		}
	}
	switch {
	case len(pins) == 0:
	case c.options.NoIndex:
		r.AddUnread(
			Unread{
				Path: f.Path,
				Reason: fmt.Sprintf(
					"%s could not be looked up, and the answer depends on it%s: it is not in the embedded history; name a package index with --index-url or PIP_INDEX_URL",
					some(pins),
					why,
				),
			},
		)
	default:
		r.AddUnread(
			Unread{
				Path: f.Path,
				Reason: fmt.Sprintf(
					"%s could not be looked up, and the answer depends on it%s: %v; give a version that exists, or the index that has it",
					some(pins),
					why,
					err,
				),
			},
		)
	}
	pins, why = nil, ""
	for _, rel := range a.set.Releases {
		if raw := a.set.Given[rel.Name]; raw != "" && !rel.Known && exact(f) && depends(rel.Name) {
			pins = append(pins, c.origin(raw))
		}
	}
	if len(pins) > 0 {
		on := on(f, a.platform.Arch)
		r.AddUnread(
			Unread{
				Path: f.Path,
				Reason: fmt.Sprintf(
					"which libraries %s brings is not known, and the answer depends on it%s: no wheel of it fits Python %s on %s; give a version that has one",
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
func (c *check) holds(ctx context.Context, name string) bool {
	versions, err := c.source.Versions(ctx, name)
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
func (c *check) wants(a *act, name string) string {
	for _, v := range a.views {
		for _, m := range v.Loading.Missing {
			if _, bySystem := platform.Known(m.Name); bySystem || m.NeededBy != v.Library {
				brings := gpu.Package(m.Name) == name
				if !brings && !c.options.NoHistory {
					brings, _ = packages.History().
						Brings(name, func(file string) bool { return stem(file) == stem(m.Name) })
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
func (c *check) contradictions(r *Report, f *facts.Artifact, a *act) {
	for _, x := range a.set.Replaced {
		was, now := c.origin(x.Was), c.origin(x.Now)
		switch {
		case c.origins[x.Was].Lock && !c.origins[x.Now].Lock:
			r.AddNote(now + " was taken in place of " + was)
		case a.dependsOn(x.Package) || c.wants(a, x.Package) != "":
			r.AddUnread(
				Unread{
					Path: f.Path,
					Reason: fmt.Sprintf(
						"%s and %s contradict each other, and the answer depends on it: the latter was taken; leave one of them out",
						was,
						now,
					),
				},
			)
		default:
			r.AddNote(was + " and " + now + " contradict each other: the latter was taken")
		}
	}
}

// dependsOn tells whether an object loads a library of a package, or of one that it requires in
// turn, or was built against it where no library shows that.
func (a *act) dependsOn(name string) bool {
	reached := []string{name}
	for i := 0; i < len(reached); i++ {
		if rel := a.set.Release(reached[i]); rel != nil {
			for _, q := range rel.Requires {
				if !slices.Contains(reached, q.Name) {
					reached = append(reached, q.Name)
				}
			}
		}
	}
	for _, v := range a.views {
		if v.NumPy == NumPy1 && slices.Contains(reached, "numpy") {
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
func (c *check) outside(r *Report, s *packages.Set) {
	for _, x := range s.Conflicts {
		raw := s.Given[x.Package]
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
				"%s is not what %s requires (%s): pip refuses to install both, and it was judged beside %s==%s all the same",
				c.origin(raw),
				x.By,
				x.Requirement,
				x.Package,
				x.Chosen,
			),
		)
	}
}

// origin is a requirement of the user's and where it stands.
func (c *check) origin(raw string) string { return raw + " (" + c.origins[raw].String() + ")" }

// some lists names, not too many of them.
func some(names []string) string {
	const shown = 4
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
