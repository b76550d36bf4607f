package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// AddGaps reports packages of an artifact's environment that could not be looked up, if the
// result depends on them. Judge must have been called for the case; the findings may have fixes
// that were tried. They are Unread if a source
// could not be reached, or if the user specified a version that does not exist or contradictory
// requirements, or if a package that the artifact requires is not known and the result depends on
// it; otherwise such a package is a note.
func (s *Session) AddGaps(ctx context.Context, r *result.Report, c Case, found []Found) {
	if note := s.judge.cache.note(); note != "" {
		r.AddNote(note)
	}
	s.replacements(r)
	s.unfit(r, c)
	for _, a := range s.baseline.packages {
		for _, rule := range a.full {
			r.AddNote(moreFindings(c.Artifact.Path, rule))
		}
		if u := a.beyond(); u != nil {
			r.AddUnread(result.Unread{Path: u.Requirement, Reason: u.Err.Error()})
		}
		if x := a.Impossible(); x != nil {
			r.AddUnread(result.Unread{Path: c.Artifact.Path, Reason: fmt.Sprintf(
				"its requirements cannot be installed together: %s requires %s, and %s %s is the one that "+
					"the others allow", x.By, x.Requirement, x.Package, x.Chosen)})
		}
		for _, name := range slices.Sorted(maps.Keys(s.judge.cache.offline)) {
			err := s.judge.cache.offline[name]
			if errors.Is(err, packages.ErrRefused) && a.dependsOn(name) {
				r.AddUnread(result.Unread{Path: c.Artifact.Path, Reason: fmt.Sprintf(
					"package %s was taken from the built-in package history, and the result depends on it: %v",
					name, err)})
				break
			}
		}
		certain, related := slices.ContainsFunc(found, a.certain), s.related(c.Artifact, a.Set)
		depends := func(u *packages.Unresolved) bool {
			// a package that is known to have none of the libraries cannot change the result
			lacks := func(want func(file string) bool) bool {
				return !s.judge.options.NoHistory &&
					packages.History().Lacks(u.Package, u.Extras, want)
			}
			if related != nil && !related[u.Package] {
				return false
			}
			raw := a.Given[u.Package]
			given := raw != "" && !s.judge.options.NoIndex &&
				(!s.originOf(raw).Lock || !lacks(every))
			return !certain && (given || a.dependsOn(u.Package) || a.open(found, lacks))
		}
		if u := a.Unavailable(depends); u != nil {
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
		var others []string
		var why error
		for _, u := range a.Unresolved {
			if u.Direct && errors.Is(u.Err, packages.ErrUnavailable) && !depends(&u) {
				others, why = append(others, u.Package), cmp.Or(why, u.Err)
			}
		}
		if len(others) > 0 {
			r.AddNote(fmt.Sprintf("could not look up %s, on which the result does not depend: %v",
				listNames(others), why))
		}
		for x := range a.abridged(certain) {
			if a.comparesUnread(x.Name) {
				r.AddUnread(result.Unread{Path: c.Artifact.Path, Reason: fmt.Sprintf(
					"the types of %s are not in the built-in package history, and the result depends on "+
						"them; name a package index with --index-url or PIP_INDEX_URL", x.ID())})
			}
		}
		reported := s.absent(ctx, r, a)
		reported = append(reported, s.unmet(ctx, r, c.Artifact, a, reported)...)
		s.contradictions(r, c.Artifact, a)
		if s.judge.environment == nil { // else see Environment.Unmet
			s.givenConflicts(r, c.Artifact, a.Set)
			s.notInstalled(ctx, r, c, a.Set)
		}
		var names, needed []string
		var unknown error
		for _, u := range a.Unresolved {
			if !u.Direct || !errors.Is(u.Err, packages.ErrUnknown) ||
				slices.Contains(reported, u.Package) || s.known(u.Package) ||
				slices.Contains(s.projects, u.Package) { // its wheel was given
				continue
			}
			raw := a.Given[u.Package]
			switch {
			case (s.judge.options.NoIndex || raw == "") && depends(&u):
				needed, unknown = append(needed, u.Package), cmp.Or(unknown, u.Err)
			case s.mayDepend(c.Artifact, a, u.Package, found),
				raw != "" && (len(found) > 0 || !s.judge.options.NoIndex):
				names = append(names, u.Package)
			}
		}
		switch {
		case len(needed) == 0:
		case !s.judge.options.NoIndex:
			r.AddUnread(result.Unread{
				Path: c.Artifact.Path,
				Reason: fmt.Sprintf("%s could not be looked up, and the result depends on it: %s; give an "+
					"index that has it", listNames(needed), strings.TrimSuffix(unknown.Error(),
					": "+packages.ErrUnknown.Error())),
			})
		default:
			r.AddUnread(result.Unread{
				Path: c.Artifact.Path,
				Reason: listNames(needed) + " could not be looked up in the built-in package " +
					"history, and the result depends on it; name a package index with --index-url or " +
					"PIP_INDEX_URL",
			})
		}
		switch list := listNames(names); {
		case len(names) == 0:
		case s.judge.options.NoIndex:
			r.AddNote("could not look up " + list +
				" in the built-in package history; name a package index with --index-url or PIP_INDEX_URL")
		default:
			r.AddNote("could not look up " + list + ": no such package or version in the index")
		}
	}
}

// replacements notes the packages of the user's environment that are checked in another version,
// because a requirement excludes the one that is installed.
func (s *Session) replacements(r *result.Report) {
	if s.judge.conda == nil || len(s.baseline.packages) == 0 {
		return
	}
	for x := range s.baseline.packages[len(s.baseline.packages)-1].All() {
		was := s.judge.conda.version(x.Name)
		if v, err := pkgmeta.ParseVersion(was); err == nil && v.String() != x.Version {
			r.AddNote(fmt.Sprintf("checked with %s==%s, which pip would install instead of the installed "+
				"%s %s, because a requirement excludes that version", x.Name, x.Version, x.Name, was))
		}
	}
}

// unfit notes the packages of which the wheels of the check are for other targets than an artifact,
// so that it is checked with another version.
func (s *Session) unfit(r *result.Report, c Case) {
	together := s.togetherWith(c.Artifact, c.Target.Platform)
	if together == nil {
		return
	}
	for _, a := range s.baseline.packages {
		for x := range a.All() {
			if wheels := s.wheels[x.Name]; len(wheels) > 0 && together.of(x.Name) == nil {
				r.AddNote(fmt.Sprintf("%s was checked with %s: the given %s is for another Python or machine",
					c.Artifact.Path, x.ID(), wheels[0].artifact.Path))
			}
		}
	}
}

// absent adds Unread for requirements of the user that no version in the index satisfies, and
// returns their packages. Pins of lock files may be for another index.
func (s *Session) absent(ctx context.Context, r *result.Report, a *packageSet) (reported []string) {
	if s.judge.options.NoIndex {
		return nil
	}
	for _, u := range a.Unresolved {
		raw := a.Given[u.Package]
		if raw == "" || s.originOf(raw).Lock || !errors.Is(u.Err, packages.ErrUnknown) {
			continue
		}
		q, err := pkgmeta.ParseRequirement(raw)
		if err != nil {
			continue
		}
		spec, err := pkgmeta.ParseSpec(q.Spec)
		if err != nil {
			continue
		}
		listed, err := s.judge.source.Versions(ctx, u.Package, packages.Target{})
		if err != nil && !errors.Is(err, packages.ErrUnknown) {
			continue
		}
		versions := packages.Sorted(listed)
		if slices.ContainsFunc(versions, spec.Admits) {
			continue // it has no wheel for the interpreter or the platform
		}
		why := "the index has no package of that name"
		if len(versions) > 0 {
			const shown = 5
			var names []string
			for _, v := range slices.Backward(versions) {
				if len(names) == shown {
					names = append(names, "…")
					break
				}
				names = append(names, v.String())
			}
			why = "the index has no such version; the newest are " + strings.Join(names, ", ")
		}
		reported = append(reported, u.Package)
		r.AddUnread(result.Unread{Path: s.origin(raw), Reason: why})
	}
	return reported
}

// beyond returns the first package that was not looked up because there are too many, or nil.
func (a *packageSet) beyond() *packages.Unresolved {
	i := slices.IndexFunc(a.Unresolved, func(u packages.Unresolved) bool {
		return errors.Is(u.Err, packages.ErrTooMany)
	})
	if i < 0 {
		return nil
	}
	return &a.Unresolved[i]
}

// known reports whether a release of a package was found at the other end of the range: the
// oldest version often has no wheel.
func (s *Session) known(name string) bool {
	return slices.ContainsFunc(s.baseline.packages, func(a *packageSet) bool {
		return a.Release(name) != nil
	})
}

// mayDepend reports whether a finding may be due to a package that could not be looked up: a
// library is missing that it may contain, or a symbol that no library defines.
func (s *Session) mayDepend(f *facts.Artifact, a *packageSet, name string, found []Found) bool {
	return s.missingFrom(f, a, name) != "" || slices.ContainsFunc(found, func(x Found) bool {
		return x.Symbol != "" && x.Library == ""
	})
}

// unmet adds Unread if the result depends on a requirement of the user that no source
// satisfies, and returns the packages. Without an index this applies only to packages with
// other known versions; for others, a note says that no index was configured.
func (s *Session) unmet(ctx context.Context, r *result.Report, f *facts.Artifact,
	a *packageSet, absent []string) (reported []string) {
	if len(s.judge.options.First) == 0 && !slices.ContainsFunc(a.views, func(v *View) bool {
		return len(v.Loading.Missing) > 0
	}) {
		return nil // it does not depend on any
	}
	first := func(name string) bool {
		return slices.ContainsFunc(
			s.judge.options.First,
			func(n string) bool { return pkgmeta.Normalize(n) == name },
		)
	}
	why := ""
	depends := func(name string) bool {
		if m := s.missingFrom(f, a, name); m != "" {
			why = ", because no other package provides " + m
			return true
		}
		return first(name)
	}
	var pins []string
	var err error
	for _, u := range a.Unresolved {
		if raw := a.Given[u.Package]; raw != "" && errors.Is(u.Err, packages.ErrUnknown) &&
			!slices.Contains(absent, u.Package) &&
			(!s.judge.options.NoIndex || s.sourceHas(ctx, u.Package)) &&
			depends(u.Package) {
			reported, pins, err = append(reported, u.Package), append(pins, s.origin(raw)), u.Err
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
					listNames(pins),
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
					listNames(pins),
					why,
					err,
				),
			},
		)
	}
	pins, why = nil, ""
	for rel := range a.All() {
		if rel.Known {
			continue
		}
		if raw := a.Given[rel.Name]; raw != "" && depends(rel.Name) {
			pins = append(pins, s.origin(raw))
		}
	}
	if len(pins) > 0 {
		on := s.judge.options.on(f, a.platform)
		r.AddUnread(
			result.Unread{
				Path: f.Path,
				Reason: fmt.Sprintf(
					"the libraries of %s are not known, and the result depends on them%s: it has no wheel for "+
						"Python %s on %s; give a version that has one",
					listNames(pins),
					why,
					cmp.Or(on.Pythons, on.Python),
					on.Arch,
				),
			},
		)
	}
	return reported
}

