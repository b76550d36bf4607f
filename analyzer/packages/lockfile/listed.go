package lockfile

import (
	"cmp"
	"maps"
	"slices"
)

// locked is a package of a poetry.lock or a pdm.lock.
type locked struct {
	table        map[string]any
	name         string
	marker       string // of the chosen groups
	optional     bool
	installed    bool // installed, as far as is known
	dependencies []dependency
}

// dependency is a dependency of a package.
type dependency struct {
	name, marker string
	optional     bool
}

// sourceURL returns the index that a package comes from; a package of the default index has none.
func sourceURL(p map[string]any) string {
	source, _ := p["source"].(map[string]any)
	return cmp.Or(str(source, "url"), "default")
}

// keep pins the packages that are installed. selected are the optional packages that the chosen
// extras select, elsewhere those known to be left out. complete means that the file has the marker
// of each package, so that dependencies need not be followed.
func (c *chooser) keep(
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
				if ok, err := c.applies(n.marker); err == nil && ok && !n.optional {
					todo = append(todo, n.name)
				}
			}
		}
	}
	if !complete {
		elsewhere = append(elsewhere, c.onlyElsewhere(all, byName, selected)...)
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
			pin.Marker = p.marker
			if index := sourceURL(p.table); index != usual {
				pin.Indexes = []string{index}
			}
			for _, d := range p.dependencies {
				pin.Needs = append(pin.Needs, d.name)
			}
			if err := c.add(p.name, version, pin); err != nil {
				return err
			}
		}
	}
	c.note(elsewhere, notHere)
	c.note(local, notReleases)
	return nil
}

// onlyElsewhere marks as not installed, and returns, the packages that are needed only on other
// systems or only by such packages.
func (c *chooser) onlyElsewhere(
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
			if ok, err := c.applies(n.marker); err != nil || ok {
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
