package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// system is the kind of artifacts that need a library of the system. The subject is the project
// that provides it.
var system = &Kind{
	Name:   "system",
	Title:  (*Text).systemTitle,
	Short:  func(t *Text) string { return "needs " + t.subject },
	Advice: (*Text).install,
	Whole:  (*group).installation,
	// An edit of the object does not bring a library of the system.
	Rejects: rejectsEdit,
	Task: func(t *Text) Task {
		if t.firstFix() == fix.KindDependency {
			return t.declare()
		}
		what := cmp.Or(t.oneRelease(), t.subject)
		if t.artifact.Root {
			return Task{Actor: result.Builder, Do: "install " + what + " in it"}
		}
		return Task{
			Actor:   result.Installer,
			Do:      "install " + what + " on the system",
			Because: "it fails only where " + what + " is not installed",
			Only:    "systems without " + what,
		}
	},
}

// toolkits is the kind of artifacts that need libraries of several projects which are installed for
// one release of CUDA.
var toolkits = &Kind{
	Name: "system",
	Title: func(t *Text) string {
		return fmt.Sprintf("needs %s of %s, which not every %s has", t.Libraries(),
			result.And(t.projects()), t.systems())
	},
	Short:   func(t *Text) string { return "needs libraries of " + t.subject },
	Whole:   (*group).installation,
	Rejects: rejectsEdit,
	Task: func(t *Text) Task {
		what := result.And(t.projects())
		return Task{
			Actor:   result.Installer,
			Do:      "install " + what + " on the system",
			Because: "it fails only where " + what + " are not installed",
			Only:    "systems without " + what,
		}
	},
}

// systemLibraries is the kind of artifacts that need libraries of several projects. The subject is
// the package that needs them; "" if it is the artifact or there are several.
var systemLibraries = &Kind{
	Name: "system-libraries",
	Title: func(t *Text) string {
		needs := strings.TrimSpace(t.subject + " needs")
		what := t.Libraries() + " of the system"
		if t.needsRelease() { // the others are not needed
			what = Listed(t.projects(), 3, 40, "project")
		}
		if t.installedOn() {
			return fmt.Sprintf("%s %s, which %s does not have", needs, what, t.target())
		}
		return fmt.Sprintf("%s %s, which not every %s has", needs, what, t.systems())
	},
	Short: func(t *Text) string {
		return "needs " + one(t.LibraryNames(), "library") + " of the system"
	},
	Advice:  (*Text).install,
	Whole:   (*group).installation,
	Rejects: rejectsEdit,
	Task: func(t *Text) Task {
		n := t.libraryCount()
		if t.artifact.Root {
			return Task{
				Actor: result.Builder, Do: "install " + result.Plural(n, "it", "them") + " in the root",
			}
		}
		return Task{
			Actor: result.Installer,
			Do: "install the packages of the system that contain " +
				result.Plural(n, "this library", "these libraries"),
			Because: "it fails only where " + t.Libraries() + result.Plural(n, " is", " are") +
				" not installed",
			Only: "systems without " + t.Libraries(),
		}
	},
}

