package pinned

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// condaPackage is a file in conda-meta, which describes an installed package.
type condaPackage struct {
	Name, Version, Build string
	SHA256               string
	Depends, Constrains  []string
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
		id := strings.TrimSuffix(name, ".json")
		in.condaPackage(p, id, unread)
		p.Version, p.Build = in.replaced(p)
		in.Wheels.CondaPackages = append(in.Wheels.CondaPackages, analyzer.CondaPackage{
			Name: p.Name, Version: p.Version, Build: p.Build, ID: id,
			Depends: slices.Concat(p.Depends, p.Constrains),
			File:    strings.TrimPrefix(path.Join(in.Prefix, at), "/"),
		})
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

// replaced returns the version and build of an installed package. If pip has installed another
// version of its distribution, it is that one, without a build.
func (in *Installed) replaced(p condaPackage) (version, build string) {
	for _, file := range p.Files {
		info := path.Base(path.Dir(file))
		name, _, ok := strings.Cut(strings.TrimSuffix(info, ".dist-info"), "-")
		if !strings.HasSuffix(info, ".dist-info") || !ok ||
			pkgmeta.Normalize(name) != pkgmeta.Normalize(p.Name) {
			continue
		}
		for _, other := range in.DistInfo {
			now, version, _ := strings.Cut(strings.TrimSuffix(other, ".dist-info"), "-")
			if pkgmeta.Normalize(now) == pkgmeta.Normalize(p.Name) && other != info {
				return version, ""
			}
		}
		break
	}
	return p.Version, p.Build
}
