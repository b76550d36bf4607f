package lockfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// readPoetry reads a poetry.lock. Files of version 2.1 and later have the groups and markers of
// each package. In older ones a package is installed unless all packages that need it are for other
// systems.
func readPoetry(data []byte) (*Lock, error) {
	root, tables, err := packageTables(data, "package")
	if err != nil {
		return nil, err
	}
	meta, _ := root["metadata"].(map[string]any)
	return &Lock{
		Names: namesOf(tables), Versions: versionsOf(tables),
		Extras: keysOf(root, "extras"), Groups: groupsOf(tables),
		Python:   interpreters(str(meta, "python-versions")),
		complete: true, graph: true,
		choose: func(c *chooser) error { return c.poetry(root, tables) },
	}, nil
}

func (c *chooser) poetry(root map[string]any, tables []map[string]any) (err error) {
	var all []*locked
	var elsewhere []string
	complete := false
	for _, t := range tables {
		p := &locked{table: t, name: pkgmeta.Normalize(str(t, "name"))}
		complete = complete || t["groups"] != nil
		p.optional, _ = t["optional"].(bool)
		marker := str(t, "markers")
		groups := stringsOf(t["groups"])
		if category := str(t, "category"); category != "" { // before 1.5
			groups = []string{category}
		}
		chosen := len(groups) == 0
		for _, g := range groups {
			if g == "main" || slices.Contains(c.Groups, pkgmeta.Normalize(g)) {
				chosen = true
				if by, ok := t["markers"].(map[string]any); ok {
					marker = str(by, g)
				}
			}
		}
		if !chosen {
			continue
		}
		if p.installed, err = c.applies(marker, append([]string{""}, c.Extras...)...); err != nil {
			return err
		}
		p.marker = marker
		if p.optional && !strings.Contains(marker, "extra") {
			p.installed = false // until an extra selects it
		}
		if !p.installed && !p.optional {
			elsewhere = append(elsewhere, p.name)
		}
		dependencies, _ := t["dependencies"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(dependencies)) {
			p.dependencies = append(p.dependencies,
				poetryDependencies(pkgmeta.Normalize(name), dependencies[name])...)
		}
		all = append(all, p)
	}
	extras, _ := root["extras"].(map[string]any)
	selected := map[string]bool{}
	for name, list := range extras {
		if slices.Contains(c.Extras, pkgmeta.Normalize(name)) {
			for _, s := range stringsOf(list) {
				selected[pkgmeta.Normalize(s)] = true
			}
		}
	}
	return c.keep(all, selected, elsewhere, complete)
}

// poetryDependencies reads `name = ">=1"`, `name = {version = ">=1", markers = "…"}` or a list of
// these.
func poetryDependencies(name string, v any) []dependency {
	switch v := v.(type) {
	case map[string]any:
		optional, _ := v["optional"].(bool)
		return []dependency{{name, str(v, "markers"), optional}}
	case []any:
		var out []dependency
		for _, x := range v {
			out = append(out, poetryDependencies(name, x)...)
		}
		return out
	}
	return []dependency{{name: name}}
}

var poetry = tool{
	name:    "Poetry",
	project: &projectTool{id: "poetry", add: "poetry add", extra: " --optional ", group: " --group "},
	renew: func(_, name string) shellword.Line {
		return "poetry update --lock " + shellword.Quote(name)
	},
}
