package cause

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// Pin is a package of an environment: a line of a lock or requirements file, or an installed one.
type Pin struct {
	Version string
	Was     string // the version in the base; "" if it is the same, or the base does not have it
	File    string // as displayed; "" if it is not known
	Line    int    // from 1; 0 if unknown
	// Installed is set if File is the metadata of an installed package.
	Installed bool
	// Implied is set for a package that no file names: another one needs it, and File leads to that.
	Implied bool
	// Declared are the requirements of the project on the package, if File is made from them.
	Declared []lockfile.Declared
}

// String returns FILE:LINE, or only FILE if the line is not known. It is "" for an installed
// package and for one that is implied, which no file pins.
func (p Pin) String() string {
	switch {
	case p.Installed, p.Implied:
		return ""
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// pinned reports whether the report is about the packages of an environment. Who reads it chooses
// their versions, and can change neither a wheel nor its metadata.
func (t *Text) pinned() bool { return t.options.Pins != nil }

// blamed returns the package whose version has to change, and its pin: that of the first fix that
// does not keep it, the one that the cause is about, or else the one that fails. name is "" if none
// of them is pinned.
func (t *Text) blamed() (name string, p Pin) {
	var names []string
	for _, x := range t.cause.Fixes {
		if keeps(x) {
			continue
		}
		for _, r := range x.Requirements() {
			if q, err := pkgmeta.ParseRequirement(r); err == nil {
				names = append(names, q.Name)
			}
		}
	}
	names = append(names, t.subject, t.all[0].Package, t.artifact.own)
	for _, name := range names {
		if p, ok := t.options.Pins[pkgmeta.Normalize(name)]; name != "" && ok {
			return pkgmeta.Normalize(name), p
		}
	}
	return "", Pin{}
}

// keeps reports whether a fix changes the packages that fail, and not the one that they fail with.
func keeps(x result.CauseFix) bool {
	_, ok := x.Change.(fix.Releases)
	return ok
}

// mergePins merges the groups of an environment that one change of its pins removes, and those
// about one package without a known change: one pin may break many packages.
func mergePins(groups []*group) []*group {
	byAnswer := map[string]*group{}
	return slices.DeleteFunc(groups, func(g *group) bool {
		name, answer := g.answer()
		if name == "" {
			return false
		}
		into := byAnswer[answer]
		if into == nil {
			byAnswer[answer] = g
			return false
		}
		if into.kind != g.kind {
			into.origin = origin{WrongPackage, name, ""}
		}
		into.findings = append(into.findings, g.findings...)
		into.all = append(into.all, g.all...)
		return true
	})
}

// foldUnmet adds requirements that the pins do not satisfy to the error that the same change of the
// pins removes: a package that fails because another version than it requires is pinned.
func foldUnmet(groups []*group) []*group {
	change := map[*group]fix.Fix{}
	for _, g := range groups {
		if g.severity() != result.Error || !g.kind.OtherVersion {
			continue
		}
		if list, _ := fixes(g); len(list) > 0 && list[0].Clears == len(g.all) {
			change[g] = list[0].Fix
		}
	}
	return slices.DeleteFunc(groups, func(u *group) bool {
		if !u.kind.States {
			return false
		}
		for _, g := range groups {
			x, ok := change[g]
			if !ok || slices.ContainsFunc(u.all, func(f *result.Finding) bool { return !satisfies(x, f) }) {
				continue
			}
			g.findings = append(g.findings, u.findings...)
			g.all = append(g.all, u.all...)
			return true
		}
		return false
	})
}

// satisfies reports whether a fix chooses a version that the requirement of a finding allows.
func satisfies(x fix.Fix, f *result.Finding) bool {
	if c, ok := x.Change.(fix.Releases); ok { // with requirements that the pins satisfy
		return slices.ContainsFunc(c, func(r string) bool {
			return strings.HasPrefix(r, f.RequiredBy+"==")
		})
	}
	required, err := pkgmeta.ParseRequirement(f.Requirement)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(x.Requirements(), func(r string) bool {
		q, err := pkgmeta.ParseRequirement(r)
		pin, ok := q.Pin()
		return err == nil && ok && q.Name == required.Name && required.Admits(pin)
	})
}

// unmet reports whether a finding is about requirements that the pins do not satisfy.
func (g *group) unmet(f *result.Finding) bool {
	kind := g.rules[f.Rule].Kind
	return kind != nil && kind.States
}

// states reports whether a finding is one about requirements in a group about a failure: of these,
// what removes them is known.
func (g *group) states(f *result.Finding) bool { return g.unmet(f) && !g.kind.States }

// answer returns the package whose version has to change or that has to be added, and the change of
// the pins that removes the group. name is "" if the group is about something else.
func (g *group) answer() (name, change string) {
	if !g.kind.OtherVersion && !g.kind.Addition && !g.kind.States {
		return "", ""
	}
	if list, _ := fixes(g); len(list) > 0 && list[0].Clears == len(g.all) {
		if all := list[0].Requirements(); len(all) > 0 {
			if q, err := pkgmeta.ParseRequirement(all[0]); err == nil {
				return q.Name, strings.Join(all, " ")
			}
		}
	}
	if g.kind == WrongPackage {
		return g.subject, g.subject
	}
	return "", ""
}

// Failing returns the packages of the cause, as NAME VERSION: those that fail or, if none does,
// those whose requirements are not satisfied.
func (t *Text) Failing() (names []string) {
	var fail, unmet set[string]
	for _, f := range t.all {
		if t.unmet(f) {
			unmet.add(f.Artifact)
		} else {
			fail.add(f.Artifact)
		}
	}
	if fail.list == nil {
		fail = unmet
	}
	for _, path := range fail.list {
		names = append(names, t.report.PackageOf(path))
	}
	return names
}

// withPackages returns the title after the packages that fail, unless it has the first of them.
func (t *Text) withPackages() string {
	if t.kind.NamesPackages {
		return t.title()
	}
	names := t.Failing()
	before := t.packages(names, 2) + ": "
	after := *t
	after.room -= len(before)
	title := after.title()
	name, version, _ := strings.Cut(names[0], " ")
	if strings.Contains(title, names[0]) || strings.Contains(title, name+"=="+version) ||
		strings.HasPrefix(title, name+" ") && strings.Contains(title, version) {
		return title
	}
	return before + title
}

// packages returns the first packages of a list and the number of others.
func (t *Text) packages(names []string, usual int) string {
	if t.shown != 0 {
		usual = 1
	}
	return Listed(names, usual, maxPackage, "package")
}

// manyTitle returns the title for several packages that fail with the version of another one, or
// "".
func (t *Text) manyTitle() string {
	names := t.Failing()
	if len(names) == 1 || !t.kind.OtherVersion {
		return ""
	}
	title := t.packages(names, 3)
	if built := t.First().BuiltWith; built != "" {
		title += ", built against " + built + ","
	}
	if name, many := t.release(); t.kind == WrongPackage && many && !t.pins(t.subject) {
		return title + " fail with " + name
	}
	name, p := t.blamed()
	return title + " fail with " + strings.TrimSpace(cmp.Or(name, t.subject)+" "+p.Version)
}

// pins reports whether a package is one of the environment.
func (t *Text) pins(name string) bool {
	p, ok := t.options.Pins[pkgmeta.Normalize(name)]
	return ok && !p.Implied
}

const maxPackage = 40 // characters of a package in a title

// advice returns what the reader of a report about an environment can do about the cause.
func (t *Text) advice() string {
	name, p := t.blamed()
	where := name
	if p.String() != "" {
		where = name + " (" + p.String() + ")"
	}
	if p.Was != "" && t.cause.New {
		return fmt.Sprintf("%s was changed from %s to %s. ", name, p.Was, p.Version) + t.todo(name, where)
	}
	return t.todo(name, where)
}

// todo is what the reader can do. where is the package with the place of its pin.
func (t *Text) todo(name, where string) string {
	fixed := slices.ContainsFunc(t.cause.Fixes, func(x result.CauseFix) bool {
		return x.Requirements() != nil
	})
	if t.kind.Advice != nil {
		if advice := t.kind.Advice(t, where); advice != "" {
			return advice
		}
	}
	switch {
	case t.firstFix() == fix.KindDependency, t.adds():
		return t.cause.Fixes[0].Title.String() + "."
	case name == "":
		return "Choose another version of " + t.What() + " or another platform."
	case len(t.cause.Fixes) > 0 && keeps(t.cause.Fixes[0]):
		var others []string
		for _, r := range t.cause.Fixes[0].Requirements() {
			if q, err := pkgmeta.ParseRequirement(r); err == nil {
				others = append(others, q.Name)
			}
		}
		do := "Choose " + result.Plural(len(others), "a newer version", "newer versions") + " of " +
			Listed(others, len(others), maxPackage, "package")
		if !slices.ContainsFunc(t.cause.Fixes, func(x result.CauseFix) bool { return !keeps(x) }) {
			return do + "."
		}
		return do + ", or another version of " + where + "."
	case fixed || t.kind.OtherVersion || t.kind.States:
		return "Choose another version of " + where + "."
	}
	return "Choose another version of " + where + " or another platform. If the newest release has " +
		"it too, report it to the authors of " + t.What() + "."
}

// adds reports whether the first fix only adds packages to the environment.
func (t *Text) adds() bool {
	if len(t.cause.Fixes) == 0 || t.cause.Fixes[0].Requirements() == nil {
		return false
	}
	return !slices.ContainsFunc(t.cause.Fixes[0].Requirements(), func(r string) bool {
		q, err := pkgmeta.ParseRequirement(r)
		return err != nil || t.pins(q.Name)
	})
}

// choices returns the fixes that an environment allows, in its words: other versions, and packages
// of the system. Changes of a wheel are for its authors.
func (t *Text) choices() []result.CauseFix {
	out := []result.CauseFix{}
	for _, x := range t.cause.Fixes {
		requirements := x.Requirements()
		_, first := t.blamed()
		switch {
		case x.Extra != "":
			names := strings.Split(x.Extra, ",")
			requirements = []string{t.withExtra(names)}
			x.Title, x.Command = t.addExtras(names), t.options.changing(requirements, first)
		case x.Kind == fix.KindDependency && x.Requirement != "":
			to := "the packages of the environment"
			if first.String() != "" && !strings.Contains(path.Base(first.File), "lock") {
				to = first.File // people edit it
			}
			x.Title = fix.Titled("Add %s to %s", fix.Requirement(x.Requirement), to)
			x.Command = t.options.changing(requirements, first)
		case x.Kind != fix.KindPin && x.Kind != fix.KindEnvironment:
			continue
		case requirements != nil:
			x.Title, x.Command = t.options.change(requirements), t.options.changing(requirements, first)
		}
		out = append(out, x)
	}
	if len(out) > 1 && alike(out[0], out[1]) && t.lowers(out[0]) && !t.lowers(out[1]) {
		out[0], out[1] = out[1], out[0]
	}
	if _, p := t.blamed(); p.Was != "" && t.cause.New { // a change that was made is to be kept
		slices.SortStableFunc(out, func(a, b result.CauseFix) int {
			return boolRank(keeps(b)) - boolRank(keeps(a))
		})
	}
	return out
}

// alike reports whether two fixes change as many packages, remove as much and were tried with the
// same result.
func alike(a, b result.CauseFix) bool {
	return len(a.Requirements()) == len(b.Requirements()) && a.Clears == b.Clears &&
		a.Verified == b.Verified && a.Conflicts() == b.Conflicts()
}

// lowers reports whether a fix chooses an older version of a package than the environment has. One
// that raises a version instead keeps what the other packages were tested with.
func (t *Text) lowers(x result.CauseFix) bool {
	return slices.ContainsFunc(x.Requirements(), func(r string) bool {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil {
			return false
		}
		to, errTo := pkgmeta.ParseSpec(q.Spec)
		from, errFrom := pkgmeta.ParseVersion(t.options.Pins[q.Name].Version)
		return errTo == nil && errFrom == nil && to.Below(from)
	})
}

// Choice returns a fix that chooses versions of pinned packages as the causes of an environment
// have it; another one is unchanged.
func (o Options) Choice(x fix.Fix) fix.Fix {
	if requirements := x.Requirements(); o.Pins != nil && requirements != nil {
		var first Pin
		for _, r := range requirements {
			if q, err := pkgmeta.ParseRequirement(r); err == nil && first.Version == "" {
				first = o.Pins[q.Name]
			}
		}
		x.Title, x.Command = o.change(requirements), o.changing(requirements, first)
	}
	return x
}

// change is the title of a fix that changes the versions of packages.
func (o Options) change(requirements []string) fix.Title {
	var parts []string
	for _, r := range requirements {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil {
			continue
		}
		p, ok := o.Pins[q.Name]
		to, exact := strings.CutPrefix(q.Spec, "==")
		if !exact {
			to = "a version " + q.Spec
		}
		switch {
		case !ok, p.Implied:
			parts = append(parts, "add "+q.Name+q.Spec)
		case p.String() == "":
			parts = append(parts, fmt.Sprintf("change %s from %s to %s", q.Name, p.Version, to))
		default:
			parts = append(parts, fmt.Sprintf("change %s from %s to %s in %s", q.Name, p.Version, to,
				p.place(r)))
		}
	}
	return fix.Text(capital(strings.Join(parts, "; ")))
}

// place returns FILE:LINE of what has to change for another version: the requirements of the
// project that do not admit it, or else the pin.
func (p Pin) place(requirement string) string {
	var lines []string
	change := lockfile.Change{Requirement: requirement, Declared: p.Declared}
	for _, d := range change.Edited(p.File) {
		lines = append(lines, Pin{File: d.File, Line: d.Line}.String())
	}
	if lines == nil {
		return p.String()
	}
	return strings.Join(lines, " and ")
}

// changing returns the command that changes or adds packages: that of the tool of the lock file, or
// pip for installed packages. Packages that are added are in the file of first. It is "" if lines
// of a file have to be edited.
func (o Options) changing(requirements []string, first Pin) shellword.Line {
	file := "" // for installed packages
	var changes []lockfile.Change
	for i, r := range requirements {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil {
			return ""
		}
		p, ok := o.Pins[q.Name]
		changes = append(changes, lockfile.Change{
			Requirement: r, Declared: p.Declared, New: !ok || p.Implied,
		})
		if !ok {
			p = first
		}
		in := p.File
		if p.Installed {
			in = ""
		}
		if i > 0 && in != file {
			return ""
		}
		file = in
	}
	if file == "" {
		return "pip install " + shellword.Quoted(requirements)
	}
	return lockfile.Update(file, changes...)
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