// missing is the kind of artifacts that need a library without a known provider. The subject is the
// library without its version.
var missing = &Kind{
	Name:  "missing",
	Short: func(t *Text) string { return "lacks " + one(t.LibraryNames(), "library") },
	Whole: (*group).installation,
	Title: func(t *Text) string {
		n := t.libraryCount()
		which := result.Plural(n, "which is", "which are")
		switch {
		case t.unknown():
			return fmt.Sprintf("needs %s, %s not bundled; a package that may have %s could not be looked up",
				t.Libraries(), which, result.Plural(n, "it", "them"))
		case t.artifact.Root:
			return fmt.Sprintf("needs %s, %s not in it", t.Libraries(), which)
		case t.artifact.wheel():
			s := fmt.Sprintf("needs %s, %s neither bundled nor declared", t.Libraries(), which)
			if on := t.distributions(); on != "" && t.cause.Severity == result.Warning {
				s += "; on " + on + " it has to be installed"
			}
			return s
		}
		return fmt.Sprintf("needs %s, %s neither in the artifact nor on %s", t.Libraries(), which,
			t.target())
	},
	Task: func(t *Text) Task {
		switch {
		case t.firstFix() == fix.KindDependency:
			return t.declare()
		case t.unknown():
			return Task{
				Actor: result.Builder,
				Do:    "check it again with a package index that has what it declares",
			}
		case t.artifact.Root:
			return Task{
				Actor: result.Builder,
				Do:    "add " + result.Plural(t.libraryCount(), "this library", "these libraries") + " to it",
			}
		}
		return Task{Actor: result.Builder, Affected: t.without(), Do: result.Plural(t.libraryCount(),
			"bundle this library or declare the package that provides it",
			"bundle these libraries or declare the packages that provide them")}
	},
}

// projects returns the projects of the system that the artifact needs, with the releases of which
// it needs one.
func (t *Text) projects() []string {
	var names set[string]
	for _, f := range t.all {
		name := cmp.Or(systemProvider(f.Library), base(f.Library))
		if names.add(name) {
			last := &names.list[len(names.list)-1]
			*last = cmp.Or(t.releases(name), name)
		}
	}
	return names.list
}

// needsRelease reports whether the artifact needs one of several releases of a project.
func (t *Text) needsRelease() bool {
	return slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		name := systemProvider(f.Library)
		return name != "" && t.releases(name) != ""
	})
}

func rejectsEdit(_ *group, m *merged, _ bool) bool { return m.Kind == fix.KindPatchelf }

func (t *Text) declare() Task {
	return Task{
		Actor: result.Builder,
		Do:    "declare the package that provides " + result.Plural(t.libraryCount(), "it", "them"),

		Affected: t.without(),
	}
}

// without names the systems that do not have the libraries which a wheel neither contains nor
// declares; "" for other artifacts.
func (t *Text) without() string {
	if !t.artifact.wheel() {
		return ""
	}
	return "systems without " + t.Libraries()
}

// install is the advice to do what the cause asks for, since no version of a package helps.
func (t *Text) install(string) string { return capital(t.task().Do) + "." }

func (t *Text) systemTitle() string {
	release := t.oneRelease()
	switch installed := t.installedOn(); {
	case release != "" && installed:
		return fmt.Sprintf("needs %s, of which %s has none", release, t.target())
	case release != "":
		return fmt.Sprintf("needs %s, which not every %s has", release, t.systems())
	case installed:
		return fmt.Sprintf("needs %s of %s, which %s does not have", t.Libraries(), t.subject, t.target())
	}
	return fmt.Sprintf("needs %s of %s, which not every %s has", t.Libraries(), t.subject, t.systems())
}

// unknown reports whether the findings depend on packages that could not be looked up.
func (g *group) unknown() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool { return !f.Unknown })
}

// oneRelease returns releases of the subject.
func (t *Text) oneRelease() string { return t.releases(t.subject) }

// releases returns a project of the system with the releases of which an artifact needs one,
// because it has variants of its objects for them: "FFmpeg 4, 5 or 6". It is "" for others.
func (t *Text) releases(project string) string {
	of := map[string]string{} // release by object
	variants := map[string]*set[string]{}
	for _, f := range t.all {
		p, _ := platform.ProviderOf(base(f.Library))
		r, ok := strings.CutPrefix(p.Project, project+" ")
		if !ok || strings.Contains(r, " ") {
			continue
		}
		if was := of[f.Object]; was != "" && was != r {
			return ""
		}
		of[f.Object] = r
		name := strings.ReplaceAll(f.Object, r, "")
		if variants[name] == nil {
			variants[name] = &set[string]{}
		}
		variants[name].add(r)
	}
	var all set[string]
	for _, s := range variants {
		if len(s.list) == 1 {
			return ""
		}
		for _, r := range s.list {
			all.add(r)
		}
	}
	if all.list == nil {
		return ""
	}
	slices.SortFunc(all.list, compareNumbers)
	last := len(all.list) - 1
	return project + " " + strings.Join(all.list[:last], ", ") + " or " + all.list[last]
}

