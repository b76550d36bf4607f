package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
)

// otherVersions is the kind of artifacts that fail with versions of packages which the user
// specified and which they do not require.
var otherVersions = &Kind{
	Name:         "other-versions",
	Title:        (*Text).otherVersionsTitle,
	Short:        func(t *Text) string { return "requires another " + t.required() },
	OtherVersion: true,
	Prefers:      fix.KindEnvironment, // the required versions
	Rejects: func(_ *group, m *merged, solved bool) bool {
		return m.Kind == fix.KindPin && solved // another version than the required one
	},
	Task: func(t *Text) Task {
		return Task{
			Actor:   result.Installer,
			Do:      "install the versions that it requires; pip does not install it with others",
			Because: t.combination(t.required()),
			Only:    t.useWith(t.required()),
		}
	},
}

// WrongPackage is the kind of artifacts that fail with a version of another package, which is the
// subject.
var WrongPackage = &Kind{
	Name:  "package",
	Title: (*Text).packageTitle,
	Short: func(t *Text) string {
		name, _ := t.release()
		if t.First().Optional {
			return t.needing() + result.Plural(t.cause.Objects, " fails", " fail") + " with " + name
		}
		return "fails with " + name
	},
	Task:         (*Text).packageTask,
	OtherVersion: true,
}

// undeclared is the kind of wheels that need a package which they do not declare; it is the
// subject.
var undeclared = &Kind{
	Name:  "undeclared",
	Short: func(t *Text) string { return "does not declare " + t.subject },
	Title: func(t *Text) string {
		what := "wheel"
		if !t.artifact.wheel() {
			what = "package"
		}
		return fmt.Sprintf("needs %s of %s, which the %s does not declare", t.Libraries(), t.subject,
			what)
	},
	Task: func(t *Text) Task {
		return Task{
			Actor: result.Builder, Do: "declare " + t.subject + " as a dependency",
			Affected: t.withoutPackage(),
		}
	},
	Advice: func(t *Text, _ string) string {
		return "Add " + t.subject + " to the packages of the environment."
	},
	Addition: true,
}

// withoutPackage names the environments that do not have the undeclared package. On Windows, others
// also install its libraries for the system.
func (t *Text) withoutPackage() string {
	if ofWindows(t.First()) {
		return t.without()
	}
	return "environments without " + t.subject
}

// undeclaredPackages is the kind of wheels that need several packages and do not declare them. The
// subject is the CUDA release that all of them are for; "" if some are for none.
var undeclaredPackages = &Kind{
	Name: "undeclared",
	Short: func(t *Text) string {
		return "does not declare " + cmp.Or(t.subject, one(t.undeclared(), "package"))
	},
	Parts: (*group).declaring,
	Title: func(t *Text) string {
		return fmt.Sprintf("needs %s of %s, which the wheel does not declare", t.Libraries(),
			t.some(t.providers(), 3, 40, "package"))
	},
	Task: func(t *Text) Task {
		what := "the packages of " + t.subject
		if t.subject == "" {
			what = t.some(t.undeclared(), 3, 40, "package")
		}
		return Task{Actor: result.Builder, Do: "declare " + what + " as dependencies"}
	},
}

// undeclared returns the packages that the wheel does not declare.
func (t *Text) undeclared() []string {
	var names set[string]
	for _, f := range t.all {
		if q := dependencyOf(f); q != nil {
			names.add(q.name)
		}
	}
	return names.list
}

// providers returns what the libraries of the cause belong to: packages, of which those for a
// release of CUDA are named by it, and projects of the system.
func (g *group) providers() []string {
	var names, toolkits set[string]
	for _, f := range g.all {
		q := dependencyOf(f)
		switch {
		case q == nil:
			toolkits.add(systemProvider(f.Library))
		case gpu.ReleaseOfPackage(q.name) != "":
			names.add("CUDA " + gpu.ReleaseOfPackage(q.name))
		default:
			names.add(q.name)
		}
	}
	return append(names.list, slices.DeleteFunc(toolkits.list, func(name string) bool {
		return name == withCUDA[0] // part of a release
	})...)
}

