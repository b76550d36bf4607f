package lockfile

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
)

// format is a kind of lock file. Adding one is a file, with what it reads and the commands of its
// tool, and a row in formats.
type format struct {
	// names are patterns (path.Match) of the names of such files, in any case, some with a folder. The
	// first is the one that the tool writes by default.
	names []string
	// is reports whether a file with another name has this format; nil = its content does not show
	// it: git show writes uv.lock to whichever file is named.
	is   func(data []byte) bool
	read func(data []byte) (*Lock, error)
	tool tool
	// written means that people write such a file, so one of its lines can be changed.
	written bool
	// edit changes one package; nil = only the tool can. It returns data if nothing has to change.
	edit func(data []byte, e *edition) ([]byte, error)
	// foreign means that it does not pin packages of Python. read returns the error for it.
	foreign bool
}

// formats are all formats. A file has the first one with its name, else the last one with its
// content, because uv.lock is like others, but has less. The last is that of all other files.
var formats = lazy.Value[[]format]{New: func() []format {
	return []format{
		{names: []string{"uv.lock"}, is: hasLine("[[package]]"), read: readUV, tool: uv},
		{names: []string{"*.py.lock"}, read: readUV, tool: uvScript},
		{
			names: []string{"poetry.lock"}, is: hasLine("python-versions = "), read: readPoetry,
			tool: poetry,
		},
		{names: []string{"pdm.lock"}, is: hasLine("lock_version = "), read: readPDM, tool: pdm},
		{
			names: []string{"pylock.toml", "pylock.*.toml"}, is: hasLine("[[packages]]"),
			read: readPylock, edit: editPylock,
		},
		{names: []string{"Pipfile.lock"}, is: isPipfile, read: readPipfile, tool: pipenv},
		{names: []string{"pixi.lock"}, read: readPixi, tool: pixi},
		{names: []string{"conda-lock.yml"}, read: readCondaLock, tool: condaLock},
		// Commands would have to name these files.
		{names: []string{"*conda-lock.yml", "*conda-lock.yaml"}, read: readCondaLock},
		{
			names: []string{"environment.yml", "environment.yaml"},
			read:  readEnvironment, edit: editEnvironment, written: true,
		},
		{
			names: []string{
				"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock",
			},
			read: readNode, foreign: true,
		},
		{
			names: []string{"requirements.txt", "*requirements*.txt", "requirements/*.txt"},
			read:  readRequirements, edit: editRequirements, tool: pipCompile, written: true,
		},
	}
}}

// Usual lists the names that tools give to lock files, for people.
func Usual() string {
	var names []string
	for _, f := range formats.Get() {
		if !f.foreign && !strings.Contains(f.names[0], "*") {
			names = append(names, f.names[0])
		}
	}
	return strings.Join(names, ", ")
}

// Known reports whether the name of a file is that of a lock or requirements file of Python.
func Known(file string) bool {
	f := named(file)
	return f != nil && !f.foreign
}

// Written reports whether a file is one that people write: a requirements file, also with a name
// that is not Known, or an environment.yml.
func Written(file string) bool {
	f := named(file)
	return f == nil && !otherwise(file) || f != nil && f.written
}

// named returns the format that the name of a file has; nil if it has none.
func named(file string) *format {
	file = strings.ToLower(strings.ReplaceAll(file, "\\", "/"))
	base := path.Base(file)
	for i, f := range formats.Get() {
		for _, pattern := range f.names {
			name := base
			if strings.Contains(pattern, "/") {
				name = path.Join(path.Base(path.Dir(file)), base)
			}
			if ok, err := path.Match(strings.ToLower(pattern), name); ok && err == nil {
				return &formats.Get()[i]
			}
		}
	}
	return nil
}

// formatOf returns the format of a file by its name, or else by its content.
func formatOf(file string, data []byte) *format {
	if f := named(file); f != nil {
		return f
	}
	if IsProject(file) {
		return &projectFile
	}
	all := formats.Get()
	for i := range slices.Backward(all) {
		if f := &all[i]; f.is != nil && f.is(data) {
			return f
		}
	}
	return &all[len(all)-1]
}

// hasLine reports whether a line of a file, other than the first, begins with text.
func hasLine(text string) func(data []byte) bool {
	return func(data []byte) bool { return bytes.Contains(data, []byte("\n"+text)) }
}

// otherwise reports whether the extension of a file is not that of a text: it has a format that is
// not known, or a wrong name.
func otherwise(file string) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".lock", ".toml", ".json", ".yml", ".yaml":
		return true
	}
	return false
}
