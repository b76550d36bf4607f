package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
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
		return Task{Actor: result.Builder, Do: "declare " + t.subject + " as a dependency"}
	},
	Advice: func(t *Text, _ string) string {
		return "Add " + t.subject + " to the packages of the environment."
	},
	Addition: true,
}

// undeclaredCUDA is the kind of wheels that need several packages of one CUDA release, which is the
// subject, and do not declare them.
var undeclaredCUDA = &Kind{
	Name:  "undeclared",
	Short: func(t *Text) string { return "does not declare " + t.subject },
	Whole: (*group).declaring,
	Title: func(t *Text) string {
		return fmt.Sprintf("needs %s of %s, which the wheel does not declare", t.Libraries(), t.subject)
	},
	Task: func(t *Text) Task {
		return Task{
			Actor: result.Builder,
			Do:    "declare the packages of " + t.subject + " as dependencies",
		}
	},
}

// declaring returns the fix that declares all packages that the findings name.
func (g *group) declaring() *result.CauseFix {
	var names set[string]
	var changes fix.Merger
	clears := 0
	for _, f := range g.all {
		i := slices.IndexFunc(f.Fixes, func(x fix.Fix) bool {
			return x.Kind == fix.KindDependency && x.Requirement != ""
		})
		if i < 0 {
			continue
		}
		clears++
		if names.add(f.Fixes[i].Requirement) {
			changes.Add(f.Fixes[i].Change)
		}
	}
	if clears == 0 {
		return nil
	}
	title := fix.Titled("Declare the dependencies %s", Listed(names.list, 8, 60, "package"))
	change := changes.Change()
	if change != nil && change.Apply(fix.Scenario{}).RunPath != nil {
		title = title.Append(", and set RUNPATHs that lead to them")
	}
	return &result.CauseFix{Clears: clears, Fix: fix.Fix{
		Kind:   fix.KindDependency,
		Title:  title,
		Change: change,
		Cost:   []string{"all users have to download them"},
	}}
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
			title += fmt.Sprintf(", and fails with %s %s", q.Name, versions[0])
			if t.shown != 0 {
				title = fmt.Sprintf("requires %s, not %s", wanted.list[0], versions[0])
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
	title := fmt.Sprintf("fails with %s, which %s %s", name, plural(boolRank(many)+1, one, several),
		what)
	if name == t.subject { // its version is not known
		title = fmt.Sprintf("%s %s %s", name, one, what)
	}
	if full := title + ", needed by " + t.needing(); len(full) <= t.room {
		return full
	}
	return title
}

func (t *Text) packageTask() Task {
	if !t.given() {
		do := "limit the versions of " + t.subject + " that it requires" + t.working()
		if len(t.ends()) == 0 && t.First().BuiltWith == "" {
			do = "require other versions of " + t.subject
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
	r := t.First().Range
	if r == nil || t.onlyVersions() != "" {
		return ""
	}
	works, fails := r.Lowest+" to "+r.Before, r.First+" and later"
	if r.Fails == packages.Lowest {
		works, fails = r.First+" to "+r.Highest, r.Before+" and earlier"
	}
	return fmt.Sprintf("%s %s, but its requirement %s also allows %s, with which it fails",
		r.Package, works, r.Requirement, fails)
}

// today says which version of a dependency a fresh install takes if the artifact fails with the
// newest one that it allows: "pip install tool==1.0 takes numpy 2.4.6 or later, with which it
// fails". It is "" if it works with the newest one.
func (t *Text) today() string {
	for _, f := range t.all {
		if r := f.Range; r != nil && r.Fails == packages.Highest && t.artifact.wheel() {
			install := "pip install " + t.artifact.own + "==" + t.artifact.Wheel.Version
			return fmt.Sprintf("%s takes %s %s or later today, with which it fails", install, r.Package,
				r.Highest)
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
		return "; it works with " + built
	case len(ends) != 1:
		return ""
	case ends[packages.Highest]:
		return "; it works with older ones"
	}
	return "; it works with newer ones"
}

// release returns the package with the version that was checked, or with the versions that
// fail. many is set if there are several.
func (t *Text) release() (name string, many bool) {
	for _, f := range t.all {
		if r := f.Range; r != nil && r.Package == t.subject {
			if r.Fails == packages.Highest {
				return r.Package + " " + r.First + " and later", true
			}
			return r.Package + " " + r.Before + " and earlier", true
		}
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
	if wrong := t.wrongVersion(pkg); wrong != "" {
		return "it fails in combination with " + wrong
	}
	return "it fails in combination with these packages"
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
