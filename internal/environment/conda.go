package environment

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
)

// condaPackage is a file in conda-meta, which describes an installed package.
type condaPackage struct {
	Name, Version, Build string
	SHA256               string
	Depends              []string
	Files                []string // relative to the prefix
}

// condaPackages adds the packages in conda-meta. Files that a distribution in site-packages also
// lists are checked as that distribution.
func (in *Installed) condaPackages() error {
	names, err := in.list("conda-meta")
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if path.Ext(name) != ".json" {
			continue
		}
		at := path.Join("conda-meta", name)
		unread := func(err error) {
			in.Wheels.Unread = append(in.Wheels.Unread, analyzer.Unread{
				Path: strings.TrimPrefix(path.Join(in.Prefix, at), "/"), Reason: err.Error(),
			})
		}
		data, err := in.text(at)
		var p condaPackage
		if err == nil {
			err = json.Unmarshal(data, &p)
		}
		if err != nil {
			unread(err)
			continue
		}
		in.condaPackage(p, strings.TrimSuffix(name, ".json"), unread)
	}
	return nil
}

func (in *Installed) condaPackage(p condaPackage, id string, unread func(error)) {
	var members []member
	distribution := false
	for _, file := range p.Files {
		file = path.Clean(file)
		if in.owned[file] {
			distribution = true
			continue
		}
		if m, ok := in.object(".", "", file); ok {
			members = append(members, m)
		}
	}
	if len(members) == 0 && distribution {
		return // it is listed as the distribution
	}
	if len(members) == 0 {
		in.Wheels.Listed = append(in.Wheels.Listed, analyzer.Artifact{
			Path: id, SHA256: p.SHA256, Kind: analyzer.KindArchive,
		})
		return
	}
	index, err := json.Marshal(map[string]any{
		"name": p.Name, "version": p.Version, "build": p.Build, "depends": p.Depends,
	})
	if err != nil {
		unread(err)
		return
	}
	in.open(id, p.SHA256, append(members, member{name: "info/index.json", text: index}), unread)
}
