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

// Rules of environments that are not those of a check; see package analyzer. The findings of
// unmetRule are about packages that may work.
const (
	unmetRule    = "requirement-not-met"
	conflictRule = "file-conflict"
)

// Pin is a package of an environment: a line of a lock or requirements file, or an installed one.
type Pin struct {
	Version string
	Was     string // the version in the base; "" if it is the same, or the base does not have it
	File    string // as displayed; "" if it is not known
	Line    int    // from 1; 0 if unknown
	// Installed is set if File is the metadata of an installed package.
	Installed bool
	// Declared are the requirements of the project on the package, if File is made from them.
	Declared []lockfile.Declared
}

// String returns FILE:LINE, or only FILE if the line is not known. It is "" for an installed
// package, which no file pins.
func (p Pin) String() string {
	switch {
	case p.Installed:
		return ""
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// pinned reports whether the report is about the packages of an environment. Who reads it chooses
// their versions, and can change neither a wheel nor its metadata.
func (t text) pinned() bool { return t.options.Pins != nil }

// blamed returns the package whose version has to change, and its pin: that of the first fix that
// does not keep it, the one that the cause is about, or else the one that fails. name is "" if none
// of them is pinned.
func (t text) blamed() (name string, p Pin) {
	var names []string
	for _, x := range t.cause.Fixes {
		if keeps(x) {
			continue
		}
		for _, r := range requirementsOf(x.Fix) {
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

// requirementsOf returns the requirements that a fix changes, in its order.
func requirementsOf(x fix.Fix) (out []string) {
	switch c := x.Change.(type) {
	case fix.Pin:
		return []string{c.Requirement}
	case fix.AsRequired:
		return c.Pins
	case fix.Releases:
		return c
	case fix.All:
		for _, one := range c {
			if pin, ok := one.(fix.Pin); ok {
				out = append(out, pin.Requirement)
			}
		}
	}
	if len(out) == 0 && x.Requirement != "" {
		out = []string{x.Requirement}
	}
	return out
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
			into.origin = origin{wrongPackage, name, ""}
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
		if g.severity() != result.Error || g.kind != wrongPackage && g.kind != otherVersions {
			continue
		}
		if list, _ := fixes(g); len(list) > 0 && list[0].Clears == len(g.all) {
			change[g] = list[0].Fix
		}
	}
	return slices.DeleteFunc(groups, func(u *group) bool {
		if u.all[0].Rule != unmetRule {
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
			return strings.HasPrefix(r, f.Object+"==")
		})
	}
	required, err := pkgmeta.ParseRequirement(f.Version)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(requirementsOf(x), func(r string) bool {
		q, err := pkgmeta.ParseRequirement(r)
		pin, ok := q.Pin()
		return err == nil && ok && q.Name == required.Name && required.Admits(pin)
	})
}

// states reports whether a finding is one about requirements in a group about a failure: of these,
// what removes them is known.
func (g *group) states(f *result.Finding) bool { return f.Rule == unmetRule && g.kind != byRule }

// answer returns the package whose version has to change or that has to be added, and the change of
// the pins that removes the group. name is "" if the group is about something else.
func (g *group) answer() (name, change string) {
	switch {
	case g.kind == wrongPackage, g.kind == undeclared, g.kind == otherVersions:
	case g.all[0].Rule != unmetRule:
		return "", ""
	}
	if list, _ := fixes(g); len(list) > 0 && list[0].Clears == len(g.all) {
		if all := requirementsOf(list[0].Fix); len(all) > 0 {
			if q, err := pkgmeta.ParseRequirement(all[0]); err == nil {
				return q.Name, strings.Join(all, " ")
			}
		}
	}
	if g.kind == wrongPackage {
		return g.subject, g.subject
	}
	return "", ""
}

// failing returns the packages of the cause, as NAME VERSION: those that fail or, if none does,
// those whose requirements are not satisfied.
func (t text) failing() (names []string) {
	var fail, unmet set[string]
	for _, f := range t.all {
		if f.Rule == unmetRule {
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
func (t text) withPackages() string {
	if rule := t.all[0].Rule; rule == unmetRule || rule == conflictRule {
		return t.title() // the message has them
	}
	names := t.failing()
	before := t.packages(names, 2) + ": "
	t.room -= len(before)
	title := t.title()
	name, version, _ := strings.Cut(names[0], " ")
	if strings.Contains(title, names[0]) || strings.Contains(title, name+"=="+version) ||
		strings.HasPrefix(title, name+" ") && strings.Contains(title, version) {
		return title
	}
	return before + title
}

// packages returns the first packages of a list and the number of others.
func (t text) packages(names []string, usual int) string {
	if t.shown != 0 {
		usual = 1
	}
	return listed(names, usual, maxPackage, "package")
}

// manyTitle returns the title for several packages that fail with the version of another one, or
// "".
func (t text) manyTitle() string {
	names := t.failing()
	if len(names) == 1 || t.kind != wrongPackage && t.kind != otherVersions {
		return ""
	}
	title := t.packages(names, 3)
	if t.all[0].Rule == "numpy-abi-mismatch" {
		title += ", built against NumPy 1,"
	}
	name, p := t.blamed()
	return title + " fail with " + strings.TrimSpace(cmp.Or(name, t.subject)+" "+p.Version)
}

const maxPackage = 40 // characters of a package in a title

// advice returns what the reader of a report about an environment can do about the cause.
func (t text) advice() string {
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
func (t text) todo(name, where string) string {
	fixed := slices.ContainsFunc(t.cause.Fixes, func(x result.CauseFix) bool {
		return requirementsOf(x.Fix) != nil
	})
	switch {
	case t.kind == system, t.kind == systemLibraries:
		return capital(t.task().do) + "."
	case t.all[0].Rule == "broken-installation", t.all[0].Rule == conflictRule:
		return t.cause.Fixes[0].Title + "." + t.others()
	case t.kind == undeclared:
		return "Add " + t.subject + " to the packages of the environment."
	case t.kind == ofExtras:
		return "Install " + where + " with the extras that require what it needs."
	case len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Kind == fix.KindDependency:
		return t.cause.Fixes[0].Title + "."
	case t.all[0].Rule == "no-wheel" && len(t.all) > 1:
		return "Choose versions with a wheel, or another Python or platform."
	case t.all[0].Rule == "no-wheel":
		return "Choose a version of " + where + " with a wheel, or another Python or platform."
	case t.all[0].Rule == "hash-mismatch":
		return "Renew the hashes of " + where + ", if you know why they differ."
	case t.all[0].Rule == "cuda-major-mixed", t.all[0].Rule == "gpu-stack-mismatch":
		return capital(tasks[t.all[0].Rule].do) + "."
	case name == "":
		return "Choose another version of " + t.what() + " or another platform."
	case len(t.cause.Fixes) > 0 && keeps(t.cause.Fixes[0]):
		var others []string
		for _, r := range requirementsOf(t.cause.Fixes[0].Fix) {
			if q, err := pkgmeta.ParseRequirement(r); err == nil {
				others = append(others, q.Name)
			}
		}
		do := "Choose newer versions of " + listed(others, len(others), maxPackage, "package")
		if !slices.ContainsFunc(t.cause.Fixes, func(x result.CauseFix) bool { return !keeps(x) }) {
			return do + "."
		}
		return do + ", or another version of " + where + "."
	case fixed || t.kind == wrongPackage || t.kind == otherVersions ||
		t.all[0].Rule == unmetRule:
		return "Choose another version of " + where + "."
	}
	return "Choose another version of " + where + " or another platform. If the newest release has " +
		"it too, report it to the authors of " + t.what() + "."
}

// others returns a sentence if packages of which one is to be removed have other causes too.
func (t text) others() string {
	var of set[string]
	for _, f := range t.all {
		of.add(f.Artifact)
	}
	if t.all[0].Rule == conflictRule && slices.ContainsFunc(t.report.Findings,
		func(f result.Finding) bool {
			return f.Rule != conflictRule && f.Severity.Rank() >= result.Warning.Rank() &&
				of.has[f.Artifact]
		}) {
		return " Do this first: the other causes of what you remove are then gone."
	}
	return ""
}

// choices returns the fixes that an environment allows, in its words: other versions, and packages
// of the system. Changes of a wheel are for its authors.
func (t text) choices() []result.CauseFix {
	out := []result.CauseFix{}
	for _, x := range t.cause.Fixes {
		requirements := requirementsOf(x.Fix)
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
			x.Title = "Add " + x.Requirement + " to " + to
			x.Command = t.options.changing(requirements, first)
		case x.Kind != fix.KindPin && x.Kind != fix.KindEnvironment:
			continue
		case requirements != nil:
			x.Title, x.Command = t.options.change(requirements), t.options.changing(requirements, first)
		}
		out = append(out, x)
	}
	if _, p := t.blamed(); p.Was != "" && t.cause.New { // a change that was made is to be kept
		slices.SortStableFunc(out, func(a, b result.CauseFix) int {
			return boolRank(keeps(b)) - boolRank(keeps(a))
		})
	}
	return out
}

// Choice returns a fix that chooses versions of pinned packages as the causes of an environment
// have it; another one is unchanged.
func (o Options) Choice(x fix.Fix) fix.Fix {
	if requirements := requirementsOf(x); o.Pins != nil && requirements != nil {
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
func (o Options) change(requirements []string) string {
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
		case !ok:
			parts = append(parts, "add "+q.Name+q.Spec)
		case p.String() == "":
			parts = append(parts, fmt.Sprintf("change %s from %s to %s", q.Name, p.Version, to))
		default:
			parts = append(parts, fmt.Sprintf("change %s from %s to %s in %s", q.Name, p.Version, to,
				p.place(r)))
		}
	}
	return capital(strings.Join(parts, "; "))
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
		changes = append(changes, lockfile.Change{Requirement: r, Declared: p.Declared, New: !ok})
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

// unmet returns the title for the requirements that the version of one package does not satisfy.
func (t text) unmet() string {
	title, _, _ := strings.Cut(t.all[0].Message, ". ")
	if n := len(t.all) - 1; n > 0 {
		title += " (and " + result.Count(n, "more requirement") + ")"
	}
	return title
}

// withoutWheels returns the title for several packages without a wheel for one reason.
func (t text) withoutWheels() string {
	var ids set[string]
	for _, f := range t.all {
		ids.add(f.Artifact)
	}
	return fmt.Sprintf("%d packages have no wheel for %s: %s", len(ids.list),
		cmp.Or(t.all[0].NoWheelFor, "the environment"), listed(ids.list, 3, 40, "package"))
}

// broken returns the title for installed packages with the wrong files.
func (t text) broken() string {
	title := t.all[0].Message
	names := t.failing()
	if _, rest, ok := strings.Cut(title, " is installed for "); ok && len(names) > 1 {
		return fmt.Sprintf("%s are installed for %s", listed(names, 3, maxPackage, "package"), rest)
	}
	return title
}

// installedOn reports whether packages are installed on a system that lacks what they load.
func (t text) installedOn() bool { return t.pinned() && t.cause.Severity == result.Error }