// sourceHas reports whether the source has any version of a package.
func (s *Session) sourceHas(ctx context.Context, name string) bool {
	versions, err := s.judge.source.Versions(ctx, name, packages.Target{})
	return err == nil && len(versions) > 0
}

// singlePython reports whether a wheel is for one version of Python.
func singlePython(f *facts.Artifact) bool {
	return f.Wheel != nil && !slices.ContainsFunc(f.Wheel.Tags, func(t pkgmeta.Tag) bool {
		return cpython.StableABI(t.ABI) || t.ABI == "none" || !strings.HasPrefix(t.Python, "cp")
	})
}

// missingFrom returns a needed library that no known package provides and that a package which
// could not be looked up may provide, or "". Libraries of drivers, of system packages, of the
// interpreter, and those that another package needs from the system are excluded, unless the
// package is known to have provided them. In an environment, nothing loads the libraries of a
// package that has nothing to do with the artifact.
func (s *Session) missingFrom(f *facts.Artifact, a *packageSet, name string) string {
	if related := s.related(f, a.Set); related != nil && !related[name] {
		return ""
	}
	for _, v := range a.views {
		for _, m := range v.Loading.Missing {
			_, bySystem := platform.Known(m.Name)
			if bySystem || !mayBePackaged(m.Name) || m.NeededBy != v.Library {
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

// open reports whether findings may be due to a package that could not be looked up, or to one that
// it requires: a library is missing that it may contain, or an error is about a symbol that no
// library defines. lacks reports whether they are known to have no library whose file name a
// function accepts.
func (a *packageSet) open(found []Found, lacks func(want func(file string) bool) bool) bool {
	for _, v := range a.views {
		for _, m := range v.Loading.Missing {
			inPackage := mayBePackaged(m.Name) || gpu.Package(m.Name, "") != ""
			if inPackage && !a.lacks(m.Name) && !strings.HasPrefix(m.Name, "libpython") &&
				!lacks(platform.OfFamily(m.Name)) {
				return true
			}
		}
	}
	return !lacks(every) && slices.ContainsFunc(found, func(f Found) bool {
		return f.Symbol != "" && f.Library == "" && f.Severity == result.Error
	})
}

// mayBePackaged reports whether a Python package may have a library: it is not one of a project
// that is known and that no package on the index has.
func mayBePackaged(soname string) bool {
	p, known := platform.ProviderOf(soname)
	return !known || len(p.Packages(platform.PyPI)) > 0
}

// every accepts the file name of any library.
func every(string) bool { return true }

// certain reports whether an error has nothing to do with a package that could not be looked up: a
// package that was read contains the library or, as a fix showed, the symbol in other versions.
func (a *packageSet) certain(f Found) bool {
	return f.Severity == result.Error && (f.Symbol == "" && a.lacks(f.Library) ||
		slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
			q, err := pkgmeta.ParseRequirement(x.Requirement)
			return err == nil && x.Verified && x.Kind == fix.KindPin && a.known(q.Name)
		}))
}

// known reports whether a package was read.
func (a *packageSet) known(name string) bool {
	rel := a.Release(pkgmeta.Normalize(name))
	return rel != nil && rel.Known
}

// lacks reports whether the package that contains a library in other versions was read, so that no
// other package is expected to provide it.
func (a *packageSet) lacks(library string) bool {
	p, _ := platform.ProviderOf(library)
	return slices.ContainsFunc(p.Packages(platform.PyPI), a.known)
}

// contradictions reports requirements of the user that a later one replaced. A requirement in
// addition to a lock file replaces the lock file's intentionally; for two lock files, or two
// requirements, the intention is not known.
func (s *Session) contradictions(r *result.Report, f *facts.Artifact, a *packageSet) {
	for _, x := range a.Replaced {
		was, now := s.origin(x.Was), s.origin(x.Now)
		switch {
		case s.originOf(x.Was).Lock && !s.originOf(x.Now).Lock:
			r.AddNote(now + " replaces " + was)
		case a.dependsOn(x.Package) || s.missingFrom(f, a, x.Package) != "":
			r.AddUnread(
				result.Unread{
					Path: f.Path,
					Reason: fmt.Sprintf(
						"%s and %s conflict, and the result depends on it: the second one was used; "+
							"remove one of them",
						was,
						now,
					),
				},
			)
			fallthrough
		default:
			r.AddRefused("pip refuses to install these together: " + was + " and " + now +
				"; compat checked the second one")
		}
	}
}

// dependsOn reports whether an object loads a library of a package or of its dependencies, or
// was built with NumPy or with a type of one of them, which no library shows. The package may be
// one that was not read.
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
	if a.comparesUnread(name) {
		return true
	}
	for _, v := range a.views {
		if v.NumPy == facts.NumPy1 && slices.Contains(reached, "numpy") {
			return true
		}
		if slices.ContainsFunc(reached, func(name string) bool {
			r := a.Release(name)
			return r != nil && (v.ComparesLibxml2 && r.Libxml2(facts.Lxml) != 0 ||
				slices.ContainsFunc(v.Uses, func(u cython.Use) bool { return r.Type(u.Name()) != nil }))
		}) {
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

// comparesUnread reports whether an object compares what it was built with, such as types, with a
// package that was not read, or of which the history has no modules. The names of the module and of
// the package decide: see mayHave. If no package has such a name, it may be any that was not read.
func (a *packageSet) comparesUnread(name string) bool {
	r := a.Release(name)
	if r != nil && !r.Abridged {
		return false
	}
	return slices.ContainsFunc(a.comparedTops(), func(top string) bool {
		switch {
		case r != nil:
			return hasTop(r, top)
		case a.Release(pkgmeta.Normalize(top)) != nil,
			slices.ContainsFunc(slices.Collect(a.All()), func(x *packages.Release) bool {
				return hasTop(x, top)
			}):
			return false
		}
		return mayHave(name, top) ||
			!slices.ContainsFunc(a.Unresolved, func(u packages.Unresolved) bool {
				return mayHave(u.Package, top)
			})
	})
}

// abridged iterates over the releases that may have types that are not known, if an object compares
// types at all and the result is not certain without them.
func (a *packageSet) abridged(certain bool) iter.Seq[*packages.Release] {
	return func(yield func(*packages.Release) bool) {
		if certain || len(a.comparedTops()) == 0 {
			return
		}
		for x := range a.All() {
			if x.Abridged && !yield(x) {
				return
			}
		}
	}
}

// comparedTops returns the top-level packages of the modules that the objects compare themselves
// with, without those of the artifact.
func (a *packageSet) comparedTops() (tops []string) {
	own := map[string]bool{}
	top := func(module, separator string) string {
		first, _, _ := strings.Cut(module, separator)
		return first
	}
	for _, v := range a.views {
		own[top(facts.ModuleName(v.Path), "/")] = true
	}
	for _, v := range a.views {
		for _, module := range v.Compared() {
			if of := top(module, "."); !own[of] && !slices.Contains(tops, of) {
				tops = append(tops, of)
			}
		}
	}
	return tops
}

// mayHave reports whether a package may have a top-level module: its name has the letters of the
// module's in their order, as PyYAML has those of yaml and scikit-learn those of sklearn.
func mayHave(name, module string) bool {
	rest := strings.ReplaceAll(pkgmeta.Normalize(module), "-", "")
	for _, c := range name {
		if rest != "" && c == rune(rest[0]) {
			rest = rest[1:]
		}
	}
	return rest == ""
}

// givenConflicts reports requirements of the user that contradict those of another package. The
// user's requirement is used, although no installer would install both.
func (s *Session) givenConflicts(r *result.Report, f *facts.Artifact, set *packages.Set) {
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
		by := x.By
		if by == packages.Artifact && f.Wheel != nil {
			by = releaseOf(f).String()
		}
		r.AddRefused(fmt.Sprintf("pip refuses to install these together: %s requires %s, and %s was "+
			"given; compat checked them anyway", by, x.Requirement, s.origin(raw)))
	}
}

// notInstalled reports versions that the user gave and that pip does not install with the
// interpreter of an artifact: their Requires-Python excludes it, or they have no wheel for it.
func (s *Session) notInstalled(
	ctx context.Context,
	r *result.Report,
	c Case,
	set *packages.Set,
) {
	source := s.sourceFor(c.Artifact, c.Target.Platform)
	on := s.judge.options.on(c.Artifact, c.Target.Platform)
	lists := func(id packages.ID, on packages.Target) bool {
		versions, err := source.Versions(ctx, id.Name, on)
		return err == nil && slices.ContainsFunc(packages.Sorted(versions), func(v pkgmeta.Version) bool {
			return v.String() == id.Version
		})
	}
	for x := range set.All() {
		raw := set.Given[x.Name]
		if raw == "" || s.originOf(raw).Lock || lists(x.ID(), on) || !lists(x.ID(), packages.Target{}) {
			continue
		}
		r.AddRefused(fmt.Sprintf("pip does not install %s with %s on %s; compat checked it anyway",
			s.origin(raw), on.Interpreter(), on.Place()))
	}
}

// originOf returns the place of a requirement of the user, which may be a wheel.
func (s *Session) originOf(raw string) Origin {
	if at, ok := s.judge.origins[raw]; ok {
		return at
	}
	name, version, _ := strings.Cut(raw, "==")
	for _, x := range s.wheels[name] {
		if x.version.String() == version {
			return Origin{File: x.artifact.Path}
		}
	}
	return Origin{}
}

// origin returns a requirement of the user and its place.
func (s *Session) origin(raw string) string {
	at := s.originOf(raw)
	if at.Installed || at.File == "" && s.judge.environment != nil {
		return raw
	}
	return raw + " (" + at.String() + ")"
}

// listNames formats a list of packages, with a limited length.
func listNames(names []string) string {
	const shown = 4
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return result.List(names, shown, len(names), "package")
}
