package lockfile

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// readPylock reads a pylock.toml (PEP 751).
func readPylock(data []byte) (*Lock, error) {
	root, packages, err := packageTables(data, "packages")
	if err != nil {
		return nil, err
	}
	return &Lock{
		Names: namesOf(packages), Versions: versionsOf(packages), Extras: normalized(root["extras"]),
		Groups: normalized(root["dependency-groups"]), Python: str(root, "requires-python"),
		complete: true,
		choose:   func(c *chooser) error { return c.pylock(root, packages) },
	}, nil
}

// onRequest matches the markers of packages that an extra or a group installs.
var onRequest = lazyregexp.New(`\bin\s+(extras|dependency_groups)\b`)

func (c *chooser) pylock(root map[string]any, packages []map[string]any) error {
	c.env["extras"] = strings.Join(c.Extras, ",")
	c.env["dependency_groups"] = strings.Join(c.groups(stringsOf(root["default-groups"])...), ",")
	var elsewhere, local []string
	usual := mostCommon(packages, func(p map[string]any) string { return str(p, "index") })
	for _, p := range packages {
		name, version := str(p, "name"), str(p, "version")
		ok, err := c.applies(str(p, "marker"))
		switch {
		case err != nil:
			return err
		case !ok && !onRequest.MatchString(str(p, "marker")):
			elsewhere = append(elsewhere, name)
		case !ok:
		case version == "" || p["vcs"] != nil || p["directory"] != nil || p["archive"] != nil:
			local = append(local, name)
		default:
			pin := pinOf(p)
			pin.Marker = str(p, "marker")
			if index := str(p, "index"); index != usual {
				pin.Indexes = []string{index}
			}
			if err := c.add(name, version, pin); err != nil {
				return err
			}
		}
	}
	c.note(elsewhere, notHere)
	c.note(local, notReleases)
	return nil
}
