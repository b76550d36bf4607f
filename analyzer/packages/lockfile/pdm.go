package lockfile

import (
	"slices"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

func readPDM(data []byte) (*Lock, error) {
	root, tables, err := packageTables(data, "package")
	if err != nil {
		return nil, err
	}
	meta, _ := root["metadata"].(map[string]any)
	// The file has the marker of each package.
	complete := slices.Contains(stringsOf(meta["strategy"]), "inherit_metadata")
	return &Lock{
		Names: namesOf(tables), Versions: versionsOf(tables), Groups: groupsOf(tables),
		Python: str(meta, "requires_python"), complete: true, graph: true,
		choose: func(c *chooser) error { return c.pdm(tables, complete) },
	}, nil
}

func (c *chooser) pdm(tables []map[string]any, complete bool) (err error) {
	// pdm stores an extra as a group, and the dependencies of the project as "default"
	wanted := slices.Concat([]string{"default"}, c.Groups, c.Extras)
	var all []*locked
	var elsewhere []string
	for _, t := range tables {
		p := &locked{table: t, name: pkgmeta.Normalize(str(t, "name")), marker: str(t, "marker")}
		groups := stringsOf(t["groups"])
		if len(groups) > 0 && !slices.ContainsFunc(groups, func(g string) bool {
			return slices.Contains(wanted, pkgmeta.Normalize(g))
		}) {
			continue
		}
		if p.installed, err = c.applies(p.marker); err != nil {
			return err
		}
		if !p.installed {
			elsewhere = append(elsewhere, p.name)
		}
		for _, d := range stringsOf(t["dependencies"]) {
			if len(d) > maxRequirement {
				continue
			}
			if q, err := pkgmeta.ParseRequirement(d); err == nil {
				p.dependencies = append(p.dependencies, dependency{name: q.Name, marker: q.Marker})
			}
		}
		all = append(all, p)
	}
	return c.keep(all, nil, elsewhere, complete)
}

var pdm = tool{
	name:    "PDM",
	project: &projectTool{id: "pdm", add: "pdm add", extra: " --group ", group: " --dev --group "},
	renew:   func(string, string) shellword.Line { return "pdm lock --refresh" },
}
