package lockfile

import (
	"path"
	"strings"

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

// Update returns the command of the tool that writes a lock file, which changes packages to the
// given requirements. It is "" if there are none, or the file has to be edited.
func Update(file string, requirements ...string) shellword.Line {
	var command, each shellword.Line
	switch path.Base(file) {
	case "uv.lock":
		command, each = "uv lock", "--upgrade-package "
	case "poetry.lock":
		command = "poetry add"
	case "pdm.lock":
		command = "pdm update"
	case "Pipfile.lock":
		command = "pipenv upgrade"
	case "conda-lock.yml":
		command, each = "conda-lock lock", "--update "
	}
	if command == "" || len(requirements) == 0 {
		return ""
	}
	for _, r := range requirements {
		command += " " + each + shellword.Quote(r)
	}
	return command
}
