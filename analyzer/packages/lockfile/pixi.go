package lockfile

import (
	"errors"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
	"go.yaml.in/yaml/v4"
)

// readPixi reads a pixi.lock. Version 3 and earlier (2023) are not supported.
func readPixi(data []byte) (*Lock, error) {
	file, err := document(data)
	if err != nil {
		return nil, err
	}
	environments := member(file, "environments")
	if environments == nil {
		return nil, errors.New("it has no environments, so it is not a pixi.lock of version 4 or later")
	}
	l := &Lock{}
	byURL := map[string]*yaml.Node{}
	for _, p := range items(member(file, "packages")) {
		url := text(p, "pypi")
		if text(p, "kind") == "pypi" { // until version 5
			url = text(p, "url") + text(p, "path")
		}
		if url != "" {
			byURL[url] = p
			l.Names = append(l.Names, pkgmeta.Normalize(text(p, "name")))
		}
	}
	l.choose = func(c *chooser) error { return c.pixi(environments, byURL) }
	return l, nil
}

// pixi chooses the environment "default", or those named in Choice.Groups.
func (c *chooser) pixi(environments *yaml.Node, byURL map[string]*yaml.Node) error {
	chosen := c.Groups
	if len(chosen) == 0 {
		chosen = []string{"default"}
	}
	var conda, local []string
	for _, name := range chosen {
		e := member(environments, name)
		if e == nil {
			return errors.New("it has no environment " + name)
		}
		all := member(e, "packages")
		if all == nil {
			continue
		}
		var indexes []string // the first is the default one
		if list := items(member(e, "indexes")); len(list) > 1 {
			for _, i := range list {
				indexes = append(indexes, i.Value)
			}
		}
		list := member(all, condaPlatform(c.System, c.Arch))
		if list == nil {
			return errors.New("it has no packages for " + condaPlatform(c.System, c.Arch))
		}
		for _, d := range items(list) {
			if address := text(d, "conda"); address != "" {
				conda = append(conda, condaName(address))
				continue
			}
			at := text(d, "pypi")
			p := byURL[at]
			if p == nil {
				p = d
			}
			n, version := text(p, "name"), text(p, "version")
			if n == "" || version == "" || !strings.HasPrefix(at, "http") {
				local = append(local, n)
				continue
			}
			if err := c.addNode(p, indexes); err != nil {
				return err
			}
		}
	}
	return c.leftOut(local, conda)
}

// pixi adds packages to pixi.toml and pixi.lock.
var pixi = tool{
	name:   "Pixi",
	insert: "pixi add --pypi",
	renew: func(_, name string) shellword.Line {
		return "pixi update " + shellword.Quote(name)
	},
}
