package lockfile

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// Renew returns the command that writes the hashes of a package in a lock file again, as Update.
func Renew(file, name string) shellword.Line {
	switch path.Base(file) {
	case "uv.lock":
		return "uv lock --upgrade-package " + shellword.Quote(name)
	case "poetry.lock":
		return "poetry update --lock " + shellword.Quote(name)
	case "pdm.lock":
		return "pdm lock --refresh"
	case "Pipfile.lock":
		return "pipenv upgrade " + shellword.Quote(name)
	case "conda-lock.yml":
		return "conda-lock lock --update " + shellword.Quote(name)
	case "pixi.lock":
		return "pixi update " + shellword.Quote(name)
	}
	const compile = "pip-compile --generate-hashes --no-reuse-hashes"
	stem, text := strings.CutSuffix(file, ".txt")
	switch {
	case file == "requirements.txt": // what pip-compile writes by default
		return compile
	case text:
		return compile + " --output-file " + shellword.Quote(file) + " " + shellword.Quote(stem+".in")
	}
	return ""
}

// Installer returns the name of the program that installs what a lock file pins.
func Installer(file string) string {
	switch base := path.Base(file); {
	case base == "uv.lock" || strings.HasSuffix(base, ".py.lock"):
		return "uv"
	case base == "poetry.lock":
		return "Poetry"
	case base == "pdm.lock":
		return "PDM"
	case base == "Pipfile.lock":
		return "Pipenv"
	case base == "pixi.lock":
		return "Pixi"
	}
	return "pip"
}

// Change is a version of a package for a lock file.
type Change struct {
	Requirement string
	// Declared are the requirements of the project on the package.
	Declared []Declared
	New      bool // the lock file does not have the package: nothing requires it
}

// Updates reports whether a command of a tool changes the packages of a lock file.
func Updates(file string) bool { return Update(file, Change{Requirement: "a"}) != "" }

// adds reports whether a requirement has to be added: the package is new, or the change is about
// its extras.
func (c Change) adds() bool {
	q, err := pkgmeta.ParseRequirement(c.Requirement)
	return c.New || err == nil && len(q.Extras) > 0
}

// Update returns the command of the tool that writes a lock file, which changes or adds packages.
// It is "" if there are none, or lines have to be edited.
func Update(file string, changes ...Change) shellword.Line {
	if OfProject(file) {
		return add(file, changes)
	}
	adds := slices.ContainsFunc(changes, Change.adds)
	var command, each shellword.Line
	switch path.Base(file) {
	case "Pipfile.lock":
		command = "pipenv upgrade"
		if adds {
			command = "pipenv install"
		}
	case "conda-lock.yml":
		if !adds {
			command, each = "conda-lock lock", "--update "
		}
	case "pixi.lock":
		if adds {
			command = "pixi add --pypi"
		}
	}
	if command == "" || len(changes) == 0 {
		return ""
	}
	for _, c := range changes {
		command += " " + each + shellword.Quote(c.Requirement)
	}
	return command
}

// add returns the command of uv, Poetry or PDM: for each list in pyproject.toml that has to change,
// one that changes it. Until all lists are changed, there may be no resolution, so uv does not
// look for one (--frozen). Only uv can choose the version of a package that no list has to name.
func add(file string, changes []Change) shellword.Line {
	var upgrades shellword.Line
	var lists []shellword.Line // the commands without the packages
	packages := map[shellword.Line]shellword.Line{}
	edit := func(command shellword.Line, requirement string) {
		if packages[command] == "" {
			lists = append(lists, command)
		}
		packages[command] += " " + shellword.Quote(requirement)
	}
	base := path.Base(file)
	for _, c := range changes {
		edited := c.Edited(file)
		for _, d := range edited {
			if d.Manual {
				return ""
			}
			edit(d.command(base), d.with(c.Requirement))
		}
		switch {
		case len(edited) > 0:
		case c.adds() || base != "uv.lock":
			edit(Declared{}.command(base), c.Requirement)
		default:
			upgrades += " --upgrade-package " + shellword.Quote(c.Requirement)
		}
	}
	if lists == nil && upgrades != "" {
		return "uv lock" + upgrades
	}
	for i, command := range lists {
		switch last := i == len(lists)-1; {
		case last:
			lists[i] += packages[command] + upgrades
		case base == "uv.lock":
			lists[i] += " --frozen" + packages[command]
		default:
			lists[i] += packages[command]
		}
	}
	return shellword.Join(lists, " && ")
}

// Edited returns the requirements of the project that have to change: those that do not admit the
// version. Poetry and PDM can only choose a version by changing them.
func (c Change) Edited(file string) []Declared {
	q, err := pkgmeta.ParseRequirement(c.Requirement)
	if err != nil {
		return nil
	}
	tool, _ := strings.CutSuffix(path.Base(file), ".lock")
	var out []Declared
	for _, d := range c.Declared {
		if (d.Tool == "" || d.Tool == tool) &&
			path.Dir(d.File) == path.Join(path.Dir(file), d.Folder) &&
			(tool != "uv" || !d.admits(q) || !d.Manual && !d.has(q.Extras)) {
			out = append(out, d)
		}
	}
	return out
}

// command returns the command that changes the list of a requirement.
func (d Declared) command(base string) shellword.Line {
	var command, extra, group shellword.Line
	switch base {
	case "uv.lock":
		command, extra, group = "uv add", " --optional ", " --group "
		if d.Project != "" {
			command += " --package " + shellword.Quote(d.Project)
		}
	case "poetry.lock":
		command, extra, group = "poetry add", " --optional ", " --group "
	case "pdm.lock":
		command, extra, group = "pdm add", " --group ", " --dev --group "
	}
	switch {
	case d.Extra != "":
		return command + extra + shellword.Quote(d.Extra)
	case d.Group != "":
		return command + group + shellword.Quote(d.Group)
	}
	return command
}

// has reports whether a requirement has extras.
func (d Declared) has(extras []string) bool {
	return !slices.ContainsFunc(extras, func(x string) bool { return !slices.Contains(d.Extras, x) })
}

// with returns another requirement on the package with the extras and the marker of this one. One
// that only adds extras leaves the versions as they are.
func (d Declared) with(requirement string) string {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		return requirement
	}
	out, spec := q.Name, q.Spec
	if len(q.Extras) > 0 && d.Spec != "" && d.admits(q) {
		spec = d.Spec
	}
	extras := slices.Concat(d.Extras, q.Extras)
	slices.Sort(extras)
	if extras = slices.Compact(extras); len(extras) > 0 {
		out += "[" + strings.Join(extras, ",") + "]"
	}
	if out += spec; d.Marker != "" {
		out += " ; " + d.Marker
	}
	return out
}
