package cause

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// action returns who has to act, a sentence about it, and whether the artifact may be shipped.
func (t *Text) action() (actor result.Actor, action, ship string) {
	x := t.task()
	who := map[result.Actor]string{
		result.Builder:   "the builder of " + t.What(),
		result.Installer: "whoever installs " + t.What(),
		result.Upstream:  "the author of " + t.subject,
	}[x.Actor]
	must := " should "
	if t.cause.Severity == result.Error {
		must = " has to "
	}
	return x.Actor, capital(who + must + x.Do + "."), t.ship(x)
}

// ship says whether the artifact may be shipped.
func (t *Text) ship(x Task) string {
	what := "file"
	if t.artifact.wheel() {
		what = "wheel"
	}
	switch {
	case t.artifact.Misnamed():
		return "Do not ship this wheel: pip does not install a file of this name."
	case t.kind.NotShipped:
		return ""
	case t.unknown():
		return "Whether this " + what + " may be shipped is not known."
	case x.Because != "":
		return "The " + what + " itself may be shipped: " + x.Because + "."
	case t.cause.Severity == result.Error && x.Only != "":
		return "Do not ship this " + what + " for " + x.Only + "."
	case t.cause.Severity == result.Error:
		return "Do not ship this " + what + "."
	case x.Works != "":
		return "This " + what + " may be shipped, since it works with " + x.Works + "."
	case t.promised():
		return "By its tag, pip also installs this wheel where it fails: correct the tag before you " +
			"publish it."
	}
	return "This " + what + " may be shipped, but should be improved."
}

// promised reports whether the artifact fails only on the platform of a tag, and the user named
// others.
func (t *Text) promised() bool {
	return t.artifact.wheel() && !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		return f.Target == "" || slices.ContainsFunc(t.report.Targets, func(x result.Target) bool {
			return x.Name == f.Target
		})
	})
}

// dependencies says where the builder of a wheel writes a requirement.
const dependencies = " (dependencies in pyproject.toml or setup.py)"

// newRelease is the cost of a change that does not change the name of the wheel: who has the file
// already does not get the new one.
const newRelease = "a new release or build number if it is published"

// complete returns a fix with the place where the builder of a wheel writes a requirement, and with
// what the fix costs. If the builder has to limit the versions of a package, the command that
// changes installed packages is the second fix: it helps one user.
func (t *Text) complete(x result.CauseFix) []result.CauseFix {
	byBuilder := t.cause.Actor == result.Builder && t.artifact.wheel()
	q, err := pkgmeta.ParseRequirement(x.Requirement)
	cost := ""
	switch {
	case byBuilder && err == nil && x.Kind == fix.KindPin:
		x.Title = strings.Replace(x.Title, x.Requirement,
			x.Requirement+" in the metadata of "+t.What()+dependencies, 1)
		if !strings.Contains(x.Requirement, "==") {
			x.Title = strings.Replace(x.Title, "Pin ", "Require ", 1)
		}
		cost = "pip no longer installs it with other versions of " + q.Name
	case byBuilder && err == nil && x.Kind == fix.KindDependency:
		x.Title += dependencies
		cost = "all users have to download it"
	case byBuilder && err == nil && x.Kind == fix.KindEnvironment && t.kind == WrongPackage:
		limit := x
		limit.Kind, limit.Command = fix.KindPin, shellword.Requirement(x.Requirement)
		limit.Title = "Require " + x.Requirement + " in the metadata of " + t.What() + dependencies
		limit.Cost = slices.Concat([]string{"pip no longer installs it with other versions of " + q.Name},
			x.Cost, []string{newRelease})
		x.Title = "Until such a wheel is published, users can install versions that work"
		x.Cost = append(x.Cost, "every user has to do it")
		return []result.CauseFix{limit, x}
	case byBuilder && x.Kind == fix.KindEnvironment && (install.MatchString(string(x.Command)) ||
		strings.HasPrefix(string(x.Command), "pip install ")):
		cost = "every user has to do it"
	case len(x.Cost) > 0:
	case x.Kind == fix.KindEnvironment && t.kind == otherVersions:
		cost = "it replaces the installed versions"
		if wrong := t.wrongVersion(t.required()); wrong != "" {
			cost = "it replaces " + wrong
		}
	case x.Kind == fix.KindEnvironment && install.MatchString(string(x.Command)) &&
		!strings.HasPrefix(string(x.Command), "brew "):
		cost = "it needs administrator rights"
	case x.Kind == fix.KindPatchelf, strings.Contains(string(x.Command), string(fix.PackWheel)):
		cost = "it has to be repeated after each build"
	case x.Kind == fix.KindImage, x.Kind == fix.KindRebuild && x.Command == "":
		cost = "a rebuild"
	case x.Kind == fix.KindSource:
		cost = "a change of the source and a rebuild"
	}
	if cost != "" {
		x.Cost = append(x.Cost, cost)
	}
	if byBuilder && t.keepsName(x) {
		x.Cost = append(x.Cost, newRelease)
	}
	if t.kind == linkPath && t.cause.Objects > 1 {
		x.Title = strings.Replace(x.Title, "in the library,", "in these libraries,", 1)
	}
	return []result.CauseFix{x}
}

// keepsName reports whether a fix changes the metadata or the files of a wheel, but not its name.
func (t *Text) keepsName(x result.CauseFix) bool {
	switch x.Kind {
	case fix.KindPlatformTag:
		return false
	case fix.KindPin, fix.KindDependency:
		return x.Requirement != ""
	}
	return strings.Contains(string(x.Command), string(fix.PackWheel))
}

// Unclaimed says that no tag of the wheel names the target, for Task.Because.
func (t *Text) Unclaimed() string { return "its tags do not claim " + t.target() }

// refusedByPip reports whether the artifact requires another version than the one that was checked.
func (t *Text) refusedByPip() bool {
	return len(t.cause.Fixes) > 0 && strings.HasPrefix(t.cause.Fixes[0].Title, "Use the version that")
}

// What is the project of a wheel, or the name of another artifact.
func (t *Text) What() string {
	if t.artifact.wheel() {
		return t.artifact.own
	}
	return base(t.artifact.Path)
}
