package lockfile

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// tool is the program that writes a format, with its commands. They are for a file with the name
// that the tool uses by default.
type tool struct {
	name string // "uv" installs what the file pins; "" = pip does
	// renew returns the command that writes the hashes of a package in a file again; nil = there is
	// none.
	renew func(file, name string) shellword.Line
	// change is the command for versions of packages, and insert the one that also adds packages. They
	// are followed by requirements, and each of these by what each is. "" = there is none.
	change, insert, each shellword.Line
	// project has the commands of a tool that makes the file from the pyproject.toml next to it.
	project *projectTool
}

// projectTool changes the requirements in pyproject.toml.
type projectTool struct {
	id  string         // in Declared.Tool
	add shellword.Line // is followed by requirements
	// extra and group are the options that name the list to change, member the one that names the
	// project of a workspace.
	extra, group, member shellword.Line
	// unresolved is the option of add that does not look for versions: until all lists are changed
	// there may be no resolution. "" = there is none.
	unresolved shellword.Line
	// upgrade is the option, of lock and of add, for a package that no list names; "" = only a list
	// can choose a version.
	lock, upgrade shellword.Line
}

// toolOf returns the tool of a file, by its name; without commands for a name of no format.
func toolOf(file string) tool {
	if f := named(file); f != nil {
		return f.tool
	}
	if strings.HasSuffix(file, ".txt") {
		return pipCompile
	}
	return tool{}
}

// Renew returns the command that writes the hashes of a package in a lock file again, as Update.
func Renew(file, name string) shellword.Line {
	if t := toolOf(file); t.renew != nil {
		return t.renew(file, name)
	}
	return ""
}

// Installer returns the name of the program that installs what a lock file pins.
func Installer(file string) string { return cmp.Or(toolOf(file).name, "pip") }

// OfProject reports whether a lock file is made from the pyproject.toml next to it.
func OfProject(file string) bool { return toolOf(file).project != nil }

// OfProjects returns the names of the lock files that tools make from the pyproject.toml next to
// them.
func OfProjects() (names []string) {
	for _, f := range formats.Get() {
		if f.tool.project != nil && !strings.Contains(f.names[0], "*") {
			names = append(names, f.names[0])
		}
	}
	return names
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
	t := toolOf(file)
	if t.project != nil {
		return t.project.update(file, changes)
	}
	command := t.change
	if slices.ContainsFunc(changes, Change.adds) {
		command = t.insert
	}
	if command == "" || len(changes) == 0 {
		return ""
	}
	for _, c := range changes {
		command += " " + t.each + shellword.Quote(c.Requirement)
	}
	return command
}

// update returns a command for each list in pyproject.toml that has to change.
func (t *projectTool) update(file string, changes []Change) shellword.Line {
	var upgrades shellword.Line
	var lists []shellword.Line // the commands without the packages
	packages := map[shellword.Line]shellword.Line{}
	edit := func(command shellword.Line, requirement string) {
		if packages[command] == "" {
			lists = append(lists, command)
		}
		packages[command] += " " + shellword.Quote(requirement)
	}
	for _, c := range changes {
		edited := c.Edited(file)
		for _, d := range edited {
			if d.Manual {
				return ""
			}
			edit(t.command(d), d.with(c.Requirement))
		}
		switch {
		case len(edited) > 0:
		case c.adds() || t.upgrade == "":
			edit(t.command(Declared{}), c.Requirement)
		default:
			upgrades += t.upgrade + shellword.Quote(c.Requirement)
		}
	}
	if lists == nil && upgrades != "" {
		return t.lock + upgrades
	}
	for i, command := range lists {
		if i == len(lists)-1 {
			lists[i] += packages[command] + upgrades
		} else {
			lists[i] += t.unresolved + packages[command]
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
	t := cmp.Or(toolOf(file).project, &projectTool{})
	var out []Declared
	for _, d := range c.Declared {
		if (d.Tool == "" || d.Tool == t.id) &&
			path.Dir(d.File) == path.Join(path.Dir(file), d.Folder) &&
			(t.upgrade == "" || !d.admits(q) || !d.Manual && !d.has(q.Extras)) {
			out = append(out, d)
		}
	}
	return out
}

// command returns the command that changes the list of a requirement.
func (t *projectTool) command(d Declared) shellword.Line {
	command := t.add
	if d.Project != "" && t.member != "" {
		command += t.member + shellword.Quote(d.Project)
	}
	switch {
	case d.Extra != "":
		return command + t.extra + shellword.Quote(d.Extra)
	case d.Group != "":
		return command + t.group + shellword.Quote(d.Group)
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
