package analyzer

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// conflict is a set of packages of which each installs a file that another one of them installs
// too, with other content.
type conflict struct {
	members []*facts.Artifact
	files   []string
}

// addConflicts adds a finding for each package that installs the same objects as others.
func (e *Environment) addConflicts(
	ctx context.Context,
	artifacts []*facts.Artifact,
	out *checked,
) {
	for _, c := range e.conflicts(artifacts) {
		var ids []packages.ID
		var paths []string
		for _, a := range c.members {
			ids, paths = append(ids, idOf(a)), append(paths, a.Path)
		}
		e.addConflict(artifacts, ids, paths, c.files, e.effect(c), out)
	}
	for _, c := range e.unreadConflicts(ctx, artifacts) {
		paths := []string{c.ids[0].String(), c.ids[1].String()}
		for _, a := range artifacts {
			if a.Wheel != nil && idOf(a) == c.ids[0] {
				paths[0] = a.Path
			}
		}
		e.addConflict(artifacts, c.ids[:], paths, c.files, overwritten, out)
	}
}

func idOf(a *facts.Artifact) packages.ID {
	return packages.ID{Name: pkgmeta.Normalize(a.Wheel.Name), Version: a.Wheel.Version}
}

// addConflict adds a finding for each package that installs some files: paths are those of its
// artifact, or NAME==VERSION.
func (e *Environment) addConflict(
	artifacts []*facts.Artifact,
	ids []packages.ID,
	paths, files []string,
	effect string,
	out *checked,
) {
	keep, because := e.required(artifacts, ids)
	x := fix.Fix{Kind: fix.KindEnvironment, Cost: []string{}}
	x.Title, x.Command = e.keeping(ids, keep, out)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.Name + " " + id.Version
	}
	what, example := "both install ", ""
	switch {
	case len(files) > 1:
		what, example = fmt.Sprintf("install %d of the same files", len(files)), ", such as "
	case len(ids) > 2:
		what = "install "
	}
	what = And(names) + " " + what
	headline, shorter := what+example+files[0], []string{what + example + path.Base(files[0])}
	if example != "" {
		shorter = append(shorter, what)
	}
	message := headline + ". " + effect
	for _, text := range because {
		message += ". " + text
	}
	for _, artifact := range paths {
		f := Finding{
			Rule: RuleConflict, Severity: Warning, New: true, Artifact: artifact, Object: files[0],
			Package: ids[0].Name, Headline: headline, Shorter: shorter, Message: message,
			Fixes: []fix.Fix{x},
		}
		out.report.Findings = append(out.report.Findings, onFirst(out.report, f))
	}
}

// unreadConflict is a pair of packages that install the same libraries; the second was not read.
type unreadConflict struct {
	ids   [2]packages.ID
	files []string
}

// unreadConflicts returns the conflicts of pinned packages whose wheels were not read, but whose
// libraries the built-in history knows.
func (e *Environment) unreadConflicts(
	ctx context.Context,
	artifacts []*facts.Artifact,
) (out []*unreadConflict) {
	if e.Prefix != nil {
		return nil
	}
	first := map[string]packages.ID{}
	read := map[packages.ID]bool{}
	for _, a := range artifacts {
		if a.Wheel != nil {
			read[idOf(a)] = true
			for _, o := range a.Objects {
				first[installedPath(o)] = idOf(a)
			}
		}
	}
	pairs := map[[2]packages.ID]*unreadConflict{}
	for _, pin := range e.With {
		q, err := pkgmeta.ParseRequirement(pin)
		v, ok := q.Pin()
		id := packages.ID{Name: q.Name, Version: v.String()}
		if err != nil || !ok || read[id] {
			continue
		}
		r, err := packages.History().Release(ctx, id.Name, id.Version, e.On)
		if err != nil {
			continue
		}
		for _, l := range r.Libraries {
			other, again := first[l.Path]
			if !again {
				first[l.Path] = id
			}
			if !again || other == id {
				continue
			}
			key := [2]packages.ID{other, id}
			if pairs[key] == nil {
				pairs[key] = &unreadConflict{ids: key}
				out = append(out, pairs[key])
			}
			pairs[key].files = append(pairs[key].files, l.Path)
		}
	}
	for _, c := range out {
		slices.SortFunc(c.files, shorterFirst)
	}
	return out
}

// shorterFirst orders files; the first is the example.
func shorterFirst(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }

