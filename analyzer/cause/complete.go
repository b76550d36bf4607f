package cause

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// Costs that depend on who makes the change.
const (
	everyUser = "every user has to do it"
	// The name of a package follows.
	noOthers = "pip cannot install it with packages that need other versions of "
)

// complete returns a fix with the place where the builder of a wheel writes a requirement, and with
// what the fix costs. If the builder has to limit the versions of a package, the command that
// changes installed packages is the second fix: it helps one user.
func (t *Text) complete(x result.CauseFix) []result.CauseFix {
	byBuilder := t.cause.Actor == result.Builder && t.artifact.wheel()
	q, err := pkgmeta.ParseRequirement(x.Requirement)
	if byBuilder && err == nil {
		switch {
		case x.Kind == fix.KindEnvironment && t.kind == WrongPackage:
			return t.limit(x, q.Name)
		case x.Kind == fix.KindPin && fix.Part[fix.Requirement](x.Title) != "":
			verb := "Require"
			if strings.Contains(x.Requirement, "==") {
				verb = "Pin"
			}
			x.Title = t.requiring(verb, x.Requirement)
		}
	}
	if byBuilder && x.Kind == fix.KindDependency {
		x.Title = x.Title.Append(fix.InSources)
	}
	if cost := t.cost(x.Fix, byBuilder, q.Name); cost != "" {
		x.Cost = append(x.Cost, cost)
	}
	if byBuilder && keepsName(x.Fix) {
		x.Cost = append(x.Cost, t.newRelease())
	}
	if t.kind == linkPath {
		x.Title = x.Title.For(t.cause.Objects)
	}
	return []result.CauseFix{x}
}

// newRelease is the cost of a change that does not change the name of the wheel: who has the file
// already does not get the new one, and an index does not take it.
func (t *Text) newRelease() string {
	if slices.Contains(t.options.Published, t.artifact.Path) {
		return "the fixed wheel needs a new version or build number, because this one is published"
	}
	return "if " + t.artifact.Wheel.Version +
		" is published, the fixed wheel needs a new version or build number"
}

// limit returns the fix by which the builder of a wheel limits the versions of a package, and x, by
// which a user installs versions that work.
func (t *Text) limit(x result.CauseFix, name string) []result.CauseFix {
	limit := x
	limit.Kind, limit.Command = fix.KindPin, shellword.Requirement(x.Requirement)
	limit.Title = t.requiring("Require", x.Requirement)
	limit.Cost = slices.Concat([]string{noOthers + name}, x.Cost, []string{t.newRelease()})
	x.Title = fix.Titled("Install versions that work, until such a wheel is published")
	x.Cost = append(x.Cost, everyUser)
	return []result.CauseFix{limit, x}
}

// requiring is the title of a fix by which the builder of a wheel writes a requirement.
func (t *Text) requiring(verb, requirement string) fix.Title {
	return fix.Titled("%s %s in the metadata of %s%s", verb, fix.Requirement(requirement), t.What(),
		fix.InSources)
}

// cost returns what a fix costs besides what its trial found, or "". name is the package of its
// requirement; "" if it has none.
func (t *Text) cost(x fix.Fix, byBuilder bool, name string) string {
	if byBuilder {
		switch {
		case x.Kind == fix.KindPin && name != "":
			return noOthers + name
		case x.Kind == fix.KindDependency && name != "":
			return "all users have to download it"
		case x.Kind == fix.KindEnvironment &&
			(x.System != nil || strings.HasPrefix(string(x.Command), "pip install ")):
			return everyUser
		}
	}
	switch cost := t.costOfTag(x); {
	case cost != "":
		return cost
	case len(x.Cost) > 0:
		return ""
	case x.Kind == fix.KindImage:
		return t.costOfImage()
	case x.Kind == fix.KindEnvironment && t.kind == otherVersions:
		if wrong := t.wrongVersion(t.required()); wrong != "" {
			return "it replaces " + wrong
		}
		return "it replaces the installed versions"
	case x.System != nil && x.System.NeedsRoot():
		return "it needs administrator rights"
	case packs(x):
		return fix.EachBuild
	case x.Kind == fix.KindRebuild && x.Command != "":
		return ""
	case x.Kind == fix.KindRebuild && byBuilder && t.kind == WrongPackage:
		return x.Kind.Cost() + "; choose it to keep the requirement"
	}
	return x.Kind.Cost()
}

// keepsName reports whether a fix changes the metadata or the files of a wheel, but not its name.
func keepsName(x fix.Fix) bool {
	switch {
	case x.Kind == fix.KindPlatformTag:
		return false
	case x.Kind.Setting() == fix.Requirements:
		return x.Requirement != ""
	}
	return packs(x)
}

// packs reports whether the command of a fix packs an extracted wheel.
func packs(x fix.Fix) bool {
	return strings.Contains(string(x.Command), string(fix.PackWheel))
}
