package lockfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// uvLock follows the dependencies in a uv.lock from its projects, as `uv sync` does. The file has
// the packages of all systems, extras and groups; only the dependencies have markers.
type uvLock struct {
	*reader
	byName map[string][]map[string]any
	usual  string          // the registry of most packages
	seen   map[string]bool // NAME\x00VERSION\x00EXTRA
	local  []string
	todo   []uvNode
}

// uvNode is a package, or one of its extras.
type uvNode struct {
	pkg   map[string]any
	extra string
}

func (r *reader) uv(data []byte) error {
	root, err := decodeTOML(data)
	if err != nil {
		return err
	}
	packages := tablesOf(root["package"])
	manifest, _ := root["manifest"].(map[string]any)
	if len(packages) == 0 && manifest == nil {
		return errNoPackages
	}
	u := uvLock{reader: r, byName: map[string][]map[string]any{}, seen: map[string]bool{}}
	u.usual = mostCommon(packages, func(p map[string]any) string {
		source, _ := p["source"].(map[string]any)
		return str(source, "registry")
	})
	for _, p := range packages {
		u.byName[str(p, "name")] = append(u.byName[str(p, "name")], p)
	}
	projects := uvProjects(root)
	// For conflicting extras and groups, the marker of a dependency names the extra or group that
	// it belongs to (uv, "Conflicting dependencies"): extra == 'extra-7-project-cpu'.
	var active []string
	for _, p := range projects {
		name := str(p, "name")
		for _, x := range r.choice.Extras {
			active = append(active, fmt.Sprintf("extra-%d-%s-%s", len(name), name, x))
		}
		for _, g := range r.groups("dev") {
			active = append(active, fmt.Sprintf("group-%d-%s-%s", len(name), name, g))
		}
	}
	r.env["extra"] = strings.Join(active, ",")
	for _, p := range projects {
		for _, extra := range append([]string{""}, r.choice.Extras...) {
			u.visit(p, extra)
		}
		groups, _ := p["dev-dependencies"].(map[string]any)
		for _, g := range r.groups("dev") {
			if err := u.edges(groups[g]); err != nil {
				return err
			}
		}
	}
	if err := u.edges(manifest["requirements"]); err != nil { // of a script
		return err
	}
	groups, _ := manifest["dependency-groups"].(map[string]any)
	for _, g := range r.groups("dev") {
		if err := u.edges(groups[g]); err != nil {
			return err
		}
	}
	if len(projects) == 0 && manifest["requirements"] == nil {
		for _, p := range packages {
			u.visit(p, "")
		}
	}
	if err := u.walk(); err != nil {
		return err
	}
	r.note(u.local, notReleases)
	return nil
}

// uvProjects returns the projects that a uv.lock is made for: those of the workspace, or else all
// that are in folders.
func uvProjects(root map[string]any) (out []map[string]any) {
	manifest, _ := root["manifest"].(map[string]any)
	members := stringsOf(manifest["members"])
	for _, p := range tablesOf(root["package"]) {
		source, _ := p["source"].(map[string]any)
		if (str(source, "editable") != "" || str(source, "virtual") != "") &&
			(len(members) == 0 || slices.Contains(members, str(p, "name"))) {
			out = append(out, p)
		}
	}
	return out
}

// groups returns the chosen and the default groups, sorted.
func (r *reader) groups(byDefault ...string) []string {
	out := slices.Concat(byDefault, r.choice.Groups)
	slices.Sort(out)
	return slices.Compact(out)
}

// walk follows the dependencies of the queued packages, then pins what is installed, by name.
func (u *uvLock) walk() error {
	installed := map[string][]map[string]any{}
	for len(u.todo) > 0 {
		n := u.todo[0]
		u.todo = u.todo[1:]
		if n.extra != "" {
			extras, _ := n.pkg["optional-dependencies"].(map[string]any)
			if err := u.edges(extras[n.extra]); err != nil {
				return err
			}
			continue
		}
		name := str(n.pkg, "name")
		installed[name] = append(installed[name], n.pkg)
		if err := u.edges(n.pkg["dependencies"]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		for _, p := range installed[name] {
			source, _ := p["source"].(map[string]any)
			version := str(p, "version")
			switch registry := str(source, "registry"); {
			case registry != "" && version != "", source == nil && version != "":
				pin := pinOf(p)
				if pin.Needs = uvNeeds(p); registry != u.usual {
					pin.Indexes = []string{registry}
				}
				if err := u.pinWith(name, version, pin); err != nil {
					return err
				}
			case str(source, "editable") == "" && str(source, "virtual") == "":
				u.local = append(u.local, name)
			}
		}
	}
	return nil
}

// uvNeeds returns the names of the packages that a package or one of its extras depends on, sorted:
// the cached result of a check is found by what was read of the files.
func uvNeeds(p map[string]any) []string {
	var out []string
	extras, _ := p["optional-dependencies"].(map[string]any)
	for _, list := range append(slices.Collect(maps.Values(extras)), p["dependencies"]) {
		for _, d := range tablesOf(list) {
			out = append(out, pkgmeta.Normalize(str(d, "name")))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// visit queues a package or one of its extras, once.
func (u *uvLock) visit(p map[string]any, extra string) {
	key := str(p, "name") + "\x00" + str(p, "version") + "\x00" + extra
	if !u.seen[key] {
		u.seen[key] = true
		u.todo = append(u.todo, uvNode{p, extra})
	}
}

// edges queues the packages of a list of dependencies.
func (u *uvLock) edges(list any) error {
	for _, d := range tablesOf(list) {
		ok, err := u.applies(str(d, "marker"))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, p := range u.byName[pkgmeta.Normalize(str(d, "name"))] {
			if v := str(d, "version"); v != "" && v != str(p, "version") {
				continue
			}
			forks := stringsOf(p["resolution-markers"])
			fits := len(forks) == 0
			for _, m := range forks {
				ok, err := u.applies(m)
				if err != nil {
					return err
				}
				fits = fits || ok
			}
			if !fits {
				continue
			}
			u.visit(p, "")
			for _, x := range stringsOf(d["extra"]) {
				u.visit(p, pkgmeta.Normalize(x))
			}
		}
	}
	return nil
}
