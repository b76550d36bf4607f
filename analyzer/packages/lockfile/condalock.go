package lockfile

import (
	"errors"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
	"go.yaml.in/yaml/v4"
)

// readCondaLock reads a unified lock file of conda-lock, version 1.
func readCondaLock(data []byte) (*Lock, error) {
	file, err := document(data)
	if err != nil {
		return nil, err
	}
	list := member(file, "package")
	if list == nil {
		return nil, errors.New("it has no list of packages, so it is not a lock file of this format")
	}
	l := &Lock{choose: func(c *chooser) error { return c.condaLock(items(list)) }}
	for _, p := range items(list) {
		if text(p, "manager") == "pip" {
			l.Names = append(l.Names, pkgmeta.Normalize(text(p, "name")))
		}
	}
	return l, nil
}

// condaLock chooses the packages for the machine.
func (c *chooser) condaLock(list []*yaml.Node) error {
	var conda, local []string
	for _, p := range list {
		if text(p, "platform") != condaPlatform(c.System, c.Arch) {
			continue
		}
		category := text(p, "category")
		chosen := category == "" || category == "main" || slices.Contains(c.Groups, category) ||
			slices.Contains(c.Extras, category)
		switch {
		case !chosen:
		case text(p, "manager") != "pip":
			conda = append(conda, text(p, "name"))
		case strings.HasPrefix(text(p, "url"), "git+"):
			local = append(local, text(p, "name"))
		default:
			if err := c.addNode(p, nil); err != nil {
				return err
			}
		}
	}
	return c.leftOut(local, conda)
}

// condaLock changes packages in conda-lock.yml. It adds none: those are in the sources of the file.
var condaLock = tool{
	change: "conda-lock lock",
	each:   "--update ",
	renew: func(_, name string) shellword.Line {
		return "conda-lock lock --update " + shellword.Quote(name)
	},
}
