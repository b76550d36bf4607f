package rules

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/shellword"
)

// required returns the only package of some that others require, "" if it is none or several, and
// sentences about who requires them, without a period.
func required(p *analyzer.EnvironmentPass, of []packages.ID) (only string, because []string) {
	by := map[string][]string{}
	env := p.On.Markers()
	for _, x := range requiringOf(p) {
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
			because = append(because, analyzer.List(list, 3, len(list), "package")+requires+id.Name)
		}
	}
	if len(because) != 1 {
		only = ""
	}
	return only, because
}

// keeping returns the title and the command of the fix for packages of which one can be kept, keep
// if it is not "". pip removes the files of a package also if another one has overwritten them.
func keeping(
	p *analyzer.EnvironmentPass, ids []packages.ID, keep string,
) (title fix.Title, command shellword.Line) {
	installed := p.Installed
	if keep == "" {
		var names []string
		for _, id := range ids {
			names = append(names, id.Name)
		}
		others := "others"
		if len(ids) == 2 {
			others = "other"
		}
		title = fix.Titled("Keep one of %s, and remove the %s", analyzer.And(names), others)
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
		if at := p.Pins[id.Name].String(); at != "" {
			place += " (" + at + ")"
		}
		shown = append(shown, place)
	}
	title = fix.Titled("Remove %s", analyzer.And(shown))
	if installed {
		title = title.Append(", and install %s again", keep)
		command = "python -m pip uninstall -y " + shellword.Quoted(remove) +
			" && python -m pip install --force-reinstall --no-deps " + shellword.Quoted(again)
	}
	return title, command
}
