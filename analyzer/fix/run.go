package fix

import (
	"path"
	"strings"

	"github.com/compat-app/compat/internal/shellword"
)

// Fixed is the folder to which the command of Run writes.
const Fixed = "fixed"

// Beginnings of commands that write changed files to Fixed, and in their place.
const (
	Write   shellword.Line = "compat fix --write " + Fixed
	InPlace shellword.Line = "compat fix --in-place"
)

// Run returns the command that applies the fixes of some files to their bytes and checks the
// result. options are those of the check. Files in one folder have their base names.
func Run(options shellword.Line, files []string) shellword.Line {
	command := Write + options
	same := true
	for _, w := range files {
		same = same && path.Dir(w) == path.Dir(files[0])
	}
	for _, w := range files {
		if same {
			w = path.Base(w)
		}
		command += " " + shellword.Quote(shellword.File(w))
	}
	return command
}

// SingleTool reports whether each line of a command is one of "wheel tags" or patchelf and nothing
// else.
func SingleTool(command shellword.Line) bool {
	for _, line := range shellword.Lines(command) {
		steps := shellword.Steps(line)
		if Enters(line) {
			steps = steps[1:] // the first one enters the folder
		}
		if len(steps) != 1 || !strings.HasPrefix(string(steps[0]), string(retagTool)) &&
			!strings.HasPrefix(string(steps[0]), "patchelf ") {
			return false
		}
	}
	return true
}