// onlyCUDA returns the CUDA release of all packages that a wheel does not declare: "CUDA 12". It is
// "" if one is for none or another.
func (g *group) onlyCUDA() string {
	var releases set[string]
	for _, f := range g.all {
		if q := dependencyOf(f); q != nil {
			releases.add(gpu.ReleaseOfPackage(q.name))
		}
	}
	if len(releases.list) != 1 || releases.list[0] == "" {
		return ""
	}
	return "CUDA " + releases.list[0]
}

// dependency is a package that a wheel can declare.
type dependency struct {
	name string // normalized
	fix.Fix
}

// dependencyOf returns the first package with which a finding says it would not occur; nil if there
// is none, or an extra of the wheel requires it.
func dependencyOf(f *result.Finding) *dependency {
	for _, x := range f.Fixes {
		if x.Kind != fix.KindDependency || x.Requirement == "" || x.Extra != "" {
			continue
		}
		if q, err := pkgmeta.ParseRequirement(x.Requirement); err == nil {
			return &dependency{q.Name, x}
		}
	}
	return nil
}

// declaring returns the fixes for packages that are not declared: one that declares those that can
// be tried, one that declares the others, and one that installs what no package is known for.
func (g *group) declaring() []result.CauseFix {
	var tried, others, rest group
	for _, f := range g.all {
		switch q := dependencyOf(f); {
		case q == nil:
			rest.all = append(rest.all, f)
		case q.Change != nil:
			tried.all = append(tried.all, f)
		default:
			others.all = append(others.all, f)
		}
	}
	var out []result.CauseFix
	for _, part := range []*group{&tried, &others} {
		if len(part.all) > 0 {
			out = append(out, part.declared())
		}
	}
	rest.artifact = g.artifact
	if x := rest.installation(); x != nil {
		out = append(out, *x)
	}
	return out
}

// declared returns the fix that declares the packages of all findings.
func (g *group) declared() result.CauseFix {
	var names set[string] // of packages
	requirements := map[string]string{}
	var changes fix.Merger
	contradicts := false
	for _, f := range g.all {
		q := dependencyOf(f)
		changes.Add(q.Change)
		if names.add(q.name) {
			requirements[q.name] = q.Requirement
			continue
		}
		if both, ok := Intersect(requirements[q.name], q.Requirement); ok && !contradicts {
			contradicts = both != q.Requirement // it was not tried as a whole
			requirements[q.name] = both
		}
	}
	list := make([]string, 0, len(names.list))
	for _, name := range names.list {
		list = append(list, requirements[name])
	}
	x := fix.Fix{
		Kind: fix.KindDependency,
		Title: fix.Titled(
			result.Plural(len(list), "Declare the dependency %s", "Declare the dependencies %s"),
			Listed(list, 8, 60, "package")),
		Cost: []string{"all users have to download " + result.Plural(len(list), "it", "them")},
	}
	if !contradicts {
		x.Change = changes.Change()
	}
	if x.Change != nil && x.Change.Apply(fix.Scenario{}).RunPath != nil {
		x.Title = x.Title.Append(", and set RUNPATHs that lead to them")
	}
	return result.CauseFix{Clears: len(g.all), Fix: x}
}

// required returns the first package of which the artifact requires another version.
func (t *Text) required() string {
	q, err := pkgmeta.ParseRequirement(asRequired(t.First())[0])
	if err != nil {
		return t.subject
	}
	return q.Name
}

// otherVersionsTitle returns a title with the required versions and the specified ones.
func (t *Text) otherVersionsTitle() string {
	var wanted set[string]
	for _, f := range t.all {
		for _, q := range asRequired(f) {
			wanted.add(q)
		}
	}
	title := "requires " + wanted.list[0]
	if q, err := pkgmeta.ParseRequirement(wanted.list[0]); err == nil {
		if versions := t.versions(q.Name); len(versions) == 1 {
			switch {
			case t.unknown():
				title += fmt.Sprintf("; not all of %s %s was read", q.Name, versions[0])
			case t.shown != 0:
				title = fmt.Sprintf("requires %s, not %s", wanted.list[0], versions[0])
			default:
				title += fmt.Sprintf(", and fails with %s %s", q.Name, versions[0])
			}
		}
	}
	if n := len(wanted.list) - 1; n > 0 {
		title += fmt.Sprintf(" (and %s of other versions)", result.Count(n, "more package"))
	}
	return title
}

