package fix

import (
	"path"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// archive matches the names of files that contain others.
var archive = lazyregexp.New(`(?i)\.(zip|whl|egg|pex|pyz|conda|deb|rpm|jar|aar|war|ear|7z|snap|` +
	`appimage|tgz|tbz2?|txz|tzst|tar(\.[a-z0-9]+)?)$`)

// Place returns the folder that a command for an artifact has to be run in; "" for that of compat.
// For an artifact in an archive, it is "", and in is the path of the archive.
func Place(artifact string) (dir, in string) {
	dir = path.Dir(artifact)
	if dir == "." {
		return "", ""
	}
	parts := strings.Split(dir, "/")
	for i, p := range parts {
		if archive.MatchString(p) {
			return "", strings.Join(parts[:i+1], "/")
		}
	}
	return dir, ""
}

// Enter returns the command that runs another one in a folder; "" is that of compat.
func Enter(dir string, command shellword.Line) shellword.Line {
	if dir == "" {
		return command
	}
	return "(cd " + shellword.Quote(dir) + " && " + command + ")"
}

// Enters reports whether a command is one of Enter.
func Enters(command shellword.Line) bool { return strings.HasPrefix(string(command), "(cd ") }