// systems returns what the systems of the platform are called.
func (t *Text) systems() string {
	if t.First().Target == "" {
		return "system"
	}
	return t.target() + " system"
}

// installedOn reports whether the system that lacks what is loaded is known completely: packages
// are installed on it, or it is an unpacked one.
func (t *Text) installedOn() bool {
	return t.cause.Severity == result.Error && (t.pinned() || t.First().System)
}

// installation returns the fix that installs libraries of the system or of another project: one
// command for all packages. It returns nil if no provider is known. If the name of a package
// depends on the release of the system, or it has none, the title names the project.
func (g *group) installation() *result.CauseFix {
	var projects, unreleased, debian, conda, pypi, unnamed, notInConda set[string]
	clears := 0
	for _, f := range g.all {
		p, ok := platform.OfSystem(f.Library, f.Target)
		if !ok || p.Kind == platform.BundleProvider && !f.OtherPackage || g.artifact.has(p) {
			continue
		}
		system, python := p.Packages(platform.Debian), p.Packages(platform.PyPI)
		// a package that the artifact declares already is not offered by the finding
		python = slices.DeleteFunc(slices.Clone(python), func(name string) bool {
			return !slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
				return x.Kind == fix.KindDependency && x.Requirement == name
			})
		})
		if len(system)+len(python) == 0 && len(p.Packages(platform.PyPI)) > 0 {
			continue
		}
		clears++
		projects.add(p.Project)
		unreleased.add(systemProvider(f.Library))
		for _, name := range system {
			debian.add(name)
		}
		if len(system) == 0 {
			unnamed.add(p.Project)
		}
		for _, name := range p.Packages(platform.Conda) {
			name, _, _ = strings.Cut(name, "=") // it may work with several releases
			conda.add(name)
		}
		if p.Packages(platform.Conda) == nil {
			notInConda.add(p.Project)
		}
		for _, name := range python {
			pypi.add(name)
		}
	}
	x := fix.Fix{Kind: fix.KindEnvironment}
	switch {
	case clears == 0:
		return nil
	case len(debian.list) > 0 && unnamed.list == nil:
		x = fix.Install(
			fix.Titled("Install what contains these libraries (Debian and Ubuntu)"),
			fix.SystemPackages{With: fix.Apt, Names: debian.list},
		)
	case len(pypi.list) > 0:
		x.Kind = fix.KindDependency
		x.Title = fix.Titled("Declare the dependency %s", strings.Join(pypi.list, " and "))
	case len(conda.list) > 1 && notInConda.list == nil:
		x = fix.Install(
			fix.Titled("Install %s (conda-forge)", Listed(unreleased.list, 3, 40, "project")),
			fix.SystemPackages{With: fix.Conda, Names: conda.list},
		)
	case len(debian.list) > 0:
		x = fix.Install(
			fix.Titled("Install what contains these libraries (Debian and Ubuntu), and %s",
				Listed(general(unnamed.list), 3, 40, "project")),
			fix.SystemPackages{With: fix.Apt, Names: debian.list},
		)
	default:
		x.Title = fix.Titled("Install %s", cmp.Or((&Text{group: g}).oneRelease(),
			Listed(general(projects.list), 3, 40, "project")))
	}
	x.Cost = []string{}
	return &result.CauseFix{Fix: x, Clears: clears}
}

// general leaves out projects of which the list also has a release: "ROCm 5" is more specific than
// "ROCm".
func general(projects []string) []string {
	return slices.DeleteFunc(slices.Clone(projects), func(name string) bool {
		return slices.ContainsFunc(projects, func(other string) bool {
			return name != other && release.ReplaceAllString(other, "") == name
		})
	})
}