func (t *Text) packageTitle() string {
	f := t.First()
	name, many := t.release()
	if built := f.BuiltWith; built != "" {
		switch {
		case f.Range != nil:
			return "works only with " + built + "; fails with " + name
		case name == t.subject:
			name = f.FailsWith
		}
		return "built against " + built + ", fails with " + name
	}
	one, several := "lacks", "lack"
	what := t.Symbols()
	if f.Symbol == "" {
		one, several = "does not contain", "do not contain"
		what = t.Libraries()
	}
	if q := t.onlyVersions(); q != "" {
		return fmt.Sprintf("needs %s; other versions %s %s", q, several, what)
	}
	for _, x := range t.all { // an installer refuses it, before a symbol matters
		if q, err := pkgmeta.ParseRequirement(x.Requirement); t.pinned() && t.states(x) && err == nil &&
			q.Name == t.subject {
			return fmt.Sprintf("requires %s, and fails with %s", q.Name+q.Spec, name)
		}
	}
	title := fmt.Sprintf("fails with %s, which %s %s", name,
		result.Plural(boolRank(many)+1, one, several), what)
	if name == t.subject { // its version is not known
		title = fmt.Sprintf("%s %s %s", name, one, what)
	}
	full := title + ", needed by " + t.needing()
	if !slices.ContainsFunc(t.all, func(f *result.Finding) bool { return !f.Optional }) {
		title = t.needing() + result.Plural(t.cause.Objects, " fails", " fail") +
			strings.TrimPrefix(title, "fails")
		full = title + "; importing works without " + result.Plural(t.cause.Objects, "it", "them")
	}
	if len(full) <= t.room {
		return full
	}
	return title
}

func (t *Text) packageTask() Task {
	if !t.given() {
		do := "limit the versions of " + t.subject + " that the wheel requires" + t.working()
		if len(t.ends()) == 0 && t.First().BuiltWith == "" {
			do = "require other versions of " + t.subject
			if x := t.cause.Fixes; len(x) > 0 && x[0].Kind == fix.KindPin && x[0].Requirement != "" {
				do = "require " + x[0].Requirement
			}
		}
		return Task{
			Actor: result.Builder,
			Do:    do,
			Works: t.works(),
			Today: t.today(),
		}
	}
	task := Task{
		Actor:   result.Installer,
		Do:      "choose another version of " + t.subject,
		Because: t.combination(t.subject),
		Only:    t.useWith(t.subject),
		Works:   t.works(),
	}
	if t.firstFix() == fix.KindEnvironment {
		task.Do = "install versions that fit each other"
	}
	return task
}

// works returns the versions of a dependency that work if others that the artifact requires do not,
// and both: "numpy 1.23.2 to 1.26.4, but it also allows 2.0.0 and later, which fail". It is "" if
// they are not known.
func (t *Text) works() string {
	first := t.First().Range
	if first == nil || t.onlyVersions() != "" {
		return ""
	}
	r := t.widest(first.Package)
	works, fails := r.Lowest+" to "+r.Before, r.First+" and later"
	if r.Fails == packages.Lowest {
		works, fails = r.First+" to "+r.Highest, r.Before+" and earlier"
	}
	return fmt.Sprintf("%s %s, but its requirement %s also allows %s, with which it fails",
		r.Package, works, r.Requirement, fails)
}

// widest returns the range of a finding with the most versions of a package that fail, at the end
// at which the first finding with a range fails: each symbol may be in other versions. It is nil if
// no finding has one.
func (t *Text) widest(pkg string) (widest *result.Range) {
	version := func(s string) pkgmeta.Version {
		v, _ := pkgmeta.ParseVersion(s) // it was parsed to find the range
		return v
	}
	for _, f := range t.all {
		switch r := f.Range; {
		case r == nil || r.Package != pkg || widest != nil && r.Fails != widest.Fails:
		case widest == nil,
			r.Fails == packages.Highest && version(r.First).Compare(version(widest.First)) < 0,
			r.Fails == packages.Lowest && version(r.Before).Compare(version(widest.Before)) > 0:
			widest = r
		}
	}
	return widest
}

// today says which version of a dependency a fresh install takes if the artifact fails with the
// newest one that it allows: "pip install tool==1.0 takes numpy 2.4.6, with which it fails". It is
// "" if it works with the newest one.
func (t *Text) today() string {
	for _, f := range t.all {
		if r := f.Range; r != nil && r.Fails == packages.Highest && t.artifact.wheel() {
			install := "pip install " + t.artifact.own + "==" + t.artifact.Wheel.Version
			newest := r.Highest
			if !t.options.Index {
				newest += " or newer"
			}
			return fmt.Sprintf("%s takes %s %s, with which it fails", install, r.Package, newest)
		}
	}
	return ""
}