// conflicts returns the packages that install the same objects. In an environment in which it is
// not known which files were changed, there are none.
func (e *Environment) conflicts(artifacts []*facts.Artifact) (out []*conflict) {
	if e.Prefix != nil && e.Changed == nil {
		return nil
	}
	type file struct {
		of *facts.Artifact
		*facts.Object
	}
	in := map[*facts.Artifact]*conflict{}
	first := map[string]file{}
	for _, a := range artifacts {
		if a.Wheel == nil {
			continue
		}
		for _, o := range a.Objects {
			at := installedPath(o)
			x, again := first[at]
			switch {
			case !again:
				first[at] = file{a, o}
				continue
			case x.of == a, !e.differ(x.of, x.Object, a, o):
				continue
			}
			c := in[x.of]
			if c == nil {
				c = &conflict{members: []*facts.Artifact{x.of}}
				in[x.of] = c
				out = append(out, c)
			}
			if other := in[a]; other == nil {
				c.members = append(c.members, a)
				in[a] = c
			} else if other != c {
				c.members = append(c.members, other.members...)
				c.files = append(c.files, other.files...)
				for _, m := range other.members {
					in[m] = c
				}
				out = slices.DeleteFunc(out, func(x *conflict) bool { return x == other })
			}
			c.files = append(c.files, at)
		}
	}
	for _, c := range out {
		slices.SortFunc(c.files, shorterFirst)
		c.files = slices.Compact(c.files)
	}
	return out
}

// dataFolder matches the folder of a wheel whose files are installed next to its others (PEP 427).
var dataFolder = lazyregexp.New(`^[^/]+\.data/(?:platlib|purelib)/`)

// installedPath returns the path of an object of a wheel in site-packages.
func installedPath(o *facts.Object) string { return dataFolder.ReplaceAllString(o.Path, "") }

// differ reports whether two packages install different objects at a path. Of installed packages
// there is only one: it is not that of one of them.
func (e *Environment) differ(
	a *facts.Artifact,
	x *facts.Object,
	b *facts.Artifact,
	y *facts.Object,
) bool {
	if e.Changed != nil {
		return e.Changed(a.Path, x.Path) || e.Changed(b.Path, y.Path)
	}
	if x.BuildID != "" || y.BuildID != "" {
		return x.BuildID != y.BuildID
	}
	return !x.Exports.Equal(y.Exports) || !slices.Equal(x.Needed, y.Needed)
}

const overwritten = "The package that is installed last overwrites the files of the others"

// effect is what happens to the files of a conflict, without a period.
func (e *Environment) effect(c *conflict) string {
	if e.Changed == nil {
		return overwritten
	}
	var whole []string // packages that have all of their files
	for _, a := range c.members {
		if !slices.ContainsFunc(a.Objects, func(o *facts.Object) bool {
			return slices.Contains(c.files, installedPath(o)) &&
				e.Changed(a.Path, o.Path)
		}) {
			whole = append(whole, pkgmeta.Normalize(a.Wheel.Name))
		}
	}
	if len(whole) == 1 {
		return "The installed files are those of " + whole[0]
	}
	return "Some of the installed files are those of one package, and some those of another"
}

// required returns the only package of some that others require, "" if it is none or several, and
// sentences about who requires them, without a period.
func (e *Environment) required(
	artifacts []*facts.Artifact,
	of []packages.ID,
) (only string, because []string) {
	by := map[string][]string{}
	env := pkgmeta.DefaultMarkerEnv(e.On.Python, e.On.Arch)
	for _, x := range e.requiring(artifacts) {
		id := x.Name + " " + x.Version
		for _, q := range x.requires {
			if ok, err := q.Applies(env); err == nil && ok && !slices.Contains(by[q.Name], id) {
				by[q.Name] = append(by[q.Name], id)
			}
		}
	}
	for _, id := range of {
		if list := by[id.Name]; len(list) > 0 {
			only = id.Name
			requires := " requires "
			if len(list) > 1 {
				requires = " require "
			}
			because = append(because, List(list, 3, len(list), "package")+requires+id.Name)
		}
	}
	if len(because) != 1 {
		only = ""
	}
	return only, because
}

// keeping returns the title and the command of the fix for packages of which one can be kept, keep
// if it is not "". pip removes the files of a package also if another one has overwritten them.
func (e *Environment) keeping(
	ids []packages.ID,
	keep string,
	out *checked,
) (title fix.Title, command shellword.Line) {
	installed := e.Prefix != nil
	if keep == "" {
		var names []string
		for _, id := range ids {
			names = append(names, id.Name)
		}
		others := "others"
		if len(ids) == 2 {
			others = "other"
		}
		title = fix.Titled("Keep one of %s, and remove the %s", And(names), others)
		if installed {
			title = title.Append("; then install the one that you keep again")
		}
		return title, ""
	}
	var remove, shown, again []string
	for _, id := range ids {
		if id.Name == keep {
			again = append(again, id.String())
			continue
		}
		remove = append(remove, id.Name)
		place := id.Name
		if at := out.pins[id.Name].String(); at != "" {
			place += " (" + at + ")"
		}
		shown = append(shown, place)
	}
	title = fix.Titled("Remove %s", And(shown))
	if installed {
		title = title.Append(", and install %s again", keep)
		command = "python -m pip uninstall -y " + shellword.Quoted(remove) +
			" && python -m pip install --force-reinstall --no-deps " + shellword.Quoted(again)
	}
	return title, command
}
