package lockfile

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// requirementName matches the name at the beginning of a requirement.
var requirementName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*`)

// annotations sets Needs of the pins from the comments of pip-compile and uv, "# via NAME, NAME" or
// a line "# via" and a line "#   NAME" for each package, and reports whether all pins have one. A
// name with "-r" or "(" is that of the project or of its file.
func (c *chooser) annotations(text string) bool {
	places := map[string]int{}
	for i, p := range c.Pins {
		name, _, _ := strings.Cut(p.Requirement, "==")
		places[pkgmeta.Normalize(name)] = i
	}
	annotated := map[string]bool{}
	name, listed := "", false // the current package; its annotation has begun
	for line := range strings.Lines(text) {
		before, comment, found := strings.Cut(line, "#")
		switch {
		case before == "": // a comment between requirements
			name = ""
		case strings.TrimSpace(before) != "":
			listed = false
			if m := requirementName.FindString(before); m != "" {
				name = pkgmeta.Normalize(m)
			}
		}
		comment = strings.TrimSpace(comment)
		rest, via := strings.CutPrefix(comment, "via")
		switch {
		case !found || name == "":
			continue
		case via:
			comment, listed = rest, true
		case !listed:
			continue
		}
		annotated[name] = true
		for user := range strings.SplitSeq(comment, ",") {
			user = strings.TrimSpace(user)
			if user == "" || user[0] == '-' || strings.Contains(user, "(") {
				continue
			}
			i, pinned := places[pkgmeta.Normalize(user)]
			if !pinned {
				return false
			}
			c.Pins[i].Needs = append(c.Pins[i].Needs, name)
		}
	}
	return !slices.ContainsFunc(c.Pins, func(p Pin) bool {
		name, _, _ := strings.Cut(p.Requirement, "==")
		return !annotated[pkgmeta.Normalize(name)]
	})
}
