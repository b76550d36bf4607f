package lockfile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// locked is a package of a poetry.lock or a pdm.lock.
type locked struct {
	table        map[string]any
	name         string
	optional     bool
	installed    bool // installed, as far as is known
	dependencies []dependency
}

// dependency is a dependency of a package.
type dependency struct {
	name, marker string
	optional     bool
}

// poetry reads a poetry.lock. Files of version 2.1 and later have the groups and markers of each
// package. In older ones a package is installed unless all packages that need it are for other
// systems.
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
		if p.installed, err = r.applies(marker, append([]string{""}, r.choice.Extras...)...); err != nil {
			return err
		}
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
		if slices.Contains(r.choice.Extras, pkgmeta.Normalize(name)) {
			for _, s := range stringsOf(list) {
				selected[pkgmeta.Normalize(s)] = true
			}
		}
	}
	return r.keep(all, selected, elsewhere, complete)
}

// sourceURL returns the index that a package comes from; a package of the default index has none.
func sourceURL(p map[string]any) string {
	source, _ := p["source"].(map[string]any)
	return cmp.Or(str(source, "url"), "default")
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

// pdm reads a pdm.lock.
func (r *reader) pdm(data []byte) error {
	root, tables, err := packageTables(data, "package")
	if err != nil {
		return err
	}
	wanted := append(r.groups("default"), r.choice.Extras...) // pdm stores an extra as a group
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
		if p.installed, err = r.applies(str(t, "marker")); err != nil {
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
	meta, _ := root["metadata"].(map[string]any)
	complete := slices.Contains(stringsOf(meta["strategy"]), "inherit_metadata")
	return r.keep(all, nil, elsewhere, complete)
}

// keep pins the packages that are installed. selected are the optional packages that the chosen
// extras select, elsewhere those known to be left out. complete means that the file has the marker
// of each package, so that dependencies need not be followed.
func (r *reader) keep(
	all []*locked,
	selected map[string]bool,
	elsewhere []string,
	complete bool,
) error {
	byName := map[string][]*locked{}
	for _, p := range all {
		byName[p.name] = append(byName[p.name], p)
	}
	// Follow the dependencies of the selected optional packages.
	todo := slices.Sorted(maps.Keys(selected))
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, p := range byName[name] {
			if p.installed || !p.optional {
				continue
			}
			p.installed = true
			for _, n := range p.dependencies {
				if ok, err := r.applies(n.marker); err == nil && ok && !n.optional {
					todo = append(todo, n.name)
				}
			}
		}
	}
	if !complete {
		elsewhere = append(elsewhere, r.onlyElsewhere(all, byName, selected)...)
	}
	var tables []map[string]any
	for _, p := range all {
		tables = append(tables, p.table)
	}
	usual := mostCommon(tables, sourceURL)
	var local []string
	for _, p := range all {
		source, _ := p.table["source"].(map[string]any)
		version := str(p.table, "version")
		switch {
		case !p.installed:
		case version == "" || slices.Contains(localKinds, str(source, "type")) ||
			str(source, "type") == "file" ||
			str(source, "type") == "url" || str(p.table, "path") != "" || str(p.table, "git") != "" ||
			str(p.table, "url") != "":
			local = append(local, p.name)
		default:
			pin := pinOf(p.table)
			if index := sourceURL(p.table); index != usual {
				pin.Indexes = []string{index}
			}
			for _, d := range p.dependencies {
				pin.Needs = append(pin.Needs, d.name)
			}
			if err := r.pinWith(p.name, version, pin); err != nil {
				return err
			}
		}
	}
	r.note(elsewhere, notHere)
	r.note(local, notReleases)
	return nil
}

// onlyElsewhere marks as not installed, and returns, the packages that are needed only on other
// systems or only by such packages.
func (r *reader) onlyElsewhere(
	all []*locked,
	byName map[string][]*locked,
	selected map[string]bool,
) []string {
	// users counts the packages that need a package here, including those of extras. Whether the
	// project itself needs it is not known.
	users, needed := map[string]int{}, map[string]bool{}
	here := map[*locked][]string{}
	for _, p := range all {
		for _, n := range p.dependencies {
			needed[n.name] = true
			if ok, err := r.applies(n.marker); err != nil || ok {
				here[p] = append(here[p], n.name)
				if p.installed || p.optional {
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
		if !p.installed || !needed[p.name] || users[p.name] > 0 || selected[p.name] {
			continue
		}
		p.installed = false
		out = append(out, p.name)
		for _, name := range here[p] {
			if users[name]--; users[name] == 0 {
				todo = append(todo, byName[name]...)
			}
		}
	}
	return out
}