// ends returns at which ends of a range findings occur.
func (g *group) ends() map[packages.End]bool {
	ends := map[packages.End]bool{}
	for _, f := range g.all {
		if f.Range != nil {
			ends[f.Range.Fails] = true
		}
	}
	return ends
}

// onlyVersions returns the requirement with a lower and an upper bound that removes the
// findings at both ends of a range, or "" if they occur at one end only.
func (t *Text) onlyVersions() string {
	if len(t.ends()) < 2 || len(t.cause.Fixes) == 0 || !t.cause.Fixes[0].Verified {
		return ""
	}
	return t.cause.Fixes[0].Requirement
}

// working says which versions of a package work, if findings occur at one end of a range only.
func (t *Text) working() string {
	ends := t.ends()
	switch built := t.First().BuiltWith; {
	case built != "":
		return "; the wheel works with " + built
	case len(ends) != 1:
		return ""
	case ends[packages.Highest]:
		return "; the wheel works with older ones"
	}
	return "; the wheel works with newer ones"
}

// release returns the package with the version that was checked, or with the versions that
// fail. many is set if there are several.
func (t *Text) release() (name string, many bool) {
	if r := t.widest(t.subject); r != nil {
		if r.Fails == packages.Highest {
			return r.Package + " " + r.First + " and later", true
		}
		return r.Package + " " + r.Before + " and earlier", true
	}
	switch versions := t.versions(t.subject); len(versions) {
	case 1:
		return t.subject + " " + versions[0], false
	case 2: // both ends of the range
		switch t.onlyAt() {
		case packages.Lowest:
			return t.subject + " " + versions[0], false
		case packages.Highest:
			return t.subject + " " + versions[1], false
		}
		return t.subject + " " + versions[0] + " and " + versions[1], true
	}
	return t.subject, false
}

// onlyAt returns the end of the declared ranges at which all findings occur; "" if both.
func (t *Text) onlyAt() packages.End {
	end := t.First().OnlyAt
	for _, f := range t.all {
		if f.OnlyAt != end {
			return ""
		}
	}
	return end
}

// versions returns the versions of a package with which the artifacts were checked.
func (t *Text) versions(pkg string) []string {
	var versions set[string]
	for _, target := range t.report.Targets {
		for _, with := range target.With {
			if name, version, ok := strings.Cut(with, "=="); ok && name == pkg {
				versions.add(version)
			}
		}
	}
	for _, a := range t.report.Artifacts { // it was given too
		if w := a.Wheel; w != nil && pkgmeta.Normalize(w.Name) == pkg && a.Path != t.artifact.Path {
			versions.add(w.Version)
		}
	}
	return versions.list
}

// combination says with which package the artifact does not work, for Task.Because. pkg may be "".
func (t *Text) combination(pkg string) string {
	return "it fails in combination with " + cmp.Or(t.wrongVersion(pkg), "these packages")
}

// useWith says with which package the artifact does not work, for Task.Only. pkg may be "".
func (t *Text) useWith(pkg string) string {
	return "use with " + cmp.Or(t.wrongVersion(pkg), "these packages")
}

// wrongVersion returns a package with which the artifact does not work, and its version: "torch
// 2.6.0". It is "" if there are several.
func (t *Text) wrongVersion(pkg string) string {
	if versions := t.versions(pkg); len(versions) == 1 {
		return pkg + " " + versions[0]
	}
	return ""
}

// given reports whether the user specified the package's version, so that the artifact's
// requirement is not the cause.
func (t *Text) given() bool {
	for _, f := range t.all {
		if f.Range != nil {
			return false
		}
	}
	if !t.artifact.wheel() {
		return true
	}
	for _, q := range t.artifact.Wheel.Requires {
		name := strings.FieldsFunc(q, func(c rune) bool { return strings.ContainsRune(" <>=!~;[(,", c) })
		if len(name) > 0 && strings.EqualFold(strings.NewReplacer("_", "-", ".", "-").Replace(name[0]),
			t.subject) {
			return strings.Contains(q, "==") || t.refusedByPip()
		}
	}
	return true
}
