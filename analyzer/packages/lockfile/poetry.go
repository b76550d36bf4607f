package lockfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// locked is a package of a poetry.lock or a pdm.lock.
type locked struct {
	table    map[string]any
	name     string
	optional bool
	in       bool // it is installed, as far as is known
	needs    []need
}

// need is a dependency of a package.
type need struct {
	name, marker string
	optional     bool
}

// poetry reads a poetry.lock. From version 2.1 on it has the groups and markers of each package;
// before, a package counts unless every package that needs it is for other systems.
func (r *reader) poetry(data []byte) error {
	root, tables, err := packageTables(data, "package")
	if err != nil {
		return err
	}
	var all []*locked
	var elsewhere []string
	complete := false
	for _, t := range tables {
		p := &locked{table: t, name: pkgmeta.Normalize(str(t, "name"))}
		complete = complete || t["groups"] != nil
		p.optional, _ = t["optional"].(bool)
		marker := str(t, "markers")
		groups := stringsOf(t["groups"])
		if c := str(t, "category"); c != "" { // before 1.5
			groups = []string{c}
		}
		chosen := len(groups) == 0
		for _, g := range groups {
			if g == "main" || slices.Contains(r.choice.Groups, pkgmeta.Normalize(g)) {
				chosen = true
				if by, ok := t["markers"].(map[string]any); ok {
					marker = str(by, g)
				}
			}
		}
		if !chosen {
			continue
		}
		if p.in, err = r.applies(marker, append([]string{""}, r.choice.Extras...)...); err != nil {
			return err
		}
		if p.optional && !strings.Contains(marker, "extra") {
			p.in = false // until an extra asks for it
		}
		if !p.in && !p.optional {
			elsewhere = append(elsewhere, p.name)
		}
		dependencies, _ := t["dependencies"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(dependencies)) {
			p.needs = append(p.needs, poetryNeeds(pkgmeta.Normalize(name), dependencies[name])...)
		}
		all = append(all, p)
	}
	extras, _ := root["extras"].(map[string]any)
	asked := map[string]bool{}
	for name, list := range extras {
		if slices.Contains(r.choice.Extras, pkgmeta.Normalize(name)) {
			for _, s := range stringsOf(list) {
				asked[pkgmeta.Normalize(s)] = true
			}
		}
	}
	return r.keep(all, asked, elsewhere, complete)
}

// poetryNeeds reads `name = ">=1"`, `name = {version = ">=1", markers = "…"}` or a list of these.
func poetryNeeds(name string, v any) []need {
	switch v := v.(type) {
	case map[string]any:
		optional, _ := v["optional"].(bool)
		return []need{{name, str(v, "markers"), optional}}
	case []any:
		var out []need
		for _, x := range v {
			out = append(out, poetryNeeds(name, x)...)
		}
		return out
	}
	return []need{{name: name}}
}

// pdm reads a pdm.lock.
func (r *reader) pdm(data []byte) error {
	root, tables, err := packageTables(data, "package")
	if err != nil {
		return err
	}
	wanted := append(r.groups("default"), r.choice.Extras...) // pdm has an extra as a group
	var all []*locked
	var elsewhere []string
	for _, t := range tables {
		p := &locked{table: t, name: pkgmeta.Normalize(str(t, "name"))}
		groups := stringsOf(t["groups"])
		if len(groups) > 0 && !slices.ContainsFunc(groups, func(g string) bool {
			return slices.Contains(wanted, pkgmeta.Normalize(g))
		}) {
			continue
		}
		if p.in, err = r.applies(str(t, "marker")); err != nil {
			return err
		}
		if !p.in {
			elsewhere = append(elsewhere, p.name)
		}
		for _, d := range stringsOf(t["dependencies"]) {
			if len(d) > maxRequirement {
				continue
			}
			if q, err := pkgmeta.ParseRequirement(d); err == nil {
				p.needs = append(p.needs, need{name: q.Name, marker: q.Marker})
			}
		}
		all = append(all, p)
	}
	meta, _ := root["metadata"].(map[string]any)
	complete := slices.Contains(stringsOf(meta["strategy"]), "inherit_metadata")
	return r.keep(all, nil, elsewhere, complete)
}

// keep pins the packages that are installed: asked are optional ones that are wanted, elsewhere
// those that are known to be left out.
//
// complete: the markers of the packages are those for the whole set.
func (r *reader) keep(
	all []*locked,
	asked map[string]bool,
	elsewhere []string,
	complete bool,
) error {
	byName := map[string][]*locked{}
	for _, p := range all {
		byName[p.name] = append(byName[p.name], p)
	}
	// What optional packages that are asked for need.
	todo := slices.Sorted(maps.Keys(asked))
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, p := range byName[name] {
			if p.in || !p.optional {
				continue
			}
			p.in = true
			for _, n := range p.needs {
				if ok, err := r.applies(n.marker); err == nil && ok && !n.optional {
					todo = append(todo, n.name)
				}
			}
		}
	}
	if !complete {
		elsewhere = append(elsewhere, r.onlyElsewhere(all, byName, asked)...)
	}
	var local []string
	for _, p := range all {
		source, _ := p.table["source"].(map[string]any)
		version := str(p.table, "version")
		switch {
		case !p.in:
		case version == "" || slices.Contains(localKinds, str(source, "type")) ||
			str(source, "type") == "file" ||
			str(source, "type") == "url" || str(p.table, "path") != "" || str(p.table, "git") != "" ||
			str(p.table, "url") != "":
			local = append(local, p.name)
		default:
			if err := r.pin(p.name, version, lineOf(p.table)); err != nil {
				return err
			}
		}
	}
	r.note(elsewhere, notHere)
	r.note(local, notReleases)
	return nil
}

// onlyElsewhere takes out the packages that are only needed on other systems, and those that only
// such packages need.
func (r *reader) onlyElsewhere(
	all []*locked,
	byName map[string][]*locked,
	asked map[string]bool,
) []string {
	// users are the packages that need one here, those of extras included: what the project itself
	// needs too is not known.
	users, needed := map[string]int{}, map[string]bool{}
	here := map[*locked][]string{}
	for _, p := range all {
		for _, n := range p.needs {
			needed[n.name] = true
			if ok, err := r.applies(n.marker); err != nil || ok {
				here[p] = append(here[p], n.name)
				if p.in || p.optional {
					users[n.name]++
				}
			}
		}
	}
	var out []string
	todo := all
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		if !p.in || !needed[p.name] || users[p.name] > 0 || asked[p.name] {
			continue
		}
		p.in = false
		out = append(out, p.name)
		for _, name := range here[p] {
			if users[name]--; users[name] == 0 {
				todo = append(todo, byName[name]...)
			}
		}
	}
	return out
}
