package lockfile

import (
	"path"

	"github.com/compat-app/compat/internal/shellword"
)

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
